"""A span, to which the formats of all tracers are converted: its place in the tree, and what a call sent and reported.

Messages, prompt and tools are kept as they were written; `wire.py` and `payloads.py` read them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from inspector.core.jsontext import NotJson, loads
from inspector.core.untyped import text_of
from inspector.core.usage import MOST, Usage, is_absurd

SpanKind: TypeAlias = Literal["", "call", "agent", "tool"]


@dataclass(slots=True, eq=False)
class Span:
    """One unit of work: a model call, an agent's run, a tool's run or, with an empty kind, anything else."""

    id: str
    parent: str = ""
    kind: SpanKind = ""
    name: str = ""
    start: int = 0
    """Start in nanoseconds since 1970, used to order spans; 0 if not recorded."""
    end: int = 0
    """End in nanoseconds since 1970; 0 if not recorded."""
    first: int = 0
    """Time at which the answer began to arrive, in nanoseconds since 1970; 0 if not recorded."""
    time: str = ""
    """Start as ISO 8601."""
    line: int = 0
    finished: bool = True
    agent: str = ""
    """Name of the agent, if the span is an agent or names one."""
    conversation: str = ""
    response: str = ""
    """The provider's id of the response."""
    tool_call: str = ""
    """Id of the tool call, if the span is a tool's run."""
    model: str = ""
    finish: str = ""
    usage: Usage | None = None
    absurd: bool = False
    """Did the span report impossible token counts?"""
    beside: bool | None = None
    """Did the span report cached tokens in addition to the prompt (True) or as a part of it (False)? None if its counts
    do not show it."""
    window: int | None = None
    input: Any = None
    output: Any = None
    system: Any = None
    tools: Any = None

    def place(self, line: int, start: Any, end: Any) -> None:
        """Set the line in the file and the times, which tracers write in several ways."""
        self.start, self.time = read_time(start)
        self.line, self.end = line, read_time(end)[0]

    def report(self, *counts: Any) -> None:
        """Set the usage from reported counts: prompt, output, cache read, cache written, reasoning, total.

        The arguments are those of `usage_from_counts`.
        """
        usage = self.usage = usage_from_counts(*counts)
        if usage is not None and usage.cache_read + usage.cache_write:
            self.beside = _is_beside(usage, *counts)
        self.absurd = usage is None and (
            is_absurd(list(counts)) or is_absurd(list(map(read_count, counts)))
        )


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """An event of a span that is recorded outside of the span."""

    span: str
    """Id of the span."""
    fields: Mapping[str, Any]


def completed(span: Span, more: Mapping[str, Any]) -> Span:
    """Return the span with its missing fields (None or empty) set from `more`."""
    missing = {
        key: value
        for key, value in more.items()
        if value is not None and getattr(span, key) in (None, "")
    }
    return replace(span, **missing) if missing else span


def camel_case(name: str) -> str:
    """Return `start_time` as `startTime`."""
    return _LOWER.sub(lambda match: match[1].upper(), name)


_LOWER = re.compile(r"_([a-z])")


def unpack_json(value: Any) -> Any:
    """Parse a string that holds JSON. Return any other string, and any other value, as it is."""
    if not isinstance(value, str) or not (
        value.startswith(_JSON) or value.lstrip().startswith(_JSON)
    ):
        return value
    try:
        return loads(value.encode("utf-8", "replace"))
    except NotJson:
        return value


_JSON = ("{", "[", '"')


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the value as an object, parsed if it is JSON text; empty if it is not an object."""
    if value is None:
        return {}
    inner = value if type(value) is dict else unpack_json(value)
    return inner if isinstance(inner, dict) else {}


def first_string(value: Any) -> str:
    """Return a string, or the first string of a list. Either may be written as JSON."""
    inner = unpack_json(value)
    return text_of(inner[0] if isinstance(inner, list) and inner else inner)


def read_time(value: Any) -> tuple[int, str]:
    """Read a time in any form that tracers write: return nanoseconds since 1970 (0 if it is no time) and ISO 8601."""
    if value is None:
        return 0, ""
    if isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value):
        value = value[0] * _SECOND + value[1]
    number = read_count(value)
    if number is not None:
        return number, _iso_of_ns(number)
    text = text_of(value)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return 0, text
    if not time.tzinfo:
        time = time.replace(tzinfo=UTC)
    since = time - _EPOCH
    seconds = since.days * _DAY + since.seconds
    return seconds * _SECOND + since.microseconds * 1_000, text


def _iso_of_ns(number: int) -> str:
    try:
        time = datetime.fromtimestamp(number / _SECOND, UTC)
    except (OverflowError, ValueError, OSError):
        return ""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


_SECOND = 1_000_000_000
_DAY = 86_400
"""Seconds in a day."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_count(value: Any) -> int | None:
    """Read a whole number, also from a string (OTLP writes strings); None for anything else."""
    if value is None or (type(value) is int and value >= 0):
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    if type(value) is float and value.is_integer() and value >= 0:  # a table's column with gaps
        return int(value)
    return None


def usage_from_counts(
    prompt: Any,
    output: Any,
    read: Any = None,
    written: Any = None,
    reasoning: Any = None,
    total: Any = None,
) -> Usage | None:
    """Return the usage that a tracer reports; None if it reports no tokens of the prompt.

    A prompt of 0 or 1 tokens counts as not reported. The total shows whether the prompt includes the cached tokens.
    Without a total, the prompt includes them unless they are more than the prompt.
    """
    input_ = read_count(prompt)
    all_tokens = read_count(total)
    counts = output_, read_, written_, reasoning_ = [
        read_count(count) or 0 for count in (output, read, written, reasoning)
    ]
    if input_ is None or input_ <= 1 or max(input_, all_tokens or 0, *counts) > MOST:
        return None
    cached = read_ + written_
    is_beside = input_ < cached
    if all_tokens is not None and cached:
        is_beside = is_beside or all_tokens == input_ + cached + output_
    return Usage(
        input_ if is_beside else input_ - cached,
        read_,
        cache_write=written_,
        output=output_,
        reasoning=reasoning_,
    )


def _is_beside(usage: Usage, prompt: Any, output: Any, *others: Any) -> bool | None:
    """Did a tracer report cached tokens beside the prompt? None if its counts alone do not show it."""
    if usage.prompt != read_count(prompt):
        return True
    total = read_count(others[3]) if len(others) > 3 else None
    return False if total == usage.prompt + usage.output else None
