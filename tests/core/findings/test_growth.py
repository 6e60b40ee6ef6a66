"""The largest jump of a thread, and what came in there."""

from dataclasses import replace

from inspector.core.findings.growth import find_largest_jump
from inspector.core.session import Thread
from tests.core.sessions import compacted, said


def test_jump_when_a_large_file_is_read_names_the_call_and_the_growth() -> None:
    thread = said(
        ("user", "go"),
        ("read", "a.py x"),
        ("read", "data/rates.csv " + "1,2,3 " * 2_000),
        ("answer", "done"),
    )
    jump = find_largest_jump(thread)
    assert jump is not None
    assert (jump.request, jump.subject) == (2, "Read data/rates.csv")
    before, after = (thread.requests[at].usage for at in (1, 2))
    assert before is not None
    assert after is not None
    assert jump.tokens == after.prompt - before.prompt


def test_jump_over_a_compaction_is_not_counted() -> None:
    thread = compacted(4, 3)
    jump = find_largest_jump(thread)
    assert jump is not None
    assert jump.request != 4


def test_jump_without_two_reports_is_none() -> None:
    assert find_largest_jump(Thread("main")) is None
    thread = said(("user", "go"), ("answer", "done"))
    assert find_largest_jump(thread) is None
    silent = [
        replace(request, usage=None)
        for request in said(("user", "a"), ("read", "b c"), ("answer", "d")).requests
    ]
    assert find_largest_jump(Thread("main", requests=silent)) is None
