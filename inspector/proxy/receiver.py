"""Receive spans over OTLP/HTTP, on loopback only, and record them: one line of OTLP JSON per export.

The file is a trace like any other: it can be opened, and followed while it grows. Metrics, and logs that do not belong
to a model call, are accepted and not kept. Keys are removed from every string (`Redactor`).

The loop only moves bytes. An export is unpacked, parsed and written in a thread, and large exports are processed one
after the other, so that every exporter is answered quickly whatever another one sends.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from aiohttp import web

from inspector.core.errors import InspectorError
from inspector.proxy.exports import (
    JSON,
    LARGEST,
    PROTOBUF,
    SIGNALS,
    BadExport,
    items,
    read_export,
    unpack_export,
)
from inspector.proxy.record.record_file import RecordFile, RecordKind
from inspector.proxy.record.redactor import Redactor
from inspector.safety.web_server import WebServer, is_local

PORT = 4318
"""The port to which exporters send by default."""
LARGE = 1 << 18
"""Size in bytes, unpacked, from which an export waits for other large ones."""
_BEGIN = b'{"resourceSpans":'
_EMPTY = _BEGIN + b"[]}"
"""The first line of a new file, so that it can be opened before the first spans arrive."""


def begins_span_recording(line: bytes) -> bool:
    """Does a recording of spans begin with this line or this part of a line?"""
    return line.startswith(_BEGIN) or _BEGIN.startswith(line)


KIND = RecordKind("receiver", "a recording of spans", begins_span_recording)


class SpanReceiver(WebServer):
    """Receives spans and writes them into `record`, a new file or one that a receiver wrote before.

    Raises:
        InspectorError: The address, the port or the file cannot be used.
    """

    NAME: ClassVar[str] = "receiver"
    OPTIONS: ClassVar[Mapping[str, Any]] = {"shutdown_timeout": 1.0, "auto_decompress": False}

    def __init__(
        self,
        record: Path,
        *,
        host: str = "127.0.0.1",
        port: int = PORT,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_change` is called from a thread when spans have arrived."""
        super().__init__(host, port)
        try:
            self._file = _open(record)
        except InspectorError:
            self.socket.close()
            raise
        self._told = on_change
        self._redactor = Redactor()
        self._writing = threading.Lock()
        self._is_closed = False
        self.spans = 0
        """Number of spans received so far."""

    def close(self) -> None:
        """End the receiver after writing what has arrived. May be called twice."""
        super().close()
        with self._writing:
            if not self._is_closed:
                self._is_closed = True
                self._file.close()

    def _application(self) -> web.Application:
        self._large = asyncio.Semaphore()
        app = web.Application(client_max_size=LARGEST)
        app.router.add_post("/v1/{signal:traces|logs|metrics}", self._take)
        return app

    async def _take(self, request: web.Request) -> web.Response:
        if not is_local(request):
            raise web.HTTPForbidden(text="only programs on this machine may send spans")
        signal = request.match_info["signal"]
        content_type = request.content_type
        body = await request.read()
        try:
            data = await asyncio.to_thread(
                unpack_export, body, request.headers.get("Content-Encoding", "")
            )
            if signal in SIGNALS:
                await self._store(data, content_type, signal)
        except BadExport as bad:
            return web.Response(status=bad.status, text=str(bad))
        except OSError as error:
            raise web.HTTPInsufficientStorage(
                text=f"cannot be written: {error.strerror or error}"
            ) from None
        if content_type == PROTOBUF:
            return web.Response(body=b"", content_type=PROTOBUF)
        return web.Response(text="{}", content_type=JSON)

    async def _store(self, data: bytes, content_type: str, signal: str) -> None:
        """Write an export in a thread. Raises BadExport, OSError."""
        if content_type not in (JSON, PROTOBUF):
            raise BadExport(status=415, why=f"send {JSON} or {PROTOBUF}")
        if len(data) < LARGE:
            await asyncio.to_thread(self._write, data, content_type, signal)
            return
        async with self._large:
            await asyncio.to_thread(self._write, data, content_type, signal)

    def _write(self, data: bytes, content_type: str, signal: str) -> None:
        document = read_export(data, content_type, signal)
        count = sum(1 for _ in items(document, signal))
        if signal == "logs" and not count:
            return
        line = self._redactor.line(document).encode("utf-8", "replace")
        with self._writing:
            if self._is_closed:
                return
            self._file.append(line)
            self.spans += count if signal == "traces" else 0
        self._told()


def _open(path: Path) -> RecordFile:
    file = RecordFile(path, KIND)
    if file.is_new:
        try:
            file.append(_EMPTY)
        except OSError as error:
            file.close()
            raise InspectorError(f"{path} cannot be written: {error.strerror or error}.") from None
    return file
