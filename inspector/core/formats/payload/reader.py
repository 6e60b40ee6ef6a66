"""Reads bare payloads of one provider: one body, a list of messages, or a row of bodies (one per line or in a list).

One body is a session with one request. In a row, side calls (titles, prewarms, token counts) are no steps; the others
are put into threads by what they share. Events of a stream stand for the response that they report.
"""

from collections import Counter
from collections.abc import Mapping
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
        self._held: list[BodyPair] = []
        """Side calls of a file that has nothing else so far: should it stay like that, they are its steps."""
        self._loose = EMPTY_VIEW
        """Single messages that stand between the bodies."""
        self._problems: list[Problem] = []
        self._named = ""
        self._partial: set[str] = set()
        self._stream: list[Any] = []
        """Events of a response that has not come to its end."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take a body, an exchange, a list of either, or one message."""
        del file  # payloads have no companions
        chat = self._dialect is GEMINI and isinstance(value, list) and all(map(GEMINI.is_message, value))
        is_saved = chat and any(item.get("role") == "model" for item in value)  # each turn of the model was a call
        if self._dialect.is_message(value) or is_saved:
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
            one = body_pair(self._dialect, row, line)
            if one is None:
                what = "this is neither a request body nor a response nor a message; it was left out"
                self._problems.append(Problem(line, what, dumps(row)[:120]))
            else:
                self._take(one)

    def _is_stream(self, value: Any) -> bool:
        """Events, but not the last one alone: a response stands in it."""
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
            told, notes = self._streamed()
            self._partial.update(notes)
            self._take(BodyPair(None, told, line))
            self._stream = []

    def _streamed(self) -> tuple[Mapping[str, Any], list[str]]:
        told = assemble(self._dialect, filter(None, map(event_of, self._stream)))
        end = "" if told.finished else "; it breaks off"
        notes = [f"{len(self._stream)} events of a stream were put together into the response that they tell{end}."]
        if told.failure is not None:
            notes.append(f"The stream reported an error: {dumps(told.failure)[:200]}")
        return told.body(), notes

    def _take(self, one: BodyPair) -> None:
        self._named = self._named or key_of({}, one.request or {}).session
        if one.request is None:
            self._partial.add("A response stands alone: the request it answers is not in this file.")
        if is_absurd((one.response or {}).get(self._dialect.counts)):
            self._problems.append(Problem(one.line, ABSURD, dumps(one.response)[:120]))
        reason = side_reason(self._dialect, one)
        self._threads.add(one, step=not reason)
        if reason:
            self._sides.append((one.line, reason))
        if self._threads.all:
            self._held.clear()
        elif reason:
            self._held.append(one)

    def session(self) -> Session:
        """The session so far."""
        if self._threads.all:
            steps, singles = split_singles(self._threads.all)
            sides = [*((one.steps[0].line, "call without tools") for one in singles), *self._sides]
            left = [f"Side calls that are no steps of the conversation were left out: {_told(sides)}."] if sides else []
            if self._loose:
                left.append(f"{len(self._loose)} single messages between the request bodies were left out.")
            return self._session(named_threads(steps), left)
        if not self._stream and not self._held:
            return self._session((self._loose_thread(),) if self._loose else (), [])
        pairs, notes = self._held, [f"Not a step of a conversation: {_told(self._sides)}."]
        if self._stream:
            told, notes = self._streamed()
            pairs = [BodyPair(None, told)]
        alone = BodyThreads(self._dialect, self._pool)
        for one in pairs:
            alone.add(one)
        return self._session(named_threads(alone.all), notes)

    def _session(self, threads: tuple[Thread, ...], more: list[str]) -> Session:
        notes = sorted(self._partial)
        if self._threads.missing:
            lines = ", ".join(map(str, self._threads.missing[:5])) + (", ..." if len(self._threads.missing) > 5 else "")
            notes.append(
                f"Line {lines}: the body goes on from a response that is not in this file; what was before is unknown."
            )
        return Session(self._dialect.name, threads, Prefix(self._problems), id=self._named, notes=(*notes, *more))

    def _loose_thread(self) -> Thread:
        own = self._loose.messages()
        ends = [len(own)]
        if self._dialect is GEMINI:
            turns = [n for n, one in enumerate(own) if one.role == "assistant"]
            inside = [n for n in turns if n and own[n].together and own[n - 1].together == own[n].together]
            ends = [n for n in turns if n not in inside] or ends
        asked = ((View(self._loose.stretch, end), own[min(end, len(own) - 1)].line) for end in ends)
        requests = tuple(Request(n, view, line=line) for n, (view, line) in enumerate(asked))
        return Thread("main", requests=requests, messages=own, end=self._loose, prompt=Prompt())


def _is_row(dialect: Dialect, rows: list[Any]) -> bool:
    """Is the list one of bodies or exchanges, rather than of messages?"""
    known = [one for row in rows[:3] if not dialect.is_message(row) and (one := body_pair(dialect, row, 0))]
    return any(one.request is not None for one in known) or (bool(known) and len(known) == len(rows[:3]))


def _told(sides: list[tuple[int, str]]) -> str:
    kinds = Counter(reason for _, reason in sorted(sides))
    return ", ".join(f"{count} x {reason}" for reason, count in kinds.items())


FORMATS = tuple(
    Format(
        dialect.name,
        f"{dialect.title} payload",
        partial(sniff_payload, dialect),
        partial(PayloadReader, dialect),
        contents=Contents("where there is a response", "yes", "yes", "body of a request or a response"),
    )
    for dialect in DIALECTS.values()
)
