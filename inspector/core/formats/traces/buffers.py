"""Read the input of each call as a view of messages that all calls of the file share.

A call usually repeats the whole conversation so far. If an input begins with an earlier input, only the items after it
are read. To find this out, JSON texts are compared as strings, and lists item by item.
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
"""Fields of a span that hold messages, system prompt or tools."""
_LINES = 1_000
"""Maximum number of runs whose last input is kept, so that later inputs can continue it."""
_NEAR = 6
"""Number of last inputs of other runs, the latest ones, that an input may continue."""


@dataclass(slots=True, eq=False)
class InputLine:
    """An input that was read and that a later input may continue."""

    source: str | list[Any]
    """The input as it was written: a list, or a list's JSON text without the closing bracket."""
    last: Any
    """The last item of the input."""
    lead: Sequence[Any]
    """The system messages at the beginning of the input; they are not in `view`."""
    view: View


@quick
@dataclass(frozen=True, slots=True)
class SpokenCall:
    """A call with its messages."""

    view: View
    prompt: Prompt
    answer: Sequence[Sequence[Message]]
    """The messages of the answer, without ids."""
    response: Logged


class CallReader:
    """Reads each call once, and each message of the file once."""

    def __init__(self) -> None:
        self.pool = Pool()
        self._read: dict[str, tuple[Span, SpokenCall]] = {}
        """The spans that were read and their calls, by span id."""
        self._lines: OrderedDict[str, InputLine] = OrderedDict()
        """The last input of each run, by run id, the latest last."""

    def read(self, span: Span, run: str) -> SpokenCall:
        """Return the messages of a call that belongs to `run`."""
        former, call = self._read.get(span.id, (None, None))
        if former is not None and call is not None and _log_same(former, span):
            return call
        call = self._read_call(span, run)
        self._read[span.id] = span, call
        return call

    def forget(self, name: str) -> None:
        """Forget the call of the span with this id, because another span replaces it."""
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
        """Read an input that begins with an earlier input; None if it begins with none."""
        source = span.input
        if not isinstance(source, str | list):
            return None
        for line in self._likely_lines(run):
            rest = _rest_of(source, line)
            if rest is None or (rest and is_answer_item(rest[0]) and is_answer_item(line.last)):
                continue  # the first new item may belong to the last answer
            view = self.pool.after(line.view, self._units(rest, span))
            return InputLine(
                _without_end(source),
                last=rest[-1] if rest else line.last,
                lead=line.lead,
                view=view,
            ), Logged()
        return None

    def _likely_lines(self, run: str) -> Iterator[InputLine]:
        """Yield the last input of the run, then the latest inputs of other runs."""
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
        lead = logged.items[:count]
        items = logged.items[count:]
        view = self.pool.after(EMPTY_VIEW, self._units(items, span))
        source = _without_end(span.input) if logged.is_list and logged.items else ""
        return InputLine(
            source, last=logged.items[-1] if source else None, lead=lead, view=view
        ), logged

    def _units(self, items: Sequence[Any], span: Span) -> Sequence[Sequence[Message]]:
        """Return the messages of items. The items of one answer (Responses: reasoning, text, calls) are one message."""
        units: list[Sequence[Message]] = []
        was_part = False
        for item in items:
            unit = read_wire(item, span.line, span.time)
            is_part = is_answer_item(item)
            if is_part and was_part and units:
                (last,) = units[-1]
                units[-1] = (replace(last, parts=last.parts + unit[0].parts),)
            elif unit:
                units.append(unit)
            was_part = is_part
        return units


def _log_same(former: Span, span: Span) -> bool:
    """Are all logged fields of the two spans the same objects?"""
    return all(getattr(former, name) is getattr(span, name) for name in LOGGED)


def _without_end(source: str | list[Any]) -> str | list[Any]:
    """Return a list as it was written: as a list, or as JSON text without its closing bracket."""
    return source if isinstance(source, list) else source.rstrip()[:-1].rstrip()


def _rest_of(source: str | list[Any], line: InputLine) -> list[Any] | None:
    """Return the items of an input after those of the earlier input `line`; None if it does not begin with them."""
    if isinstance(source, list):
        return source[len(line.source) :] if source[: len(line.source)] == line.source else None
    if isinstance(line.source, str) and source.startswith(line.source):
        return _read_rest(source[len(line.source) :])
    return None


def _read_rest(text: str) -> list[Any] | None:
    """Parse the rest of a list's JSON text, from a comma or the closing bracket on; None if it is anything else."""
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
    """Return the prompt: the different system prompts joined, and the first list of tools (each None if missing)."""
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
