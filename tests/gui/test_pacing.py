"""Jobs over a whole session: what it only grew by waits until that costs little, everything else begins at once."""

from collections.abc import Callable
from dataclasses import replace
from time import thread_time

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from inspector.core.session import Session
from inspector.gui import pacing
from inspector.gui.bridge import Task
from inspector.gui.desk import Desk
from inspector.gui.pacing import PacedJob
from tests.gui.made import session


class Story:
    """A paced job whose results are lengths of sessions."""

    def __init__(self, desk: Desk, qtbot: QtBot, cost_s: float) -> None:
        self.owner, self.found = QObject(), list[int]()
        self.job, self._qtbot, self._cost_s = PacedJob(desk.bridge, self.owner), qtbot, cost_s

    def want(self, wanted: Session, subject: str = "all") -> None:
        self.job.run(wanted, (subject,), self._work(wanted), self.found.append)

    def _work(self, wanted: Session) -> Callable[[Task], int]:
        def work(task: Task) -> int:
            end = thread_time() + self._cost_s
            while thread_time() < end:
                pass
            return len(wanted.main.requests)

        return work

    def expect(self, *found: int) -> None:
        self._qtbot.waitUntil(lambda: self.found == list(found))


def long_session(requests: int) -> Session:
    """So many requests; those of a shorter one are the same."""
    made = session(12)
    main = replace(made.main, requests=list(made.main.requests) * (requests // 12 + 1))
    return replace(made, threads=(replace(main, requests=main.requests[:requests]),))


def test_cheap_job_when_the_session_grew_by_one_request_runs_again_soon(
    desk: Desk, qtbot: QtBot
) -> None:
    story = Story(desk, qtbot, 0.0)
    story.want(long_session(1000))
    story.expect(1000)
    story.want(long_session(1001))
    story.expect(1000, 1001)


def test_dear_job_when_the_session_grew_by_one_request_waits(desk: Desk, qtbot: QtBot) -> None:
    story = Story(desk, qtbot, 0.02)
    story.want(long_session(1000))
    story.expect(1000)
    story.want(long_session(1001))
    qtbot.wait(pacing.REST_MS + 500)
    assert story.found == [1000]
    assert story.job.is_late
    story.expect(1000, 1001)  # after two hundred times as long as it took
    assert not story.job.is_late


def test_dear_job_when_the_session_grew_by_a_tenth_runs_at_once(desk: Desk, qtbot: QtBot) -> None:
    story = Story(desk, qtbot, 0.1)
    story.want(long_session(1000))
    story.expect(1000)
    story.want(long_session(1050))
    story.want(long_session(1101))
    story.expect(1000, 1101)


def test_dear_job_when_the_session_grew_and_rests_runs_for_the_newest(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, "SHARE", 10_000)
    story = Story(desk, qtbot, 0.1)
    story.want(long_session(1000))
    story.expect(1000)
    for requests in (1020, 1040, 1060):
        story.want(long_session(requests))
    story.expect(1000, 1060)


def test_dear_job_when_it_is_about_something_else_begins_at_once(desk: Desk, qtbot: QtBot) -> None:
    story = Story(desk, qtbot, 0.1)
    grown = long_session(1001)
    story.want(long_session(1000))
    story.expect(1000)
    story.want(grown, "another thread")
    story.expect(1000, 1001)
    story.want(grown, "another thread")  # the session is the same: a person did something
    story.expect(1000, 1001, 1001)


def test_job_when_another_runs_for_a_shorter_session_does_not_cancel_it(
    desk: Desk, qtbot: QtBot
) -> None:
    story = Story(desk, qtbot, 0.3)
    story.want(long_session(1000))
    story.want(long_session(1500))
    story.want(long_session(2000))
    story.expect(1000, 2000)


def test_cancel_when_a_job_waits_forgets_it(desk: Desk, qtbot: QtBot) -> None:
    story = Story(desk, qtbot, 0.002)
    story.want(long_session(1000))
    story.expect(1000)
    story.want(long_session(1001))
    story.job.cancel()
    qtbot.wait(1_500)
    assert story.found == [1000]
