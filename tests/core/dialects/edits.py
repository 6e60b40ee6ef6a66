"""What tiers and people make of a buffer, drawn; and where in a conversation a request can end."""

from dataclasses import replace
from itertools import groupby
from typing import Any

from hypothesis import strategies as st

from inspector.core.buffer import Buffer
from inspector.core.message import Message, Text, Thinking
from inspector.core.validity import repair

SUMMARY = Message("summary-1", "user", (Text("what was before, in short"),), summary=True)


def buffer_ends_open(dialect: str, items: list[Any], n: int) -> bool:
    """Can a request end after item `n`? After the user's words, or after all results."""
    if dialect in ("anthropic", "gemini"):
        return bool(items[n]["role"] == "user")
    result = items[n].get("role") == "tool" or str(items[n].get("type")).endswith("_output")
    after = items[n + 1] if n + 1 < len(items) else {}
    more = after.get("role") == "tool" or str(after.get("type")).endswith("_output")
    return (result and not more) or items[n].get("role") == "user"


@st.composite
def edited(draw: st.DrawFn, buffer: Buffer) -> Buffer:
    """What tiers and people do: summarise a beginning, clear results, drop, edit; then paired up."""
    messages = list(buffer.messages)
    if draw(st.booleans()):
        cut = draw(st.integers(0, len(messages) - 1))
        messages = [SUMMARY, *messages[cut:]]
    messages = [
        changed
        for message in messages
        for changed in draw(st.sampled_from([0, 0, 0, 1, 2]).map(_DO(message)))
    ]
    mended = repair(Buffer(tuple(messages), buffer.prompt), None).buffer
    return mended if mended.messages else mended.with_messages([SUMMARY])


class _DO:
    """Nothing, a change, or out with it."""

    def __init__(self, message: Message) -> None:
        self.message = message

    def __call__(self, what: int) -> list[Message]:
        return [[self.message], [changed(self.message)], []][what]


def changed(message: Message) -> Message:
    result = message.result
    if result is not None:
        return replace(message, parts=(replace(result, content="[cleared]"),))
    parts = tuple(
        replace(p, text=f"{p.text}!") if isinstance(p, Text) else p for p in message.parts
    )
    return replace(message, parts=tuple(p for p in parts if not isinstance(p, Thinking)))


def in_call_order(buffer: Buffer) -> Buffer:
    """Neighbouring results in the order of their calls: where calls have no id, that is what tells them apart."""
    made = {
        call.id: n
        for n, call in enumerate(call for message in buffer.messages for call in message.calls)
    }
    runs = groupby(buffer.messages, lambda message: message.result is not None)
    ordered = (
        sorted(
            run,
            key=lambda one: [made.get(call_id, -1) for call_id in _record_provider_message(one)],
        )
        for _, run in runs
    )
    return buffer.with_messages([message for run in ordered for message in run])


def _record_provider_message(message: Message) -> list[str]:
    return [message.result.call_id] if message.result is not None else []
