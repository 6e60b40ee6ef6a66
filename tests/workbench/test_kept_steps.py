"""Steps stay with their file when another one is opened."""

from collections.abc import Sequence
from dataclasses import replace

from inspector.core.buffer import Stretch
from inspector.core.message import Message
from inspector.core.session import Request, Session, Thread
from inspector.workbench.kept_steps import FILES
from inspector.workbench.workbench import Workbench
from tests.core.policies.build import assistant, build


def recorded(body: str = "x") -> list[Message]:
    """As a reader makes them: new objects each time, with ids by their place in the file."""
    return [
        replace(message, id=f"m{n}") for n, message in enumerate(build(10, body * 2000).messages)
    ]


def session(path: str, messages: Sequence[Message] | None = None, requests: int = 10) -> Session:
    stretch = Stretch(None, tuple(recorded() if messages is None else messages))
    views = [stretch.view(1 + 2 * n) for n in range(requests)]
    made = tuple(Request(n, view) for n, view in enumerate(views))
    return Session(
        "test",
        (Thread("main", requests=made, messages=stretch.own, end=stretch.view()),),
        path=path,
    )


def bench_with_steps(path: str = "/tmp/a.jsonl", at: int = 7) -> Workbench:
    bench = Workbench()
    bench.open(session(path))
    bench.stepping.choose(policy="roku", settings=(("context_window_tokens", "3000"),))
    bench.move(at)
    bench.stepping.step("L0")
    bench.stepping.step("L1")
    bench.stepping.choose(settings=())  # else the next session says that they hold there, too
    return bench


def names(bench: Workbench) -> tuple[str, ...]:
    steps = bench.state.steps
    return tuple(step.name for step in steps.taken) if steps else ()


def test_steps_when_their_file_is_opened_again_are_back_at_their_request() -> None:
    bench = bench_with_steps()
    bench.open(session("/tmp/b.jsonl"))
    assert bench.state.trees == {}
    assert (
        bench.state.note
        == "Kept 2 steps on a.jsonl until the program ends. Open the file again to see them."
    )
    bench.open(session("/tmp/a.jsonl"))
    assert names(bench) == ("L0", "L1")
    assert bench.state.at == 7
    assert bench.state.note == "Restored 2 steps on a.jsonl."
    bench.dismiss()
    assert bench.state.note == ""


def test_steps_when_the_session_was_closed_are_back_after_opening() -> None:
    bench = bench_with_steps()
    bench.close()
    assert bench.state.note.startswith("Kept 2 steps on a.jsonl")
    bench.open(session("/tmp/a.jsonl"))
    assert names(bench) == ("L0", "L1")


def test_steps_when_nothing_was_stepped_leave_no_note() -> None:
    bench = Workbench()
    bench.open(session("/tmp/a.jsonl"))
    bench.open(session("/tmp/b.jsonl"))
    assert bench.state.note == ""


def test_steps_when_the_file_has_other_content_are_dropped_with_a_sentence() -> None:
    bench = bench_with_steps()
    bench.open(session("/tmp/b.jsonl"))
    bench.open(session("/tmp/a.jsonl", recorded("y")))
    assert names(bench) == ()
    assert bench.state.note == "Dropped 2 steps on a.jsonl, because the file has changed."


def test_steps_when_the_file_has_grown_are_back() -> None:
    bench = bench_with_steps()
    bench.open(session("/tmp/b.jsonl"))
    bench.open(session("/tmp/a.jsonl", [*recorded(), assistant("one more")]))
    assert names(bench) == ("L0", "L1")


def test_steps_when_the_file_is_shorter_than_their_request_are_dropped() -> None:
    bench = bench_with_steps(at=9)
    bench.open(session("/tmp/b.jsonl"))
    bench.open(session("/tmp/a.jsonl", requests=5))
    assert bench.state.trees == {}
    assert "because the file has changed" in bench.state.note


def test_steps_when_a_first_part_is_shown_while_reading_come_back_with_the_whole_file() -> None:
    bench = bench_with_steps()
    bench.open(session("/tmp/b.jsonl"))
    bench.open(session("/tmp/a.jsonl", requests=3), more=True)
    assert bench.state.trees == {}
    bench.open(session("/tmp/a.jsonl"))
    assert (names(bench), bench.state.at) == (("L0", "L1"), 7)


def test_steps_when_the_user_moved_while_the_file_was_read_leave_the_playhead_alone() -> None:
    bench = bench_with_steps()
    bench.open(session("/tmp/b.jsonl"))
    bench.open(session("/tmp/a.jsonl", requests=3), more=True)
    bench.move(1)
    bench.open(session("/tmp/a.jsonl"))
    assert bench.state.at == 1
    bench.move(7)
    assert names(bench) == ("L0", "L1")


def test_steps_that_were_dropped_after_they_came_back_stay_away() -> None:
    bench = bench_with_steps()
    bench.open(session("/tmp/b.jsonl"))
    bench.open(session("/tmp/a.jsonl"))
    bench.stepping.forget()
    bench.open(session("/tmp/a.jsonl"))
    assert names(bench) == ()
    bench.open(session("/tmp/b.jsonl"))
    assert bench.state.note == ""


def test_steps_of_more_files_than_are_kept_lose_the_oldest() -> None:
    bench = bench_with_steps("/tmp/0.jsonl")
    for n in range(1, FILES + 1):
        bench.open(session(f"/tmp/{n}.jsonl"))
        bench.move(7)
        bench.stepping.step("L0")
    bench.open(session("/tmp/0.jsonl"))
    assert names(bench) == ()
    bench.open(session("/tmp/1.jsonl"))
    assert names(bench) == ("L0",)
