"""One exchange: what was asked, what was really sent, what came back, as its records come in.

A response is a JSON body, an event stream, or WebSocket frames; whole or cut off.
"""

from collections.abc import Mapping
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
from inspector.core.untyped import fields_of, text_of, whole_of
from inspector.core.usage import Usage, is_absurd

CUT = "cut"
"""How a request ends whose answer did not come to its own end."""


@quick
@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    wire: tuple[Any, ...] = ()
    """What the next request will repeat, as wire messages."""
    usage: Usage | None = None
    finish: str = ""
    model: str = ""
    id: str = ""
    edits: tuple[Mapping[str, Any], ...] = ()
    failure: str = ""
    """Why there is no answer; empty where there is one."""
    status: int | None = None
    time: str = ""
    absurd: bool = False
    """It reported counts that there cannot be; they were left out."""


def read_reply(dialect: Dialect | None, record: Mapping[str, Any]) -> Reply:
    """A recorded response. Never raises."""
    status, when = record.get("status"), text_of(record.get("time"))
    code = status if isinstance(status, int) else None
    body, finished, error = _body(dialect, record)
    if not error:
        said = body.get("error")
        error = said if isinstance(said, Mapping) else {"message": said} if isinstance(said, str) else {}
    failure = _failure(record, code, error)
    if dialect is None or (failure and (code or 0) >= 400):
        return Reply(failure=failure, status=code, time=when)
    found = reply_of(dialect, body)
    finish = found.finish if finished else "error" if error else CUT
    is_whole = finished and (dialect.is_response(body) or "input_tokens" in body)
    lost = "" if found.wire or is_whole else failure
    usage = found.usage
    if usage is not None and not finished:
        usage = replace(usage, output_is_final=False)
    return Reply(found.wire, usage, finish, found.model, found.id, found.edits, lost, code, when, found.absurd)


def reply_of(dialect: Dialect, body: Mapping[str, Any]) -> Reply:
    """A whole response."""
    counts = body.get(dialect.counts)
    return Reply(
        tuple(dialect.answer(body)),
        dialect.usage(counts),
        dialect.finish(body),
        next((name for key in ("model", "modelVersion") if isinstance(name := body.get(key), str)), ""),
        next((name for key in ("id", "responseId") if isinstance(name := body.get(key), str)), ""),
        read_edits(body),
        absurd=is_absurd(counts),
    )


def _body(dialect: Dialect | None, record: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool, Mapping[str, Any]]:
    """The response's body, whether it came to its end, and the error that a stream reported."""
    told = record.get("frames")
    stream = record.get("stream")
    body = record.get("body")
    if dialect is not None and (isinstance(told, list) or isinstance(stream, str) or isinstance(body, list)):
        parts = told if isinstance(told, list) else events(stream) if isinstance(stream, str) else body
        assembled = assemble(dialect, parts if isinstance(parts, list) else parts or ())
        broken = record.get("ended") in ("upstream closed", "failed")
        return assembled.body(), assembled.finished and not broken, assembled.failure or {}
    found = unwrapped(body) or {}
    return found, bool(found), {}


def unwrapped(value: Any) -> Mapping[str, Any] | None:
    """The response where the value is an event around one (`response.completed`), else the value itself."""
    told = fields_of(value)
    inner = told.get("response") if "output" not in told else None
    body = inner if isinstance(inner, dict) else value
    return body if type(body) is dict or isinstance(body, Mapping) else None


def _failure(record: Mapping[str, Any], status: int | None, error: Mapping[str, Any]) -> str:
    """Why there is no answer, in the provider's words."""
    words = next((told for key in ("message", "code", "type", "status") if isinstance(told := error.get(key), str)), "")
    if status is not None and status >= 400:
        text = record.get("text")
        return words[:300] or (text[:300] if isinstance(text, str) and text else f"status {status}")
    if words:
        return words[:300]
    ended, why = record.get("ended"), record.get("error")
    if ended in ("failed", "upstream closed", "client closed") or (isinstance(why, str) and why):
        return f"{ended}: {why}" if isinstance(why, str) and why else f"{ended}"
    return "" if status is not None else "no answer"


REFUSED, DROPPED = "refused", "dropped"
_NO_REPLY = Reply()


@dataclass(slots=True, eq=False)
class Exchange:
    """The only one who changes it is the reader."""

    number: int
    line: int
    time: str
    path: str
    endpoint: Endpoint
    key: ClientKey
    asked: Body
    """As the client sent it."""
    connection: tuple[int, int] = (0, 0)
    """Run of the proxy, number of the client's connection in it."""
    window: int | None = None
    """As the proxy was set, or as the request asks for it."""
    kind: str = ""
    """Why it is no step of a conversation; empty where it is one."""
    sent: Body | None = None
    """As it went on to the provider, where that was something else."""
    reply: Reply | None = None
    """None while there is no answer."""
    end: View = EMPTY_VIEW
    """The buffer with the answer to it."""
    trigger: str = ""
    """Of a compaction, where the client says it."""
    thread: int | None = None
    """Number of the conversation that it belongs to."""
    known: int = 0
    """Conversations that were known when it turned out to be no step."""
    held: str = ""
    held_at: str = ""
    predicted: tuple[int, int, int] | None = None
    """(tokens, least, most) that the proxy predicted of what it held."""
    promised: tuple[int, int, int] | None = None
    """The same of what it forwarded instead."""
    recut: Body | None = None
    """What was held, where earlier cuts had been made again for it and it was cut once more."""
    released: str = ""
    said: str = ""
    """How the answer of a call for a summary begins."""
    counted: int | None = None
    """What a token count said."""
    record: Mapping[str, Any] | None = field(default=None, repr=False)
    """The request as it was recorded, while something that it continues is missing."""
    noted: dict[str, Any] = field(default_factory=dict)
    """What its records said for the summary."""
    summed: ExchangeSummary | None = None
    """The summary, while nothing came since."""

    @property
    def summary(self) -> ExchangeSummary:
        """In figures, as far as its records came in."""
        if self.summed is None:
            told = {"method": "", "path": self.path, "client": self.key.client, **self.noted}
            self.summed = ExchangeSummary(self.number, self.line, self.time, **told)
        return self.summed

    def note(self, kind: str, record: Mapping[str, Any]) -> None:
        """What the record adds to the summary."""
        noted, self.summed = self.noted, None
        noted["model"] = self.model
        match kind:
            case "request":
                noted |= {"method": text_of(record.get("method")), "up": whole_of(record.get("size"))}
            case "sent":
                noted["sent"] = whole_of(record.get("size"))
            case "held":
                self.held_at = text_of(record.get("time"))
                noted["held"] = self.held
            case "released":
                noted["done"] = self.released
                if self.held:
                    noted["held_ms"] = milliseconds_between(self.held_at, text_of(record.get("time")))
            case "response" if not noted.get("ended"):
                noted |= {
                    "status": whole_of(record.get("status")) or 0,
                    "down": whole_of(record.get("size")),
                    "first_byte_ms": _milliseconds(record.get("first_byte_ms")),
                    "elapsed_ms": _milliseconds(record.get("elapsed_ms")),
                    "ended": text_of(record.get("ended")) or "complete",
                    "error": self.reply.failure if self.reply is not None else "",
                    "usage": self.reply.usage if self.reply is not None else None,
                }

    @property
    def body(self) -> Body:
        """What the provider read."""
        return self.sent or self.asked

    @property
    def uncut(self) -> Body:
        """What would have been sent, had nobody cut it: what was held."""
        return self.recut or self.asked

    @property
    def model(self) -> str:
        """Named by the answer, else by the request, else by the path."""
        asked = self.asked.fields.get("model")
        return (self.reply.model if self.reply else "") or (asked if isinstance(asked, str) else self.endpoint.model)

    def request(self, index: int, view: View) -> Request:
        """As a step of a thread."""
        reply = self.reply or _NO_REPLY
        return Request(
            index,
            view,
            (self.sent or self.asked).prompt,
            reply.usage,
            self.model,
            self.time,
            reply.finish,
            self.line,
            self.window,
            reply.edits,
            self.uncut.view if self.sent is not None else None,
            self.promised if self.released == "changed" else self.predicted,
            self.noted.get("elapsed_ms"),
            self.noted.get("first_byte_ms"),
        )

    def side_call(self, thread: str, before: int, made: int | None) -> SideCall:
        """As a call beside the conversation."""
        reply = self.reply or _NO_REPLY
        told = f"{self.path}: {reply.failure}" if reply.failure else self.path
        told = told if self.counted is None else f"{self.counted:,} tokens"
        return SideCall(
            self.kind or "call without tools",
            thread,
            before,
            made,
            told,
            self.model,
            reply.usage,
            reply.status,
            self.line,
            self.time,
        )


def milliseconds_between(earlier: str, later: str) -> float | None:
    """From one recorded time to another; None where either is no time."""
    seconds = seconds_between(earlier, later)
    return None if seconds is None else seconds * 1000


def _milliseconds(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e12 else None
