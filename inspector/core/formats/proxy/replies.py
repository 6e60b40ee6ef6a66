"""Responses as they are recorded: a JSON body, an event stream, WebSocket frames; whole or cut off."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from inspector.core.dialects.anthropic import read_edits
from inspector.core.dialects.catalogue import assemble, events
from inspector.core.dialects.dialect import Dialect
from inspector.core.quick import quick
from inspector.core.untyped import fields_of, text_of
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
    failure = _failure(record, code, error or _error(body))
    if dialect is None or (failure and (code or 0) >= 400):
        return Reply(failure=failure, status=code, time=when)
    found = reply_of(dialect, body)
    finish = found.finish if finished else "error" if error else CUT
    lost = failure if not found.wire and not _whole(dialect, body, finished) else ""
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


def _whole(dialect: Dialect, body: Mapping[str, Any], finished: bool) -> bool:
    return finished and (dialect.is_response(body) or "input_tokens" in body)


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


def _error(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The error of a body that is one."""
    error = body.get("error")
    if isinstance(error, Mapping):
        return error
    return {"message": error} if isinstance(error, str) and error else {}


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
