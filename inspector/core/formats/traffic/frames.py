"""WebSocket frames put together into exchanges: those of the Responses API, in order, each way.

A `response.create` asks; what the provider says from then on belongs to the request that waits longest, until an event
ends its answer. Logs of frames have one a line (ccxray): `dir` is `c2u` from the client, `u2c` to it.
"""

from collections import deque
from typing import Any
from weakref import proxy

from inspector.core.dialects.catalogue import event_of, is_terminal
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.formats.traffic.log import TrafficReader
from inspector.core.untyped import fields_of, text_of

_KEYS = frozenset(("ts", "dir", "text"))


SIGNS = FileSigns(FileSign(dict.fromkeys(sorted(_KEYS), "<any>"), "every", 0.97))


def is_create(frame: Any) -> bool:
    """Does this message of a client ask for an answer?"""
    return (event_of(frame) or {}).get("type") == "response.create"


class FramePairs:
    """The exchanges of one connection."""

    def __init__(
        self,
        log: TrafficReader,
        method: str = "WEBSOCKET",
        path: Any = "/v1/responses",
        headers: Any = None,
    ) -> None:
        self._log = proxy(
            log
        )  # a log that holds its connections is freed with its session all the same
        self._method, self._path, self._headers = method, path, headers
        self._waiting: deque[int] = deque()
        self._events: list[Any] = []
        """Of the answer that is under way."""

    def up(self, frame: Any, line: int, time: str = "") -> None:
        """The client says something."""
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
        """The provider says something. Does an answer end with it?"""
        event = event_of(frame)
        if event is None or not self._waiting:
            return False
        self._events.append(event)
        if is_over := is_terminal(event):
            self._answer(line)
        return is_over

    def end(self, line: int) -> None:
        """The connection is over, and with it what was under way."""
        while self._waiting:
            self._answer(line, "upstream closed")

    def _answer(self, line: int, ended: str = "complete") -> None:
        number, events = self._waiting.popleft(), self._events
        self._events = []
        self._log.answer(number, 101, events, line=line, ended=ended)


class FrameRows(TrafficReader):
    """Of a log with a frame a line."""

    def __init__(self, format_: str, session: str = "") -> None:
        super().__init__(format_, session)
        self._connections: dict[str, FramePairs] = {}

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take a frame, or a list of them."""
        for row in value if isinstance(value, list) else [value]:
            if fields_of(row).keys() >= _KEYS:
                session, name = text_of(row.get("sessionId")), text_of(row.get("id"))
                headers = [["session-id", session]] * bool(session)
                pairs = self._connections.setdefault(
                    f"{session} {name}", FramePairs(self, headers=headers)
                )
                (pairs.up if row.get("dir") == "c2u" else pairs.down)(row["text"], line)
            else:
                self._problems.note(line, "this is no frame of a WebSocket; it was left out", row)
