"""What was answered, as JSON and back, without loss: a superset of what `--answers` takes."""

from collections.abc import Mapping
from typing import Any

from inspector.core.dialects.neutral import read_messages, write_message
from inspector.core.errors import InspectorError
from inspector.core.needs import Answer, ContextWindowExceeded, Failure, ProviderFailure, Timeout
from inspector.core.usage import Usage
from inspector.core.values import from_json, to_json

_KINDS = ("http", "connection", "broken", "empty", "missing", "refused", "other")


def write_reply(reply: Answer | Failure) -> dict[str, Any]:
    """An answer or a failure."""
    if isinstance(reply, Failure):
        return _written_failure(reply)
    told: dict[str, Any] = {"text": reply.text}
    if reply.messages:
        told["messages"] = [write_message(message) for message in reply.messages]
    if reply.usage is not None:
        told["usage"] = to_json(reply.usage)
    more = {"finish": reply.finish, "elapsed_ms": reply.elapsed_ms, "by": reply.by}
    return told | {key: value for key, value in more.items() if value}


def _written_failure(failure: Failure) -> dict[str, Any]:
    told: dict[str, Any] = {"error": "http", "message": str(failure)}
    match failure:
        case ContextWindowExceeded():
            told["error"] = "context_window_exceeded"
        case Timeout():
            told["error"] = "timeout"
        case ProviderFailure(status=status, kind=kind):
            told |= {"status": status, "kind": kind}
        case _:
            told["kind"] = "other"
    return told | ({"elapsed_ms": failure.elapsed_ms} if failure.elapsed_ms else {})


def read_reply(value: Any) -> Answer | Failure:
    """The same again. Raises InspectorError for what `write_reply` did not write."""
    if not isinstance(value, Mapping):
        raise InspectorError("A recorded answer must be a JSON object.")
    elapsed = value.get("elapsed_ms")
    elapsed_ms = elapsed if isinstance(elapsed, int) else 0
    if "error" in value:
        failure = _read_failure(value)
        failure.elapsed_ms = elapsed_ms
        return failure
    return Answer(
        str(value.get("text") or ""),
        read_messages(value.get("messages") or [], "answer"),
        from_json(Usage, value["usage"]) if value.get("usage") is not None else None,
        str(value.get("finish") or ""),
        elapsed_ms,
        str(value.get("by") or ""),
    )


def _read_failure(value: Mapping[str, Any]) -> Failure:
    message, status, kind = str(value.get("message") or ""), value.get("status"), value.get("kind")
    match value["error"]:
        case "context_window_exceeded":
            return ContextWindowExceeded(message)
        case "timeout":
            return Timeout(message)
        case "http":
            known = next((one for one in _KINDS if one == kind), "other")
            return ProviderFailure(message, status if isinstance(status, int) else None, known)  # type: ignore[arg-type]
        case other:
            raise InspectorError(f"There is no recorded error {other!r}.")
