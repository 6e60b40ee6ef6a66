"""Convert pi's messages to ours: one message for each message of a session, with the text that pi sends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.core.buffer import NOT_IN_FILE, Prompt, Tool
from inspector.core.formats.reading import RecordPosition, opaque_part
from inspector.core.jsontext import dumps
from inspector.core.message import (
    Image,
    Mark,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from inspector.core.tokens.harnesses import u16
from inspector.core.untyped import count_of, list_of, objects_of, text_at, text_of
from inspector.core.usage import Usage, is_absurd

_SUMMARY = "The conversation history before this point was compacted into the following summary:"
_BRANCH = "The following is a summary of a branch that this conversation came back from:"
_ROLES: Mapping[str, Role] = {"assistant": "assistant", "toolResult": "tool", "system": "system"}
_BY_CLIENT = ("custom", "hookMessage", "branchSummary", "compactionSummary")
FAILED = ("error", "aborted")


def read_message(message: Mapping[str, Any], where: RecordPosition) -> Message:
    """Convert a pi message of any role to a message. Never raises."""
    kind = message.get("role")
    role = _ROLES.get(kind, "user") if isinstance(kind, str) else "user"
    mark: Mark = "meta" if kind in _BY_CLIENT else ""
    return where.message(role, _parts(kind, message), mark, summary=kind == "compactionSummary")


def _parts(kind: Any, message: Mapping[str, Any]) -> tuple[Part, ...]:
    if kind == "toolResult":
        parts = read_parts(message.get("content"))
        return as_result(text_of(message.get("toolCallId")), parts, message.get("isError") is True)
    if kind == "bashExecution":
        return (Text(bash_text(message)),)
    if kind == "branchSummary":
        return (Text(branch_text(text_of(message.get("summary")))),)
    if kind == "compactionSummary":
        return (Text(summary_text(text_of(message.get("summary")))),)
    return read_parts(message.get("content"))


def read_parts(content: Any) -> tuple[Part, ...]:
    """Return the parts of a content, which is a string or a list of blocks."""
    if isinstance(content, list):
        return tuple([_part(block) for block in content])
    return (Text(content),) if isinstance(content, str) and content else ()


def _part(block: Any) -> Part:
    if isinstance(block, str):
        return Text(block)
    if not isinstance(block, dict):
        return opaque_part("", block)
    kind = block.get("type")
    if kind == "text" and isinstance(text := block.get("text"), str):
        return Text(text)
    if kind == "toolCall":
        arguments = block.get("arguments")
        return ToolCall(
            text_of(block.get("id")),
            text_of(block.get("name")),
            {} if arguments is None else arguments,
        )
    if kind == "thinking" and isinstance(text := block.get("thinking"), str):
        return Thinking(text, text_of(block.get("thinkingSignature")))
    if kind == "image" and isinstance(data := block.get("data"), str):
        return Image(text_of(block.get("mimeType")), data)
    return opaque_part(text_of(kind), block)


def as_result(call_id: str, parts: Sequence[Part], is_error: bool) -> tuple[Part, ...]:
    """Return the parts of a tool result: the texts as one result, then images and other parts."""
    if len(parts) == 1 and isinstance(only := parts[0], Text):
        return (ToolResult(call_id, only.text, is_error),)
    texts = tuple(part.text for part in parts if isinstance(part, Text))
    result = ToolResult(
        call_id, content="\n".join(texts), is_error=is_error, texts=texts if len(texts) > 1 else ()
    )
    return (result, *(part for part in parts if not isinstance(part, Text)))


def with_content(source: Message, content: Any) -> Message:
    """Return the message with other content. Role, id and the call id of a tool result stay."""
    parts, result = read_parts(content), source.result
    return replace(
        source, parts=as_result(result.call_id, parts, result.is_error) if result else parts
    )


def record_of(message: Mapping[str, Any]) -> tuple[str, int | None]:
    """Return the kind of a message's record, and the UTF-16 units that pi counts for it.

    The units are None if pi counts the text that it sends.
    """
    match message.get("role"):
        case "bashExecution":
            return "bashExecution", u16(text_of(message.get("command"))) + u16(
                text_of(message.get("output"))
            )
        case "branchSummary" | "compactionSummary":
            return "custom", u16(text_of(message.get("summary")))
        case "custom" | "hookMessage":
            return "custom", None
    return "message", None


def system_units(message: Mapping[str, Any]) -> int:
    """Return the UTF-16 units that pi 1.5 counts for a system message."""
    sections = message.get("sections")
    tools = message.get("toolsAdded")
    texts = [part.text for part in read_parts(message.get("content")) if isinstance(part, Text)]
    texts += map(text_of, sections.values()) if isinstance(sections, dict) else []
    return sum(map(u16, texts)) + (u16(dumps(tools)) if isinstance(tools, list) else 0)


def bash_text(message: Mapping[str, Any]) -> str:
    """Return the text that pi sends, in the user's name, for a command that the user ran."""
    output = text_of(message.get("output"))
    code = message.get("exitCode")
    text = f"Ran `{text_of(message.get('command'))}`\n" + (
        f"```\n{output}\n```" if output else "(no output)"
    )
    if message.get("cancelled") is True:
        text += "\n\n(command cancelled)"
    elif type(code) is int and code != 0:
        text += f"\n\nCommand exited with code {code}"
    if message.get("truncated") is True and (path := text_of(message.get("fullOutputPath"))):
        text += f"\n\n[Output truncated. Full output: {path}]"
    return text


def summary_text(summary: str) -> str:
    """Return the summary of a compaction as the model reads it."""
    return f"{_SUMMARY}\n\n<summary>\n{summary}\n</summary>"


def branch_text(summary: str) -> str:
    """Return the summary of an abandoned branch as the model reads it."""
    return f"{_BRANCH}\n\n<summary>\n{summary}</summary>"


def read_usage(message: Mapping[str, Any]) -> Usage | None:
    """Return the usage of the call that made an assistant message; None if all counts are at most 1.

    If there is a total, the prompt is `totalTokens` - `output`, because providers differ in whether `input` includes
    cached tokens (Google's does). The output of a failed call is a lower bound.
    """
    usage = message.get("usage")
    if not isinstance(usage, dict) or is_absurd(usage):
        return None
    fresh = count_of(usage.get("input"))
    output = count_of(usage.get("output"))
    read = count_of(usage.get("cacheRead"))
    write = count_of(usage.get("cacheWrite"))
    parts_sum = fresh + read + write
    if max(parts_sum, output) <= 1:
        return None
    prompt = count_of(usage.get("totalTokens")) - output
    prompt = prompt if prompt > 0 else parts_sum
    fresh = max(0, prompt - read - write)
    context = prompt if prompt < read + write else None
    final = message.get("stopReason") not in FAILED
    hourly = min(count_of(usage.get("cacheWrite1h")), write)
    return Usage(
        fresh,
        read,
        write,
        output,
        reasoning=count_of(usage.get("reasoning")),
        output_is_final=final,
        context=context,
        cache_write_1h=hourly,
    )


@dataclass(frozen=True, slots=True)
class PiSystemPrompt:
    """pi's system message (0.87): text, named sections and tools. A later system message changes an earlier one."""

    text: str = ""
    sections: tuple[tuple[str, str], ...] = ()
    tools: tuple[Tool, ...] = ()
    prompt: Prompt = NOT_IN_FILE
    """System prompt and tools as they are sent with a buffer."""

    def changed(self, message: Mapping[str, Any]) -> "PiSystemPrompt":
        """Return the system prompt changed by `message`: sections are replaced, tools added and removed by name."""
        sections = dict(self.sections)
        new_sections = message.get("sections")
        if isinstance(new_sections, dict):
            sections |= {str(name): text_of(text) for name, text in new_sections.items()}
        new_text = "\n".join(
            part.text for part in read_parts(message.get("content")) if isinstance(part, Text)
        )
        text = new_text or self.text
        tools = self._tools(message)
        whole = "\n\n".join(filter(None, (text, *sections.values())))
        return PiSystemPrompt(
            text, sections=tuple(sections.items()), tools=tools, prompt=Prompt(whole, tools)
        )

    def _tools(self, message: Mapping[str, Any]) -> tuple[Tool, ...]:
        added = tuple(
            Tool(text_of(tool.get("name")), tool) for tool in objects_of(message.get("toolsAdded"))
        )
        gone = {tool.name for tool in added}
        gone |= {
            text_at(tool, "name") or text_of(tool) for tool in list_of(message.get("toolsRemoved"))
        }
        return tuple(tool for tool in self.tools if tool.name not in gone) + added
