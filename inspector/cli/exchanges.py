"""What `proxy --json` prints of an exchange: read from the lines of the recording, by the recording's own reader."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from inspector.cli.output import picked, pressure_document
from inspector.core.drops import Drops, thread_drops
from inspector.core.formats.proxy.exchange import Exchange
from inspector.core.formats.proxy.reader import ProxyReader
from inspector.core.session import Request, Session, Thread
from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.pressure import Pressures, thread_pressures
from inspector.core.tokens.windows import find_window
from inspector.extensions.windows import user_windows

_LATE = 50
"""Requests of a thread, from its last one back, among which an exchange is looked for."""


class Exchanges:
    """Fed with lines of the recording; says each exchange when its response is there."""

    def __init__(self, window: int | None) -> None:
        self._reader = ProxyReader()
        self._window, self._models = window, user_windows()
        self._measure = estimator("roku")
        self._pressures: dict[str, Pressures] = {}
        self._drops: dict[str, Drops] = {}
        self._count = 0
        self._requests: dict[int, dict[str, Any]] = {}

    def take(self, line: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """One line; gives the exchange that is over with it."""
        self._count += 1
        self._reader.feed(self._count, line)
        number = line.get("exchange")
        if line.get("type") == "request" and isinstance(number, int):
            self._requests[number] = {key: line.get(key) for key in ("time", "transport", "method", "path", "tag")}
        elif line.get("type") == "response" and isinstance(number, int) and number in self._requests:
            one = self._reader.exchange(number)
            yield {"exchange": number} | self._requests.pop(number) | _answered(line) | (self._told(one) if one else {})

    def _told(self, one: Exchange) -> dict[str, Any]:
        session = self._reader.session()
        placed, usage = _place(session, one), one.reply.usage if one.reply else None
        told = {
            "client": one.key.client,
            "session": one.key.session,
            "thread": placed[0].id if placed else None,
            "request": placed[1].index if placed else None,
            "model": one.model,
            "side_call": one.kind or None,
            "usage": picked(usage, "prompt input cache_read cache_write cache_write_1h output") if usage else None,
        }
        return told | (self._pressure(session, *placed) if placed else {})

    def _pressure(self, session: Session, thread: Thread, request: Request) -> dict[str, Any]:
        former = self._pressures.get(thread.id)
        pressures = self._pressures[thread.id] = thread_pressures(thread, self._measure, former)
        window = find_window(session, thread, request.index, self._window, self._models)
        return {
            "messages": len(request.view),
            **pressure_document(pressures, request.index, window.tokens),
            "drops": self._dropped(session, thread, request),
        }

    def _dropped(self, session: Session, thread: Thread, request: Request) -> list[dict[str, Any]]:
        """What this request no longer holds of the one before it, and which kind of loss that was."""
        drops = self._drops[thread.id] = thread_drops(thread, session, self._drops.get(thread.id))
        return [asdict(drop) for drop in drops.found if drop.request == request.index]


def _answered(line: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: line.get(name) for name in ("status", "ended", "error")},
        "ms": line.get("elapsed_ms"),
        "first_byte_ms": line.get("first_byte_ms"),
    }


def _place(session: Session, one: Exchange) -> tuple[Thread, Request] | None:
    """The thread and the request that it is; None for a side call."""
    for thread in session.threads:
        requests = thread.requests
        for at in range(len(requests) - 1, max(-1, len(requests) - _LATE), -1):
            if requests[at].line == one.line:
                return thread, requests[at]
    return None
