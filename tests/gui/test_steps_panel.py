"""The tree of steps: clicked, walked, renamed, compared, saved, replayed and exported, as a user does."""

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from inspector.core.jsontext import loads
from inspector.core.needs import ProviderFailure
from inspector.gui.desk import Desk
from inspector.gui.dialogs import ask
from inspector.gui.panels.steps.panel import StepsPanel, step_text
from inspector.gui.window import MainWindow
from inspector.transcripts.files import open_transcript
from inspector.transcripts.saving import NATIVE, SHAPES
from inspector.workbench.steps import ORIGIN, Steps
from tests.gui.conftest import Asked
from tests.gui.hands import click, double_click, press, write
from tests.gui.made import payload
from tests.gui.stepping import open_it


@pytest.fixture
def panel(desk: Desk, qtbot: QtBot) -> StepsPanel:
    made = StepsPanel(desk)
    qtbot.addWidget(made)
    made.resize(420, 400)
    made.show()
    desk.workbench.stepping.choose(policy="roku")
    open_it(desk.workbench, written_as="claude-code")  # whose transcripts can be written
    desk.workbench.subscribe(made.receive)
    return made


def steps_of(desk: Desk) -> Steps:
    found = desk.workbench.state.steps
    assert found is not None
    return found


def step(desk: Desk, panel: StepsPanel, qtbot: QtBot, tier: str) -> None:
    desk.workbench.stepping.step(tier)
    settled(desk, panel, qtbot)


def settled(desk: Desk, panel: StepsPanel, qtbot: QtBot) -> None:
    def there() -> bool:
        names = [row.name for row in panel.model.rows[1:]]
        return sorted(names) == sorted(one.name for one in steps_of(desk).taken)

    qtbot.waitUntil(there)


def place(panel: StepsPanel, at: int) -> QPoint:
    """A point on the name of a step."""
    rect = panel.view.visualRect(panel.model.index(panel.model.place_of(at), 0))
    return QPoint(rect.left() + 60, rect.top() + rect.height() // 4)


def click_step(panel: StepsPanel, at: int) -> None:
    click(panel.view.viewport(), place(panel, at))


def test_without_a_step_it_says_so(panel: StepsPanel) -> None:
    assert panel.says.text() == "Nothing compacted here yet."
    assert not panel.undo.isEnabled()
    assert not panel.actions_of["Save steps…"].isEnabled()


def test_steps_are_listed_with_tokens_tiers_and_who_answered(
    desk: Desk, panel: StepsPanel, qtbot: QtBot
) -> None:
    step(desk, panel, qtbot, "L0")
    step(desk, panel, qtbot, "L3b")
    assert panel.windowTitle() == "Steps (2)"
    recorded, first, second = panel.model.rows
    assert recorded.name == "request 1 as recorded"
    assert (
        step_text(first, False)
        == f"step 1, L0, {recorded.tokens:,} to {first.tokens:,} tokens. {first.words}"
    )
    assert second.before == first.tokens
    assert step_text(second, True).endswith(
        " replaced by a summary. 1 model call answered offline. You are here."
    )
    tip = panel.model.data(panel.model.index(2, 0), Qt.ItemDataRole.ToolTipRole)
    assert second.words in tip, "what is cut off can be read in full"
    assert panel.model.here == 1
    assert [row.depth for row in panel.model.rows] == [0, 0, 0], "a chain stays where it is"


def test_a_click_goes_undo_and_redo_walk(desk: Desk, panel: StepsPanel, qtbot: QtBot) -> None:
    step(desk, panel, qtbot, "L0")
    step(desk, panel, qtbot, "L1")
    click_step(panel, 0)
    assert steps_of(desk).at == 0
    click_step(panel, ORIGIN)
    assert steps_of(desk).at == ORIGIN
    assert not panel.undo.isEnabled()
    click(panel.redo)
    click(panel.redo)
    assert steps_of(desk).at == 1
    assert not panel.redo.isEnabled()
    click(panel.undo)
    assert panel.model.here == 0
    press(panel.view, Qt.Key.Key_Up)
    assert steps_of(desk).at == 0, "the arrows choose, they do not go"
    press(panel.view, Qt.Key.Key_Return)
    assert steps_of(desk).at == ORIGIN


def test_branches_are_deeper_and_are_compared(
    desk: Desk, panel: StepsPanel, qtbot: QtBot, asked: Asked
) -> None:
    step(desk, panel, qtbot, "L0")
    desk.workbench.stepping.undo()
    step(desk, panel, qtbot, "L1")
    assert [(row.at, row.depth) for row in panel.model.rows] == [(ORIGIN, 0), (0, 1), (1, 1)]
    assert not panel.compared.isEnabled()
    press(panel.view, Qt.Key.Key_Up)
    click(panel.compared)
    assert steps_of(desk).compared == 0
    assert asked.shown == ["Diff"]
    index = panel.model.index(panel.model.place_of(ORIGIN), 0)
    room = panel.view.delegate.compare_room(panel.view.visualRect(index), panel.view.fontMetrics())
    click(panel.view.viewport(), room.center())
    assert (steps_of(desk).at, steps_of(desk).compared) == (1, ORIGIN)
    menu = panel.view.menu_of(0)
    menu.actions()[1].trigger()
    assert steps_of(desk).compared == 0


def test_a_step_is_renamed_by_key_and_by_double_click(
    desk: Desk, panel: StepsPanel, qtbot: QtBot
) -> None:
    step(desk, panel, qtbot, "L0")
    click_step(panel, 0)
    press(panel.view, Qt.Key.Key_F2)
    editor = panel.view.findChild(QLineEdit)
    assert editor is not None
    assert editor.text() == "L0"
    editor.selectAll()
    write(editor, "only <b>old</b> results")
    press(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: steps_of(desk).taken[0].name == "only <b>old</b> results")
    settled(desk, panel, qtbot)
    double_click(panel.view.viewport(), place(panel, 0))
    editors = [one for one in panel.view.findChildren(QLineEdit) if one.isVisible()]
    assert editors
    press(editors[0], Qt.Key.Key_Escape)
    assert steps_of(desk).taken[0].name == "only <b>old</b> results"


def test_a_failure_is_told(desk: Desk, panel: StepsPanel, qtbot: QtBot) -> None:
    desk.workbench.stepping.choose(answer_by="hand")
    desk.workbench.stepping.step("L3b")
    desk.workbench.stepping.answer(ProviderFailure("no such key", 403, "http"))
    settled(desk, panel, qtbot)
    said = "The model call failed (no such key), so a mechanical digest was used for 10 messages. You are here."
    assert step_text(panel.model.rows[1], True).endswith(said)


def test_dropping_all_steps(desk: Desk, panel: StepsPanel, qtbot: QtBot) -> None:
    step(desk, panel, qtbot, "L0")
    panel.actions_of["forget"].trigger()
    assert panel.model.rowCount() == 0
    assert panel.windowTitle() == "Steps"


# -- files -------------------------------------------------------------------------------------------------------------


def answer_dialogs(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(ask, "ask_new_file", lambda *_, **_named: str(path))
    monkeypatch.setattr(ask, "ask_steps_file", lambda *_, **_named: str(path))


def test_steps_are_saved_and_replayed(
    desk: Desk,
    panel: StepsPanel,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: Asked,
) -> None:
    step(desk, panel, qtbot, "L0")
    step(desk, panel, qtbot, "L3b")
    before, path = steps_of(desk), tmp_path / "my.steps.json"
    answer_dialogs(monkeypatch, path)
    panel.actions_of["Save steps…"].trigger()
    qtbot.waitUntil(lambda: panel.says.text() == "Written to my.steps.json.")
    desk.workbench.stepping.forget()
    desk.workbench.move(0)
    panel.actions_of["Replay saved steps…"].trigger()
    qtbot.waitUntil(lambda: desk.workbench.state.stepped)
    assert desk.workbench.state.at == 1
    assert steps_of(desk).buffer == before.buffer
    qtbot.waitUntil(
        lambda: (
            panel.says.text() == "2 steps replayed; each ended with the same buffer as when saved."
        )
    )
    assert not asked.said


def test_what_is_no_steps_file_is_one_sentence(
    desk: Desk,
    panel: StepsPanel,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: Asked,
) -> None:
    path = tmp_path / "x.json"
    answer_dialogs(monkeypatch, path)
    for text in ("{", "[]", '{"kind":"context-inspector steps","version":1,"source":{}}'):
        path.write_text(text, "utf-8")
        panel.actions_of["Replay saved steps…"].trigger()
    path.unlink()
    panel.actions_of["Replay saved steps…"].trigger()
    qtbot.waitUntil(lambda: len(asked.said) == 4)
    assert all(sentence.endswith(".") for sentence in asked.said)


def test_the_test_and_the_buffer_are_exported(
    desk: Desk, panel: StepsPanel, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step(desk, panel, qtbot, "L0")
    for name in ("Export as pytest…", *SHAPES):
        path = tmp_path / f"{len(name)}-{name[:3]}.out"
        answer_dialogs(monkeypatch, path)
        panel.actions_of[name].trigger()
        qtbot.waitUntil(path.exists)
        if name == NATIVE:
            assert len(open_transcript(str(path)).main.end.messages()) == 21
        elif name in SHAPES:
            assert loads(path.read_bytes())["model"] == "claude-opus-4-5"
        else:
            assert "def test_step(" in path.read_text("utf-8")


def test_the_transcript_itself_is_not_written_to(
    desk: Desk,
    panel: StepsPanel,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: Asked,
) -> None:
    from tests.gui.stepping import session

    path = tmp_path / "open.jsonl"
    path.write_text("the agent's", "utf-8")
    desk.workbench.open(session(str(path), written_as="claude-code"))
    answer_dialogs(monkeypatch, path)
    panel.actions_of[NATIVE].trigger()
    qtbot.waitUntil(lambda: len(asked.said) == 1)
    assert "never overwritten" in asked.said[0]
    assert path.read_text("utf-8") == "the agent's"


def test_replaying_opens_the_transcript_first(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, steps = (
        payload(tmp_path / "body.json", "Never touch src/reader.py. " * 40),
        tmp_path / "s.json",
    )
    answer_dialogs(monkeypatch, steps)
    window.open_path(str(path))
    qtbot.waitUntil(
        lambda: (
            window.workbench.state.session is not None and window.workbench.state.opening is None
        )
    )
    window.show_panel("Steps")
    panel = window.docks.panel("Steps")
    assert isinstance(panel, StepsPanel)
    window.workbench.stepping.step("L1")
    qtbot.waitUntil(lambda: window.workbench.state.stepped)
    panel.files.save_steps()
    qtbot.waitUntil(steps.exists)
    other = payload(tmp_path / "other.json")
    window.open_path(str(other))
    qtbot.waitUntil(
        lambda: window.workbench.state.session is not None and not window.workbench.state.stepped
    )
    panel.files.replay()
    qtbot.waitUntil(lambda: window.workbench.state.stepped)
    assert window.workbench.state.session is not None
    assert window.workbench.state.session.path == str(path)
