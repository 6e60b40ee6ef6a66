"""pi sessions of any values: nothing raises, any tree is walked, real ones open, calls that nobody answered."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.formats.format import Head
from inspector.core.formats.pi import FORMAT
from inspector.core.formats.pi.messages import summary_text
from inspector.core.message import Text
from inspector.core.tokens.estimators import estimator
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
from tests.core.formats.pi_sessions import HEAD, ids, row, said
from tests.shared import transcripts

REAL = [*transcripts("pi/**/*.jsonl"), *transcripts("clients/pi*.jsonl")]
OWN = sorted((DATA / "pi").glob("*.jsonl"))


# --- whatever comes

NAMES = st.sampled_from(
    ["type", "id", "parentId", "message", "role", "content", "usage", "input", "text", "summary"]
)
KINDS = st.sampled_from(
    ["session", "message", "compaction", "context_edit", "custom_message", "branch_summary", "x"]
)
FIELDS = st.sampled_from(
    [
        "targetId",
        "replacement",
        "firstKeptEntryId",
        "firstKeptEntryIndex",
        "retainedTail",
        "version",
    ]
)
ROLES = st.sampled_from(
    ["user", "assistant", "toolResult", "bashExecution", "system", "compactionSummary", "toolCall"]
)
ATOMS = (
    st.none()
    | st.booleans()
    | st.integers(-9, 2**40)
    | st.floats(allow_nan=False)
    | st.text(max_size=3)
    | ROLES
    | KINDS
)
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(NAMES | FIELDS | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(
    st.lists(
        VALUES
        | st.builds(
            lambda kind, rest: {**rest, "type": kind},
            KINDS,
            st.dictionaries(NAMES | FIELDS, VALUES, max_size=6),
        ),
        max_size=6,
    )
)
def test_nothing_raises_whatever_the_values(values: list[Any]) -> None:
    check(told(FORMAT, numbered([HEAD, *values])))
    check(told(FORMAT, numbered(values)))
    FORMAT.sniff(Head(values))


STEPS = st.tuples(
    st.sampled_from(["user", "assistant", "compaction", "context_edit", "label"]),
    st.integers(0, 9),
    st.integers(0, 9),
)


def by_hand(path: list[dict[str, Any]]) -> list[str]:
    """The texts of the buffer after the last record of a branch, in the plainest way."""
    edits = {
        one["targetId"]: one["replacement"]["content"]
        for one in path
        if one["type"] == "context_edit"
    }
    cuts = [n for n, one in enumerate(path) if one["type"] == "compaction"]
    cut = cuts[-1] if cuts else 0
    first = next((n for n in range(cut) if path[n]["id"] == path[cut].get("firstKeptEntryId")), cut)
    kept = [one for one in path[first:] if one["type"] == "message"]
    summary = [summary_text("S")] if cuts else []
    return summary + [edits.get(one["id"], one["message"]["content"][0]["text"]) for one in kept]


@given(st.lists(STEPS, max_size=25))
def test_any_tree_gives_the_buffers_that_walking_by_hand_gives(
    steps: list[tuple[str, int, int]],
) -> None:
    """Whenever the session is asked for, and however it goes on after that."""
    reader, seen = FORMAT.start(), []
    paths: dict[str | None, list[dict[str, Any]]] = {None: []}
    reader.feed(1, HEAD)
    for n, (kind, parent, target) in enumerate(steps):
        name, above, aim = (
            f"n{n}",
            (f"n{max(0, n - 1 - parent)}" if n else None),
            f"n{max(0, n - 1 - target)}",
        )
        if kind in ("user", "assistant"):
            value = said(name, above, kind, f"text {n}", 10)
        else:
            value = row(
                kind,
                name,
                above,
                targetId=aim,
                firstKeptEntryId=aim,
                summary="S",
                replacement={"content": f"edit {n}"},
            )
        reader.feed(n + 2, value)
        paths[name] = [*paths[above], value]
        session = reader.session()
        check(session)
        seen.append((session.main.end, by_hand(paths[name])))
        if kind == "assistant":
            seen.append((session.main.requests[-1].view, by_hand(paths[above])))
    for view, expected in seen:
        assert [message.text for message in view] == expected


# --- real ones


@pytest.mark.parametrize("bad", [None, 7, "", [], {}, deep()], ids=lambda bad: str(bad)[:4])
@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_no_field_is_trusted(path: Path, bad: Any) -> None:
    for values in spoilt(records(path), bad):
        session = told(FORMAT, values)
        assert len(session.main.end.messages()) == len(session.main.end)


@pytest.mark.parametrize("path", [*OWN, *REAL], ids=lambda path: path.name)
def test_every_session_opens(path: Path) -> None:
    values = records(path)
    session = told(FORMAT, values)
    check(session)
    assert FORMAT.sniff(Head([value for _, value in values[:60]])) == 1.0
    assert not session.problems
    assert laid_out(told(FORMAT, respaced(values))) == laid_out(session)


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_the_count_of_a_real_buffer_follows_the_reported_prompt(path: Path) -> None:
    line = fit(told(FORMAT, records(path)).main, estimator("tiktoken")).line
    assert line is not None
    assert line.r2 is not None
    assert line.r2 > 0.998


def test_pi_text_is_json_proof() -> None:
    """A text that looks like markup or JSON stays the text it is."""
    text = json.dumps({"</summary>": "<summary>"})
    assert told(FORMAT, numbered([HEAD, said("a", None, "user", text)])).main.end.messages()[
        0
    ].parts == (Text(text),)


# --- calls that nobody answered


def calls(name: str, parent: str | None, *ids: str, **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": "I call."}] + [
        {"type": "toolCall", "id": call, "name": "bash", "arguments": {}} for call in ids
    ]
    return said(name, parent, "assistant", "", 10, content=content, **fields)


def answered(name: str, parent: str, call: str) -> dict[str, Any]:
    message = {
        "role": "toolResult",
        "toolCallId": call,
        "toolName": "bash",
        "content": [{"type": "text", "text": "ok"}],
    }
    return row("message", name, parent, message=message)


def test_unanswered_calls_get_an_answer_that_says_so() -> None:
    rows = [
        HEAD,
        said("u", None, "user", "go"),
        calls("a", "u", "one", "two"),
        answered("r", "a", "one"),
        said("v", "r", "user", "stop"),
        said("w", "r", "user", "another branch"),
        said("b", "w", "assistant", "yes", 20),
        row("compaction", "c", "b", summary="all", firstKeptEntryId="a"),
        said("x", "c", "user", "more"),
    ]
    session = told(FORMAT, numbered(rows))
    check(session)
    main = session.main
    assert ids(main.requests[-1]) == ["u", "a", "r", "a~0", "w"]
    made = main.requests[-1].view.messages()[3].result
    assert made
    assert (made.call_id, made.content, made.is_error) == ("two", "No result provided", True)
    assert [message.id for message in main.end] == ["c", "a", "r", "a~0", "w", "b", "x"]


def test_an_answer_may_still_come() -> None:
    main = told(
        FORMAT, numbered([HEAD, said("u", None, "user", "go"), calls("a", "u", "one", "two")])
    ).main
    assert [message.id for message in main.end] == ["u", "a"]
    assert len(main.end.messages()[-1].calls) == 2


def test_before_v3_the_words_of_a_failed_answer_are_sent_and_its_calls_are_not() -> None:
    head = {key: value for key, value in HEAD.items() if key != "version"}
    rows = [
        head,
        said("u", None, "user", "go"),
        calls("a", None, "one", "two", stopReason="aborted"),
        answered("r", "a", "one"),
        said("v", None, "user", "on"),
        said(
            "x",
            None,
            "assistant",
            "",
            20,
            content=[{"type": "toolCall", "id": "x", "name": "ls"}],
            stopReason="error",
        ),
        said("y", None, "assistant", "yes", 20),
    ]
    session = told(FORMAT, numbered(rows))
    check(session)
    main = session.main
    last = main.requests[-1].view.messages()
    assert [message.id for message in last] == ["L2", "L3", "L5"]
    assert (last[1].text, last[1].calls) == ("I call.", ())
    assert [len(message.calls) for message in main.messages if message.role == "assistant"] == [
        2,
        1,
        0,
    ], "all is told"
    # pi's own compaction reads its file
    (whole,) = main.records["L3"]
    assert whole.message is main.messages[1]
    assert [record.message and record.message.id for record in main.records["L5"][:-1]] == ["L4"]
    assert [record.message and record.message.id for record in main.records["L7"][:-1]] == ["L6"]
