"""pi's messages to ours: each message of a session is one message, in the words in which pi sends it to the model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.buffer import Prompt, Tool
from inspector.core.jsontext import dumps
from inspector.core.message import Image, Mark, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult
from inspector.core.usage import Usage

_SUMMARY = "The conversation history before this point was compacted into the following summary:"
_BRANCH = "The following is a summary of a branch that this conversation came back from:"
_ROLES: Mapping[str, Role] = {"assistant": "assistant", "toolResult": "tool", "system": "system"}
_BY_CLIENT = ("custom", "hookMessage", "branchSummary", "compactionSummary")
FAILED = ("error", "aborted")


@dataclass(frozen=True, slots=True)
class Where:
    """Where a message stood: its id, line and time."""

    id: str
    line: int
    time: str


def read_message(message: Mapping[str, Any], where: Where) -> Message:
    """The message of a pi message of any role. Never raises."""
    kind = message.get("role")
    role = _ROLES.get(kind, "user") if isinstance(kind, str) else "user"
    mark: Mark = "meta" if kind in _BY_CLIENT else ""
    return Message(where.id, role, _parts(kind, message), "", kind == "compactionSummary", mark, where.line, where.time)


def _parts(kind: Any, message: Mapping[str, Any]) -> tuple[Part, ...]:
    match kind:
        case "toolResult":
            return _result(message)
        case "bashExecution":
            return (Text(bash_text(message)),)
        case "branchSummary":
            return (Text(branch_text(_str(message.get("summary")))),)
        case "compactionSummary":
            return (Text(summary_text(_str(message.get("summary")))),)
        case _:
            return read_content(message.get("content"))


def read_content(content: Any) -> tuple[Part, ...]:
    """A string or a list of blocks."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if not isinstance(content, Sequence):
        return ()
    return tuple(_part(block) for block in content)


def _part(block: Any) -> Part:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "thinking", "thinking": str(text)}:
            return Thinking(text, _str(block.get("thinkingSignature")))
        case {"type": "toolCall"}:
            arguments = block.get("arguments")
            return ToolCall(_str(block.get("id")), _str(block.get("name")), {} if arguments is None else arguments)
        case {"type": "image", "data": str(data)}:
            return Image(_str(block.get("mimeType")), data)
        case str():
            return Text(block)
        case _:
            kind = _str(block.get("type")) if isinstance(block, Mapping) else ""
            return Opaque(kind, block, len(dumps(block).encode("utf-8", errors="replace")))


def _result(message: Mapping[str, Any]) -> tuple[Part, ...]:
    parts = read_content(message.get("content"))
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    result = ToolResult(_str(message.get("toolCallId")), text, message.get("isError") is True)
    return (result, *(part for part in parts if not isinstance(part, Text)))


def bash_text(message: Mapping[str, Any]) -> str:
    """A command that the user ran: pi tells the model as text of the user."""
    output, code = _str(message.get("output")), message.get("exitCode")
    text = f"Ran `{_str(message.get('command'))}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    if message.get("cancelled") is True:
        text += "\n\n(command cancelled)"
    elif type(code) is int and code != 0:
        text += f"\n\nCommand exited with code {code}"
    if message.get("truncated") is True and message.get("fullOutputPath"):
        text += f"\n\n[Output truncated. Full output: {message['fullOutputPath']}]"
    return text


def summary_text(summary: str) -> str:
    """How the summary of a compaction stands in the buffer (spec 3.7)."""
    return f"{_SUMMARY}\n\n<summary>\n{summary}\n</summary>"


def branch_text(summary: str) -> str:
    """How the summary of an abandoned branch stands in the buffer."""
    return f"{_BRANCH}\n\n<summary>\n{summary}</summary>"


def read_usage(message: Mapping[str, Any]) -> Usage | None:
    """What was reported for the call that made an assistant message; None where nothing was (all zero).

    pi's `input` is the uncached part. The output of a call that failed is what had come until then.
    """
    usage = message.get("usage")
    if not isinstance(usage, Mapping):
        return None
    input_, output, read, write, reasoning = (
        _count(usage.get(key)) for key in ("input", "output", "cacheRead", "cacheWrite", "reasoning")
    )
    if not input_ + output + read + write:
        return None
    return Usage(input_, read, write, output, reasoning, output_is_final=message.get("stopReason") not in FAILED)


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """pi's system message (0.87): text, named sections and tools. A later one adds to, or changes, an earlier one."""

    text: str = ""
    sections: tuple[tuple[str, str], ...] = ()
    tools: tuple[Tool, ...] = ()

    def changed(self, message: Mapping[str, Any]) -> "SystemPrompt":
        """With what `message` says: a section of the same name is replaced, tools come and go by name."""
        sections, given = dict(self.sections), message.get("sections")
        if isinstance(given, Mapping):
            sections |= {str(name): _str(text) for name, text in given.items()}
        gone = {
            str(tool.get("name")) if isinstance(tool, Mapping) else str(tool) for tool in _list(message, "toolsRemoved")
        }
        added = tuple(
            Tool(_str(tool.get("name")), tool) for tool in _list(message, "toolsAdded") if isinstance(tool, Mapping)
        )
        gone |= {tool.name for tool in added}
        text = "\n".join(part.text for part in read_content(message.get("content")) if isinstance(part, Text))
        kept = tuple(tool for tool in self.tools if tool.name not in gone)
        return SystemPrompt(text or self.text, tuple(sections.items()), kept + added)

    def prompt(self) -> Prompt:
        """As it goes along with a buffer."""
        return Prompt("\n\n".join(text for text in (self.text, *dict(self.sections).values()) if text), self.tools)


def _list(message: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = message.get(key)
    return value if isinstance(value, list) else ()


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""
