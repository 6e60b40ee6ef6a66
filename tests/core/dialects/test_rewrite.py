"""A body with another buffer in it: what stayed is the very object that came; what was changed is read as meant."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer
from inspector.core.dialects.rewrite import CannotRewrite, items_of, with_whole
from inspector.core.message import Message, ToolCall, ToolResult
from inspector.core.validity import find_refusals
from tests.core.dialects.bodies import (
    DIALECTS,
    TURNS,
    Turn,
    body_of,
    buffer_of,
    marked,
    rewrite,
    said,
    wire_items,
)
from tests.core.dialects.edits import SUMMARY, buffer_ends_open, changed, edited, in_call_order

DIALECT = st.sampled_from(DIALECTS)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, dict[str, Any], Buffer]:
    """A body that waits for the model: it ends with results or with what the user said."""
    dialect = draw(DIALECT)
    turns = draw(TURNS)
    items = wire_items(dialect, turns)
    open_ends = [n + 1 for n, item in enumerate(items) if buffer_ends_open(dialect, items, n)]
    body = body_of(dialect, items[: draw(st.sampled_from(open_ends))])
    if dialect == "anthropic" and draw(st.booleans()):
        body = marked(body, -1)
    return dialect, body, buffer_of(dialect, body)


@given(requests())
def test_unchanged_is_the_same_body(request: tuple[str, dict[str, Any], Buffer]) -> None:
    dialect, body, buffer = request
    assert rewrite(dialect, body, buffer, buffer) == body


@given(st.data(), requests())
def test_what_is_sent_is_what_was_meant(
    data: st.DataObject, request: tuple[str, dict[str, Any], Buffer]
) -> None:
    """Read again it says the same; nothing but the items differs; it is as valid as the buffer that was put in."""
    dialect, body, buffer = request
    new = data.draw(edited(buffer))
    sent = rewrite(dialect, body, buffer, new)
    key = {"openai-responses": "input", "gemini": "contents"}.get(dialect, "messages")
    assert {k: v for k, v in sent.items() if k != key} == {
        k: v for k, v in body.items() if k != key
    }
    assert list(sent) == list(body)
    again = buffer_of(dialect, sent)
    if dialect == "gemini":
        again, new = in_call_order(again), in_call_order(new)
    assert said(again.messages) == said(new.messages)
    assert {bad.rule for bad in find_refusals(again)} <= {bad.rule for bad in find_refusals(new)}


@given(st.data(), requests())
def test_what_was_not_changed_is_the_very_object(
    data: st.DataObject, request: tuple[str, dict[str, Any], Buffer]
) -> None:
    """Every item all of whose messages stayed is the object of the body that came, and in its order."""
    dialect, body, buffer = request
    gone = data.draw(st.integers(0, len(buffer.messages) - 1))
    new = buffer.with_messages([SUMMARY, *buffer.messages[gone:]])
    sent = items_of(dialect, rewrite(dialect, body, buffer, new))
    came = items_of(dialect, body)
    whole = [item for item in sent if any(item is one for one in came)]
    where = [next(n for n, one in enumerate(came) if one is item) for item in whole]
    assert where == sorted(where)
    assert len(sent) - len(whole) <= 2  # the summary, and at most one message that lost a beginning


LONG = [
    Turn("one", (("hm", "I look", ("r1", "r2")), ("", "", ("r3",))), "done"),
    Turn("two", (("", "I look", ("r4",)),), "ok"),
]


def test_a_cleared_result_keeps_what_else_its_block_holds() -> None:
    body = body_of("anthropic", wire_items("anthropic", LONG)[:3])
    buffer = buffer_of("anthropic", marked(body, -1))
    messages = [changed(m) if m.result and m.result.content == "r1" else m for m in buffer.messages]
    sent = rewrite("anthropic", marked(body, -1), buffer, buffer.with_messages(messages))[
        "messages"
    ]
    first, second = sent[2]["content"]
    assert first == {
        "tool_use_id": "toolu_0_0_0",
        "type": "tool_result",
        "content": "[cleared]",
        "extra": 0,
    }
    assert second["cache_control"] == {"type": "ephemeral"}
    assert sent[1] is not None
    assert len(sent) == 3, "results that travelled together go back together"


def test_a_response_that_lost_a_call_keeps_its_other_items() -> None:
    items = wire_items("openai-responses", LONG)[:7]
    body = body_of("openai-responses", items)
    buffer = buffer_of("openai-responses", body)
    gone = "call_0_0_1"
    messages = [
        replace(
            m, parts=tuple(p for p in m.parts if not (isinstance(p, ToolCall) and p.id == gone))
        )
        for m in buffer.messages
        if m.result is None or m.result.call_id != gone
    ]
    sent = rewrite("openai-responses", body, buffer, buffer.with_messages(messages))["input"]
    assert [id(item) for item in sent] == [id(items[n]) for n in (0, 1, 2, 3, 5)]


def test_arguments_cut_short_keep_the_calls_own_fields() -> None:
    items = wire_items("openai-responses", LONG)[:7]
    body = body_of("openai-responses", items)
    buffer = buffer_of("openai-responses", body)
    call = buffer.messages[1].calls[0]
    parts = tuple(
        replace(p, arguments={"c": "…"}) if p is call else p for p in buffer.messages[1].parts
    )
    messages = [buffer.messages[0], replace(buffer.messages[1], parts=parts), *buffer.messages[2:]]
    sent = rewrite("openai-responses", body, buffer, buffer.with_messages(messages))["input"]
    assert sent[3] == {**items[3], "arguments": '{"c":"…"}'}


def test_an_inserted_result_goes_where_the_others_are() -> None:
    body = body_of("anthropic", wire_items("anthropic", LONG)[:3])
    buffer = buffer_of("anthropic", body)
    extra = Message("more", "tool", (ToolResult("toolu_0_0_9", "x"),))
    sent = rewrite(
        "anthropic",
        body,
        buffer,
        buffer.with_messages([*buffer.messages[:3], extra, buffer.messages[3]]),
    )
    assert [block["tool_use_id"][-1] for block in sent["messages"][2]["content"]] == [
        "0",
        "9",
        "1",
    ] or len(sent["messages"]) > 3


def test_a_string_is_one_user_message() -> None:
    body = {"model": "m", "input": "hello"}
    buffer = buffer_of("openai-responses", body)
    assert rewrite("openai-responses", body, buffer, buffer) == body
    sent = rewrite(
        "openai-responses", body, buffer, buffer.with_messages([SUMMARY, *buffer.messages])
    )
    assert [item["role"] for item in sent["input"]] == ["user", "user"]


def test_the_buffer_of_another_request_is_refused() -> None:
    body = body_of("openai-chat", wire_items("openai-chat", LONG))
    other = buffer_of("openai-chat", body_of("openai-chat", wire_items("openai-chat", LONG[:1])))
    with pytest.raises(CannotRewrite, match="another"):
        rewrite("openai-chat", body, other, other)


@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_system_message_stays(role: str) -> None:
    head = [{"role": role, "content": [{"type": "text", "text": "s", "cache_control": {}}]}]
    body = {"messages": [*head, {"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}
    buffer = buffer_of("openai-chat", {**body, "model": "m"})
    sent = rewrite("openai-chat", body, buffer, buffer.with_messages(buffer.messages[1:]))
    assert sent["messages"][0] is head[0]
    assert len(sent["messages"]) == 2


# -- what goes on from what the provider holds ------------------------------------------------------------------------

HELD = [
    {"role": "user", "content": "a"},
    {"type": "reasoning", "id": "rs", "summary": []},
    {"role": "assistant", "content": "b"},
]
MORE = [{"role": "user", "content": "c"}]
DELTA = {"model": "m", "previous_response_id": "resp_1", "input": MORE, "store": False}


def test_a_cut_in_what_came_stays_a_delta() -> None:
    other = [{"role": "user", "content": "C"}]
    assert with_whole(DELTA, HELD, [*HELD, *other]) == {**DELTA, "input": other}


def test_a_cut_in_what_the_provider_holds_needs_all_of_it() -> None:
    """Without the reasoning that only the provider has."""
    wanted = [{"role": "user", "content": "summary"}, *HELD[1:], *MORE]
    sent = with_whole(DELTA, HELD, wanted)
    assert "previous_response_id" not in sent
    assert sent["input"] == [wanted[0], HELD[2], *MORE]


def test_what_nobody_saw_cannot_be_cut() -> None:
    with pytest.raises(CannotRewrite, match="did not pass through"):
        with_whole(DELTA, None, MORE)
