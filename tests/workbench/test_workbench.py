"""The one thing that changes: intents in, states out. No Qt."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector.agent.plan import Plan
from inspector.agent.status import Breakpoints, RunStatus
from inspector.core.policies.catalogue import DEFAULT_POLICY
from inspector.workbench.live import RunView
from inspector.workbench.policy_input import start_of
from inspector.workbench.pressure.gauge import reading
from inspector.workbench.pressure.scale import watermarks
from inspector.workbench.state import Choices, State
from inspector.workbench.stepping import HAND
from inspector.workbench.workbench import Workbench
from tests.gui.made import session


@pytest.fixture
def bench() -> Workbench:
    made = Workbench()
    made.open(session())
    return made


def at(bench: Workbench) -> int | None:
    """Where it stands."""
    return bench.state.at


def window(bench: Workbench) -> tuple[int | None, str] | None:
    """Its size and source."""
    found = bench.state.window
    return (found.tokens, found.source) if found else None


def test_opens_at_the_last_request(bench: Workbench) -> None:
    state = bench.state
    assert state.at == 11
    assert state.pressures is not None
    assert len(state.pressures) == 12
    assert state.window is not None
    assert state.window.tokens == 200_000
    assert state.selected == "main-s"


def test_subscribers_are_told_and_can_leave(bench: Workbench) -> None:
    seen: list[State] = []
    leave = bench.subscribe(seen.append)
    assert [state.at for state in seen] == [11]
    bench.move(3)
    leave()
    bench.move(4)
    assert [state.at for state in seen] == [11, 3]


def test_the_selection_follows_until_one_is_picked(bench: Workbench) -> None:
    bench.move(0)
    assert bench.state.selected == "main-u"
    bench.move(4)
    assert bench.state.selected == "main-r3"
    bench.select("main-a1")
    bench.move(9)
    assert bench.state.selected == "main-a1"
    bench.select("")
    assert bench.state.selected == "main-r8"
    bench.move(None)
    assert bench.state.selected == "main-r11"


def test_selection_of_a_message_of_a_step_when_the_playhead_moves_is_the_newest_message(
    bench: Workbench,
) -> None:
    bench.editing.insert("hello")
    bench.select(bench.state.buffer().messages[-1].id)
    bench.move(9)
    assert bench.state.selected == "main-r8"
    bench.move(10)
    assert bench.state.selected == "main-r9", "later moves select the newest message, too"


def test_selection_of_a_recorded_message_when_steps_were_taken_survives_a_move(
    bench: Workbench,
) -> None:
    bench.editing.insert("hello")
    bench.select("main-a1")
    bench.move(9)
    assert bench.state.selected == "main-a1"


def test_moves_are_clamped(bench: Workbench) -> None:
    bench.move(99)
    assert at(bench) == 11
    bench.move(-5)
    assert at(bench) == 0
    bench.previous()
    assert at(bench) == 0
    bench.move(None)
    bench.next()
    assert at(bench) is None
    assert bench.state.request is None
    assert bench.state.buffer().messages[-1].id == "main-r11"


def test_compactions_are_stations(bench: Workbench) -> None:
    bench.first()
    bench.next_compaction()
    assert at(bench) == 11
    bench.next_compaction()
    assert at(bench) == 11
    bench.move(None)
    bench.previous_compaction()
    assert at(bench) == 11
    bench.previous_compaction()
    assert at(bench) == 11


def test_next_compaction_when_at_the_end_goes_round_to_the_first(bench: Workbench) -> None:
    bench.move(None)
    bench.next_compaction()
    assert at(bench) == 11
    bench.first()
    bench.previous_compaction()
    assert at(bench) == 11


def test_another_session_forgets_window_and_thread(bench: Workbench) -> None:
    bench.choose_thread("agent-1")
    bench.set_window(50_000)
    bench.open(session(5, path="other.jsonl"))
    assert (bench.state.thread_id, bench.state.at, bench.state.user_window) == ("main", 4, None)


def test_a_fuller_picture_keeps_the_place(bench: Workbench) -> None:
    bench.move(2)
    bench.open(session(20))
    assert at(bench) == 2
    bench.last()
    bench.open(session(22))
    assert at(bench) == 21


def test_failure_is_said_and_dismissed(bench: Workbench) -> None:
    bench.begin("x")
    assert bench.state.opening is not None
    bench.failed("There is no file x.")
    state = bench.state
    assert state.failure == "There is no file x."
    assert not state.opening
    assert bench.state.session is not None
    bench.dismiss()
    assert bench.state.failure == ""


def test_close_leaves_nothing_but_the_estimator(bench: Workbench) -> None:
    bench.set_estimator("chars4")
    bench.close()
    assert bench.state == State(estimator="chars4")


def opened(bench: Workbench, path: str, name: str = "claude-code") -> Choices:
    bench.open(replace(session(path=path), format=name, client="Claude Code 2.1.14"))
    return bench.state.choices


@pytest.mark.parametrize("name", ["claude-code", "codex", "pi", "gemini-cli", "opencode"])
def test_policy_of_a_session_of_any_harness_is_the_default_one(name: str) -> None:
    bench = Workbench()
    assert opened(bench, "/a", name).policy == DEFAULT_POLICY
    assert [line.tokens for line in watermarks(bench.state)] == [120_000, 150_000]


def test_policy_that_the_user_chooses_stays_with_its_settings_in_the_next_session() -> None:
    bench = Workbench()
    opened(bench, "/a", "codex")
    bench.stepping.choose(policy="pi")
    bench.stepping.set("reserve_tokens", "4000")
    choices = opened(bench, "/b")
    assert (choices.policy, choices.settings) == ("pi", (("reserve_tokens", "4000"),))
    bench.close()
    assert opened(bench, "/c").policy == "pi"


def test_line_that_was_moved_is_named_in_the_next_session() -> None:
    bench = Workbench()
    opened(bench, "/a")
    assert bench.state.note == ""
    bench.stepping.set("mid_ratio", "0.48")
    opened(bench, "/b")
    assert bench.state.note == "Roku keeps your settings: mid_ratio = 0.48."
    now = reading(bench.state)
    assert now is not None
    assert now.changed == ("mid_ratio = 0.48, set by you",)
    bench.stepping.set("mid_ratio", None)
    opened(bench, "/c")
    assert bench.state.note == ""


def test_options_of_one_session_end_with_it() -> None:
    bench = Workbench()
    opened(bench, "/a")
    bench.stepping.choose(remote=True, summary="memory", instructions="keep paths", answer_by=HAND)
    choices = opened(bench, "/a")
    assert (choices.remote, choices.summary, choices.instructions) == (True, "memory", "keep paths")
    choices = opened(bench, "/b")
    assert (choices.remote, choices.summary, choices.recorded, choices.instructions) == (
        False,
        "",
        False,
        "",
    )
    assert choices.answer_by == HAND


def test_what_a_run_brings_ends_with_its_journal(tmp_path: Path) -> None:
    bench = Workbench()
    opened(bench, "/a")
    bench.stepping.choose(policy="pi")
    plan = Plan(
        "task",
        tmp_path,
        tmp_path / "j.jsonl",
        policy="pulse",
        settings=(("keep_last_turns", "2"),),
        window=9_000,
    )
    bench.show_run(RunView(RunStatus(), Breakpoints(), plan, remote=True))
    choices = opened(bench, str(plan.record), "journal")
    assert (choices.policy, choices.remote) == ("pulse", True)
    assert choices.settings == (("window", "9000"), ("keep_last_turns", "2"))
    bench.stepping.set("compact_target", "100")  # of this session, too
    choices = opened(bench, "/b")
    assert (choices.policy, choices.settings, choices.remote) == ("pi", (), False)


def test_policy_chosen_while_a_run_is_open_stays_chosen(tmp_path: Path) -> None:
    bench = Workbench()
    plan = Plan("task", tmp_path, tmp_path / "j.jsonl", policy="pulse")
    bench.show_run(RunView(RunStatus(), Breakpoints(), plan))
    opened(bench, str(plan.record), "journal")
    bench.stepping.choose(policy="codex")
    assert opened(bench, "/b").policy == "codex"


def test_policy_of_loaded_steps_is_that_sessions_own() -> None:
    bench = Workbench()
    opened(bench, "/a")
    bench.stepping.put(replace(start_of(bench.state), policy="pi"))
    assert bench.state.choices.policy == "pi"
    assert opened(bench, "/b").policy == DEFAULT_POLICY


class Later:
    """Work that is done when the test says so."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

    def __call__(
        self,
        job: Callable[[], Any],
        done: Callable[[Any], None],
        fell: Callable[[BaseException], None] | None = None,
        waits: bool = False,
        first: bool = False,
    ) -> None:
        # No part of these stories.
        if job.__qualname__.startswith(("Workbench._update_own_counts", "BranchWorker")):
            done(job())
        else:
            self.jobs.append((job, done))

    def finish(self, n: int) -> None:
        job, done = self.jobs[n]
        done(job())


def test_walking_while_it_weighs() -> None:
    later = Later()
    bench = Workbench(later)
    bench.open(session())
    assert bench.state.session is None
    later.finish(0)
    later.finish(1)
    bench.choose_thread("agent-1")
    bench.move(3)
    later.finish(2)
    assert (bench.state.thread_id, bench.state.at) == ("agent-1", at(bench))
    assert bench.state.pressures is not None


def test_estimator_when_picked_leaves_every_shown_size_as_it_is(bench: Workbench) -> None:
    before = bench.state.pressures
    sizes, counts = [one.tokens for one in before or ()], bench.state.believed
    bench.set_estimator("chars4")
    assert bench.state.pressures is before
    assert [one.tokens for one in before or ()] == sizes
    assert counts is not None
    assert counts.counts is not None
    now = bench.state.believed
    assert now is not None
    assert now.counts is not None
    assert now.counts.by.name == "chars4"
    assert now.tokens == counts.tokens, "what the policy believes is by its own rule"


def test_the_window_is_looked_for_once() -> None:
    later = Later()
    bench = Workbench(later)
    bench.open(session())
    later.finish(0)
    assert bench.state.session is not None
    assert window(bench) is None
    bench.move(4)
    later.finish(1)
    later.finish(2)
    assert at(bench) == 4
    assert window(bench) == (200_000, "catalogue")
    bench.move(7)
    bench.set_window(90_000)
    assert window(bench) == (90_000, "user")
    bench.set_window(None)
    assert window(bench) == (200_000, "catalogue")
    assert len(later.jobs) == 3


def test_a_window_that_was_looked_for_on_another_thread_is_not_shown() -> None:
    later = Later()
    bench = Workbench(later)
    bench.open(session())
    later.finish(0)
    bench.choose_thread("agent-1")
    later.finish(2)
    later.finish(1)
    assert bench.state.thread_id == "agent-1"
    assert window(bench) is None
    later.finish(3)
    assert window(bench) is not None


def test_only_the_newest_wish_counts() -> None:
    later = Later()
    bench = Workbench(later)
    bench.open(session())
    later.finish(0)
    later.finish(1)
    bench.choose_thread("agent-1")
    bench.choose_thread("main")
    later.finish(3)
    later.finish(2)
    assert bench.state.thread_id == "main"
    bench.choose_thread("agent-1")
    bench.close()
    later.finish(4)
    assert bench.state.session is None


def test_growth_when_an_analysis_is_running_waits_for_it_and_only_the_newest_follows() -> None:
    later = Later()
    bench = Workbench(later)
    bench.open(session(6))
    later.finish(0)
    later.finish(1)
    for requests in (7, 9, 12):
        bench.open(session(requests))
    assert len(later.jobs) == 3, "one analysis at a time"
    assert bench.state.behind == 6
    later.finish(2)
    assert shown_requests(bench) == 7
    assert bench.state.behind == 5
    later.finish(4)
    assert (shown_requests(bench), bench.state.behind) == (12, 0)


def test_growth_when_another_estimator_is_chosen_meanwhile_is_shown() -> None:
    later = Later()
    bench = Workbench(later)
    bench.open(session(6))
    later.finish(0)
    later.finish(1)
    bench.open(session(7))
    bench.set_estimator("chars4")
    assert (shown_requests(bench), bench.state.estimator) == (6, "chars4")
    later.finish(2)
    assert (shown_requests(bench), bench.state.estimator) == (7, "chars4")


def test_growth_when_another_file_was_opened_meanwhile_is_dropped() -> None:
    later = Later()
    bench = Workbench(later)
    bench.open(session(6))
    later.finish(0)
    bench.open(session(7))
    bench.open(session(9))
    bench.open(session(3, path="other.jsonl"))
    for n in range(1, len(later.jobs)):
        later.finish(n)
    assert (shown_requests(bench), bench.state.behind) == (3, 0)


def shown_requests(bench: Workbench) -> int:
    return len(bench.state.thread.requests) if bench.state.thread else 0


def test_the_users_own_table_of_windows_goes_before_the_catalogue(bench: Workbench) -> None:
    bench.use_windows({"claude-opus-4-5": 777_000})
    assert bench.state.window is not None
    assert bench.state.window.tokens == 777_000
    bench.move(2)
    assert bench.state.window.tokens == 777_000


class Fallen(Exception):
    """Nobody expected it."""


def test_what_nobody_expected_of_a_job_is_told_and_leaves_room_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def falls(*_: object) -> Any:
        raise Fallen

    bench = Workbench()
    monkeypatch.setattr("inspector.workbench.workbench.beliefs", falls)
    with pytest.raises(Fallen):
        bench.open(session())
    assert "went wrong inside the program (Fallen)" in bench.state.failure
    assert bench.state.believed is not None
    assert bench.state.believed.tokens == ()
    bench.move(2)  # it is not tried again and again
    assert at(bench) == 2
