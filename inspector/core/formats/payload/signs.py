"""Find the provider of a payload: by forms that only one provider has, else by likelihood. The score is at most 0.85.

Transcript formats have higher scores, because many transcripts hold messages with role and content, too.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.core.dialects.catalogue import DIALECTS
from inspector.core.dialects.dialect import Dialect
from inspector.core.formats.format import Head
from inspector.core.formats.payload.exchange import body_pair, stream_of
from inspector.core.untyped import list_of, object_of, objects_of


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NOT_PAYLOADS = _words("trajectory_format trajectory sessionId parentUuid samples task_id v")
"""Keys of transcripts that hold a message list among other things."""
_KEPT_CHAT = _words(
    "id _id uuid title created created_at createdAt updated_at updatedAt session_id conversation_id conversationId"
    " thread_id threadId chatId start_time startTime workspace session project cwd"
)
"""Keys beside the messages in a chat that a program saved."""
_KEPT_MESSAGE = _words(
    "id _id uuid timestamp ts time date created created_at createdAt updated_at messageId message_id parentId parent_id"
    " conversation_id conversationId session_id sender author metadata meta usage tokens cost model"
)
"""Keys of a message in a chat that a program saved."""
_ROLES = _words("system developer user assistant tool function")
_TOOL = re.compile("tool|function", re.IGNORECASE)


def sniff_payload(dialect: Dialect, head: Head) -> float:
    """Return how likely the head holds payloads of this API: 0 to 0.85."""
    return (
        _sniff_unmistakable(dialect, head)
        if dialect.signs.is_unmistakable
        else _sniff_by_signs(dialect, head)
    )


# -- APIs whose bodies look like those of another


def _sniff_by_signs(dialect: Dialect, head: Head) -> float:
    rows = head.rows
    first = head.document[0] if isinstance(head.document, list) and head.document else None
    if (
        isinstance(first, Mapping)
        and not dialect.is_message(first)
        and body_pair(dialect, first, line=0) is not None
    ):
        rows = head.document[:60]
    stream = stream_of(head.document if isinstance(head.document, list) else rows)
    if stream is not None:
        return 0.85 if stream is dialect else 0.0
    scores = [score for row in rows if (score := _score(dialect, row)) > 0]
    return max(scores) if 2 * len(scores) > len(rows) else 0.0


def _score(dialect: Dialect, row: Any) -> float:
    """Return how likely a row is a payload of this API: 0 to 0.85."""
    if isinstance(row, Mapping) and not _NOT_PAYLOADS.isdisjoint(row):
        return 0.0
    pair = body_pair(dialect, [row] if dialect.is_message(row) else row, line=0)
    if pair is None:
        return 0.0
    if pair.request is None:
        return 0.85
    is_whole = "model" in pair.request and dialect.signs.limit in pair.request
    if not is_whole and not _is_body(dialect, row, pair.request):
        return 0.0
    return _score_body(dialect, pair.request)


def _score_body(dialect: Dialect, request: Mapping[str, Any]) -> float:
    """Return how likely a request body is of this API, and not of one with similar bodies: 0 to 0.85."""
    own = _count_signs(dialect, request)
    others = max(
        _count_signs(other, request) for other in _similar_dialects() if other is not dialect
    )
    if own != others:
        return 0.85 if own > others else 0.3
    if dialect.key != "messages":
        return 0.8 if "model" in request else 0.0
    # Messages with only role and content look the same in both APIs. Anthropic's API demands `max_tokens`.
    return 0.6 if ("max_tokens" in request) == (dialect.signs.limit == "max_tokens") else 0.5


def _similar_dialects() -> list[Dialect]:
    return [dialect for dialect in DIALECTS.values() if not dialect.signs.is_unmistakable]


def _count_signs(dialect: Dialect, request: Mapping[str, Any]) -> int:
    """Count the signs in a request body that only this API has."""
    signs = dialect.signs
    messages = objects_of(request.get("messages"))
    count = len(signs.keys.intersection(request))
    count += sum(signs.is_own_tool(tool) for tool in objects_of(list_of(request.get("tools"))[:4]))
    count += sum(kind in signs.blocks for kind in _types(request))
    count += sum(map(signs.is_own_message, messages))
    model = request.get("model")
    if isinstance(model, str) and "messages" in request:
        count += signs.is_own_model(model)
    return count


def _types(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield the types of items and of the blocks of their content."""
    for message in (*objects_of(request.get("messages")), *objects_of(request.get("input"))):
        for block in (message, *objects_of(message.get("content"))):
            if isinstance(kind := block.get("type"), str):
                yield kind


def _is_body(dialect: Dialect, row: Any, request: Mapping[str, Any]) -> bool:
    """Is a row a body that an API accepts, rather than a chat that a program saved?

    A saved chat has times and ids of messages, and may write tool calls in a form that no API accepts.
    """
    wire = dialect.conversation(request)
    items = objects_of(dialect.items(request)[:60])
    if not _are_messages(dialect, wire) or not (wire or "model" in request) or _is_kept_chat(row):
        return False
    if any(map(_is_foreign_message, items)):
        return False
    return 2 * sum(map(_is_kept_message, items)) <= len(items)


def _is_kept_chat(row: Any) -> bool:
    """Is the row a saved chat: messages with an id, a title or a time? A call with its answer is none."""
    if (
        not isinstance(row, Mapping)
        or "messages" not in row
        or "response" in row
        or "choices" in row
    ):
        return False
    return not (_KEPT_CHAT.isdisjoint(row) and _KEPT_CHAT.isdisjoint(object_of(row, "metadata")))


def _is_kept_message(message: Mapping[str, Any]) -> bool:
    if "type" in message:  # an item of the Responses API: these have ids
        return False
    role = message.get("role")
    return not _KEPT_MESSAGE.isdisjoint(message) or (isinstance(role, str) and role not in _ROLES)


def _is_foreign_message(message: Mapping[str, Any]) -> bool:
    """Does a message, or a block of its content, have a form that no API accepts?"""
    kind = message.get("type")
    content = message.get("content")
    if isinstance(content, Mapping) or (
        "role" in message and isinstance(kind, str) and kind != "message"
    ):
        return True
    return any(map(_is_foreign_block, objects_of(content)))


def _is_foreign_block(block: Mapping[str, Any]) -> bool:
    """Does a block have a form that no API accepts for a tool call, a tool result or a text?"""
    kind = block.get("type")
    if not isinstance(kind, str):
        return "text" not in block
    return kind != kind.lower().replace("-", "_") and _TOOL.search(kind) is not None


def _are_messages(dialect: Dialect, wire: Sequence[Any]) -> bool:
    """Do all items have a role or a type, and has at least one a role, or a type of this API's items?

    Many other lists have items with types.
    """
    first = wire[:8]
    if not all(
        isinstance(item, Mapping) and isinstance(item.get("role", item.get("type")), str)
        for item in first
    ):
        return False
    return not first or any(
        "role" in item or item.get("type") in dialect.signs.blocks for item in first
    )


# -- APIs whose bodies look like no other's


def _sniff_unmistakable(dialect: Dialect, head: Head) -> float:
    rows, document = head.rows, head.document
    if isinstance(document, list):
        if stream_of(document) is dialect:
            return 0.85
        if not all(map(dialect.is_message, document[:8])):
            rows = document[:60]
    payloads = sum(_is_payload(dialect, row) for row in rows)
    return 0.85 if payloads and 2 * payloads > len(rows) else 0.0


def _is_payload(dialect: Dialect, row: Any) -> bool:
    if dialect.is_message(row):
        return isinstance(row.get("role"), str)
    if isinstance(row, list):
        first = row[:8]
        return bool(first) and all(_is_spoken(dialect, item) for item in first)
    pair = body_pair(dialect, row, line=0)
    if pair is None:
        return False
    if pair.request is None:
        return True
    return all(map(dialect.is_message, dialect.conversation(pair.request)[:8]))


def _is_spoken(dialect: Dialect, item: Any) -> bool:
    """Is it a message with a speaker?"""
    return dialect.is_message(item) and isinstance(item.get("role"), str)
