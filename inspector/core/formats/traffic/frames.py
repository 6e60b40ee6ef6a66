"""Combine the WebSocket frames of the Responses API into exchanges.

A `response.create` frame is a request. The provider's frames belong to the oldest unanswered request, until an event
ends its answer. A log of frames (ccxray) has one frame on each line: `dir` is `c2u` for a frame from the client and
`u2c` for a frame to the client.
"""

import weakref
from collections import deque
from typing import Any

from inspector.core.dialects.catalogue import event_of, is_terminal
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.formats.traffic.log import TrafficReader
from inspector.core.untyped import fields_of, text_of

_KEYS = frozenset(("ts", "dir", "text"))


SIGNS = FileSigns(FileSign(dict.fromkeys(sorted(_KEYS), "<any>"), "every", sure=0.97))


def is_create(frame: Any) -> bool:
    """Is this frame of a client a request?"""
    return (event_of(frame) or {}).get("type") == "response.create"


class FramePairs:
    """Combines the frames of one connection into exchanges."""

    def __init__(
        self,
        log: TrafficReader,
        method: str = "WEBSOCKET",
        path: Any = "/v1/responses",
        headers: Any = None,
    ) -> None:
        # Weak, so that a log that holds its connections is freed with its session.
        self._log = weakref.proxy(log)
        self._method, self._path, self._headers = method, path, headers
        self._waiting: deque[int] = deque()
        """Numbers of the exchanges whose answer is incomplete, oldest first."""
        self._events: list[Any] = []
        """Events received so far of the current answer."""

    def up(self, frame: Any, line: int, time: str = "") -> None:
        """Read a frame from the client."""
        body = event_of(frame)
        if body is not None and is_create(body):
            number = self._log.ask(
                self._method,
                self._path,
                self._headers,
                body,
                time,
                line=line,
                transport="websocket",
            )
            self._waiting.append(number)

    def down(self, frame: Any, line: int) -> bool:
        """Read a frame from the provider, and return whether it ends an answer."""
        event = event_of(frame)
        if event is None or not self._waiting:
            return False
        self._events.append(event)
        if is_over := is_terminal(event):
            self._answer(line)
        return is_over

    def end(self, line: int) -> None:
        """End the connection: answer all waiting requests with what was received so far, marked as cut off."""
        while self._waiting:
            self._answer(line, "upstream closed")

    def _answer(self, line: int, ended: str = "complete") -> None:
        number, events = self._waiting.popleft(), self._events
        self._events = []
        self._log.answer(number, 101, events, line=line, ended=ended)


class FrameRows(TrafficReader):
    """A `Reader` of logs with one frame on each line."""

    def __init__(self, format_: str, session: str = "") -> None:
        super().__init__(format_, session)
        self._connections: dict[str, FramePairs] = {}

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Read a frame, or a list of frames."""
        for row in value if isinstance(value, list) else [value]:
            if fields_of(row).keys() >= _KEYS:
                session = text_of(row.get("sessionId"))
                name = text_of(row.get("id"))
                headers = [["session-id", session]] * bool(session)
                pairs = self._connections.setdefault(
                    f"{session} {name}", FramePairs(self, headers=headers)
                )
                (pairs.up if row.get("dir") == "c2u" else pairs.down)(row["text"], line)
            else:
                self._problems.note(line, "this is no frame of a WebSocket; it was left out", row)
