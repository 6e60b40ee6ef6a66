"""The events of one agent of Copilot CLI: its prompt, its messages, its calls.

The system prompt comes before each message of the user and takes the place of the former one. An answer is one call;
its buffer is what stood when its turn began. What tools gave back stands in the order in which they ended.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from inspector.core.buffer import NOT_IN_FILE, Prompt, Stretch, View
from inspector.core.jsontext import dumps
from inspector.core.message import Mark, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from inspector.core.prefix import Prefix
from inspector.core.session import Compaction, Request, Thread
from inspector.core.untyped import count_of, objects_of, text_at
from inspector.core.usage import Usage

_SUMMARY = "Everything before this was compacted; what of it goes on, as Copilot CLI recorded it:"


class EventPosition(NamedTuple):
    """Where an event stood: its id, line and time."""

    id: str
    line: int
    time: str


class CopilotTrack:
    """Of the main agent, or of one that it started."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.title = self.parent_call = self.model = ""
        self.prompt: Prompt = NOT_IN_FILE
        self._stretch = Stretch()
        self._messages: list[Message] = []
        self._requests: list[Request] = []
        self._last: Request | None = None
        """The newest call: what was reported for it may come at the end of the session."""
        self._compactions: list[Compaction] = []
        self._begun: View | None = None
        """The buffer when the turn began whose answer has not come yet."""

    @property
    def calls(self) -> int:
        """How many model calls there are."""
        return len(self._requests) + (self._last is not None)

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
        self._begun = self._stretch.view()

    def take_answer(self, data: Mapping[str, Any], where: EventPosition) -> None:
        """An answer: one model call."""
        self.model = text_at(data, "model") or self.model
        view, self._begun = self._begun or self._stretch.view(), None
        if self._last is not None:
            self._requests.append(self._last)
        number = len(self._requests)
        self._last = Request(number, view, self.prompt, None, self.model, where.time, line=where.line)
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

    def take_usage(self, usage: Usage) -> None:
        """What was reported for the only call."""
        if self._last is not None and not self._requests:
            one = self._last
            self._last = Request(0, one.view, one.prompt, usage, one.model, one.time, line=one.line)

    def take_compaction(self, data: Mapping[str, Any], where: EventPosition) -> None:
        """A summary takes the place of all that stood before, as far as the events tell."""
        text = text_at(data, "summaryContent")
        if data.get("success") is False or not text:
            return
        parts = (Text(f"{_SUMMARY}\n\n{text}"),)
        summary = Message(where.id, "user", parts, summary=True, mark="meta", line=where.line, time=where.time)
        self._messages.append(summary)
        self._stretch, self._begun = Stretch(own=(summary,)), None
        before, after = count_of(data.get("preCompactionTokens")), count_of(data.get("postCompactionTokens"))
        trigger = text_at(data, "trigger")
        self._compactions.append(
            Compaction(
                before_request=self.calls,
                trigger=trigger,
                tokens_before=before or None,
                tokens_after=after or None,
                summary=summary,
                line=where.line,
                time=where.time,
            )
        )

    def _put(self, role: Role, parts: Sequence[Part], where: EventPosition, mark: Mark = "") -> None:
        if parts:
            message = Message(where.id, role, tuple(parts), mark=mark, line=where.line, time=where.time)
            self._messages.append(message)
            self._stretch.append(message)

    def compacted(self) -> bool:
        """Does the file tell a compaction?"""
        return bool(self._compactions)

    def thread(self, parent: str) -> Thread:
        """The thread so far."""
        return Thread(
            id=self.name,
            title=self.title,
            model=self.model,
            requests=Prefix(self._requests, then=[self._last] if self._last else ()),
            messages=Prefix(self._messages),
            end=self._stretch.view(),
            prompt=self.prompt,
            compactions=Prefix(self._compactions),
            parent=parent,
            parent_call=self.parent_call,
        )
