"""Read bare payloads of one provider: one body, a list of messages, or many bodies (one per line or in a list).

One body is a session with one request. Of many bodies, side calls (titles, prewarms, token counts) are no steps; all
other bodies are grouped into threads by the messages that they share. The events of a stream are read as one response.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from inspector.core.buffer import EMPTY_VIEW, Prompt, View
from inspector.core.dialects.catalogue import DIALECTS, assemble, event_of
from inspector.core.dialects.dialect import Dialect
from inspector.core.dialects.gemini import GEMINI
from inspector.core.formats.format import Contents, Format
from inspector.core.formats.payload.exchange import (
    BodyPair,
    body_pair,
    is_beside,
    is_continued_by,
    is_final,
    side_reason,
    stream_of,
)
from inspector.core.formats.payload.signs import sniff_payload
from inspector.core.formats.payload.threads import BodyThreads, named_threads
from inspector.core.formats.proxy.keys import key_of
from inspector.core.formats.proxy.pool import Pool
from inspector.core.formats.proxy.session import split_singles
from inspector.core.jsontext import dumps
from inspector.core.message import Message
from inspector.core.prefix import Prefix
from inspector.core.session import Problem, Request, Session, Thread
from inspector.core.usage import ABSURD, is_absurd


class PayloadReader:
    """A `Reader` (see `format.py`) for the payloads of one provider."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._pool = Pool()
        self._threads = BodyThreads(dialect, self._pool)
        self._sides: list[tuple[int, str]] = []
        """Line and kind of each side call."""
        self._held: list[BodyPair] = []
        """Side calls of a file that has no steps so far. They are shown as steps if no step follows."""
        self._loose = EMPTY_VIEW
        """Single messages outside of bodies."""
        self._problems: list[Problem] = []
        self._session_id = ""
        self._partial: set[str] = set()
        """Notes about responses without requests."""
        self._stream: list[Any] = []
        """Events of a response that is not complete yet."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Read a body, an exchange, a list of either, or one message."""
        del file  # payloads have no companions
        if self._dialect.is_message(value) or self._is_saved_chat(value):
            items = value if isinstance(value, list) else [value]
            units = self._dialect.units(items, line, before=self._loose)
            self._loose = self._pool.after(self._loose, units)
            return
        if self._is_stream(value):
            self._take_events(value, line)
            return
        self._end_stream(line)
        rows = value if isinstance(value, list) and _is_row(self._dialect, value) else [value]
        for row in rows:
            pair = body_pair(self._dialect, row, line)
            if pair is None:
                what = (
                    "this is neither a request body nor a response nor a message; it was left out"
                )
                self._problems.append(Problem(line, what, dumps(row)[:120]))
            else:
                self._take(pair)

    def _is_saved_chat(self, value: Any) -> bool:
        """Is the value a list of Gemini's contents with turns of the model? Each of these turns was a call."""
        if (
            self._dialect is not GEMINI
            or not isinstance(value, list)
            or not all(map(GEMINI.is_message, value))
        ):
            return False
        return any(item.get("role") == "model" for item in value)

    def _is_stream(self, value: Any) -> bool:
        """Is the value a stream of events or a part of one? A final event alone is not: it holds the whole response."""
        if isinstance(value, list):
            return stream_of(value) is self._dialect
        if self._stream:
            return is_beside(value) or stream_of([value]) is self._dialect
        return stream_of([value]) is self._dialect and not is_final(value)

    def _take_events(self, value: Any, line: int) -> None:
        for event in value if isinstance(value, list) else [value]:
            if self._stream and not is_continued_by(self._stream, event):
                self._end_stream(line)
            self._stream.append(event)
            if is_final(event):
                self._end_stream(line)
        if isinstance(value, list):
            self._end_stream(line)

    def _end_stream(self, line: int) -> None:
        if self._stream:
            response, notes = self._read_stream()
            self._partial.update(notes)
            self._take(BodyPair(request=None, response=response, line=line))
            self._stream = []

    def _read_stream(self) -> tuple[Mapping[str, Any], list[str]]:
        """Return the response of the events so far, and notes about it."""
        assembled = assemble(self._dialect, filter(None, map(event_of, self._stream)))
        end = "" if assembled.finished else "; it breaks off"
        notes = [
            f"{len(self._stream)} events of a stream were put together into the response that they report{end}."
        ]
        if assembled.failure is not None:
            notes.append(f"The stream reported an error: {dumps(assembled.failure)[:200]}")
        return assembled.body(), notes

    def _take(self, pair: BodyPair) -> None:
        self._session_id = self._session_id or key_of({}, pair.request or {}).session
        if pair.request is None:
            self._partial.add(
                "A response has no request: the request that it answers is not in this file."
            )
        if is_absurd((pair.response or {}).get(self._dialect.counts)):
            self._problems.append(Problem(pair.line, ABSURD, dumps(pair.response)[:120]))
        reason = side_reason(self._dialect, pair)
        self._threads.add(pair, step=not reason)
        if reason:
            self._sides.append((pair.line, reason))
        if self._threads.all:
            self._held.clear()
        elif reason:
            self._held.append(pair)

    def session(self) -> Session:
        """Return the session so far."""
        if self._threads.all:
            return self._session_of_threads()
        if not self._stream and not self._held:
            return self._session((self._loose_thread(),) if self._loose else (), [])
        pairs, notes = self._held, [f"Not a step of a conversation: {_count_reasons(self._sides)}."]
        if self._stream:
            response, notes = self._read_stream()
            pairs = [BodyPair(request=None, response=response)]
        threads = BodyThreads(self._dialect, self._pool)
        for pair in pairs:
            threads.add(pair)
        return self._session(named_threads(threads.all), notes)

    def _session_of_threads(self) -> Session:
        threads, singles = split_singles(self._threads.all)
        sides = [(single.steps[0].line, "call without tools") for single in singles] + self._sides
        notes = []
        if sides:
            notes.append(
                f"Side calls that are not steps of the conversation were left out: {_count_reasons(sides)}."
            )
        if self._loose:
            notes.append(
                f"{len(self._loose)} single messages between the request bodies were left out."
            )
        return self._session(named_threads(threads), notes)

    def _session(self, threads: tuple[Thread, ...], more: list[str]) -> Session:
        notes = sorted(self._partial)
        missing = self._threads.missing
        if missing:
            lines = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
            notes.append(
                f"Line {lines}: the body continues a response that is not in this file; earlier messages are unknown."
            )
        return Session(
            self._dialect.name,
            threads,
            Prefix(self._problems),
            id=self._session_id,
            notes=(*notes, *more),
        )

    def _loose_thread(self) -> Thread:
        messages = self._loose.messages()
        ends = [len(messages)]
        if self._dialect is GEMINI:
            ends = [n for n, message in enumerate(messages) if _begins_turn(messages, n)] or ends
        requests: list[Request] = []
        for n, end in enumerate(ends):
            line = messages[min(end, len(messages) - 1)].line
            requests.append(Request(n, View(self._loose.stretch, end), line=line))
        return Thread(
            "main", requests=tuple(requests), messages=messages, end=self._loose, prompt=Prompt()
        )


def _begins_turn(messages: Sequence[Message], n: int) -> bool:
    """Is message `n` the first message of a turn of the model?"""
    message = messages[n]
    is_inside = n > 0 and bool(message.together) and messages[n - 1].together == message.together
    return message.role == "assistant" and not is_inside


def _is_row(dialect: Dialect, rows: list[Any]) -> bool:
    """Does the list hold bodies or exchanges, rather than messages?"""
    first = rows[:3]
    others = [row for row in first if not dialect.is_message(row)]
    pairs = [pair for row in others if (pair := body_pair(dialect, row, line=0)) is not None]
    if any(pair.request is not None for pair in pairs):
        return True
    return bool(pairs) and len(pairs) == len(first)


def _count_reasons(sides: list[tuple[int, str]]) -> str:
    kinds = Counter(reason for _, reason in sorted(sides))
    return ", ".join(f"{count} x {reason}" for reason, count in kinds.items())


FORMATS = tuple(
    Format(
        dialect.name,
        title=f"{dialect.title} payload",
        sniff=partial(sniff_payload, dialect),
        start=partial(PayloadReader, dialect),
        contents=Contents(
            "of a response", system="yes", tools="yes", more="body of a request or a response"
        ),
    )
    for dialect in DIALECTS.values()
)
