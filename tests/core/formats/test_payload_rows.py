"""Bodies in a row: which messages they share, what is no step, what any values do."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.dialects.openai_chat import CHAT
from inspector.core.formats.payload.reader import FORMATS
from inspector.core.formats.payload.signs import sniff_payload
from inspector.core.message import Text, ToolCall, ToolResult
from tests.core.formats.heads import head_of, read
from tests.core.formats.payload_bodies import TURNS, body, item, said, texts
from tests.shared import ARE_REAL


def test_ids_tell_the_content_and_count_repeats() -> None:
    again = [said("user", "go on"), said("assistant", "ok"), said("user", "go on")]
    first, second = (
        read(again).main.end.messages(),
        read(body([*again, said("assistant", "done")])).main.end.messages(),
    )
    assert [message.id for message in first] == [message.id for message in second[:3]]
    assert len({message.id for message in second}) == 4


def test_cache_marks_do_not_make_another_message() -> None:
    marked = {
        "role": "user",
        "content": [{"type": "text", "text": "one", "cache_control": {"type": "ephemeral"}}],
    }
    session = read(body([marked]), body(TURNS[:3]))
    assert len(session.threads) == 1
    assert len(session.main.messages) == 3


def test_bodies_in_a_row_share_their_messages() -> None:
    session = read(*(body(TURNS[:n]) for n in (1, 3)))
    first, second = session.main.requests
    assert first.view.stretch is second.view.stretch
    assert [
        a is b for a, b in zip(first.view.messages(), second.view.messages(), strict=False)
    ] == [True]
    assert len(session.main.messages) == 3


def test_a_changed_tail_stands_on_what_stayed() -> None:
    session = read(body(TURNS[:3]), body([*TURNS[:2], said("user", "other")]))
    assert texts(session, 0) == ["one", "two", "three"]
    assert texts(session, 1) == ["one", "two", "other"]
    assert (
        session.main.requests[1].view.messages()[1] is session.main.requests[0].view.messages()[1]
    )


def test_results_of_one_wire_message_travel_together() -> None:
    calls = [{"type": "tool_use", "id": f"t{n}", "name": "read", "input": {}} for n in (1, 2)]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"r{n}"} for n in (1, 2)]
    session = read(
        body(
            [
                TURNS[0],
                {"role": "assistant", "content": calls},
                {"role": "user", "content": results},
            ]
        )
    )
    *_, one, two = session.main.end.messages()
    assert (one.role, two.role) == ("tool", "tool")
    assert one.together == two.together == one.id
    assert one.id != two.id


def test_threads_are_told_by_what_they_share() -> None:
    other = [said("user", "sub task"), said("assistant", "sub answer"), said("user", "more")]
    session = read(
        body(TURNS[:1]), body(other[:1], system="sub"), body(other, system="sub"), body(TURNS[:3])
    )
    assert [(thread.id, len(thread.requests), thread.title) for thread in session.threads] == [
        ("main", 2, ""),
        ("thread-2", 2, "sub task"),
    ]


def test_side_calls_are_no_steps() -> None:
    title = body(
        [said("user", "<session>x</session>")],
        tools=[],
        output_config={"format": {"type": "json_schema"}},
    )
    status = {"model": "m", "max_tokens": 50, "messages": [said("user", "Current state: working")]}
    probe = body([said("user", "quota")], max_tokens=1)
    count = {"request": body(TURNS[:1]), "response": {"input_tokens": 12}}
    summary = body(
        [
            *TURNS[:2],
            said("user", "CRITICAL: Respond with TEXT ONLY ... summary of the conversation so far"),
        ]
    )
    search = body(
        [said("user", "Perform a web search for the query: goats")],
        tools=[{"type": "web_search_20250305"}],
    )
    session = read(title, status, probe, body(TURNS[:1]), count, search, summary, body(TURNS[:3]))
    assert [len(thread.requests) for thread in session.threads] == [2]
    (note,) = session.notes
    assert all(
        word in note
        for word in ("title", "call without tools", "quota", "token count", "web search", "summary")
    )


def test_a_side_call_alone_is_what_the_file_holds() -> None:
    session = read(
        body([said("user", "x")], tools=[], output_config={"format": {"type": "json_schema"}})
    )
    assert len(session.main.requests) == 1
    assert "title" in session.notes[0]


def test_a_compaction_between_bodies_is_seen() -> None:
    lead = "This session is being continued from a previous conversation that ran out of context."
    session = read(
        body(TURNS[:3]),
        body([said("user", lead), TURNS[2]]),
        body([said("user", lead), *TURNS[2:]]),
    )
    assert [len(thread.requests) for thread in session.threads] == [3]
    (compaction,) = session.main.compactions
    assert (compaction.before_request, compaction.kept) == (1, 1)
    assert compaction.summary
    assert compaction.summary.summary


def test_a_message_a_line() -> None:
    session = read(*TURNS)
    assert len(session.main.requests) == 1
    assert [(message.text, message.line) for message in session.main.end] == [
        ("one", 1),
        ("two", 2),
        ("three", 3),
        ("four", 4),
    ]


def test_a_list_of_bodies_is_a_row() -> None:
    assert len(read([body(TURNS[:1]), body(TURNS[:3])]).main.requests) == 2


def test_what_is_no_body_is_a_problem() -> None:
    session = read(body(TURNS[:1]), "hello", body(TURNS[:3]), body(TURNS))
    assert [(problem.line, problem.excerpt) for problem in session.problems] == [(2, '"hello"')]
    assert len(session.main.requests) == 3


def test_legacy_function_calls_are_paired() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    answer = {"role": "function", "name": "f", "content": "r"}
    parts = [
        m.parts[0]
        for m in read({"model": "m", "messages": [TURNS[0], call, answer, call, answer]}).main.end
    ][1:]
    ids = [
        part.id if isinstance(part, ToolCall) else part.call_id
        for part in parts
        if isinstance(part, ToolCall | ToolResult)
    ]
    assert ids[0] == ids[1] != ids[2] == ids[3]


CALLED = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "id": "fc_1"}
RESULT = {"type": "function_call_output", "call_id": "c", "output": "r"}


def exchange(
    name: str, items: list[Any], output: list[Any], before: str | None = None, **more: Any
) -> dict[str, Any]:
    request = {
        "model": "m",
        "instructions": "sys",
        "tools": [{"type": "function", "name": "f"}],
        "input": items,
        **more,
    }
    if before:
        request["previous_response_id"] = before
    return {
        "request": request,
        "response": {"id": name, "object": "response", "status": "completed", "output": output},
    }


def test_previous_response_ids_are_followed() -> None:
    session = read(
        exchange("r0", [], [], generate=False),
        exchange("r1", [item("user", "one")], [CALLED], "r0"),
        exchange("r2", [RESULT], [item("assistant", "done")], "r1"),
        exchange("r3", [item("user", "two")], [item("assistant", "bye")], "r2"),
        exchange("r4", [item("user", "other")], [], "r2"),
    )
    views = [[message.role for message in request.view] for request in session.main.requests]
    assert views == [
        ["user"],
        ["user", "assistant", "tool"],
        ["user", "assistant", "tool", "assistant", "user"],
        ["user", "assistant", "tool", "assistant", "user"],
    ]
    assert texts(session, 3)[-1] == "other"
    assert "prewarm" in session.notes[0]


def test_a_complete_body_goes_on_from_a_chain() -> None:
    """After a reconnect the whole list is sent: it is the same thread, and the same messages."""
    session = read(
        exchange("r1", [item("user", "one")], [CALLED]),
        exchange("r2", [RESULT], [], "r1"),
        exchange(
            "r3", [item("user", "one"), {**CALLED, "id": None}, RESULT, item("user", "two")], []
        ),
    )
    assert [len(thread.requests) for thread in session.threads] == [1 + 2]
    assert len(session.main.messages) == 4
    assert session.main.requests[2].view.stretch is session.main.requests[0].view.stretch


def test_a_delta_alone_says_that_the_rest_is_elsewhere() -> None:
    session = read(exchange("r2", [item("user", "two")], [], "r1")["request"])
    assert texts(session, 0) == ["two"]
    assert "not in this file" in session.notes[0]


def test_a_row_of_deltas_is_linear() -> None:
    """A chain costs what it holds: the last buffer is the stretch itself."""
    rows = [
        exchange(f"r{n}", [item("user", str(n))], [item("assistant", f"a{n}")], f"r{n - 1}")
        for n in range(1, 400)
    ]
    session = read(exchange("r0", [], [], generate=False), *rows)
    assert len({id(request.view.stretch) for request in session.main.requests}) == 1
    assert len(session.main.end) == 2 * 399


# Real ones


def expected_tokens(folder: Path) -> dict[str, int]:
    """Tokens of the prompt by name of a request's file: from the list beside the real ones, else from the answers."""
    if ARE_REAL:
        rows = json.loads((folder / "expected_tokens.json").read_bytes())
        return {row["file"]: row["input_tokens_total"] for row in rows}
    tokens = dict[str, int]()
    for path in folder.glob("*/*.response.json"):
        usage = json.loads(path.read_bytes())["usage"]
        name = path.name.replace("response", "request")
        tokens[f"{path.parent.name}/{name}"] = usage["input_tokens"] + usage.get(
            "cache_read_input_tokens", 0
        )
    return tokens


@pytest.mark.parametrize(
    ("folder", "start"), [("anthropic", "claude_0"), ("openai-responses", "codex_")]
)
def test_real_bodies_in_a_row(shared: Path, folder: str, start: str) -> None:
    requests = sorted((shared / "derived-payloads" / folder).glob(f"{start}*.request.json"))
    rows = [
        {
            "request": json.loads(path.read_bytes()),
            "response": json.loads(
                path.with_name(path.name.replace("request", "response")).read_bytes()
            ),
        }
        for path in requests
    ]
    expected = expected_tokens(shared / "derived-payloads")
    session = read(*rows)
    assert len(session.threads) == 1
    reported = [request.usage.prompt for request in session.main.requests if request.usage]
    named = [expected[f"{folder}/{path.name}"] for path in requests]
    assert reported == [tokens for tokens in named if tokens in reported]
    assert len(reported) == len(rows) - (
        {"anthropic": 2, "openai-responses": 1}[folder] if ARE_REAL else 0
    )
    for request, row in zip(session.main.requests, rows[1:] if ARE_REAL else rows, strict=False):
        alone = read(row["request"]).main.end.messages()
        assert [message.id for message in alone] == [message.id for message in request.view][
            -len(alone) :
        ]


def test_a_dialect_that_is_not_listed_is_sniffed_by_its_habits() -> None:
    """One that a how-to has just added: nothing of it is known, and the others are still told from it."""
    chats = head_of({"model": "m", "n": 1, "messages": [said("user", "hello")]})
    assert 0 < sniff_payload(replace(CHAT, name="another"), chats) < sniff_payload(CHAT, chats)


TEXTS = st.text(max_size=10)
NAMES = """model messages input request response role content type output choices tools id previous_response_id
    system usage instructions metadata output_config text message"""
KEYS = st.sampled_from(NAMES.split())
WORDS = st.sampled_from(
    ("user", "assistant", "message", "tool_result", "function_call", "reasoning", "text")
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=15,
)


@given(st.lists(JSON, max_size=5))
def test_nothing_breaks_a_reader(values: list[Any]) -> None:
    for one in FORMATS:
        reader = one.start()
        for line, value in enumerate(values, 1):
            reader.feed(line, value)
            session = reader.session()
        for thread in session.threads if values else ():
            assert [request.index for request in thread.requests] == list(
                range(len(thread.requests))
            )
            assert all(
                len(request.view.messages()) == len(request.view) for request in thread.requests
            )


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=8), st.integers(1, 8))
def test_an_id_is_unique_in_its_buffer(words: list[str], cut: int) -> None:
    messages = [said("user" if n % 2 == 0 else "assistant", word) for n, word in enumerate(words)]
    session = read(body(messages[:cut]), body(messages))
    for request in session.main.requests:
        ids = [message.id for message in request.view]
        assert len(set(ids)) == len(ids)
    assert texts(session, -1) == words
    assert {type(part) for message in session.main.end for part in message.parts} <= {
        Text,
        ToolResult,
    }


def test_many_bodies_without_messages_are_each_their_own() -> None:
    bodies = [
        {"model": "m", "max_tokens": 5, "system": f"Clerk {n}", "messages": []} for n in range(90)
    ]
    session = read(
        *bodies, {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    )
    assert [len(thread.requests) for thread in session.threads] == [1] * 91
