"""Read the values of a payload file: requests and responses, or events of a stream (a list, or one on each line).

`side_reason` shows which requests are no steps of a conversation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from inspector.core.dialects.catalogue import DIALECTS, event_of
from inspector.core.dialects.dialect import Dialect, answer_schema
from inspector.core.formats.proxy.exchange import unwrap_response
from inspector.core.formats.proxy.side import SEARCH_PROMPT, offers_only_search
from inspector.core.untyped import fields_of, object_of, text_of, text_under


@dataclass(frozen=True, slots=True)
class BodyPair:
    """One request with its response, as far as the file holds them."""

    request: Mapping[str, Any] | None
    response: Mapping[str, Any] | None = None
    line: int = 0
    time: str = ""
    window: int | None = None
    """The model's context window in tokens, if the file records it."""

    @property
    def previous(self) -> str:
        """The id of the response that the request continues; empty if the request is complete."""
        return text_of((self.request or {}).get("previous_response_id"))

    @property
    def response_id(self) -> str:
        """The id of the response; empty if the file does not hold it."""
        return text_of((self.response or {}).get("id"))


def body_pair(dialect: Dialect, value: Any, line: int) -> BodyPair | None:
    """Read a request body, a response, `{"request", "response"}`, or a list of messages. None for anything else."""
    if isinstance(value, list):
        return BodyPair({dialect.key: value}, line=line)
    if not isinstance(value, Mapping) or dialect.is_message(value):
        return None
    if request := object_of(value, "request") or object_of(value, "request_body"):
        return _read_pair(dialect, request, value, line)
    is_body = _is_body(dialect, value)
    answer = value.get("response")
    if is_body and isinstance(answer, Mapping) and dialect.is_response(answer):  # a log of one call
        body = {key: field for key, field in value.items() if key != "response"}
        return BodyPair(body, answer, line)
    if (response := unwrap_response(value)) and dialect.is_response(response):
        return BodyPair(request=None, response=response, line=line)
    history = value.get("history")
    if _is_contents(history):
        return _read_history(dialect, history, line)
    return BodyPair(value, line=line) if is_body else None


def _read_history(dialect: Dialect, history: list[Any], line: int) -> BodyPair | None:
    """Read a chat that Gemini CLI saved; None if its messages are not of this API."""
    return BodyPair({dialect.key: history}, line=line) if dialect.is_message(history[0]) else None


def _read_pair(
    dialect: Dialect, request: Mapping[str, Any], value: Mapping[str, Any], line: int
) -> BodyPair | None:
    if not _is_body(dialect, request):
        return None
    response = unwrap_response(value.get("response") or value.get("response_body"))
    is_known = (
        bool(response)
        and response is not None
        and (dialect.is_response(response) or _is_count(response))
    )
    return BodyPair(
        request, response=response if is_known else None, line=line, time=text_under(value, *_TIMES)
    )


def _is_contents(value: Any) -> TypeGuard[list[Any]]:
    return (
        isinstance(value, list)
        and bool(value)
        and isinstance(value[0], Mapping)
        and "parts" in value[0]
    )


_TIMES = ("timestamp", "time", "created_at", "ts", "request_created_at")


def _is_body(dialect: Dialect, value: Mapping[str, Any]) -> bool:
    """Does the object hold messages, as a request body does?"""
    return isinstance(value.get(dialect.key), list | str)


def _is_count(response: Mapping[str, Any]) -> bool:
    """Is it the answer of a `count_tokens` call?"""
    return "input_tokens" in response and len(response) <= 2


def side_reason(dialect: Dialect, pair: BodyPair) -> str:
    """Return why a call is no step of the conversation: title, prewarm, ...; empty for a step."""
    if pair.response is not None and _is_count(pair.response):
        return "token count"
    body = pair.request or {}
    items = dialect.conversation(body)
    if body.get("generate") is False:
        return "prewarm"
    if items and fields_of(items[-1]).get("type") == "compaction_trigger":
        return "compaction"
    if answer_schema(body) is not None and not body.get("tools"):
        return "title or other answer to a schema"
    if body.get("max_tokens") == 1 and len(items) == 1:
        return "quota probe"
    return _reason_by_words(_last_text(items), body, is_single=len(items) == 1)


def _last_text(items: Sequence[Any]) -> str:
    """Return the text of the last message, or of its last block."""
    content = fields_of(items[-1]).get("content") if items else ""
    return text_of(
        fields_of(content[-1]).get("text") if isinstance(content, list) and content else content
    )


def _reason_by_words(last: str, body: Mapping[str, Any], *, is_single: bool) -> str:
    if (
        last.startswith("CRITICAL: Respond with TEXT ONLY")
        and "summary of the conversation" in last
    ):
        return "call for a summary"
    if is_single and last.startswith(SEARCH_PROMPT) and offers_only_search(body):
        return "web search"
    return ""


# -- streams

_BESIDE = ("ping", "error")
"""Types of events that several providers send beside the events of a response."""


def stream_of(rows: Sequence[Any]) -> Dialect | None:
    """Return the dialect of the event stream that begins with these rows; None if they are no stream."""
    dialects = {_dialect_of_event(row) for row in rows[:8] if not is_beside(row)}
    if len(dialects) != 1:
        return None
    (dialect,) = dialects
    if dialect is None or not dialect.has_whole_events:
        return dialect
    # In a stream, only the last event may have a finish reason.
    has_early_finish = any(dialect.has_finish(_event_in(row)) for row in rows[:-1])
    return dialect if len(rows) > 1 and not has_early_finish else None


def _dialect_of_event(row: Any) -> Dialect | None:
    event = _event_in(row)
    return next((dialect for dialect in DIALECTS.values() if dialect.is_event(event)), None)


def _event_in(row: Any) -> Mapping[str, Any]:
    return event_of(row) or {}


def is_beside(row: Any) -> bool:
    """Is the row an event that holds no part of a response: a ping, an error, `[DONE]`?"""
    event = _event_in(row)
    return event.get("type") in _BESIDE or event.get("data") == "[DONE]"


def is_final(row: Any) -> bool:
    """Does the stream end with this event? A chunk of Chat Completions does not show it, because usage may follow."""
    kind = text_of(_event_in(row).get("type"))
    return any(kind in dialect.final_events for dialect in DIALECTS.values())


def is_continued_by(rows: Sequence[Any], row: Any) -> bool:
    """Does an event belong to the same response as `rows`? Chunks of Chat Completions hold the id of the response."""
    before = _event_in(rows[-1])
    event = _event_in(row)
    if is_final(rows[-1]):
        return False
    return "object" not in event or before.get("id") == event.get("id")
