"""Validity: each rule by a buffer that breaks it and one that does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer
from inspector.core.message import Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from inspector.core.validity import find_refusals

U = Message("u", "user", (Text("hi"),))
A = Message("a", "assistant", (Text("hello"),))
S = Message("s", "system", (Text("be kind"),))


def call(*ids: str, name: str = "c") -> Message:
    return Message(name, "assistant", (Text("I look"), *(ToolCall(one, "bash", {}) for one in ids)))


def answer(call_id: str, name: str = "") -> Message:
    return Message(name or f"t{call_id}", "tool", (ToolResult(call_id, "ok"),))


def message(role: Role, *parts: Part) -> Message:
    return Message("m", role, parts)


GOOD = {
    "nothing": [],
    "talk": [U, A, U],
    "system first": [S, U, A],
    "two users": [U, U, A],
    "call and result": [U, call("1"), answer("1"), A],
    "parallel calls": [U, call("1", "2"), answer("2"), answer("1"), A],
    "calls in neighbouring messages": [
        U,
        call("1"),
        call("2", name="d"),
        answer("1"),
        answer("2"),
        U,
    ],
    "result with user text behind": [U, call("1"), answer("1"), U],
    "an empty result": [U, call("1"), Message("t", "tool", (ToolResult("1", ""),)), U],
    "white space before thinking": [
        U,
        message("assistant", Text("\n\n"), Thinking("hm"), Text("so")),
        U,
    ],
    "thinking beside its answer": [U, message("assistant", Thinking("hm")), A, U],
    "an answer that was interrupted while it thought": [U, message("assistant", Thinking("hm")), U],
    "thinking of which only the signature is known": [
        U,
        message("assistant", Thinking("", "c2ln")),
        U,
    ],
    "an empty last answer": [U, message("assistant", Text(""))],
}


@pytest.mark.parametrize("messages", GOOD.values(), ids=GOOD.keys())
def test_good(messages: list[Message]) -> None:
    assert find_refusals(Buffer(tuple(messages))) == ()


BAD = {
    "result-without-call": ([U, answer("1"), A], ["result-without-call t1"]),
    "result before its call": (
        [U, answer("1"), call("1"), U],
        ["result-without-call t1", "call-without-result c"],
    ),
    "call-without-result": ([U, call("1", "2"), answer("1"), U], ["call-without-result c"]),
    "call at the end": ([U, call("1")], ["call-without-result c"]),
    "duplicate-answer": (
        [U, call("1"), answer("1"), answer("1", "again"), U],
        ["duplicate-answer again"],
    ),
    "duplicate-call": (
        [U, call("1"), answer("1"), call("1", name="d"), answer("1", "again"), U],
        ["duplicate-call d"],
    ),
    "order": (
        [U, call("1"), Message("between", "user", (Text("wait"),)), answer("1"), A],
        ["order t1"],
    ),
    "order of two": ([U, call("1", "2"), answer("1"), U, answer("2"), A], ["order t2"]),
    "an assistant's text between": (
        [U, call("1", "2"), answer("1"), A, answer("2"), A],
        ["order t2"],
    ),
    "first-role": ([S, A, U], ["first-role a"]),
    "empty-message": ([message("user"), A], ["empty-message m"]),
    "white space": ([message("user", Text(" \n")), A], ["empty-message m"]),
    "thinking of nothing": ([U, message("assistant", Thinking("")), U], ["empty-message m"]),
    "empty text of a user": ([message("user", Text(" "), Text("hi")), A], ["empty-text m"]),
    "empty-text": (
        [U, Message("m", "assistant", (Text(""), ToolCall("1", "x", {}))), answer("1"), U],
        ["empty-text m"],
    ),
}


@pytest.mark.parametrize(("messages", "found"), BAD.values(), ids=BAD.keys())
def test_bad(messages: list[Message], found: list[str]) -> None:
    invalid = find_refusals(Buffer(tuple(messages)))
    assert [f"{one.rule} {one.message}" for one in invalid] == found
    assert all(one.why.endswith(".") and one.providers for one in invalid)


STEPS = st.lists(st.sampled_from(["user", "call", "answer", "talk"]), max_size=12)


@given(STEPS)
def test_a_well_behaved_agent_is_never_refused(steps: list[str]) -> None:
    messages: list[Message] = [U]
    for n, step in enumerate(steps):
        match step:
            case "call":
                messages += [call(f"{n}a", f"{n}b", name=f"c{n}"), answer(f"{n}b"), answer(f"{n}a")]
            case "talk":
                messages.append(Message(f"a{n}", "assistant", (Text("so"),)))
            case _:
                messages.append(Message(f"u{n}", "user", (Text("go on"),)))
    assert find_refusals(Buffer(tuple(messages))) == ()


@given(
    st.lists(
        st.sampled_from([U, A, call("1"), call("2", name="d"), answer("1"), answer("2")]),
        max_size=10,
    )
)
def test_any_list_of_messages_can_be_checked(messages: list[Message]) -> None:
    find_refusals(Buffer(tuple(messages)))
