"""opencode: pruning, and a summary with a tail."""

from typing import Any

import pytest

from inspector.core.buffer import Buffer
from inspector.core.needs import ProviderFailure, Summarize, drive
from inspector.core.policies import opencode
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import SimpleState
from tests.core.policies.build import (
    Script,
    assistant,
    before_call,
    buffer,
    cleared,
    result,
    run,
    texts,
    user,
)


@pytest.mark.parametrize(
    ("window", "usable", "tail"),
    [
        (200_000, 148_000, 15_000),
        (128_000, 76_000, 15_000),
        (40_000, 20_000, 5_000),
        (8_000, 4_000, 2_000),
    ],
)
def test_opencode_usable_window_and_tail(window: int, usable: int, tail: int) -> None:
    settings = opencode.POLICY.settings((), window)
    assert (settings.usable, settings.tail_tokens) == (usable, tail)


def turns(*sizes: int, tool: str = "Read") -> Buffer:
    """One user turn each, with one tool result of so many tokens."""
    messages = []
    for n, size in enumerate(sizes):
        messages += [
            user(f"wish {n}"),
            assistant("", (f"c{n}", tool, {})),
            result(f"c{n}", "x" * size * 4),
        ]
    return buffer(*messages)


@pytest.mark.parametrize(
    ("sizes", "places"),
    [
        ((30_000, 30_000, 99_000, 9), [2]),  # 60,000 count, the older 30,000 can go
        ((20_000, 40_000, 9, 9), []),  # just 20,000 can go: not more
        ((20_001, 40_000, 9, 9), [2]),
        (
            (9_000, 9_000, 9_000, 41_000, 9, 9),
            [2, 5, 8, 11],
        ),  # the one that crosses the line goes, too
        ((90_000, 90_000), []),  # both turns are protected
    ],
)
def test_opencode_prunes(sizes: tuple[int, ...], places: list[int]) -> None:
    before, settings = turns(*sizes), opencode.POLICY.settings()
    found, freed = opencode.find_prunable(before.messages, settings)
    due = freed > settings.prune_minimum
    assert (sorted(found) if due else []) == places
    done = drive(
        opencode.POLICY.after_turn(PolicyContext(before, settings, SimpleState())), Script()
    )
    assert [cleared(outcome) for outcome in done] == ([places] if places else [])
    for outcome in done:
        assert not drive(
            opencode.POLICY.after_turn(PolicyContext(outcome.buffer, settings, SimpleState())),
            Script(),
        )


def test_opencode_never_prunes_a_skill_nor_an_error() -> None:
    settings = opencode.POLICY.settings()
    assert not opencode.find_prunable(turns(90_000, 90_000, 9, 9, tool="skill").messages, settings)[
        0
    ]
    failed = [
        result(m.result.call_id, m.result.content, True) if m.result else m
        for m in turns(90_000, 9, 9).messages
    ]
    assert not opencode.find_prunable(failed, settings)[0]


@pytest.mark.parametrize(
    ("sizes", "budget", "start"),
    [
        (
            (10, 10, 10),
            1_000,
            9,
        ),  # all turns fit: then nothing would be summarised, so there is no tail
        ((500, 10, 10), 100, 3),
        ((500, 10, 500), 100, 9),  # not even the newest fits, and a result cannot stand alone
        ((10, 500, 10), 100, 6),
    ],
)
def test_opencode_tail(sizes: tuple[int, ...], budget: int, start: int) -> None:
    assert opencode.find_tail_start(turns(*sizes).messages, budget) == start


def test_opencode_splits_a_turn_that_does_not_fit() -> None:
    before = buffer(
        user("one"), assistant("a"), user("two"), assistant("", ("c1", "R", {})), result("c1", "x" * 4000),
        assistant("", ("c2", "R", {})), result("c2", "y" * 40), assistant("end"),
    )  # fmt: skip
    assert opencode.find_tail_start(before.messages, 100) == 5
    after = run(
        opencode.POLICY, "compact", before, Script("S"), tail_max=100, tail_min=1, tail_share=1
    )
    assert texts(after.buffer.messages) == [
        opencode.QUESTION,
        "S",
        "",
        "y" * 40,
        "end",
        opencode.GO_ON,
    ]
    assert after.changed[before.messages[2].id] == "summarised"


def test_opencode_updates_its_former_summary_and_cuts_outputs() -> None:
    script = Script("first", "second")
    first = run(opencode.POLICY, "compact", turns(1_000, 1_000), script, tail_max=0, tail_min=0)
    longer = first.buffer.with_messages([*first.buffer.messages, *turns(3_000).messages])
    after = run(opencode.POLICY, "compact", longer, script, tail_max=0, tail_min=0)
    need = script.needs[1]
    assert isinstance(need, Summarize)
    assert need.text.startswith("There is an earlier summary.")
    assert "\n\nfirst\n\n[User]: wish 0\n\n" in need.text
    assert need.text.endswith("x" * 2_000 + "\n[truncated]")
    assert texts(after.buffer.messages) == [opencode.QUESTION, "second", opencode.GO_ON]


def test_opencode_replays_the_last_user_message_after_an_overflow() -> None:
    before = turns(10, 10)
    (after,) = before_call(opencode.POLICY, before, Script("S"), overflow="too long")
    assert texts(after.buffer.messages) == [opencode.QUESTION, "S", "wish 1"]
    assert after.buffer.messages[-1] is before.messages[3]
    (alone,) = before_call(
        opencode.POLICY, turns(10), Script("S"), overflow="too long", tail_max=0, tail_min=0
    )
    assert texts(alone.buffer.messages) == [opencode.QUESTION, "S", opencode.GO_ON]


@pytest.mark.parametrize(
    ("answer", "error"), [("", "empty_summary"), (ProviderFailure("no"), "provider_failure")]
)
def test_opencode_leaves_the_buffer_without_a_summary(answer: Any, error: str) -> None:
    before = turns(10, 10)
    after = run(opencode.POLICY, "compact", before, Script(answer), tail_max=0, tail_min=0)
    assert (after.buffer, after.error) == (before, error)
