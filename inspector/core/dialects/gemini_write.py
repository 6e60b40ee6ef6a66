"""Messages to the contents of a Gemini request. The other half of `gemini`."""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.core.buffer import Buffer, Tool
from inspector.core.jsontext import dumps
from inspector.core.message import Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult


def write_body(buffer: Buffer, max_tokens: int) -> dict[str, Any]:
    """A `generateContent` body; the model stands in the path."""
    body: dict[str, Any] = {"contents": write_contents(buffer.messages)}
    if buffer.prompt.system:
        body["systemInstruction"] = {"role": "user", "parts": [{"text": buffer.prompt.system}]}
    if buffer.prompt.tools:
        body["tools"] = _tools(buffer.prompt.tools)
    return body | {"generationConfig": {"maxOutputTokens": max_tokens}}


def write_contents(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The contents of a buffer: what travelled together, and neighbouring results, share one."""
    names = {call.id: call.name for message in messages for call in message.calls}
    contents: list[dict[str, Any]] = []
    before: Message | None = None
    for message in messages:
        parts = _parts(message, names)
        if before is not None and _one_content(before, message):
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": "model" if message.role == "assistant" else "user", "parts": parts})
        before = message
    return contents


def _one_content(before: Message, message: Message) -> bool:
    if before.together or message.together:
        return before.together == message.together
    return before.role == message.role == "tool"


def _parts(message: Message, names: Mapping[str, str]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    signature = ""
    for part in message.parts:
        if isinstance(part, Thinking) and not part.text:  # goes along with the part behind it
            signature = part.signature
            continue
        if isinstance(part, Image) and parts and "functionResponse" in parts[-1]:
            parts[-1]["functionResponse"].setdefault("parts", []).append(_part(part, names))
            continue
        one = _part(part, names)
        parts.append(one | {"thoughtSignature": signature} if signature else one)
        signature = ""
    return parts


def _part(part: Part, names: Mapping[str, str]) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"text": text}
        case Thinking(text, signature):
            return {"text": text, "thought": True} | ({"thoughtSignature": signature} if signature else {})
        case ToolCall(id_, name, arguments):
            args = arguments if isinstance(arguments, Mapping) else {"input": arguments}
            return {"functionCall": {"id": id_, "name": name, "args": args}}
        case ToolResult(call_id, content, is_error):
            response = {"error": content} if is_error else {"output": content}
            return {"functionResponse": {"id": call_id, "name": names.get(call_id, call_id), "response": response}}
        case Image(media_type, data, url):
            if data:
                return {"inlineData": {"mimeType": media_type, "data": data}}
            return {"fileData": {"mimeType": media_type, "fileUri": url}}
        case Opaque(_, value):
            return dict(value) if isinstance(value, Mapping) else {"text": dumps(value)}


def _tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    declared: list[Any] = []
    own: list[dict[str, Any]] = []
    for tool in tools:
        wire = tool.definition
        if isinstance(wire, Mapping) and not {"name", "function"} & wire.keys():
            own.append(dict(wire))
        else:
            declared.append(_declared(tool))
    return ([{"functionDeclarations": declared}] if declared else []) + own


def _declared(tool: Tool) -> Any:
    """As it was sent where it is in Gemini's shape; other providers' shapes are turned into it."""
    wire = tool.definition
    inner = wire.get("function") if isinstance(wire, Mapping) else None
    told = inner if isinstance(inner, Mapping) else wire
    if not isinstance(told, Mapping):
        return {"name": tool.name}
    if not {"input_schema", "function", "type"} & (told.keys() | (wire.keys() if isinstance(wire, Mapping) else set())):
        return told
    schema = told.get("input_schema") or told.get("parameters")
    shaped = {"name": tool.name, "description": told.get("description") or ""}
    return shaped | ({"parametersJsonSchema": schema} if schema else {})
