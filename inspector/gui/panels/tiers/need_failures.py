"""The ways in which the person can make a model call fail: those that the tiers know, as if the provider had."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inspector.core.answering import http_failure
from inspector.core.needs import Answer, ContextWindowExceeded, Failure, Need, ProviderFailure, Timeout

PERSON = "person"


@dataclass(frozen=True, slots=True)
class Way:
    """`words` in the menu; `reply` is what the tier then gets."""

    words: str
    reply: Callable[[Need], Answer | Failure]


def _timed_out(need: Need) -> Failure:
    limit = getattr(need, "timeout_s", None)
    return Timeout(f"no answer within {limit:g} s" if limit else "no answer in time")


def _status(status: int, message: str) -> Callable[[Need], Failure]:
    return lambda need: http_failure(status, message)


WAYS: Sequence[Way] = (
    Way("Time out", _timed_out),
    Way("403 forbidden", _status(403, "403: this key may not do that")),
    Way("404 not found", _status(404, "404: there is no such model or endpoint")),
    Way("429 too many requests", _status(429, "429: too many requests")),
    Way("500 server error", _status(500, "500: the server failed")),
    Way("Context window exceeded", lambda need: ContextWindowExceeded("the prompt is too long for the model's window")),
    Way("Empty output", lambda need: Answer(by=PERSON)),
    Way("Broken stream", lambda need: ProviderFailure("the stream broke off before its end", kind="broken")),
)
