"""One exchange while its records come in: what was asked, what was really sent, what came back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inspector.core.buffer import EMPTY_VIEW, View
from inspector.core.dialects.catalogue import Endpoint
from inspector.core.exchange import ExchangeSummary
from inspector.core.formats.proxy.bodies import Body
from inspector.core.formats.proxy.keys import ClientKey
from inspector.core.formats.proxy.replies import Reply
from inspector.core.session import Request, SideCall, seconds_between
from inspector.core.untyped import text_of, whole_of

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
    held: str = ""
    held_at: str = ""
    predicted: tuple[int, int, int] | None = None
    """(tokens, least, most) that the proxy predicted of what it held."""
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
            self.asked.view if self.sent is not None else None,
            None if self.released == "changed" else self.predicted,
            self.noted.get("elapsed_ms"),
            self.noted.get("first_byte_ms"),
        )

    def side_call(self, thread: str, before: int, made: int | None) -> SideCall:
        """As a call beside the conversation."""
        reply = self.reply or _NO_REPLY
        told = f"{self.path}: {reply.failure}" if reply.failure else self.path
        told = told if self.counted is None else f"{self.counted:,} tokens"
        return SideCall(
            self.kind, thread, before, made, told, self.model, reply.usage, reply.status, self.line, self.time
        )


def milliseconds_between(earlier: str, later: str) -> float | None:
    """From one recorded time to another; None where either is no time."""
    seconds = seconds_between(earlier, later)
    return None if seconds is None else seconds * 1000


def _milliseconds(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e12 else None
