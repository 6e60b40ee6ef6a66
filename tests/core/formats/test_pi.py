"""pi sessions: line and tree, compactions, edits, what is no call, and any values."""

from typing import Any

import pytest

from inspector.core.formats.format import Head
from inspector.core.formats.pi import FORMAT
from inspector.core.message import Image
from inspector.core.session import Session
from inspector.core.tokens.estimators import buffer_tokens, estimator
from inspector.core.usage import Usage
from tests.core.formats.feeding import (
    DATA,
    check,
    numbered,
    records,
    told,
)
from tests.core.formats.pi_sessions import HEAD, ids, row, said


def sample(name: str) -> Session:
    session = told(FORMAT, records(DATA / "pi" / name))
    check(session)
    assert not session.problems
    return session


# --- v1


def test_a_line_of_records_is_walked_in_order() -> None:
    requests = sample("v1.jsonl").main.requests
    assert [request.usage and request.usage.prompt for request in requests] == [903, 965, 324]
    assert [request.finish for request in requests] == ["toolUse", "stop", "aborted"]
    assert ids(requests[1]) == ["L2", "L4", "L5", "L6"]


def test_an_aborted_call_without_usage_is_no_call_and_stays_in_the_thread() -> None:
    main = sample("v1.jsonl").main
    assert "L3" in [message.id for message in main.messages]
    assert 3 not in [request.line for request in main.requests]


def test_the_output_of_a_call_that_broke_off_is_a_lower_bound() -> None:
    usage = sample("v1.jsonl").main.requests[2].usage
    assert usage is not None
    assert not usage.output_is_final


def test_an_index_of_the_first_kept_counts_lines_from_the_header() -> None:
    main = sample("v1.jsonl").main
    (compaction,) = main.compactions
    assert (compaction.before_request, compaction.kept, compaction.tokens_before) == (2, 3, 971)
    assert ids(main.requests[2]) == ["L9", "L5", "L6", "L8", "L10"]


def test_a_bad_line_does_not_shift_the_index() -> None:
    """Readers are not told of lines that are no JSON; the index still counts them."""
    values = records(DATA / "pi" / "v1.jsonl")
    holed = [(line, value) for line, value in values if line != 3]
    assert ids(told(FORMAT, holed).main.requests[2]) == ["L9", "L5", "L6", "L8", "L10"]


def test_a_summary_stands_in_the_words_of_pi() -> None:
    summary = sample("v1.jsonl").main.compactions[0].summary
    assert summary is not None
    assert summary.text == (
        "The conversation history before this point was compacted into the following summary:\n\n"
        "<summary>\nThe cart is a basket now.\n</summary>"
    )


# --- v3


def test_a_branch_goes_on_from_its_parent_and_the_calls_of_the_left_one_stay() -> None:
    session = sample("v3-tree.jsonl")
    requests = session.main.requests
    assert [request.line for request in requests] == [5, 7, 9, 15, 20]
    assert ids(requests[2]) == ["a2", "a3", "a4", "a5", "b1"]
    assert ids(requests[3]) == ["a2", "a3", "a4", "a5", "c1", "c2", "c3", "c5"]
    assert {"b1", "b2"} <= {message.id for message in session.main.messages}


def test_the_end_is_the_chain_of_the_last_record() -> None:
    assert [message.id for message in sample("v3-tree.jsonl").main.end] == [
        "d1",
        "c2",
        "c3",
        "c5",
        "c6",
        "d2",
        "d4",
    ]


def test_the_first_kept_is_named_by_its_id() -> None:
    main = sample("v3-tree.jsonl").main
    compaction = main.compactions[1]
    assert (
        compaction.kind,
        compaction.before_request,
        compaction.kept,
        compaction.tokens_before,
    ) == (
        "summary",
        4,
        4,
        812,
    )
    assert ids(main.requests[4]) == ["d1", "c2", "c3", "c5", "c6"]


def test_an_edit_replaces_or_removes_and_is_recorded() -> None:
    main = sample("v3-tree.jsonl").main
    edits = [(one.before_request, one.cleared) for one in main.compactions if one.kind == "edit"]
    assert edits == [(4, ("c8",)), (5, ("c3",))]
    texts = {message.id: message.text for message in main.end}
    assert texts["c3"] == "(output removed)"
    assert "2 passed" in {message.id: message.text for message in main.requests[4].view}["c3"]


def test_the_prompt_is_that_of_the_system_message() -> None:
    session = sample("v3-tree.jsonl")
    assert session.main.prompt.system == "You help with code.\n\n<cwd>/home/dev/shop</cwd>"
    assert [tool.name for tool in session.main.prompt.tools or ()] == ["read"]
    assert session.main.requests[0].prompt is session.main.prompt
    assert sample("v1.jsonl").main.prompt.system is None


def test_what_the_user_ran_is_told_as_text_and_what_is_excluded_is_not() -> None:
    main = sample("v3-tree.jsonl").main
    texts = {message.id: message.text for message in main.messages}
    assert texts["c3"] == "Ran `pytest -q`\n```\n2 passed\n```"
    assert "c4" in texts
    assert not any("c4" in ids(request) for request in main.requests)


def test_an_answers_image_stands_behind_its_text() -> None:
    answer = sample("v3-tree.jsonl").main.requests[1].view.messages()[2]
    assert answer.result is not None
    assert answer.result.content == "RATE = 0.19"
    assert answer.parts[1:] == (Image("image/png", "aGVsbG8="),)


# --- rules of the tree


def texts(values: list[Any]) -> list[str]:
    session = told(FORMAT, numbered([HEAD, *values]))
    check(session)
    return [message.text for message in session.main.end]


A, B, C = (
    said("a", None, "user", "A"),
    said("b", "a", "assistant", "B", 10),
    said("c", "b", "user", "C"),
)


@pytest.mark.parametrize(
    ("more", "end"),
    [
        ([said("d", "a", "user", "D")], ["A", "D"]),
        ([said("d", None, "user", "D")], ["D"]),
        ([said("d", "gone", "user", "D")], ["A", "B", "C", "D"]),
        ([row("label", "d", "a", targetId="a", label="x")], ["A"]),
        ([row("context_edit", "d", "c", targetId="a", replacement=None)], ["B", "C"]),
        (
            [
                row("context_edit", "d", "c", targetId="a", replacement=None),
                said("e", "c", "user", "E"),
            ],
            ["A", "B", "C", "E"],
        ),
        (
            [
                row("context_edit", "d", "c", targetId="a", replacement={"content": "x"}),
                row("context_edit", "e", "d", targetId="a", replacement={"content": "y"}),
            ],
            ["y", "B", "C"],
        ),
        (
            [
                row("context_edit", "d", "c", targetId="c", replacement=None),
                said("e", "d", "user", "E"),
            ],
            ["A", "B", "E"],
        ),
    ],
    ids=[
        "branch",
        "new root",
        "unknown parent",
        "metadata moves the leaf",
        "omitted",
        "edit on another branch",
        "last edit wins",
        "edit and on",
    ],
)
def test_the_buffer_follows_the_tree(more: list[Any], end: list[str]) -> None:
    assert texts([A, B, C, *more]) == end


def test_an_edit_holds_for_what_a_later_compaction_keeps() -> None:
    edit = row("context_edit", "d", "c", targetId="b", replacement={"content": "short"})
    compaction = row("compaction", "e", "d", summary="S", firstKeptEntryId="b", tokensBefore=5)
    assert texts([A, B, C, edit, compaction])[1:] == ["short", "C"]


@pytest.mark.parametrize("first", ["gone", "x", None, 7])
def test_a_compaction_whose_first_kept_is_not_on_the_branch_keeps_nothing(first: Any) -> None:
    other = said("x", "a", "user", "X")
    compaction = row("compaction", "e", "c", summary="S", firstKeptEntryId=first)
    assert len(texts([A, B, other, C, compaction])) == 1


def test_a_tail_that_the_compaction_holds_is_the_same_messages_where_they_are_known() -> None:
    tail = [{"role": "user", "content": "C"}, {"role": "user", "content": "new"}]
    compaction = row("compaction", "e", "c", summary="S", retainedTail=tail, tokensBefore=5)
    session = told(FORMAT, numbered([HEAD, A, B, C, compaction]))
    check(session)
    assert [message.id for message in session.main.end] == ["e", "c", "e.1"]


def test_the_call_for_a_summary_costs_what_its_record_says() -> None:
    told_usage = {
        "input": 839,
        "output": 76,
        "cacheRead": 0,
        "cacheWrite": 147,
        "totalTokens": 1062,
    }
    compaction = row("compaction", "e", "c", summary="S", firstKeptEntryId="c", usage=told_usage)
    session = told(
        FORMAT, numbered([HEAD, A, B, C, compaction, said("f", "e", "assistant", "F", 20)])
    )
    (call,) = session.side_calls
    assert (call.kind, call.before_request, call.made) == ("compaction", 1, 0)
    assert call.usage == Usage(839, 0, 147, 76)


def test_a_recorded_overflow_is_no_call_and_no_part_of_the_buffer() -> None:
    overflow = said("d", "c", "assistant", "", 0, errorMessage="prompt is too long")
    overflow["message"] |= {"stopReason": "error", "usage": {"input": 0, "output": 0}}
    session = told(
        FORMAT, numbered([HEAD, A, B, C, overflow, said("e", "d", "assistant", "E", 20)])
    )
    assert [ids(request) for request in session.main.requests] == [["a"], ["a", "b", "c"]]


def test_a_header_alone_opens_with_no_requests() -> None:
    session = told(FORMAT, numbered([HEAD]))
    check(session)
    assert (session.id, len(session.main.requests), len(session.main.messages)) == ("s", 0, 0)


def test_records_without_a_header_open_and_say_so() -> None:
    session = told(FORMAT, numbered([A, B, C]))
    check(session)
    assert len(session.main.requests) == 1
    assert "no session header" in session.notes[0]


@pytest.mark.parametrize("build", ["chain", "branches", "edits"])
def test_long_chains_are_read_without_recursion(build: str) -> None:
    count = 5_000
    if build == "chain":
        values = [said(f"n{n}", f"n{n - 1}" if n else None, "user", "x") for n in range(count)]
    elif build == "branches":
        values = [
            said(f"n{n}", f"n{max(0, n - 2)}" if n else None, "user", "x") for n in range(count)
        ]
    else:
        values = [
            A,
            *(
                row(
                    "context_edit",
                    f"n{n}",
                    f"n{n - 1}" if n else "a",
                    targetId="a",
                    replacement=None,
                )
                for n in range(count)
            ),
        ]
    session = told(FORMAT, numbered([HEAD, *values]))
    assert (
        len(session.main.end.messages())
        == {"chain": count, "branches": count // 2 + 1, "edits": 0}[build]
    )
    assert buffer_tokens(estimator("pi"), session.main.end) >= 0


# --- detection


@pytest.mark.parametrize(
    ("values", "least", "most"),
    [
        ([HEAD], 1.0, 1.0),
        ([{"type": "session", "id": "x", "cwd": "/"}], 1.0, 1.0),
        ([{"type": "session", "id": "x", "trace_id": "y", "version": 1}], 0.0, 0.0),
        ([A, B], 0.5, 0.7),
        ([{"type": "user", "parentUuid": None, "message": {"role": "user"}}], 0.0, 0.0),
        ([], 0.0, 0.0),
    ],
)
def test_a_session_is_known_by_its_header(values: list[Any], least: float, most: float) -> None:
    assert least <= FORMAT.sniff(Head(values)) <= most
