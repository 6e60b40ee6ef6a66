"""What a call's input says, as a view of messages that all calls of the file share.

A call usually repeats the whole conversation so far. What begins as an input that was read before is not read again:
texts are compared as bytes, lists item by item, and only what follows becomes messages.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

from inspector.core.buffer import EMPTY_VIEW, Prompt, View
from inspector.core.formats.proxy.pool import Pool
from inspector.core.formats.traces.payloads import Logged, read_input, read_output
from inspector.core.formats.traces.span import Span, unpack_json
from inspector.core.formats.traces.wire import is_answer_item, read_tool_list, read_wire, role_of, unwrap_message
from inspector.core.jsontext import NotJson, loads
from inspector.core.message import Message, Text
from inspector.core.quick import quick

LOGGED = ("input", "output", "system", "tools")
"""What a span holds of what was said."""
_LINES = 1_000
"""Runs of which the last input is kept, to be gone on with."""
_NEAR = 6
"""The latest of other runs, each of which an input may go on."""


@dataclass(slots=True, eq=False)
class InputLine:
    """An input that was read, and may be the beginning of another."""

    told: str | list[Any]
    """As it was written: a list, or the text of one without its end."""
    last: Any
    """Its last item."""
    lead: Sequence[Any]
    """The system prompt in front of it."""
    view: View


@quick
@dataclass(frozen=True, slots=True)
class SpokenCall:
    """A call with its messages."""

    view: View
    prompt: Prompt
    answer: Sequence[Sequence[Message]]
    """What came back, without ids."""
    response: Logged


class CallReader:
    """Reads calls, each once, and each message once."""

    def __init__(self) -> None:
        self.pool = Pool()
        self._read: dict[str, tuple[Span, SpokenCall]] = {}
        """What each call said, by its id."""
        self._lines: OrderedDict[str, InputLine] = OrderedDict()
        """By run, the latest last."""

    def read(self, span: Span, run: str) -> SpokenCall:
        """The messages of a call of that run."""
        known = self._read.get(span.id)
        if known is None or any(getattr(known[0], name) is not getattr(span, name) for name in LOGGED):
            known = self._read[span.id] = span, self._call(span, run)
        return known[1]

    def forget(self, name: str) -> None:
        """The span of that id is another one now."""
        self._read.pop(name, None)

    def _call(self, span: Span, run: str) -> SpokenCall:
        line, logged = self._continued(span, run) or self._anew(span)
        if line.told:
            self._lines[run] = line
            self._lines.move_to_end(run)
            if len(self._lines) > _LINES:
                self._lines.popitem(last=False)
        response = read_output(span.output)
        answer = self._units(response.items, span)
        told = [span.system, logged.system, *line.lead]
        told = told if any(told) else [response.system]
        tools = (span.tools, logged.tools, response.tools)
        prompt = self.pool.prompt((told, tools), lambda: _prompt(told, tools))
        return SpokenCall(line.view, prompt, answer, response)

    def _continued(self, span: Span, run: str) -> tuple[InputLine, Logged] | None:
        """An input that begins as one that was read."""
        told, own = span.input, self._lines.get(run)
        if not isinstance(told, str | list):
            return None
        near = islice(reversed(self._lines.values()), _NEAR)
        for line in near if own is None else chain((own,), near):
            rest: list[Any] | None = None
            if isinstance(told, list):
                if told[: len(line.told)] == line.told:
                    rest = told[len(line.told) :]
            elif isinstance(line.told, str) and told.startswith(line.told):
                rest = _rest(told[len(line.told) :])
            if rest is None or (rest and is_answer_item(rest[0]) and is_answer_item(line.last)):
                continue  # it may belong to the answer before it
            view = self.pool.after(line.view, self._units(rest, span))
            return InputLine(_endless(told), rest[-1] if rest else line.last, line.lead, view), Logged()
        return None

    def _anew(self, span: Span) -> tuple[InputLine, Logged]:
        logged = read_input(span.input)
        count = 0
        while count < len(logged.items) and role_of(unwrap_message(logged.items[count])) == "system":
            count += 1
        lead, items = logged.items[:count], logged.items[count:]
        view = self.pool.after(EMPTY_VIEW, self._units(items, span))
        told = _endless(span.input) if logged.is_list and logged.items else ""
        return InputLine(told, logged.items[-1] if told else None, lead, view), logged

    def _units(self, items: Sequence[Any], span: Span) -> Sequence[Sequence[Message]]:
        """Items of one answer (Responses: thought, words, calls) are one message."""
        found: list[Sequence[Message]] = []
        before = False
        for item in items:
            unit, part = read_wire(item, span.line, span.time), is_answer_item(item)
            if part and before and found:
                found[-1] = (replace(found[-1][0], parts=found[-1][0].parts + unit[0].parts),)
            elif unit:
                found.append(unit)
            before = part
        return found


def _endless(told: str | list[Any]) -> str | list[Any]:
    """A list as it was written, without the bracket that ends it."""
    return told if isinstance(told, list) else told.rstrip()[:-1].rstrip()


def _rest(told: str) -> list[Any] | None:
    """The items after a beginning; None where it is not one."""
    inner = told.strip()
    if inner == "]":
        return []
    if not inner.startswith(","):
        return None
    try:
        value = loads(("[" + inner[1:]).encode("utf-8", "replace"))
    except NotJson:
        return None
    return value if isinstance(value, list) else None


def _prompt(told: Sequence[Any], tools: Sequence[Any]) -> Prompt:
    """Of a system prompt that may be told more than once, and the first tools that are told; None for what is not."""
    texts: dict[str, None] = {}
    for one in told:
        value = unpack_json(one)
        blocks = value if isinstance(value, list) else [value]
        parts = (part for block in blocks for message in read_wire(block) for part in message.parts)
        if said := "\n\n".join(part.text for part in parts if isinstance(part, Text)):
            texts[said] = None
    offered = next((found for one in tools if (found := read_tool_list(one)) is not None), None)
    return Prompt("\n\n".join(texts) if texts else None, offered)
