"""Convert the SDKs' exceptions into the failures that tiers handle. They are recognised by content, not by class."""

from collections.abc import Mapping
from typing import Any

from inspector.core.answering import http_failure
from inspector.core.needs import Failure, ProviderFailure, Timeout

LONGEST = 2_000
"""Maximum number of characters of a server's message that are kept."""

_STATUS = {
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""HTTP statuses for errors that arrive within a stream, without a status."""


def read_failure(error: Exception) -> Failure:
    """Return the failure for an exception of an SDK or of a library that it uses."""
    name = type(error).__name__
    status = getattr(error, "status_code", None)
    body = getattr(error, "body", None)
    if isinstance(status, int) and status != 200:
        return _refused(status, error, body)
    if body is not None:
        return _failure_of(*_words(body, str(error)))
    if "Timeout" in name:
        return Timeout("no answer in time")
    causes = _chain(error)
    if any(type(cause).__name__ in _IN_MID_ANSWER for cause in causes):
        return broken()
    if "Connect" in name:
        return ProviderFailure(
            f"no connection: {_short(str(causes[-1])) or name}", kind="connection"
        )
    return ProviderFailure(
        f"the answer could not be read: {_short(str(error) or name)}", kind="broken"
    )


def broken(what: str = "") -> ProviderFailure:
    """Return the failure for a stream that ended before the answer was complete."""
    return ProviderFailure(
        what or "the stream broke off before the answer was complete", kind="broken"
    )


def reported_failure(error: Mapping[str, Any]) -> Failure:
    """Return the failure for an error that a response or a stream reports."""
    return _failure_of(
        str(error.get("code") or ""), str(error.get("message") or "the response failed")
    )


def _failure_of(code: str, message: str) -> Failure:
    """Return the failure for an error within an answer, from the provider's error code and message."""
    failure = http_failure(_STATUS.get(code, 500), _short(message or code), code=code)
    if isinstance(failure, ProviderFailure) and code not in _STATUS:
        return ProviderFailure(str(failure), kind="http")
    return failure


def _refused(status: int, error: Exception, body: Any) -> Failure:
    response = getattr(error, "response", None)
    headers = getattr(response, "headers", {})
    code, message = _words(body, "")
    text = f"HTTP {status}: {_short(message)}" if message else f"HTTP {status}"
    return http_failure(status, text, code=code, retry_after=str(headers.get("retry-after") or ""))


def _words(body: Any, otherwise: str) -> tuple[str, str]:
    """Return (code, message) of an error's body in any known form; its type if there is no code."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(inner, str):
        return "", inner
    if not isinstance(inner, Mapping):
        return "", otherwise
    code = inner.get("code") if isinstance(inner.get("code"), str) else inner.get("type")
    message = inner.get("message") or inner.get("detail") or otherwise
    return str(code or ""), message if isinstance(message, str) else otherwise


_IN_MID_ANSWER = ("RemoteProtocolError", "ReadError", "IncompleteRead", "StreamError")
"""Exceptions that mean that the connection broke after the answer had begun."""


def _chain(error: BaseException) -> list[BaseException]:
    chain = [error]
    while (before := chain[-1].__cause__ or chain[-1].__context__) is not None and len(chain) < 20:
        chain.append(before)
    return chain


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
