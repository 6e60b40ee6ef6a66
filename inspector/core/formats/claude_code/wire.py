"""What newer clients (2.1.330) record of the requests themselves: prompt and tools by shape, messages by hash."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.buffer import NOT_IN_FILE, Prompt, Tool
from inspector.core.dialects.anthropic import read_prompt
from inspector.core.formats.claude_code.records import count, mapping, text, texts


@dataclass(frozen=True, slots=True)
class Sending:
    """An `api-request` record: the first `keep` wire messages of the request `base`, then those of `tail`, by hash."""

    base: str
    keep: int
    tail: Sequence[str]


class Wire:
    """The requests of a session, those of its sub-agents among them."""

    def __init__(self) -> None:
        self._shapes: dict[str, Prompt] = {}
        self._of_request: dict[str, str] = {}
        self._sendings: dict[str, Sending] = {}
        self._blobs: dict[str, dict[str, Any]] = {}

    def add_shape(self, value: dict[str, Any]) -> Prompt:
        """Take an `api-request-shape` record."""
        prompt = read_prompt(mapping(value, "shape"))
        return self._shapes.setdefault(text(value, "shapeHash"), prompt)

    def add_request(self, value: dict[str, Any]) -> None:
        """Take an `api-request` record."""
        id_, keep, tail = text(value, "id"), count(value, "keep"), value.get("tail")
        self._of_request[id_] = text(value, "shapeHash")
        if keep is not None and isinstance(tail, list) and all(isinstance(one, str) for one in tail):
            self._sendings[id_] = Sending(text(value, "base"), keep, tail)

    def add_blob(self, value: dict[str, Any]) -> None:
        """Take an `api-request-blob` record: a wire message that is not, word for word, a record of the file."""
        message = mapping(value, "message")
        if text(message, "role"):
            self._blobs[text(value, "hash")] = message

    def prompt(self, request: str) -> Prompt | None:
        """The prompt of the request of that id, if recorded."""
        return self._shapes.get(self._of_request.get(request, ""))

    def sending(self, request: str) -> Sending | None:
        """What the request of that id sent, if recorded."""
        return self._sendings.get(request)

    def blob(self, hash_: str) -> dict[str, Any] | None:
        """The wire message of that hash, if recorded."""
        return self._blobs.get(hash_)


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
