"""A session whose passes take long: what a person asks for does not wait for them, and they end with the session."""

from time import monotonic

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from inspector.core.buffer import Stretch
from inspector.core.message import Message, Text
from inspector.core.session import Compaction, Request, Session, Thread
from inspector.core.usage import Usage
from inspector.gui.panels.lists.search import SearchPanel
from inspector.gui.panels.timeline.panel import Timeline
from inspector.gui.window import MainWindow
from tests.gui.hands import press, write

TURNS, PER_COMPACTION = 3_000, 1_000
_WORDS = (
    "ledger",
    "import",
    "statement",
    "rounding",
    "currency",
    "posting",
    "balance",
    "account",
    "parser",
    "report",
)


def sentence(number: int, words: int = 9) -> str:
    return (
        " ".join(_WORDS[(number * (k + 3) + k) % len(_WORDS)] for k in range(words)).capitalize()
        + "."
    )


def long_session() -> Session:
    """Every fifth turn the user forbids something else, and each compaction forgets all of it."""
    stretch, messages, requests, compactions = (
        Stretch(),
        list[Message](),
        list[Request](),
        list[Compaction](),
    )
    for turn in range(TURNS):
        if turn % PER_COMPACTION == PER_COMPACTION - 1:
            stretch = Stretch()
            summary = Message(f"s{turn}", "user", (Text("What happened so far"),), summary=True)
            stretch.append(summary)
            messages.append(summary)
            compactions.append(Compaction(turn, "auto", tokens_before=150_000))
        ban = (
            f"Never change {_WORDS[turn % 10]}{turn}.py. Do not touch {_WORDS[turn % 7]}{turn}.csv. "
            * (turn % 5 == 0)
        )
        body = " ".join(sentence(turn * 31 + k) for k in range(20))
        for message in (
            Message(f"u{turn}", "user", (Text(f"{ban}Look at part {turn}."),)),
            Message(f"a{turn}", "assistant", (Text(body),)),
        ):
            stretch.append(message)
            messages.append(message)
        size = 20_000 + 400 * (turn % PER_COMPACTION)
        usage = Usage(input=500, cache_read=size, cache_write=500, output=90)
        requests.append(Request(turn, stretch.view(), usage=usage, model="claude-opus-4-5"))
    thread = Thread(
        "main",
        "",
        "claude-opus-4-5",
        requests,
        messages,
        stretch.view(),
        compactions=tuple(compactions),
    )
    return Session("test", (thread,), path="long.jsonl")


def test_search_when_a_long_pass_is_running_answers_before_it_ends(
    window: MainWindow, qtbot: QtBot
) -> None:
    qtbot.waitUntil(lambda: window.docks.ready)
    window.workbench.open(long_session())
    timeline, search = window.docks.panel("Timeline"), window.docks.panel("Search")
    assert isinstance(timeline, Timeline)
    assert isinstance(search, SearchPanel)
    qtbot.waitUntil(lambda: timeline._pin_job.busy)
    began = monotonic()
    press(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    write(search.field, "part 14")
    press(search.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: len(search.table.rows) == 111)
    answered = monotonic() - began
    assert timeline._pin_job.busy, f"the pass ended before the answer came, after {answered:.1f} s"
    window.close_session()
    qtbot.waitUntil(lambda: not window.bridge.busy)  # the pass would take minutes
