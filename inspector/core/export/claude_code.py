"""Claude Code JSONL: one chain of records, one content block a line of the assistant, results each on their own.

Claude Code takes a compact summary for the beginning of the buffer, so only a first message is marked as one.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.dialects.anthropic import write_messages
from inspector.core.export.birth import Birth
from inspector.core.message import Message, ToolCall

VERSION = "2.1.197"
"""The client whose shape is written; newer ones read it."""


def records(buffer: Buffer, birth: Birth) -> Iterator[dict[str, Any]]:
    """The records, in order. System prompt and tools are the client's own and not written."""
    numbers, parent = count(1), None
    for place, message in enumerate(buffer.messages):
        for body in _bodies(message, place, birth):
            name = birth.name(next(numbers))
            yield {
                "parentUuid": parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": birth.cwd,
                "sessionId": birth.session,
                "version": VERSION,
                "gitBranch": "",
                **body,
                "uuid": name,
                "timestamp": birth.time,
            }
            parent = name


def _bodies(message: Message, place: int, birth: Birth) -> Iterator[dict[str, Any]]:
    for wire in write_messages((message,)):
        if wire["role"] == "assistant":
            yield from _assistant(message, wire["content"], place, birth)
            continue
        body: dict[str, Any] = {"type": "user", "message": {"role": "user", "content": wire["content"]}}
        if message.summary and not place:
            body |= {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
        elif message.mark == "meta" or message.role == "system":
            body |= {"isMeta": True}
        yield body


def _assistant(message: Message, content: Any, place: int, birth: Birth) -> Iterator[dict[str, Any]]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    finish = "tool_use" if any(isinstance(part, ToolCall) for part in message.parts) else "end_turn"
    for block in blocks:
        yield {
            "type": "assistant",
            "message": {
                "id": f"msg_{birth.name(-1 - place).replace('-', '')[:24]}",
                "type": "message",
                "role": "assistant",
                "model": birth.model or "unknown",
                "content": [block],
                "stop_reason": finish,
                "stop_sequence": None,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            },
        }
