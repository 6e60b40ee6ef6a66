"""The ways to write a conversation, by name: which key holds it, how one item is read, how messages are written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.core.wire import anthropic, openai_chat, openai_responses


@dataclass(frozen=True, slots=True)
class Wire:
    """One dialect, as far as single items go."""

    name: str
    key: str
    """Under which a body holds its items."""
    read: Callable[[Any, str], Sequence[Message]]
    """(item, id) -> the messages it holds."""
    write: Callable[[Sequence[Message]], Sequence[Any]]
    head: Callable[[Sequence[Any]], int] = lambda items: 0
    """How many items at the beginning are the system prompt."""
    shares: Callable[[Message, Message], bool] = lambda before, message: False
    """Do these neighbours share a wire message?"""


def _read_anthropic(item: Any, name: str) -> Sequence[Message]:
    if not isinstance(item, Mapping):
        return ()
    role = item.get("role")
    return anthropic.read_messages(role if isinstance(role, str) else "", item.get("content"), id=name)


def _read_chat(item: Any, name: str) -> Sequence[Message]:
    return openai_chat.read_message(item, id=name)


def _write_chat(messages: Sequence[Message]) -> Sequence[Any]:
    written: Sequence[Any] = openai_chat.write_body(Buffer(tuple(messages)), "", 1)["messages"]
    return written


def _head_chat(items: Sequence[Any]) -> int:
    return len(openai_chat.leading(list(items)))


def _write_responses(messages: Sequence[Message]) -> Sequence[Any]:
    written: Sequence[Any] = openai_responses.write_body(Buffer(tuple(messages)), "", 1)["input"]
    return written


WIRES: Mapping[str, Wire] = MappingProxyType(
    {
        wire.name: wire
        for wire in (
            Wire(
                "anthropic",
                "messages",
                _read_anthropic,
                anthropic.write_messages,
                shares=anthropic.same_wire_message,
            ),
            Wire("openai-chat", "messages", _read_chat, _write_chat, head=_head_chat),
            Wire(
                "openai-responses",
                "input",
                lambda item, name: (openai_responses.read_item(item, id=name),),
                _write_responses,
            ),
        )
    }
)
"""By name, as the payload formats have it."""
