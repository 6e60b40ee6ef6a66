"""Sharing from the window: nothing is written without the review, and a bundle brings pins and steps back."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QTableWidgetItem
from pytestqt.qtbot import QtBot

from inspector.gui.desk import Desk
from inspector.gui.dialogs import ask
from inspector.gui.opening import Opener
from inspector.gui.sharing import review_dialog
from inspector.gui.sharing.desk import SharingDesk
from inspector.gui.sharing.review_dialog import ReviewDialog
from inspector.resources import resource

KEY = "sk-ant-api03-" + "Ab3dEf6hIj9k" * 4
PRIVATE = f"mail jane.doe@example.org, key {KEY}, file /home/janedoe/x.py. "


@pytest.fixture
def opened(desk: Desk, qtbot: QtBot, tmp_path: Path) -> Callable[[Path], None]:
    """Open a transcript as the window does."""
    opener = Opener(desk.workbench, desk.bridge, desk.settings, lambda: None)
    opener.placed.set()

    def open_path(path: Path) -> None:
        opener.open(str(path))
        qtbot.waitUntil(
            lambda: (
                desk.workbench.state.session is not None
                and desk.workbench.state.session.path == str(path)
                and desk.workbench.state.opening is None
            )
        )

    return open_path


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    text = resource("sample.jsonl").read_text("utf-8")
    path.write_text(text.replace("Morning! ", PRIVATE, 1), "utf-8")
    return path


def answer_dialog(
    qtbot: QtBot, share: Callable[[], None], answer: Callable[[ReviewDialog], None]
) -> None:
    """Start to share, and answer the dialog once it is there."""
    answered: list[ReviewDialog] = []

    def look() -> None:
        dialog = QApplication.activeModalWidget()
        if isinstance(dialog, ReviewDialog) and not answered:
            answered.append(dialog)
            answer(dialog)

    timer = QTimer(interval=20)
    timer.timeout.connect(look)
    timer.start()
    share()
    qtbot.waitUntil(lambda: bool(answered))
    timer.stop()


def cell(dialog: ReviewDialog, row: int, column: int) -> QTableWidgetItem:
    item = dialog.table.item(row, column)
    assert item is not None
    return item


def row_of(dialog: ReviewDialog, text: str) -> int:
    (row,) = dialog.table.findItems(text, Qt.MatchFlag.MatchExactly)[:1]
    return row.row()


def test_report_is_written_only_after_the_review(
    desk: Desk,
    opened: Callable[[Path], None],
    transcript: Path,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = tmp_path / "r.html"
    monkeypatch.setattr(ask, "ask_new_file", lambda *_, **_named: str(target))
    sharing = SharingDesk(desk, None)  # type: ignore[arg-type] # no window is behind it
    opened(transcript)
    answer_dialog(qtbot, sharing.share_report, lambda dialog: dialog.reject())
    assert not target.exists()

    def accept(dialog: ReviewDialog) -> None:
        assert not dialog.warning.isVisible()
        dialog.go.click()

    answer_dialog(qtbot, sharing.share_report, accept)
    qtbot.waitUntil(target.exists)
    page = target.read_text("utf-8")
    assert "Request 78 was the fullest" in page
    assert "janedoe" not in page


def test_unticked_text_stays_and_a_key_is_asked_for_again(
    desk: Desk,
    opened: Callable[[Path], None],
    transcript: Path,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = tmp_path / "b.ctx"
    answers = [False, True]
    questions: list[str] = []

    def is_sure(parent: object, title: str, question: str, yes: str, no: str) -> bool:
        questions.append(question)
        return answers.pop(0)

    monkeypatch.setattr(review_dialog, "is_sure", is_sure)
    monkeypatch.setattr(ask, "ask_new_file", lambda *_, **_named: str(target))
    sharing = SharingDesk(desk, None)  # type: ignore[arg-type] # no window is behind it
    opened(transcript)
    desk.workbench.pin("never guess accounts", True)
    desk.workbench.move(79)
    desk.workbench.stepping.step("L1")
    qtbot.waitUntil(lambda: any(steps.own for steps in desk.workbench.state.trees.values()))

    def answer(dialog: ReviewDialog) -> None:
        assert KEY not in [cell(dialog, row, 0).text() for row in range(dialog.table.rowCount())]
        for row in range(dialog.table.rowCount()):
            if cell(dialog, row, 1).text() == "key":
                cell(dialog, row, 0).setCheckState(Qt.CheckState.Unchecked)
        cell(dialog, row_of(dialog, "janedoe"), 4).setText("me")
        assert dialog.warning.isVisible()
        dialog.go.click()
        assert dialog.isVisible()  # the user went back
        assert dialog.note is not None
        dialog.note.setText("Look here, or ask sam.roe@example.org.")
        dialog.go.click()

    answer_dialog(qtbot, sharing.share_bundle, answer)
    assert len(questions) == 2
    qtbot.waitUntil(target.exists)

    opened(target)
    state = desk.workbench.state
    assert state.pins == ("never guess accounts",)
    assert [
        step.tier for tree in state.trees.values() for step in tree.taken if step.recorded is None
    ] == ["L1"]
    assert state.session is not None
    assert any("Look here, or ask (e-mail)." in note for note in state.session.notes)
    first = state.session.main.messages[0].parts
    assert KEY in str(first)
    assert "/home/me/x.py" in str(first)
    assert "jane.doe" not in str(first)
