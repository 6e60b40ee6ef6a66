"""Whose payload is it? Told by shapes that only one provider has, then by habit; never surer than 0.85.

A recognised transcript format is surer than that: messages with role and content stand in many of them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.core.dialects.dialect import Dialect
from inspector.core.dialects.gemini import GEMINI
from inspector.core.formats.format import Head
from inspector.core.formats.payload.exchange import BodyPair, body_pair, stream_of
from inspector.core.untyped import list_of, object_of, objects_of, text_at


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KEYS: Mapping[str, frozenset[str]] = {
    "anthropic": _words("system anthropic_version thinking stop_sequences top_k output_config"),
    "openai-chat": _words(
        "max_completion_tokens response_format n stop frequency_penalty presence_penalty logprobs stream_options"
        " parallel_tool_calls functions reasoning_effort seed logit_bias"
    ),
    "openai-responses": _words("instructions previous_response_id store include max_output_tokens"),
}
_LIMITS = {"anthropic": "max_tokens", "openai-chat": "max_completion_tokens", "openai-responses": "max_output_tokens"}
"""What limits the answer: with the model it makes a whole body, whatever its messages are."""
_BLOCKS: Mapping[str, frozenset[str]] = {
    "anthropic": _words("tool_use tool_result thinking redacted_thinking image document"),
    "openai-chat": _words("image_url input_audio file refusal"),
    "openai-responses": _words(
        "input_text output_text input_image function_call function_call_output reasoning compaction custom_tool_call"
        " custom_tool_call_output local_shell_call item_reference web_search_call"
    ),
}
_CHAT_ROLES, _CHAT_FIELDS = _words("tool function developer"), _words("tool_calls tool_call_id")
_NONE: frozenset[str] = frozenset()
_NOT_PAYLOADS = _words("trajectory_format trajectory sessionId parentUuid samples task_id v")
"""Keys of transcripts that hold a message list among other things."""
_KEPT_CHAT = _words(
    "id _id uuid title created created_at createdAt updated_at updatedAt session_id conversation_id conversationId"
    " thread_id threadId chatId start_time startTime workspace session project cwd"
)
"""Keys beside the messages of a chat that a program keeps."""
_KEPT_MESSAGE = _words(
    "id _id uuid timestamp ts time date created created_at createdAt updated_at messageId message_id parentId parent_id"
    " conversation_id conversationId session_id sender author metadata meta usage tokens cost model"
)
"""Keys of a message that a program keeps."""
_ROLES = _words("system developer user assistant tool function")
_TOOL = re.compile("tool|function", re.IGNORECASE)


def sniff_payload(dialect: Dialect, head: Head) -> float:
    """How sure it is that the head holds payloads of this provider: 0 to 0.85."""
    rows = head.rows
    first = head.document[0] if isinstance(head.document, list) and head.document else None
    if isinstance(first, Mapping) and not dialect.is_message(first) and body_pair(dialect, first, 0) is not None:
        rows = head.document[:60]
    if whose := stream_of(head.document if isinstance(head.document, list) else rows):
        return 0.85 if whose == dialect.name else 0.0
    marks = [_score(dialect, row) for row in rows]
    found = [mark for mark in marks if mark > 0]
    return max(found) if 2 * len(found) > len(marks) else 0.0


def _score(dialect: Dialect, row: Any) -> float:
    if isinstance(row, Mapping) and not _NOT_PAYLOADS.isdisjoint(row):
        return 0.0
    one = body_pair(dialect, [row] if dialect.is_message(row) else row, 0)
    if one is None:
        return 0.0
    if one.request is None:
        return 0.85
    is_whole = "model" in one.request and _LIMITS.get(dialect.name) in one.request
    if not is_whole and not _is_body(dialect, row, one.request):
        return 0.0
    own = _signs(dialect.name, one)
    others = max(_signs(name, one) for name in _KEYS if name != dialect.name)
    if own != others:
        return 0.85 if own > others else 0.3
    if dialect.name == "openai-responses":
        return 0.8 if "model" in one.request else 0.0
    # Nothing but role and content: the same in both. A body with `max_tokens` is Anthropic's, which demands it.
    return 0.6 if ("max_tokens" in one.request) == (dialect.name == "anthropic") else 0.5


def _is_body(dialect: Dialect, row: Any, request: Mapping[str, Any]) -> bool:
    """Does it go to an API as it is? A program that keeps a chat notes when its messages came and what they are called,
    and writes calls of tools in its own way."""
    wire, items = dialect.conversation(request), objects_of(dialect.items(request)[:60])
    if not _are_messages(dialect, wire) or not (wire or "model" in request) or _is_kept_chat(row):
        return False
    if any(map(_is_foreign_message, items)):
        return False
    return 2 * sum(map(_is_kept_message, items)) <= len(items)


def _is_kept_chat(row: Any) -> bool:
    """Does an object with messages say when the chat began, or what it is called? One call with its answer may."""
    if not isinstance(row, Mapping) or "messages" not in row or "response" in row or "choices" in row:
        return False
    return not (_KEPT_CHAT.isdisjoint(row) and _KEPT_CHAT.isdisjoint(object_of(row, "metadata")))


def _is_kept_message(message: Mapping[str, Any]) -> bool:
    if "type" in message:  # an item of the Responses API: these have ids
        return False
    role = message.get("role")
    return not _KEPT_MESSAGE.isdisjoint(message) or (isinstance(role, str) and role not in _ROLES)


def _is_foreign_message(message: Mapping[str, Any]) -> bool:
    """Is it written as no API writes a message, or a block of its content?"""
    kind, content = message.get("type"), message.get("content")
    if isinstance(content, Mapping) or ("role" in message and isinstance(kind, str) and kind != "message"):
        return True
    return any(map(_is_foreign_block, objects_of(content)))


def _is_foreign_block(block: Mapping[str, Any]) -> bool:
    """Is it a call of a tool, or its result, as no API writes it?"""
    kind = block.get("type")
    if not isinstance(kind, str):
        return "text" not in block
    return kind != kind.lower().replace("-", "_") and _TOOL.search(kind) is not None


def _are_messages(dialect: Dialect, wire: Sequence[Any]) -> bool:
    """All say what they are, and where that is not a role (Responses), one at least is known: many lists have types."""
    first = wire[:8]
    told = all(isinstance(one, Mapping) and isinstance(one.get("role", one.get("type")), str) for one in first)
    known = _BLOCKS.get(dialect.name, _NONE)
    return told and (not first or any("role" in one or one.get("type") in known for one in first))


def _signs(name: str, one: BodyPair) -> int:
    body = one.request or {}
    count = len(_KEYS.get(name, _NONE).intersection(body))
    count += sum(_tool(tool) == name for tool in list_of(body.get("tools"))[:4])
    count += sum(kind in _BLOCKS.get(name, _NONE) for kind in _kinds(body))
    if name == "openai-chat":
        messages = objects_of(body.get("messages"))
        count += sum(text_at(one, "role") in _CHAT_ROLES or not _CHAT_FIELDS.isdisjoint(one) for one in messages)
    model = body.get("model")
    if isinstance(model, str) and "messages" in body:
        count += (name == "anthropic") if model.startswith("claude") else (name == "openai-chat") * ("gpt" in model)
    return count


def _tool(tool: Any) -> str:
    if not isinstance(tool, Mapping):
        return ""
    if "input_schema" in tool:
        return "anthropic"
    return "openai-chat" if isinstance(tool.get("function"), Mapping) else "openai-responses" * ("parameters" in tool)


def _kinds(body: Mapping[str, Any]) -> Iterator[str]:
    """The types of items and of the blocks of their content."""
    for message in (*objects_of(body.get("messages")), *objects_of(body.get("input"))):
        for one in (message, *objects_of(message.get("content"))):
            if isinstance(kind := one.get("type"), str):
                yield kind


def sniff_gemini(head: Head) -> float:
    """Nobody else says contents and parts."""
    rows = head.rows
    if isinstance(head.document, list) and stream_of(head.document) == GEMINI.name:
        return 0.85
    if isinstance(head.document, list) and not all(map(GEMINI.is_message, head.document[:8])):
        rows = head.document[:60]
    known = sum(_is_geminis(row) for row in rows)
    return 0.85 if known and 2 * known > len(rows) else 0.0


def _is_geminis(row: Any) -> bool:
    if GEMINI.is_message(row):
        return isinstance(row.get("role"), str)
    if isinstance(row, list):
        return bool(row) and all(GEMINI.is_message(one) and isinstance(one.get("role"), str) for one in row[:8])
    one = body_pair(GEMINI, row, 0)
    return one is not None and (
        one.request is None or all(map(GEMINI.is_message, GEMINI.conversation(one.request)[:8]))
    )
