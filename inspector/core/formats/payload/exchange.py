"""How the values of a payload file are taken apart: request and response; events of a stream, in a list or one a line.

Also: which requests are no steps of a conversation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.dialects.catalogue import DIALECTS, event_of
from inspector.core.dialects.dialect import Dialect, answer_schema
from inspector.core.formats.proxy.exchange import unwrap_response
from inspector.core.formats.proxy.side import SEARCH_PROMPT, offers_only_search
from inspector.core.untyped import fields_of, object_of, text_of


@dataclass(frozen=True, slots=True)
class BodyPair:
    """One request with its response, as far as the file holds them."""

    request: Mapping[str, Any] | None
    response: Mapping[str, Any] | None = None
    line: int = 0
    time: str = ""
    window: int | None = None
    """The model's window, where the file records it."""

    @property
    def previous(self) -> str:
        """The response that the request continues; empty where it is complete in itself."""
        return text_of((self.request or {}).get("previous_response_id"))

    @property
    def response_id(self) -> str:
        """The name of the response; empty where the file does not hold it."""
        return text_of((self.response or {}).get("id"))


def body_pair(dialect: Dialect, value: Any, line: int) -> BodyPair | None:
    """A request body, a response, `{"request", "response"}`, or a list of messages. None for anything else."""
    if isinstance(value, list):
        return BodyPair({dialect.key: value}, None, line)
    if not isinstance(value, Mapping) or dialect.is_message(value):
        return None
    if request := object_of(value, "request") or object_of(value, "request_body"):
        time = next((t for key in _TIMES if isinstance(t := value.get(key), str)), "")
        response = unwrap_response(value.get("response") or value.get("response_body"))
        known = response if response and (dialect.is_response(response) or _counted(response)) else None
        return BodyPair(request, known, line, time) if _is_body(dialect, request) else None
    answer = value.get("response")
    if isinstance(answer, Mapping) and _is_body(dialect, value) and dialect.is_response(answer):  # a log of one call
        return BodyPair({key: told for key, told in value.items() if key != "response"}, answer, line)
    if (inner := unwrap_response(value)) and dialect.is_response(inner):
        return BodyPair(None, inner, line)
    kept = value.get("history")  # a chat that Gemini CLI saved
    if isinstance(kept, list) and kept and isinstance(kept[0], Mapping) and "parts" in kept[0]:
        return BodyPair({dialect.key: kept}, None, line) if dialect.is_message(kept[0]) else None
    return BodyPair(value, None, line) if _is_body(dialect, value) else None


_TIMES = ("timestamp", "time", "created_at", "ts", "request_created_at")


def _is_body(dialect: Dialect, value: Mapping[str, Any]) -> bool:
    """A request body, or just an object with the message list."""
    return isinstance(value.get(dialect.key), list | str)


def _counted(response: Mapping[str, Any]) -> bool:
    """The answer of a `count_tokens` call."""
    return "input_tokens" in response and len(response) <= 2


def side_reason(dialect: Dialect, one: BodyPair) -> str:
    """Why the exchange is no step of the conversation: title, prewarm, ...; empty where it is one."""
    if one.response is not None and _counted(one.response):
        return "token count"
    body = one.request or {}
    if body.get("generate") is False:
        return "prewarm"
    items = dialect.conversation(body)
    if items and fields_of(items[-1]).get("type") == "compaction_trigger":
        return "compaction"
    if answer_schema(body) is not None and not body.get("tools"):
        return "title or other answer to a schema"
    if body.get("max_tokens") == 1 and len(items) == 1:
        return "quota probe"
    content = fields_of(items[-1]).get("content") if items else ""
    last = text_of(fields_of(content[-1]).get("text") if isinstance(content, list) and content else content)
    if last.startswith("CRITICAL: Respond with TEXT ONLY") and "summary of the conversation" in last:
        return "call for a summary"
    if len(items) == 1 and last.startswith(SEARCH_PROMPT) and offers_only_search(body):
        return "web search"
    return ""


# -- streams

_BESIDE = ("ping", "error")
"""Types of events in the streams of several providers."""


def stream_of(rows: Sequence[Any]) -> Dialect | None:
    """Return the dialect whose stream these rows are from their beginning on; None if they are something else."""
    dialects = {_dialect_of_event(row) for row in rows[:8] if not is_beside(row)}
    if len(dialects) != 1:
        return None
    (dialect,) = dialects
    if dialect is None or not dialect.has_whole_events:
        return dialect
    has_early_finish = any(dialect.has_finish(_event_in(row)) for row in rows[:-1])  # only the last one ends an answer
    return dialect if len(rows) > 1 and not has_early_finish else None


def _dialect_of_event(row: Any) -> Dialect | None:
    event = _event_in(row)
    return next((dialect for dialect in DIALECTS.values() if dialect.is_event(event)), None)


def _event_in(row: Any) -> Mapping[str, Any]:
    return event_of(row) or {}


def is_beside(row: Any) -> bool:
    """Is it an event that says nothing of the response, or of its failure only?"""
    event = _event_in(row)
    return event.get("type") in _BESIDE or event.get("data") == "[DONE]"


def is_final(row: Any) -> bool:
    """Does the stream end with this event? A chunk of Chat Completions does not say it: usage may follow."""
    kind = text_of(_event_in(row).get("type"))
    return any(kind in dialect.final_events for dialect in DIALECTS.values())


def is_continued_by(rows: Sequence[Any], row: Any) -> bool:
    """Does an event belong to the same response as those before it? Chunks of Chat Completions bear its id."""
    before, event = _event_in(rows[-1]), _event_in(row)
    if is_final(rows[-1]):
        return False
    return "object" not in event or before.get("id") == event.get("id")
