"""The events of one agent of Copilot CLI: its prompt, its messages, its calls.

The system prompt comes before each message of the user and takes the place of the former one. An answer is one call;
its buffer is what stood when its turn began. What tools gave back stands in the order in which they ended.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from inspector.core.buffer import Prompt, View
from inspector.core.formats.growing import GrowingThread
from inspector.core.jsontext import dumps
from inspector.core.message import Mark, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from inspector.core.session import Compaction
from inspector.core.untyped import count_of, objects_of, text_at

_SUMMARY = "Everything before this was compacted; what of it goes on, as Copilot CLI recorded it:"


class EventPosition(NamedTuple):
    """Where an event stood: its id, line and time."""

    id: str
    line: int
    time: str


class CopilotTrack(GrowingThread):
    """Of the main agent, or of one that it started."""

    def __init__(self, name: str) -> None:
        super().__init__(name, parent="" if name == "main" else "main")
        self._begun: View | None = None
        """The buffer when the turn began whose answer has not come yet."""

    def take_prompt(self, data: Mapping[str, Any]) -> None:
        """The system prompt from now on. Which tools went along, no event tells."""
        if text := text_at(data, "content"):
            self.prompt = self.prompt if self.prompt.system == text else Prompt(text)

    def take_user(self, data: Mapping[str, Any], where: EventPosition, mark: Mark = "") -> None:
        """A message of the user as it was sent: with what the client put around the typed text."""
        text = text_at(data, "transformedContent") or text_at(data, "content")
        self._put("user", (Text(text),) if text else (), where, mark)

    def take_result(self, data: Mapping[str, Any], where: EventPosition) -> None:
        """What a tool gave back to the model; `detailedContent` is for the screen."""
        failed = data.get("success") is False
        told = data.get("result") if data.get("result") is not None else data.get("error")
        content = told.get("content", told.get("message")) if isinstance(told, dict) else told
        text = content if isinstance(content, str) else "" if content is None else dumps(content)
        self._put("tool", (ToolResult(text_at(data, "toolCallId"), text, failed),), where)

    def begin_turn(self) -> None:
        """The model is called with what stands now."""
        self._begun = self.view()

    def take_answer(self, data: Mapping[str, Any], where: EventPosition) -> None:
        """An answer: one model call."""
        view, self._begun = self._begun, None
        self.call(None, text_at(data, "model") or self.model, where.time, "", where.line, view)
        parts: list[Part] = []
        signature = text_at(data, "reasoningOpaque") or text_at(data, "encryptedContent")
        if (thought := text_at(data, "reasoningText")) or signature:
            parts.append(Thinking(thought, signature))
        if text := text_at(data, "content"):
            parts.append(Text(text))
        for call in objects_of(data.get("toolRequests")):
            arguments = call.get("arguments")
            name = text_at(call, "name")
            parts.append(ToolCall(text_at(call, "toolCallId"), name, {} if arguments is None else arguments))
        self._put("assistant", tuple(parts), where)

    def take_compaction(self, data: Mapping[str, Any], where: EventPosition) -> None:
        """A summary takes the place of all that stood before, as far as the events tell."""
        text = text_at(data, "summaryContent")
        if data.get("success") is False or not text:
            return
        parts = (Text(f"{_SUMMARY}\n\n{text}"),)
        summary = Message(where.id, "user", parts, summary=True, mark="meta", line=where.line, time=where.time)
        self._begun = None
        made = Compaction(
            before_request=0,
            trigger=text_at(data, "trigger"),
            tokens_before=count_of(data.get("preCompactionTokens")) or None,
            tokens_after=count_of(data.get("postCompactionTokens")) or None,
            summary=summary,
            line=where.line,
            time=where.time,
        )
        self.begin_again((), made)
        self.say([summary])

    def _put(self, role: Role, parts: Sequence[Part], where: EventPosition, mark: Mark = "") -> None:
        if parts:
            self.say([Message(where.id, role, tuple(parts), mark=mark, line=where.line, time=where.time)])
