"""Receives spans over OTLP/HTTP, on loopback only, and writes them down: a line of OTLP JSON each time some come.

The file is a trace like any other: it can be opened and followed while it grows. JSON and protobuf are taken, packed or
not. Of logs is kept what a record says of a model's call (some libraries tell messages there); other records, and
metrics, are accepted and not kept. Values of attributes that are named like a key are not written.
"""

import asyncio
import os
import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from aiohttp import web

from inspector.core.errors import InspectorError
from inspector.core.jsontext import NotJson, dumps, loads
from inspector.core.untyped import fields_of, list_of, object_of, text_at
from inspector.safety.web_server import WebServer, is_local

PORT = 4318
"""Where exporters send to when nobody tells them."""
LARGEST = 64 << 20
"""Bytes of one request, unpacked."""
_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_BEGIN = b'{"resourceSpans":'
_EMPTY = _BEGIN + b"[]}\n"
_IDS = ("traceId", "spanId", "parentSpanId")
_SIGNALS = {"traces": ("resourceSpans", "scopeSpans", "spans"), "logs": ("resourceLogs", "scopeLogs", "logRecords")}
"""What each is wrapped in, from the outside in."""
_SECRET = re.compile(r"authorization|api[._-]?key|cookie|secret|password|credential", re.IGNORECASE)


class SpanReceiver(WebServer):
    """`record` is a new file, or one that it wrote before. Raises InspectorError for an address, a port or a file that
    cannot be used.
    """

    NAME: ClassVar[str] = "receiver"
    OPTIONS: ClassVar[Mapping[str, Any]] = {"shutdown_timeout": 1.0}

    def __init__(
        self, record: Path, *, host: str = "127.0.0.1", port: int = PORT, told: Callable[[], None] = lambda: None
    ) -> None:
        """`told` is called, from a thread of its own, when spans have come."""
        super().__init__(host, port)
        try:
            self._file = _open(record)
        except InspectorError:
            self.socket.close()
            raise
        self._told = told
        self.spans = 0
        """Received so far."""

    def close(self) -> None:
        """End it; what is being received is written first. May be called twice."""
        super().close()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _application(self) -> web.Application:
        app = web.Application(client_max_size=LARGEST)
        app.router.add_post("/v1/{signal:traces|logs}", self._take)
        app.router.add_post("/v1/metrics", self._pass)
        return app

    async def _take(self, request: web.Request) -> web.Response:
        _refuse_pages(request)
        body, signal = await request.read(), request.match_info["signal"]
        if request.content_type == _JSON:
            document = _read_json(body, signal)
        elif request.content_type == _PROTOBUF:
            document = await asyncio.to_thread(_read_protobuf, body, signal)
        else:
            raise web.HTTPUnsupportedMediaType(text=f"send {_JSON} or {_PROTOBUF}")
        if signal == "logs" and not _keep_calls(document):
            return _answer(request)
        _hide(document, signal)
        try:
            left = memoryview(dumps(document).encode("utf-8", "replace") + b"\n")
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as error:
            raise web.HTTPInsufficientStorage(text=f"cannot be written: {error.strerror or error}") from None
        self.spans += sum(1 for _ in _items(document, "traces"))
        self._told()
        return _answer(request)

    async def _pass(self, request: web.Request) -> web.Response:
        _refuse_pages(request)
        await request.read()
        return _answer(request)


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
    if not is_local(request):
        raise web.HTTPForbidden(text="only programs on this machine may send spans")


def _answer(request: web.Request) -> web.Response:
    """All was taken: an empty answer, in the words that the exporter speaks."""
    if request.content_type == _PROTOBUF:
        return web.Response(body=b"", content_type=_PROTOBUF)
    return web.Response(text="{}", content_type=_JSON)


def _read_json(body: bytes, signal: str) -> dict[str, Any]:
    outer, *_ = _SIGNALS[signal]
    try:
        found = loads(body)
    except NotJson as why:
        raise web.HTTPBadRequest(text=f"not JSON: {why}") from None
    if not isinstance(found, dict) or not isinstance(found.get(outer, [] if signal == "logs" else None), list):
        raise web.HTTPBadRequest(text=f"no {outer}")
    return {outer: found.get(outer, [])}


def _read_protobuf(body: bytes, signal: str) -> dict[str, Any]:
    """As OTLP's own JSON, which writes ids in hex where protobuf's would write base64."""
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    try:
        told = (ExportLogsServiceRequest if signal == "logs" else ExportTraceServiceRequest).FromString(body)
        found = MessageToDict(told)
    except (DecodeError, ValueError, RecursionError) as why:
        raise web.HTTPBadRequest(text=f"no {signal} in protobuf: {why}") from None
    for item in _items(found, signal):
        for one in (item, *item.get("links", ())):
            for name in _IDS:
                if name in one:
                    one[name] = b64decode(one[name]).hex()
    return {_SIGNALS[signal][0]: found.get(_SIGNALS[signal][0], [])}


def _items(document: dict[str, Any], signal: str) -> Iterator[dict[str, Any]]:
    """Spans, or records of a log."""
    outer, inner, last = _SIGNALS[signal]
    for resource in _objects(document.get(outer)):
        for scope in _objects(resource.get(inner)):
            yield from _objects(scope.get(last))


def _keep_calls(document: dict[str, Any]) -> bool:
    """Of a log only the records that say something of a model's call. Are there any?"""
    outer, inner, last = _SIGNALS["logs"]
    for resource in _objects(document[outer]):
        for scope in _objects(resource.get(inner)):
            scope[last] = [one for one in _objects(scope.get(last)) if _is_of_call(one)]
    return any(True for _ in _items(document, "logs"))


def _is_of_call(record: dict[str, Any]) -> bool:
    named = (one.get("value") for one in _objects(record.get("attributes")) if one.get("key") == "event.name")
    names = (record.get("eventName"), *(text_at(one, "stringValue") for one in named))
    return bool(record.get("spanId")) and any(isinstance(one, str) and one.startswith("gen_ai.") for one in names)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else iter(())


def _hide(document: dict[str, Any], signal: str) -> None:
    """Take out what is named like a key, also in values that hold others."""
    holders = [*_items(document, signal)]
    holders += [event for span in holders for event in _objects(span.get("events"))]
    resources = _objects(document[_SIGNALS[signal][0]])
    holders += [one["resource"] for one in resources if isinstance(one.get("resource"), dict)]
    told = [holder.get("attributes") for holder in holders]
    told += [[{"value": holder.get("body")}] for holder in holders]
    while told:
        for attribute in _objects(told.pop()):
            if isinstance(name := attribute.get("key"), str) and _SECRET.search(name):
                attribute["value"] = {"stringValue": "(redacted)"}
                continue
            value = fields_of(attribute.get("value"))
            told.append(list_of(object_of(value, "kvlistValue").get("values")))
            told.append([{"value": one} for one in list_of(object_of(value, "arrayValue").get("values"))])
