"""What newer clients (2.1.330) record of the requests themselves: system prompt and tools, by shape."""

from typing import Any

from inspector.core.buffer import NOT_IN_FILE, Prompt, Tool
from inspector.core.wire.anthropic import read_prompt

from .records import mapping, text, texts


class Shapes:
    """The system prompts and tool lists of a session, and which request had which."""

    def __init__(self) -> None:
        self._shapes: dict[str, Prompt] = {}
        self._of_request: dict[str, str] = {}

    def add_shape(self, value: dict[str, Any]) -> Prompt:
        """Take an `api-request-shape` record."""
        prompt = read_prompt(mapping(value, "shape"))
        return self._shapes.setdefault(text(value, "shapeHash"), prompt)

    def add_request(self, value: dict[str, Any]) -> None:
        """Take an `api-request` record."""
        self._of_request[text(value, "id")] = text(value, "shapeHash")

    def of(self, request: str) -> Prompt | None:
        """The prompt of the request of that id, if recorded."""
        return self._shapes.get(self._of_request.get(request, ""))


def read_snapshot(attachment: dict[str, Any], before: Prompt) -> Prompt:
    """The prompt in a `prompt_snapshot` attachment: its parts; the tools come with a later one."""
    system = "\n\n".join(texts(attachment, "systemPrompt")) or before.system
    tools = attachment.get("tools")
    if not isinstance(tools, list):
        return Prompt(system, before.tools) if system is not None else NOT_IN_FILE
    known = [mapping(tool, "schema") or tool for tool in tools if isinstance(tool, dict)]
    return Prompt(system, tuple(Tool(text(tool, "name"), tool) for tool in known))


def read_replacements(value: dict[str, Any]) -> dict[str, str]:
    """A `content-replacement` record: tool results too large to be sent, by call id, and what was sent instead."""
    listed = value.get("replacements")
    pairs = [(text(one, "toolUseId"), text(one, "replacement")) for one in listed] if isinstance(listed, list) else []
    return {call: said for call, said in pairs if call and said}
