"""What a call's input says, as a view of messages that all calls of the file share.

A call usually repeats the whole conversation so far. What begins as an input that was read before is not read again:
texts are compared as bytes, lists item by item, and only what follows becomes messages.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from inspector.core.buffer import EMPTY_VIEW, Prompt, View
from inspector.core.formats.proxy.pool import Pool
from inspector.core.formats.traces.payloads import Logged, read_input, read_output
from inspector.core.formats.traces.span import Span, unpack_json
from inspector.core.formats.traces.wire import (
    is_answer_item,
    read_tool_list,
    read_wire,
    role_of,
    unwrap_message,
)
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

    source: str | list[Any]
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
        """Return the messages of a call of that run."""
        former, call = self._read.get(span.id, (None, None))
        if (
            former is None
            or call is None
            or any(getattr(former, name) is not getattr(span, name) for name in LOGGED)
        ):
            call = self._read_call(span, run)
            self._read[span.id] = span, call
        return call

    def forget(self, name: str) -> None:
        """Note that the span of that id was replaced by another."""
        self._read.pop(name, None)

    def _read_call(self, span: Span, run: str) -> SpokenCall:
        line, logged = self._continue_line(span, run) or self._begin_line(span)
        if line.source:
            self._lines[run] = line
            self._lines.move_to_end(run)
            if len(self._lines) > _LINES:
                self._lines.popitem(last=False)
        response = read_output(span.output)
        answer = self._units(response.items, span)
        systems = [span.system, logged.system, *line.lead]
        if not any(systems):
            systems = [response.system]
        tools = (span.tools, logged.tools, response.tools)
        prompt = self.pool.prompt((systems, tools), lambda: _read_prompt(systems, tools))
        return SpokenCall(line.view, prompt, answer, response)

    def _continue_line(self, span: Span, run: str) -> tuple[InputLine, Logged] | None:
        """Read an input that begins as one that was read before; None if there is none."""
        source = span.input
        if not isinstance(source, str | list):
            return None
        for line in self._likely_lines(run):
            rest = _rest_of(source, line)
            if rest is None or (rest and is_answer_item(rest[0]) and is_answer_item(line.last)):
                continue  # it may belong to the answer before it
            view = self.pool.after(line.view, self._units(rest, span))
            return InputLine(
                _without_end(source), rest[-1] if rest else line.last, line.lead, view
            ), Logged()
        return None

    def _likely_lines(self, run: str) -> Iterator[InputLine]:
        """Yield the last input of the run, then the latest of other runs."""
        if run in self._lines:
            yield self._lines[run]
        yield from islice(reversed(self._lines.values()), _NEAR)

    def _begin_line(self, span: Span) -> tuple[InputLine, Logged]:
        logged = read_input(span.input)
        count = 0
        while (
            count < len(logged.items) and role_of(unwrap_message(logged.items[count])) == "system"
        ):
            count += 1
        lead, items = logged.items[:count], logged.items[count:]
        view = self.pool.after(EMPTY_VIEW, self._units(items, span))
        source = _without_end(span.input) if logged.is_list and logged.items else ""
        return InputLine(source, logged.items[-1] if source else None, lead, view), logged

    def _units(self, items: Sequence[Any], span: Span) -> Sequence[Sequence[Message]]:
        """Return the messages of items; those of one answer (Responses: thought, words, calls) are one message."""
        units: list[Sequence[Message]] = []
        was_part = False
        for item in items:
            unit, is_part = read_wire(item, span.line, span.time), is_answer_item(item)
            if is_part and was_part and units:
                (last,) = units[-1]
                units[-1] = (replace(last, parts=last.parts + unit[0].parts),)
            elif unit:
                units.append(unit)
            was_part = is_part
        return units


def _without_end(source: str | list[Any]) -> str | list[Any]:
    """Return a list as it was written, without the bracket that ends it."""
    return source if isinstance(source, list) else source.rstrip()[:-1].rstrip()


def _rest_of(source: str | list[Any], line: InputLine) -> list[Any] | None:
    """Return the items of an input after those of a line; None if it does not begin with them."""
    if isinstance(source, list):
        return source[len(line.source) :] if source[: len(line.source)] == line.source else None
    if isinstance(line.source, str) and source.startswith(line.source):
        return _read_rest(source[len(line.source) :])
    return None


def _read_rest(text: str) -> list[Any] | None:
    """Return the items after the beginning of a list; None if it is not the beginning of one."""
    inner = text.strip()
    if inner == "]":
        return []
    if not inner.startswith(","):
        return None
    try:
        value = loads(("[" + inner[1:]).encode("utf-8", "replace"))
    except NotJson:
        return None
    return value if isinstance(value, list) else None


def _read_prompt(systems: Sequence[Any], tools: Sequence[Any]) -> Prompt:
    """Return the prompt of system prompts, some of them repeated, and of the first tools; None if there are none."""
    texts: dict[str, None] = {}
    for system in systems:
        value = unpack_json(system)
        blocks = value if isinstance(value, list) else [value]
        parts = (part for block in blocks for message in read_wire(block) for part in message.parts)
        text = "\n\n".join(part.text for part in parts if isinstance(part, Text))
        if text:
            texts[text] = None
    lists = (read_tool_list(value) for value in tools)
    first = next((tool_list for tool_list in lists if tool_list is not None), None)
    return Prompt("\n\n".join(texts) if texts else None, first)
