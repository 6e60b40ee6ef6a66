"""The ways to write a conversation, by name: which key holds it, how one item is read, how messages are written."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.dialects import anthropic, gemini, openai_chat, openai_responses
from inspector.core.message import Message, ToolCall


@dataclass(frozen=True, slots=True)
class Wire:
    """One dialect, as far as single items go."""

    name: str
    key: str
    """Under which a body holds its items."""
    read: Callable[[Any, str], Sequence[Message]]
    """(item, id) -> the messages it holds."""
    write: Callable[[Sequence[Message], Mapping[str, ToolCall]], Sequence[Any]]
    """(messages, the calls of the whole buffer by id) -> wire items. A call without an id of its own got one of us."""
    head: Callable[[Sequence[Any]], int] = lambda items: 0
    """How many items at the beginning are the system prompt."""
    shares: Callable[[Message, Message], bool] = lambda before, message: False
    """Do these neighbours share a wire message?"""
    content: str = "content"
    """Under which an item holds its blocks."""
    pair: Callable[[Iterable[Sequence[Message]]], Iterable[Sequence[Message]]] = lambda units: units
    """The same messages, with names for calls and results that have none."""


def _read_anthropic(item: Any, name: str) -> Sequence[Message]:
    if not isinstance(item, Mapping):
        return ()
    role = item.get("role")
    return anthropic.read_messages(role if isinstance(role, str) else "", item.get("content"), id=name)


def _read_chat(item: Any, name: str) -> Sequence[Message]:
    return openai_chat.read_message(item, id=name)


def _write_anthropic(messages: Sequence[Message], calls: Mapping[str, ToolCall]) -> Sequence[Any]:
    del calls
    return anthropic.write_messages(messages)


def _write_chat(messages: Sequence[Message], calls: Mapping[str, ToolCall]) -> Sequence[Any]:
    del calls
    written: Sequence[Any] = openai_chat.write_body(Buffer(tuple(messages)), "", 1)["messages"]
    return written


def _head_chat(items: Sequence[Any]) -> int:
    return len(openai_chat.leading(list(items)))


def _write_responses(messages: Sequence[Message], calls: Mapping[str, ToolCall]) -> Sequence[Any]:
    """Which kind of item a result is depends on its call: that is written in front, and taken away again."""
    known = _calls_of(messages, calls)
    written: Sequence[Any] = openai_responses.write_body(Buffer((*known, *messages)), "", 1)["input"]
    return written[len(known) :]


def _write_gemini(messages: Sequence[Message], calls: Mapping[str, ToolCall]) -> Sequence[Any]:
    """A result bears its function's name: the call is written in front, and taken away again.

    Most calls have no id on the wire; the one that was made up for them stays with us.
    """
    known = _calls_of(messages, calls)
    written = gemini.write_contents((*known, *messages))[len(known) :]
    for part in (part for one in written for part in one["parts"]):
        for kind in ("functionCall", "functionResponse"):
            inner = part.get(kind, {})
            if (call := calls.get(inner.get("id"))) is not None and not call.id:
                part[kind] = {name: value for name, value in inner.items() if name != "id"}
    return written


def _calls_of(messages: Sequence[Message], calls: Mapping[str, ToolCall]) -> Sequence[Message]:
    """A message for each call, made elsewhere, that these answer."""
    answered = (message.result.call_id for message in messages if message.result is not None)
    made = {call.id for message in messages for call in message.calls}
    wanted = [one for one in answered if one in calls and one not in made]
    return [Message("", "assistant", (replace(calls[one], id=one),)) for one in wanted]


def calls_of(messages: Iterable[Message]) -> Mapping[str, ToolCall]:
    """All calls of a buffer by id."""
    return {call.id: call for message in messages for call in message.calls}


WIRES: Mapping[str, Wire] = MappingProxyType(
    {
        wire.name: wire
        for wire in (
            Wire(
                "anthropic",
                "messages",
                _read_anthropic,
                _write_anthropic,
                shares=anthropic.same_wire_message,
            ),
            Wire("openai-chat", "messages", _read_chat, _write_chat, head=_head_chat),
            Wire(
                "openai-responses",
                "input",
                lambda item, name: (openai_responses.read_item(item, id=name),),
                _write_responses,
            ),
            Wire(
                "gemini",
                "contents",
                lambda item, name: gemini.read_content(item, id=name),
                _write_gemini,
                shares=anthropic.same_wire_message,
                content="parts",
                pair=gemini.paired,
            ),
        )
    }
)
"""By name, as the payload formats have it."""
