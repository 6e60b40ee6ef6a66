"""Write a buffer as a transcript that the agent itself can resume, as a new session. One section for each format.

System prompt and tool schemas are not written, because the client has its own. Claude Code treats a compact summary as
the beginning of the buffer, so in its format only the first message is marked as a summary.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import Any
from uuid import UUID, uuid5

from inspector.core.buffer import Buffer
from inspector.core.dialects.anthropic import write_messages
from inspector.core.dialects.openai_responses_body import write_responses_body
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps
from inspector.core.message import (
    Image,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)


@dataclass(frozen=True, slots=True)
class Birth:
    """Identity and time of a new session. The caller provides them, because the core has no clock and no randomness."""

    session: str
    """A fresh UUID."""
    time: str
    """ISO 8601, UTC, with milliseconds and Z."""
    cwd: str
    model: str = ""

    def name(self, n: int) -> str:
        """Return a UUID for the n-th record; always the same for the same session."""
        return str(uuid5(UUID(self.session), str(n)))


CLAUDE_CODE = "2.1.197"
"""The version of Claude Code whose format is written; newer versions read it."""


def _claude_code(buffer: Buffer, birth: Birth) -> Iterator[dict[str, Any]]:
    """Yield the records of a Claude Code transcript: one chain, one record for each content block of an answer and for
    each result."""
    numbers = count(1)
    parent = None
    for place, message in enumerate(buffer.messages):
        for body in _claude_code_bodies(message, place, birth):
            name = birth.name(next(numbers))
            yield {
                "parentUuid": parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": birth.cwd,
                "sessionId": birth.session,
                "version": CLAUDE_CODE,
                "gitBranch": "",
                **body,
                "uuid": name,
                "timestamp": birth.time,
            }
            parent = name


def _claude_code_bodies(message: Message, place: int, birth: Birth) -> Iterator[dict[str, Any]]:
    for wire in write_messages((message,)):
        if wire["role"] == "assistant":
            yield from _assistant(message, content=wire["content"], place=place, birth=birth)
            continue
        body: dict[str, Any] = {
            "type": "user",
            "message": {"role": "user", "content": wire["content"]},
        }
        if message.summary and not place:
            body |= {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
        elif message.mark == "meta" or message.role == "system":
            body |= {"isMeta": True}
        yield body


def _assistant(
    message: Message, content: Any, place: int, birth: Birth
) -> Iterator[dict[str, Any]]:
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


CODEX = "0.169.0"


def _codex(buffer: Buffer, birth: Birth) -> Iterator[dict[str, Any]]:
    """Yield the lines of a Codex rollout: a head, then the items as the Responses API takes them."""
    head: dict[str, Any] = {
        "id": birth.session,
        "timestamp": birth.time,
        "cwd": birth.cwd,
        "originator": "codex_cli_rs",
        "cli_version": CODEX,
        "source": "cli",
        "model_provider": "openai",
    }
    if buffer.prompt.system is not None:
        head["base_instructions"] = {"text": buffer.prompt.system}
    yield _codex_line("session_meta", head, birth)
    yield _codex_line("turn_context", {"cwd": birth.cwd, "model": birth.model}, birth)
    for item in write_responses_body(buffer, birth.model, max_tokens=0)["input"]:
        yield _codex_line("response_item", item, birth)


def _codex_line(kind: str, payload: Any, birth: Birth) -> dict[str, Any]:
    return {"timestamp": birth.time, "type": kind, "payload": payload}


_NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
_NO_USAGE = {
    "input": 0,
    "output": 0,
    "cacheRead": 0,
    "cacheWrite": 0,
    "totalTokens": 0,
    "cost": _NO_COST,
}


def _pi(buffer: Buffer, birth: Birth) -> Iterator[dict[str, Any]]:
    """Yield the entries of a Pi session, version 3: a head, then an entry for each message, a child of the previous."""
    yield {
        "type": "session",
        "version": 3,
        "id": birth.session,
        "timestamp": birth.time,
        "cwd": birth.cwd,
    }
    tools = {call.id: call.name for message in buffer.messages for call in message.calls}
    parent = None
    for n, message in enumerate(buffer.messages):
        name = birth.name(n).replace("-", "")[:8]
        body = _pi_message(message, tools, birth)
        yield {
            "type": "message",
            "id": name,
            "parentId": parent,
            "timestamp": birth.time,
            "message": body,
        }
        parent = name


def _pi_message(message: Message, tools: Mapping[str, str], birth: Birth) -> dict[str, Any]:
    content = [block for part in message.parts for block in _pi_blocks(part)]
    result = message.result
    if result is not None:
        return {
            "role": "toolResult",
            "toolCallId": result.call_id,
            "toolName": tools.get(result.call_id, ""),
            "content": content,
            "isError": result.is_error,
        }
    if message.role != "assistant":
        return {"role": "user", "content": content}
    return {
        "role": "assistant",
        "content": content,
        "api": "",
        "provider": "",
        "model": birth.model,
        "usage": _NO_USAGE,
        "stopReason": "toolUse" if message.calls else "stop",
    }


def _pi_blocks(part: Part) -> Iterator[dict[str, Any]]:
    match part:
        case Text(text) | ToolResult(content=text):
            yield {"type": "text", "text": text}
        case Thinking(text, signature):
            yield {"type": "thinking", "thinking": text, "thinkingSignature": signature}
        case ToolCall(id, name, arguments):
            yield {"type": "toolCall", "id": id, "name": name, "arguments": arguments}
        case Image(media_type, data):
            yield {"type": "image", "mimeType": media_type, "data": data}
        case Opaque(value=value) if isinstance(value, Mapping):
            yield dict(value)
        case Opaque():
            return


WRITERS: Mapping[str, Callable[[Buffer, Birth], Iterable[dict[str, Any]]]] = MappingProxyType(
    {"claude-code": _claude_code, "codex": _codex, "pi": _pi}
)


def transcript(format: str, buffer: Buffer, birth: Birth) -> str:  # noqa: A002
    """Return the text of the transcript, one JSON object per line. Raises InspectorError for an unsupported format."""
    if format not in WRITERS:
        names = ", ".join(WRITERS)
        raise InspectorError(
            f"Sessions of {format} cannot be written ({names} can); write a payload instead (openai-chat, for one)."
        )
    return "".join(f"{dumps(record)}\n" for record in WRITERS[format](buffer, birth))
