"""The mechanical digest of removed messages: what stands in for them where no model wrote a summary (spec 1.6)."""

import re
from collections.abc import Sequence

from inspector.core.message import Message

TEXT_BYTES = 120
RESULT_BYTES = 100
_HEADER = re.compile(r"^(?=(?:Goal|Accomplished|Key Decisions|Relevant Files):|\[)", re.MULTILINE)


def cut(text: str, limit: int) -> str:
    """Unchanged up to `limit` UTF-8 bytes; else the longest prefix of whole characters within it, and `…`."""
    if len(text) * 4 <= limit or len(data := text[: limit + 1].encode("utf-8", "replace")) <= limit:
        return text
    return data[:limit].decode("utf-8", "ignore") + "…"


def digest(messages: Sequence[Message], flat: bool = False) -> str:
    """`[n messages compacted]` and a line for each. `flat` (safe mode) takes line breaks out of the quoted texts."""
    lines = [f"[{len(messages)} messages compacted]"]
    for message in messages:
        lines += _lines(message, flat)
    return "\n".join(lines)


def _lines(message: Message, flat: bool) -> list[str]:
    text = _flat(message.text) if flat else message.text
    match message.role:
        case "assistant":
            said = [f"Assistant: {cut(text, TEXT_BYTES)}"] if text else []
            return said + [f"  → tool_use: {call.name}" for call in message.calls]
        case "tool" if result := message.result:
            content = _flat(result.content) if flat else result.content
            state = "error" if result.is_error else "ok"
            return [f"ToolResult({result.call_id}): {state} — {cut(content, RESULT_BYTES)}"]
        case _:
            return [f"User: {cut(text, TEXT_BYTES)}"]


def _flat(text: str) -> str:
    """One line, so that a quoted text cannot pass for a line of the digest or a section header."""
    return _HEADER.sub("· ", " ".join(text.split()))
