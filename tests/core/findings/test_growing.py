"""What is found of a session that grows is what is found of it at once, however far it has grown."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from inspector.core.arrivals import arrivals
from inspector.core.drops import thread_drops
from inspector.core.facts.user_words import user_words
from inspector.core.findings.breaks import cache_breaks
from inspector.core.replay.costs import cache_facts
from inspector.core.session import Session, Thread
from inspector.core.tokens.pressure import known_pressures
from inspector.core.tokens.windows import find_window
from inspector.transcripts.files import open_transcript
from inspector.workbench.pressure.timeline import (
    PinMarks,
    UserMarks,
    pin_marks,
    user_marks,
)
from tests.bench.made import make_session
from tests.shared import transcripts

Find: TypeAlias = Callable[[Session, Thread], object]
FINDS: dict[str, Find] = {
    "arrivals": lambda session, thread: arrivals(thread),
    "drops": lambda session, thread: [
        replace(drop, thread="") for drop in thread_drops(thread).found
    ],
    "misses": lambda session, thread: [
        replace(miss, thread="") for miss in cache_breaks(thread, session)
    ],
    "cache": lambda session, thread: cache_facts(thread),
    "sizes": lambda session, thread: list(known_pressures(thread)),
    "window": lambda session, thread: find_window(session, thread),
}


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> list[Session]:
    """A made session with a compaction every 20 requests, and a few others of any kind."""
    made = make_session(tmp_path_factory.mktemp("made") / "made.jsonl", 1, per_compaction=20)
    sample = Path(__file__).resolve().parents[3] / "resources" / "sample.jsonl"
    others = sorted(transcripts("claude-code/**/*.jsonl"), key=lambda path: path.stat().st_size)[
        -3:-1
    ]
    return [open_transcript(path) for path in (made, sample, *others)]


def lengths(thread: Thread) -> list[int]:
    """Return some numbers of requests, in order, the last two of them one apart."""
    count = len(thread.requests)
    return sorted(
        {at for at in (1, 7, count // 3, count // 2, count - 1, count) if 0 < at <= count}
    )


def shortened(thread: Thread, length: int) -> Thread:
    """Return the thread as it was when it had so many requests."""
    compactions = [
        compaction for compaction in thread.compactions if compaction.before_request < length
    ]
    return replace(thread, requests=thread.requests[:length], compactions=compactions)


def named(session: Session, thread: Thread, name: str) -> tuple[Session, Thread]:
    """Return both under another name of the thread: nothing is remembered of that one."""
    signs = [replace(sign, thread=name) for sign in session.signs if sign.thread == thread.id]
    renamed = replace(thread, id=name)
    return replace(session, threads=(renamed,), signs=signs), renamed


@pytest.mark.parametrize("name", FINDS)
def test_finding_of_a_thread_that_grew_is_that_of_the_whole_thread(
    name: str, sessions: Sequence[Session]
) -> None:
    find = FINDS[name]
    for session in sessions:
        threads = [shortened(session.main, length) for length in lengths(session.main)]
        grown = [find(session, thread) for thread in threads]
        whole = [find(*named(session, thread, f"{name} {n}")) for n, thread in enumerate(threads)]
        assert grown == whole


def test_marks_of_the_user_in_a_thread_that_grew_are_those_of_the_whole_thread(
    sessions: Sequence[Session],
) -> None:
    for session in sessions:
        former: UserMarks | None = None
        for length in lengths(session.main):
            thread = shortened(session.main, length)
            former = user_marks(thread, former)
            assert former.marks == user_marks(thread).marks
        assert former is not None
        assert former.marks


def test_marks_of_pins_in_a_thread_that_grew_are_those_of_the_whole_thread(
    sessions: Sequence[Session],
) -> None:
    counts = list[int]()
    for session in sessions:
        typed = (words for message in session.main.messages for words in user_words(message))
        given = (next(typed).text,)
        former: PinMarks | None = None
        for length in range(1, min(len(session.main.requests), 50)):
            thread = shortened(session.main, length)
            former = pin_marks(thread, given, former)
            assert former.marks == pin_marks(thread, given).marks
            counts.append(len(former.marks))
    assert max(counts) > 0
