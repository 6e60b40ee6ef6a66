"""One exchange, filled while its records arrive: the client's request, the forwarded request and the response.

A response is a JSON body, an event stream, or WebSocket frames. It may be cut off.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.core.buffer import EMPTY_VIEW, View
from inspector.core.dialects.anthropic import read_edits
from inspector.core.dialects.catalogue import Endpoint, assemble, events
from inspector.core.dialects.dialect import Dialect
from inspector.core.exchange import ExchangeSummary
from inspector.core.formats.proxy.bodies import Body
from inspector.core.formats.proxy.keys import ClientKey
from inspector.core.quick import quick
from inspector.core.session import Request, SideCall, seconds_between
from inspector.core.untyped import fields_of, text_at, text_of, text_under, whole_of
from inspector.core.usage import Usage, is_absurd

CUT = "cut"
"""Finish reason of a request whose answer was cut off."""


@quick
@dataclass(frozen=True, slots=True)
class Reply:
    """The response to a request."""

    wire: tuple[Any, ...] = ()
    """The answer as wire messages, as the next request will repeat it."""
    usage: Usage | None = None
    finish: str = ""
    model: str = ""
    id: str = ""
    edits: tuple[Mapping[str, Any], ...] = ()
    failure: str = ""
    """Why there is no answer; empty if there is an answer."""
    status: int | None = None
    time: str = ""
    absurd: bool = False
    """Did the response report impossible token counts? They are left out."""


def read_response(dialect: Dialect | None, record: Mapping[str, Any]) -> Reply:
    """Read a recorded response. Never raises."""
    status = record.get("status")
    time = text_of(record.get("time"))
    code = status if isinstance(status, int) else None
    body, is_finished, error = _read_body(dialect, record)
    error = error or _read_error(body)
    failure = _describe_failure(record, code, error)
    if dialect is None or (failure and (code or 0) >= 400):
        return Reply(failure=failure, status=code, time=time)
    reply = reply_of(dialect, body)
    if not is_finished:
        usage = replace(reply.usage, output_is_final=False) if reply.usage is not None else None
        reply = replace(reply, usage=usage, finish="error" if error else CUT)
    is_whole = is_finished and (dialect.is_response(body) or "input_tokens" in body)
    has_answer = bool(reply.wire) or is_whole
    return replace(reply, failure="" if has_answer else failure, status=code, time=time)


def _read_error(body: Mapping[str, Any]) -> Mapping[str, Any]:
    error = body.get("error")
    if isinstance(error, str):
        return {"message": error}
    return error if isinstance(error, Mapping) else {}


def reply_of(dialect: Dialect, body: Mapping[str, Any]) -> Reply:
    """Read the body of a complete response."""
    counts = body.get(dialect.counts)
    return Reply(
        wire=tuple(dialect.answer(body)),
        usage=dialect.usage(counts),
        finish=dialect.finish(body),
        model=text_under(body, "model", "modelVersion"),
        id=text_under(body, "id", "responseId"),
        edits=read_edits(body),
        absurd=is_absurd(counts),
    )


def _read_body(
    dialect: Dialect | None, record: Mapping[str, Any]
) -> tuple[Mapping[str, Any], bool, Mapping[str, Any]]:
    """Return the response's body, whether it is complete, and the error that a stream reported."""
    parts = _stream_of(record)
    if dialect is None or parts is None:
        body = unwrap_response(record.get("body")) or {}
        return body, bool(body), {}
    assembled = assemble(dialect, parts)
    is_broken = record.get("ended") in ("upstream closed", "failed")
    return assembled.body(), assembled.finished and not is_broken, assembled.failure or {}


def _stream_of(record: Mapping[str, Any]) -> Iterable[Any] | None:
    """Return the events or WebSocket frames of a response; None if it was a single body."""
    frames = record.get("frames")
    stream = record.get("stream")
    body = record.get("body")
    if isinstance(frames, list):
        return frames
    if isinstance(stream, str):
        return events(stream)
    return body if isinstance(body, list) else None


def unwrap_response(value: Any) -> Mapping[str, Any] | None:
    """Return the response inside an event (`response.completed`), else the value itself; None if it is no object."""
    event = fields_of(value)
    inner = event.get("response") if "output" not in event else None
    body = inner if isinstance(inner, dict) else value
    return body if type(body) is dict or isinstance(body, Mapping) else None


def _describe_failure(
    record: Mapping[str, Any], status: int | None, error: Mapping[str, Any]
) -> str:
    """Return why there is no answer, in the provider's words; empty if there is an answer."""
    words = text_under(error, "message", "code", "type", "status")[:_LONGEST_FAILURE]
    if status is not None and status >= 400:
        return words or text_at(record, "text")[:_LONGEST_FAILURE] or f"status {status}"
    if words:
        return words
    ended = record.get("ended")
    reason = text_at(record, "error")
    if reason:
        return f"{ended}: {reason}"
    if ended in ("failed", "upstream closed", "client closed"):
        return f"{ended}"
    return "" if status is not None else "no answer"


_LONGEST_FAILURE = 300
"""Maximum number of characters kept of the provider's words."""


REFUSED, DROPPED = "refused", "dropped"
_NO_REPLY = Reply()


@dataclass(slots=True, eq=False)
class Exchange:
    """A request with its response. Only the reader may change it."""

    number: int
    line: int
    time: str
    path: str
    endpoint: Endpoint
    key: ClientKey
    asked: Body
    """The body as the client sent it."""
    connection: tuple[int, int] = (0, 0)
    """(Run of the proxy, number of the client's connection in this run)."""
    window: int | None = None
    """Context window in tokens, as set at the proxy or asked for by the request; None if neither says it."""
    kind: str = ""
    """Kind of side call (title, compaction, refused, ...); empty for a step of a conversation."""
    sent: Body | None = None
    """The body that was forwarded or that the model read; None if it is the same as `asked`."""
    reply: Reply | None = None
    """None until a response arrives."""
    end: View = EMPTY_VIEW
    """The buffer of the request, followed by the answer."""
    trigger: str = ""
    """Why the client compacts, in its own word; empty for other requests and if the client does not say it."""
    thread: int | None = None
    """Number of the conversation to which the exchange belongs; None if unknown."""
    known_threads: int = 0
    """Number of conversations that were known when the exchange was found to be a side call."""
    held: str = ""
    held_at: str = ""
    predicted: tuple[int, int, int] | None = None
    """(tokens, least, most) that the proxy predicted for the request that it held."""
    promised: tuple[int, int, int] | None = None
    """(tokens, least, most) that the proxy predicted for the request that it forwarded instead."""
    recut: Body | None = None
    """The body that was held, if the proxy had repeated earlier cuts in it and a person then cut it once more."""
    released: str = ""
    summary_lead: str = ""
    """Beginning of the summary that a compaction call returned; empty for other exchanges."""
    token_count: int | None = None
    """Tokens that the provider counted, if the request asked for a token count."""
    record: Mapping[str, Any] | None = field(default=None, repr=False)
    """The recorded request, kept while the response that it continues is missing."""
    figures: dict[str, Any] = field(default_factory=dict)
    """Fields of `summary` that the records so far hold."""
    _summary: ExchangeSummary | None = None
    """The cached `summary`; None after a new record."""

    @property
    def summary(self) -> ExchangeSummary:
        """The sizes, times and usage of the exchange, as far as its records have arrived."""
        if self._summary is None:
            fields = {"method": "", "path": self.path, "client": self.key.client, **self.figures}
            self._summary = ExchangeSummary(self.number, self.line, self.time, **fields)
        return self._summary

    def note(self, kind: str, record: Mapping[str, Any]) -> None:
        """Take the sizes, times and usage from a record of this kind."""
        figures, self._summary = self.figures, None
        figures["model"] = self.model
        match kind:
            case "request":
                figures |= {
                    "method": text_of(record.get("method")),
                    "up": whole_of(record.get("size")),
                }
            case "sent":
                figures["sent"] = whole_of(record.get("size"))
            case "held":
                self.held_at = text_of(record.get("time"))
                figures["held"] = self.held
            case "released":
                figures["done"] = self.released
                if self.held:
                    figures["held_ms"] = milliseconds_between(
                        self.held_at, text_of(record.get("time"))
                    )
            case "response" if not figures.get("ended"):
                self._note_response(record)

    def _note_response(self, record: Mapping[str, Any]) -> None:
        reply = self.reply or _NO_REPLY
        self.figures |= {
            "status": whole_of(record.get("status")) or 0,
            "down": whole_of(record.get("size")),
            "first_byte_ms": _milliseconds(record.get("first_byte_ms")),
            "elapsed_ms": _milliseconds(record.get("elapsed_ms")),
            "ended": text_of(record.get("ended")) or "complete",
            "error": reply.failure,
            "usage": reply.usage,
        }

    @property
    def body(self) -> Body:
        """The request body that the model read."""
        return self.sent or self.asked

    @property
    def uncut(self) -> Body:
        """The request body before a person cut it at the proxy."""
        return self.recut or self.asked

    @property
    def model(self) -> str:
        """The model's name in the response, else in the request, else in the path."""
        if self.reply is not None and self.reply.model:
            return self.reply.model
        name = self.asked.fields.get("model")
        return name if isinstance(name, str) else self.endpoint.model

    def request(self, index: int, view: View) -> Request:
        """Return the exchange as step number `index` of a thread."""
        reply = self.reply or _NO_REPLY
        request = Request(
            index=index,
            view=view,
            prompt=self.body.prompt,
            usage=reply.usage,
            model=self.model,
            time=self.time,
            finish=reply.finish,
            line=self.line,
            window=self.window,
            edits=reply.edits,
        )
        predicted = self.promised if self.released == "changed" else self.predicted
        elapsed_ms = self.figures.get("elapsed_ms")
        first_byte_ms = self.figures.get("first_byte_ms")
        return replace(
            request,
            asked=self.uncut.view if self.sent is not None else None,
            predicted=predicted,
            elapsed_ms=elapsed_ms,
            first_byte_ms=first_byte_ms,
        )

    def side_call(self, thread: str, before_request: int, compaction: int | None) -> SideCall:
        """Return the exchange as a side call. The arguments are fields of `SideCall` (`compaction` is its `made`)."""
        reply = self.reply or _NO_REPLY
        what = f"{self.path}: {reply.failure}" if reply.failure else self.path
        if self.token_count is not None:
            what = f"{self.token_count:,} tokens"
        return SideCall(
            kind=self.kind or "call without tools",
            thread=thread,
            before_request=before_request,
            made=compaction,
            what=what,
            model=self.model,
            usage=reply.usage,
            status=reply.status,
            line=self.line,
            time=self.time,
        )


def milliseconds_between(earlier: str, later: str) -> float | None:
    """Return the milliseconds from one recorded time to another; None if either is no time."""
    seconds = seconds_between(earlier, later)
    return None if seconds is None else seconds * 1000


def _milliseconds(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e12 else None
