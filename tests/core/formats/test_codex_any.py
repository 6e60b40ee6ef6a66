"""Codex rollouts: whatever values come, and every real one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.dialects.openai_responses import read_responses_usage
from inspector.core.formats.codex import FORMAT
from inspector.core.formats.format import Head
from inspector.core.tokens.estimators import buffer_tokens, estimator
from inspector.core.tokens.fit import fit
from tests.core.formats.feeding import (
    DATA,
    check,
    deep,
    laid_out,
    numbered,
    records,
    respaced,
    spoilt,
    told,
)
from tests.core.formats.rollouts import (
    COMPACTED,
    REASONING,
    TURN,
    Counts,
    answer,
    call,
    event,
    says,
)
from tests.shared import transcripts

REAL = [*transcripts("codex/**/*.jsonl"), *transcripts("clients/codex*.jsonl")]
TURNS = told(FORMAT, records(DATA / "codex" / "turns.jsonl"))
OWN = sorted((DATA / "codex").glob("*.jsonl"))

NAMES = st.sampled_from(
    [
        "type",
        "payload",
        "role",
        "content",
        "message",
        "token_count",
        "info",
        "last_token_usage",
        "total_token_usage",
        "input_tokens",
        "summary",
        "tools",
        "replacement_history",
        "compacted",
        "response_item",
        "event_msg",
        "session_meta",
        "source",
        "reasoning",
        "function_call",
        "call_id",
        "output",
        "text",
        "user",
        "assistant",
        "subagent",
        "web_search_call",
        "encrypted_content",
    ]
)
ATOMS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False)
    | st.text(max_size=4)
    | NAMES
)
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=6))
def test_nothing_raises_whatever_the_values(values: list[Any]) -> None:
    check(told(FORMAT, numbered(values)))
    FORMAT.sniff(Head(values))
    FORMAT.is_companion(Head(values), TURNS)


KINDS = [
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "token_usage_record",
]


@given(
    st.lists(
        st.builds(
            lambda kind, payload: {"type": kind, "payload": payload}, st.sampled_from(KINDS), VALUES
        ),
        max_size=8,
    )
)
def test_nothing_raises_whatever_the_payloads(values: list[Any]) -> None:
    check(told(FORMAT, numbered(values)))


SCRIPT = st.sampled_from(
    ["user", "say", "think", "call", "answer", "count", "turn", "compact", "abort"]
)


@given(st.lists(SCRIPT, max_size=40))
def test_sessions_asked_for_at_any_time_do_not_change_later(script: list[str]) -> None:
    """Every order of records keeps the invariants, and what was handed out stays."""
    counts, reader, seen = Counts(), FORMAT.start(), []
    make: dict[str, Callable[[int], Any]] = {
        "user": lambda n: says("user", f"u{n}"),
        "say": lambda n: says("assistant", f"a{n}"),
        "think": lambda n: REASONING,
        "call": lambda n: call(f"c{n}"),
        "answer": lambda n: answer(f"c{n - 1}"),
        "count": lambda n: counts(100 + n, 9, 0, 5),
        "turn": lambda n: TURN,
        "compact": lambda n: COMPACTED,
        "abort": lambda n: event("turn_aborted"),
    }
    for line, step in enumerate(script, 1):
        reader.feed(line, make[step](line))
        session = reader.session()
        check(session)
        seen.append(
            (
                session,
                list(session.main.requests),
                list(session.main.messages),
                session.main.end.messages(),
            )
        )
    for session, requests, messages, end in seen:
        assert list(session.main.requests) == requests
        assert list(session.main.messages) == messages
        assert session.main.end.messages() == end


def test_a_long_thread_is_no_deeper_than_a_short_one() -> None:
    counts = Counts()
    values = [
        v
        for n in range(4000)
        for v in (
            says("user", f"{n}"),
            REASONING,
            says("assistant", f"{n}"),
            counts(10 + n, 2, 0, 1),
        )
    ]
    session = told(FORMAT, numbered(values))
    assert len(session.main.requests) == 4000
    assert len(session.main.end.messages()) == 8000
    assert buffer_tokens(estimator("chars4"), session.main.end) > 0


@pytest.mark.parametrize("bad", [None, 7, "", [], {}, deep()], ids=lambda bad: str(bad)[:4])
@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_no_field_is_trusted(path: Path, bad: Any) -> None:
    for values in spoilt(records(path), bad):
        session = told(FORMAT, values)
        assert len(session.main.end.messages()) == len(session.main.end)


@pytest.mark.parametrize("path", [*OWN, *REAL], ids=lambda path: "/".join(path.parts[-3:]))
def test_every_rollout_opens(path: Path) -> None:
    values = records(path)
    session = told(FORMAT, values)
    check(session)
    assert FORMAT.sniff(Head([value for _, value in values[:60]])) == 1.0
    assert not session.problems
    assert laid_out(told(FORMAT, respaced(values))) == laid_out(session)


@pytest.mark.parametrize(
    "path",
    [path for path in REAL if "clients" not in path.parts],
    ids=lambda path: "/".join(path.parts[-3:]),
)
def test_all_counts_of_a_real_rollout_are_found(path: Path) -> None:
    """Calls are the changes of the running total."""
    totals, reported = [], []
    for _, value in records(path):
        info = value["payload"].get("info")
        if (
            info
            and info["last_token_usage"]["input_tokens"]
            and info["total_token_usage"] not in totals
        ):
            totals.append(info["total_token_usage"])
            reported.append(read_responses_usage(info["last_token_usage"]))
    assert [request.usage for request in told(FORMAT, records(path)).main.requests] == reported


@pytest.mark.parametrize(
    "path",
    [path for path in REAL if "clients" not in path.parts],
    ids=lambda path: "/".join(path.parts[-3:]),
)
def test_the_count_of_a_real_buffer_follows_the_reported_prompt(path: Path) -> None:
    line = fit(told(FORMAT, records(path)).main, estimator("tiktoken")).line
    assert line is not None
    assert line.r2 is not None
    assert line.r2 > 0.997
