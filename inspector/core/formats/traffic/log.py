"""Convert the exchanges of a capture to the records that our own proxy writes, and read these."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from inspector.core.dialects.catalogue import DIALECTS, Endpoint
from inspector.core.formats.proxy.keys import ClientKey, key_of, read_headers
from inspector.core.formats.proxy.reader import ProxyReader, named_endpoint
from inspector.core.formats.reading import ProblemList
from inspector.core.formats.traffic.bedrock import (
    AGENT,
    CONVERSE,
    DamagedMessage,
    StreamMessage,
    agent_calls,
    converse_request,
    converse_response,
    stream_events,
    stream_messages,
)
from inspector.core.formats.traffic.plain import (
    content_of,
    header,
    header_pairs,
    plain_body,
    url_path,
)
from inspector.core.session import HeldSession, Session
from inspector.core.untyped import fields_of, object_of, text_of


def traffic_endpoint(record: Mapping[str, Any]) -> Endpoint:
    """Return the endpoint of a request: by the record's `dialect`, else by its path, else by `anthropic_version`."""
    body = record.get("body")
    model = text_of(record.get("model"))
    if named := DIALECTS.get(text_of(record.get("dialect"))):
        return Endpoint("call", named, model)
    by_path = named_endpoint(record)
    # Bedrock, Vertex.
    if by_path.dialect is None and isinstance(body, Mapping) and "anthropic_version" in body:
        return Endpoint(
            "call", DIALECTS["anthropic"], model or _model_in(text_of(record.get("path")))
        )
    return by_path


_MODEL = re.compile(r"/models?/([^/?]+?)(?:/|:\w*rawPredict|\?|$)", re.IGNORECASE)


def _model_in(path: str) -> str:
    """Return the model that a path of Bedrock or Vertex names; empty if it names none."""
    match = _MODEL.search(path)
    return match[1].replace("%3A", ":") if match else ""


@dataclass(frozen=True, slots=True)
class CapturedRequest:
    """A request as the capture holds it. `size` is the number of bytes that were sent."""

    method: str
    url: Any
    headers: Any
    body: Any
    time: str = ""
    size: Any = None
    line: int = 0

    @property
    def is_of_model(self) -> bool:
        """Does the request go to a model, or to an agent that calls a model?"""
        path = url_path(self.url)
        where = traffic_endpoint(
            {"method": self.method, "path": path, "body": plain_body(self.body)}
        )
        return where.dialect is not None or bool(CONVERSE.search(path) or AGENT.search(path))


class TrafficReader:
    """A `Reader` (see `format.py`) of captures. Each kind has a subclass, whose `feed` adds the exchanges.

    If clients name several sessions, one is read: the one with the id or number `session`, by default the first.
    Exchanges without a session belong to the first one. Those before the first session belong to every session.
    """

    def __init__(self, format_: str, session: str = "") -> None:
        self._format = format_
        self._reader = ProxyReader(traffic_endpoint)
        self._wanted, self._chosen = session, ""
        self._held: dict[str, HeldSession] = {}
        self._taken: dict[int, str] = {}
        """The session of each unanswered exchange that is read, by its number; empty if the exchange names none."""
        self._ends: dict[str, str] = {}
        """The session of each response, by id of the response."""
        self._count = 0
        self._notes: dict[str, None] = {}
        self._problems = ProblemList()

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Read a document or a line. Invalid content never raises an error."""
        raise NotImplementedError

    def tell(
        self, request: CapturedRequest, status: Any, body: Any, headers: Any, **figures: Any
    ) -> None:
        """Add an exchange over HTTP. It has no answer if `status` and `body` are empty.

        Amazon Bedrock's form is converted to Anthropic's. `figures` are the `more` of `answer`.
        """
        path = url_path(request.url)
        pairs = header_pairs(headers)
        is_binary = isinstance(body, bytes) and "vnd.amazon.eventstream" in header(
            pairs, "content-type"
        )
        messages = self._messages(body) if is_binary else []
        if AGENT.search(path):
            self._add_agent(request, messages)
            return
        question = plain_body(request.body)
        more = dict[str, Any]()
        if is_binary:
            body = stream_events(messages)
        if converse := CONVERSE.search(path):
            more = {"dialect": "anthropic", "model": _model_in(path)}
            question = converse_request(fields_of(question))
            response = plain_body(body, pairs)
            body = (
                converse_response(response)
                if not converse[2] and isinstance(response, Mapping)
                else body
            )
        more |= {"size": request.size, "line": request.line}
        number = self.ask(
            request.method, request.url, request.headers, question, request.time, **more
        )
        if status or body:
            self.answer(number, status, body, headers, **figures)

    def _messages(self, data: bytes) -> list[StreamMessage]:
        messages: list[StreamMessage] = []
        for message in stream_messages(data):
            if isinstance(message, DamagedMessage):
                self._problems.note(
                    0, f"an event stream is damaged at byte {message.at:,}: {message.why}", ""
                )
            else:
                messages.append(message)
        return messages

    def _add_agent(self, request: CapturedRequest, messages: list[StreamMessage]) -> None:
        """Add the model calls that an agent's answer holds. The request to the agent is not a model call."""
        calls = agent_calls(messages)
        if not calls:
            self.note(
                "An agent of Bedrock was asked without traces: what its models were sent is not in this file."
            )
        for call in calls:
            about: dict[str, Any] = {
                "dialect": "anthropic",
                "model": call.model,
                "aside": call.aside,
            }
            time = call.time or request.time
            number = self.ask("POST", request.url, request.headers, call.request, time, **about)
            if call.response is not None:
                self.answer(number, 200, call.response)

    def ask(
        self,
        method: str,
        url: Any,
        headers: Any,
        body: Any,
        time: str = "",
        *,
        line: int = 0,
        **more: Any,
    ) -> int:
        """Add a request, and return its number.

        If `line` is 0, the file is one value, and the number of the exchange (from 1) is used as its line. `more` may
        hold `dialect` and `model` if the path does not name them, `aside` (the purpose of a side call), `transport`,
        and `size` (bytes that were sent).
        """
        number, self._count = self._count, self._count + 1
        pairs = header_pairs(headers)
        fields = fields_of(plain_body(body, pairs))
        if before := self._ends.get(text_of(fields.get("previous_response_id"))):
            # A request without a session belongs to that of the response which it continues.
            pairs.append(["session-id", before])
        key = key_of(read_headers(pairs), fields)
        if self._is_wanted(key):
            self._taken[number] = key.session if key.strong else ""
            record = {
                "type": "request",
                "exchange": number,
                "time": time,
                "method": method,
                "path": url_path(url),
            }
            self._reader.feed(
                line or number + 1, record | {"headers": pairs, "body": fields, **more}
            )
        return number

    def _is_wanted(self, key: ClientKey) -> bool:
        if not key.strong:
            return not self._held or self._chosen == next(iter(self._held))
        if key.session not in self._held:
            if not self._chosen and self._wanted in ("", key.session, str(len(self._held))):
                self._chosen = key.session
            self._held[key.session] = HeldSession(key.session, key.client)
        return key.session == self._chosen

    def answer(
        self,
        number: int,
        status: Any,
        content: Any,
        headers: Any = (),
        *,
        line: int = 0,
        **more: Any,
    ) -> None:
        """Add the response to a request. `more` may hold `time`, `elapsed_ms`, `ended`, `error` and `size` (bytes)."""
        session = self._taken.pop(number, None)
        if session is None:
            return
        pairs = header_pairs(headers)
        fields = content_of(plain_body(content, pairs))
        if session:
            for value in (fields, *fields.get("frames", ())):
                for key in ("body", "response"):
                    if name := text_of(object_of(value, key).get("id")):
                        self._ends[name] = session
        record = {"type": "response", "exchange": number, "status": status, "headers": pairs}
        self._reader.feed(line or number + 1, record | fields | more)

    def note(self, text: str) -> None:
        """Add a note about the file. The same note is added only once."""
        self._notes[text] = None

    def session(self) -> Session:
        """Return the session so far; it has no threads if the wanted session is not in the file."""
        session = self._reader.session()
        held = tuple(self._held.values()) if len(self._held) > 1 else ()
        if not self._chosen and self._wanted not in ("", "0"):
            return Session(self._format, held=held)
        return replace(
            session,
            format=self._format,
            problems=(*session.problems, *self._problems),
            notes=(*session.notes, *self._notes),
            held=held,
        )
