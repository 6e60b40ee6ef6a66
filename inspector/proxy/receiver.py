"""Receives spans over OTLP/HTTP, on loopback only, and writes them down: a line of OTLP JSON each time some come.

The file is a trace like any other: it can be opened and followed while it grows. JSON and protobuf are taken, packed or
not; logs and metrics are accepted and not kept. Values of attributes that are named like a key are not written.
"""

import asyncio
import logging
import os
import re
import socket
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from aiohttp import ClientError, web
from aiohttp.http_exceptions import HttpProcessingError

from inspector.core.errors import InspectorError
from inspector.core.jsontext import NotJson, dumps, loads
from inspector.proxy.relay.addresses import is_cross_site, is_foreign, is_here, loopback_address

PORT = 4318
"""Where exporters send to when nobody tells them."""
LARGEST = 64 << 20
"""Bytes of one request, unpacked."""
START_S, STOP_S = 10.0, 5.0
_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_BEGIN = b'{"resourceSpans":'
_EMPTY = _BEGIN + b"[]}\n"
_IDS = ("traceId", "spanId", "parentSpanId")
_SECRET = re.compile(r"authorization|api[._-]?key|cookie|secret|password|credential", re.IGNORECASE)
_LOG = logging.getLogger("context-inspector.receiver")
_LOG.addFilter(
    lambda record: (
        not (record.exc_info and isinstance(record.exc_info[1], ConnectionError | ClientError | HttpProcessingError))
    )
)
"""What a client does (leaves in the middle, speaks no HTTP) is no fault of ours, and no traceback."""


class SpanReceiver:
    """`with SpanReceiver(path) as receiver: receiver.url`. Port 0 = any free one.

    `record` is a new file, or one that it wrote before. Raises InspectorError for an address, a port or a file that
    cannot be used.
    """

    def __init__(
        self, record: Path, *, host: str = "127.0.0.1", port: int = PORT, told: Callable[[], None] = lambda: None
    ) -> None:
        """`told` is called, from a thread of its own, when spans have come."""
        address = loopback_address(host)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((address, port))
            self._file = _open(record)
        except (OSError, OverflowError) as error:
            self._socket.close()
            raise InspectorError(f"Port {port} cannot be listened on: {error}.") from None
        except InspectorError:
            self._socket.close()
            raise
        self.url = f"http://{f'[{address}]' if ':' in address else address}:{self._socket.getsockname()[1]}"
        self._told = told
        self.spans = 0
        """Received so far."""
        self._started = threading.Event()
        self._over = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="receiver", daemon=True)

    def __enter__(self) -> "SpanReceiver":
        self._thread.start()
        if not self._started.wait(START_S):
            self.close()
            raise InspectorError("The receiver did not start.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it; what is being received is written first. May be called twice."""
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join(STOP_S)
        self._socket.close()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    async def _serve(self) -> None:
        app = web.Application(client_max_size=LARGEST)
        app.router.add_post("/v1/traces", self._take)
        app.router.add_post("/v1/{other:logs|metrics}", self._pass)
        runner = web.AppRunner(app, access_log=None, logger=_LOG, shutdown_timeout=1.0)
        await runner.setup()
        await web.SockSite(runner, self._socket).start()
        self._loop = asyncio.get_running_loop()
        self._started.set()
        await self._over.wait()
        await runner.cleanup()

    async def _take(self, request: web.Request) -> web.Response:
        _refuse_pages(request)
        body = await request.read()
        if request.content_type == _JSON:
            document = _read_json(body)
        elif request.content_type == _PROTOBUF:
            document = await asyncio.to_thread(_read_protobuf, body)
        else:
            raise web.HTTPUnsupportedMediaType(text=f"send {_JSON} or {_PROTOBUF}")
        _hide(document)
        try:
            self._write(dumps(document).encode("utf-8", "replace") + b"\n")
        except OSError as error:
            raise web.HTTPInsufficientStorage(text=f"cannot be written: {error.strerror or error}") from None
        self.spans += sum(1 for _ in _spans(document))
        self._told()
        return _answer(request)

    async def _pass(self, request: web.Request) -> web.Response:
        _refuse_pages(request)
        await request.read()
        return _answer(request)

    def _write(self, line: bytes) -> None:
        left = memoryview(line)
        while left:
            left = left[os.write(self._file, left) :]


def _open(path: Path) -> int:
    """Append to a file that is new, empty or ours; after a line that was cut off, on a new one.

    A new one begins with a line without spans: it can be opened before the first have come.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        with path.open("rb") as file:
            begin = file.read(len(_BEGIN))
            file.seek(-1 if begin else 0, os.SEEK_END)
            is_torn = file.read(1) not in (b"\n", b"")
    except OSError as error:
        raise InspectorError(f"{path} cannot be written: {error.strerror or error}.") from None
    if not _BEGIN.startswith(begin):
        os.close(handle)
        raise InspectorError(f"{path} exists and is not a recording of spans; name another file.")
    if is_torn or not begin:
        os.write(handle, b"\n" if begin else _EMPTY)
    return handle


def _refuse_pages(request: web.Request) -> None:
    """A web page may make a browser ask; a tracer is a program on this machine."""
    headers = request.headers
    if not is_here(headers.get("Host", "")) or is_foreign(headers.get("Origin", "")):
        raise web.HTTPForbidden(text="only programs on this machine may send spans")
    if is_cross_site(headers.getall("Sec-Fetch-Site", [])):
        raise web.HTTPForbidden(text="only programs on this machine may send spans")


def _answer(request: web.Request) -> web.Response:
    """All was taken: an empty answer, in the words that the exporter speaks."""
    if request.content_type == _PROTOBUF:
        return web.Response(body=b"", content_type=_PROTOBUF)
    return web.Response(text="{}", content_type=_JSON)


def _read_json(body: bytes) -> dict[str, Any]:
    try:
        found = loads(body)
    except NotJson as why:
        raise web.HTTPBadRequest(text=f"not JSON: {why}") from None
    if not isinstance(found, dict) or not isinstance(found.get("resourceSpans"), list):
        raise web.HTTPBadRequest(text="no resourceSpans")
    return {"resourceSpans": found["resourceSpans"]}


def _read_protobuf(body: bytes) -> dict[str, Any]:
    """As OTLP's own JSON, which writes ids in hex where protobuf's would write base64."""
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    try:
        found = MessageToDict(ExportTraceServiceRequest.FromString(body))
    except (DecodeError, ValueError, RecursionError) as why:
        raise web.HTTPBadRequest(text=f"no spans in protobuf: {why}") from None
    for span in _spans(found):
        for one in (span, *span.get("links", ())):
            for name in _IDS:
                if name in one:
                    one[name] = b64decode(one[name]).hex()
    return {"resourceSpans": found.get("resourceSpans", [])}


def _spans(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for scopes in _objects(document.get("resourceSpans")):
        for spans in _objects(scopes.get("scopeSpans")):
            yield from _objects(spans.get("spans"))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else iter(())


def _hide(document: dict[str, Any]) -> None:
    """Take out what is named like a key."""
    holders = [*_spans(document)]
    holders += [event for span in holders for event in _objects(span.get("events"))]
    holders += [one["resource"] for one in _objects(document["resourceSpans"]) if isinstance(one.get("resource"), dict)]
    for holder in holders:
        for attribute in _objects(holder.get("attributes")):
            if isinstance(name := attribute.get("key"), str) and _SECRET.search(name):
                attribute["value"] = {"stringValue": "(redacted)"}
