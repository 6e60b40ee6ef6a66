"""What a capture tells, exchange by exchange, told on as the records that our own proxy writes."""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from inspector.core.dialects.catalogue import DIALECTS, Endpoint, event_of
from inspector.core.dialects.decoding import decoded
from inspector.core.formats.excerpt import excerpt
from inspector.core.formats.proxy.keys import ClientKey, key_of, read_headers
from inspector.core.formats.proxy.reader import ProxyReader, named_endpoint
from inspector.core.session import HeldSession, Problem, Session
from inspector.core.untyped import fields_of, list_of, object_of, text_of, value_in

_HOST = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
_STREAMS = ("data:", "event:", ": ", "id:")


def path_of(url: Any) -> str:
    """The path of an address, with its query; a path stays what it is."""
    text = text_of(url)
    found = _HOST.match(text)
    return (text[found.end() :] or "/") if found else text


def header_pairs(value: Any) -> list[list[str]]:
    """Headers as a recording has them, of an object (a text or a list each), of pairs, of `{name, value}`."""
    if isinstance(value, Mapping):
        return [[str(name), text] for name, told in value.items() for text in _texts(told)]
    pairs: list[list[str]] = []
    for one in list_of(value):
        match one:
            case {"name": str(name), "value": str(text)} | [str(name), str(text)]:
                pairs.append([name, text])
    return pairs


def _texts(told: Any) -> Iterable[str]:
    return (text for text in (told if isinstance(told, list) else [told]) if isinstance(text, str))


def header(pairs: Sequence[Sequence[str]], wanted: str) -> str:
    """The first header of that name (lower case); empty where there is none."""
    return next((text for name, text in pairs if name.lower() == wanted), "")


def plain_body(data: Any, headers: Sequence[Sequence[str]] = ()) -> Any:
    """A body out of its chunks and its content encoding and, where it is JSON, parsed; else its text. Other values as
    they are."""
    if isinstance(data, str | bytes) and "chunked" in header(headers, "transfer-encoding"):
        data = _without_chunks(data)
    if isinstance(data, bytes):
        data = decoded(data, header(headers, "content-encoding")).data.decode("utf-8", "replace")
    if isinstance(data, str) and data.lstrip()[:1] in ("{", "["):
        return value_in(data, data)
    return data


_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;[^\r\n]*)?\r\n")


def _without_chunks(data: str | bytes) -> str | bytes:
    """A body as it went over the line, put together; most captures did that already."""
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    found, at = list[bytes](), 0
    while head := _CHUNK.match(raw, at):
        end = head.end() + int(head[1], 16)
        found.append(raw[head.end() : end])
        at = end + 2
        if raw[end:at] not in (b"\r\n", b""):
            return data
    whole = b"".join(found)
    return data if not found else whole.decode("utf-8", "replace") if isinstance(data, str) else whole


def bytes_of(text: Any) -> bytes:
    """What a text in base64 stands for; empty where it is none."""
    try:
        return b64decode(text, validate=False) if isinstance(text, str) else b""
    except (Error, ValueError):
        return b""


def content_of(value: Any) -> dict[str, Any]:
    """The fields of a recorded response that hold this body: JSON, events, an event stream, any other text."""
    match value:
        case Mapping():
            return {"body": value}
        case list():
            return {"frames": [event for one in value if (event := event_of(one)) is not None]}
        case str() if value.lstrip().startswith(_STREAMS):
            return {"stream": value.lstrip()}
        case str():
            return {"text": value[:4000]}
    return {}


def traffic_endpoint(record: Mapping[str, Any]) -> Endpoint:
    """What is asked for: by what the record says of itself, by the path, by a mark of Anthropic's in the body."""
    body, model = record.get("body"), text_of(record.get("model"))
    if named := DIALECTS.get(text_of(record.get("dialect"))):
        return Endpoint("call", named, model)
    found = named_endpoint(record)
    if found.dialect is None and isinstance(body, Mapping) and "anthropic_version" in body:  # Bedrock, Vertex
        return Endpoint("call", DIALECTS["anthropic"], model or model_in(text_of(record.get("path"))))
    return found


_MODEL = re.compile(r"/models?/([^/?]+?)(?:/|:\w*rawPredict|\?|$)", re.IGNORECASE)


def model_in(path: str) -> str:
    """The model that a path of Bedrock or Vertex names; empty where it names none."""
    found = _MODEL.search(path)
    return found[1].replace("%3A", ":") if found else ""


def is_call(method: str, url: Any, body: Any) -> bool:
    """Is a model asked?"""
    record = {"method": method, "path": path_of(url), "body": body}
    return traffic_endpoint(record).dialect is not None


class TrafficLog:
    """Exchanges on their way into the reader of recordings.

    Where clients name several sessions, that of `wanted` is read (its id or its number), else the first. Exchanges that
    name none go with the first, those in front of all with any.
    """

    def __init__(self, wanted: str = "") -> None:
        self._reader = ProxyReader(traffic_endpoint)
        self._wanted, self._chosen = wanted, ""
        self._held: dict[str, HeldSession] = {}
        self._taken: dict[int, str] = {}
        """The session of each exchange that is read, by its number; empty where it names none."""
        self._ends: dict[str, str] = {}
        """The session of a response, by its id."""
        self._count = 0
        self._notes: dict[str, None] = {}
        self._problems: list[Problem] = []

    def ask(self, method: str, url: Any, headers: Any, body: Any, time: str = "", *, line: int = 0, **more: Any) -> int:
        """A request; its number. `line` 0: the file is one value; the number of the exchange (from 1) stands for it.

        `more`: `dialect` and `model`, where not the path names them; `aside`: what a call beside the conversation is
        for; `transport`; `size` on the wire.
        """
        number, self._count = self._count, self._count + 1
        pairs = header_pairs(headers)
        told = plain_body(body, pairs)
        fields = fields_of(told)
        if before := self._ends.get(text_of(fields.get("previous_response_id"))):
            pairs.append(["session-id", before])  # it is of the session that it goes on, if it says nothing else
        key = key_of(read_headers(pairs), fields)
        if self._is_wanted(key):
            self._taken[number] = key.session if key.strong else ""
            record = {"type": "request", "exchange": number, "time": time, "method": method, "path": path_of(url)}
            self._reader.feed(line or number + 1, record | {"headers": pairs, "body": fields, **more})
        return number

    def _is_wanted(self, key: ClientKey) -> bool:
        if not key.strong:
            return not self._held or self._chosen == next(iter(self._held))
        if key.session not in self._held:
            if not self._chosen and self._wanted in ("", key.session, str(len(self._held))):
                self._chosen = key.session
            self._held[key.session] = HeldSession(key.session, key.client)
        return key.session == self._chosen

    def answer(self, number: int, status: Any, content: Any, headers: Any = (), *, line: int = 0, **more: Any) -> None:
        """What came back. `more`: `time`, `elapsed_ms`, `ended`, `error`, `size`."""
        if (session := self._taken.pop(number, None)) is None:
            return
        pairs = header_pairs(headers)
        told = content_of(plain_body(content, pairs))
        for one in (told, *told.get("frames", ())):
            for key in ("body", "response"):
                if session and (name := text_of(object_of(one, key).get("id"))):
                    self._ends[name] = session
        record = {"type": "response", "exchange": number, "status": status, "headers": pairs}
        self._reader.feed(line or number + 1, record | told | more)

    def note(self, text: str) -> None:
        """A sentence about the file; once, however often it is said."""
        self._notes[text] = None

    def skip(self, line: int, what: str, value: Any) -> None:
        """Something that could not be read."""
        self._problems.append(Problem(line, what, excerpt(value)))

    def session(self, format_: str) -> Session:
        """The session so far; one without threads where the wanted one is not in the file."""
        found = self._reader.session()
        held = tuple(self._held.values()) if len(self._held) > 1 else ()
        if not self._chosen and self._wanted not in ("", "0"):
            return Session(format_, held=held)
        return replace(
            found,
            format=format_,
            problems=(*found.problems, *self._problems),
            notes=(*found.notes, *self._notes),
            held=held,
        )


class Capture(Protocol):
    """The way that one format tells its exchanges."""

    def take(self, line: int, value: Any) -> None:
        """The value that stood on `line`. Never raises for what it holds."""
        ...


class TrafficReader:
    """A `Reader` (see `format.py`)."""

    def __init__(self, format_: str, start: Callable[[TrafficLog], Capture], wanted: str = "") -> None:
        self._format, self._log = format_, TrafficLog(wanted)
        self._capture = start(self._log)

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take a document, or a line."""
        del file  # captures have no companions
        self._capture.take(line, value)

    def session(self) -> Session:
        """The session so far; one without threads where the wanted one is not in the file."""
        return self._log.session(self._format)
