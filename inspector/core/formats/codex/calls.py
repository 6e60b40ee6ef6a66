"""Find the calls of one Codex thread by the order of its records.

A rollout does not say which items are one response. It holds items in list order, and one token count per call:

- Newer versions write the items of a call, then its count. The call's buffer is everything before its first item.
- Until about 0.60 the count comes first, then the items. The call's buffer is everything before the count.
- Versions in between wrote tool results after the count of the call that requested them. They are not part of the
  response.

The same rule reads all three: a count closes the open response; if no response is open, the count opens one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.core.buffer import NOT_IN_FILE, Prompt, View
from inspector.core.formats.codex.history import (
    CodexHistory,
    by_provider,
    split_at_search,
    with_search_tokens,
)
from inspector.core.formats.reading import with_reasoning
from inspector.core.message import Mark, Message, Part, Role, Text, ToolCall, ToolResult
from inspector.core.prefix import Prefix
from inspector.core.session import Compaction, Request, SideCall, Thread
from inspector.core.untyped import object_of, texts_at
from inspector.core.usage import Usage

NEVER_SENT = ("ghost_snapshot", "other")
"""Types of items that Codex keeps for its own use and does not send."""
AGENT_MESSAGE = "agent_message"
"""Type of an item that holds a message of another agent of the session."""
ABORTED = "aborted"
"""Text that Codex sends as the result of a tool call without a result."""

_CONTEXT = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<skills_instructions>",
    "<collaboration_mode>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<skill>",
    "# AGENTS.md instructions",
)
"""Beginnings of texts that the client writes in the user's name, for versions without `content_item_kinds`."""


def mark_of(item: Any, role: Role, parts: Sequence[Part]) -> Mark:
    """Return the mark of an item: `meta` if the client or another agent wrote it in the user's name, else empty."""
    if role != "user":
        return ""
    if isinstance(item, dict) and item.get("type") == AGENT_MESSAGE:
        return "meta"
    kinds = _kinds(item)
    if kinds:
        return "" if any(kind.startswith(("user.", "unknown")) for kind in kinds) else "meta"
    first = parts[0] if parts else None
    return "meta" if isinstance(first, Text) and first.text.startswith(_CONTEXT) else ""


def summary_kind(item: Any) -> bool:
    """Does the item's metadata call it the summary of a compaction, as newer versions do?"""
    return "compaction.summary" in _kinds(item)


def _kinds(item: Any) -> list[str]:
    return texts_at(
        object_of(item, "internal_chat_message_metadata_passthrough"), "content_item_kinds"
    )


def is_compaction_output(record: Mapping[str, Any]) -> bool:
    """Did the side call that wrote a compaction's summary produce this record?"""
    metadata = record.get("metadata")
    return isinstance(metadata, dict) and metadata.get("compaction_output") is True


@dataclass(slots=True)
class CallSetting:
    """Prompt, model and context window of the next call, from the records so far."""

    prompt: Prompt = NOT_IN_FILE
    model: str = ""
    window: int | None = None
    inherited: bool = False
    """True while the records are copies from another thread: they fill this buffer but are no calls of this thread."""


@dataclass(slots=True)
class _Call:
    """A call whose response is not complete."""

    view: View
    line: int
    time: str
    usage: Usage | None = None
    window: int | None = None
    """Context window in tokens when the usage was reported; None if not recorded."""
    unexplained: int | None = None
    """Tokens of the prompt that nothing in the file accounts for; None if not computed."""


class ModelCalls:
    """Builds the calls of a thread from messages and token counts in file order.

    Views, requests and messages that were returned never change.
    """

    def __init__(self) -> None:
        self.setting = CallSetting()
        self._messages: list[Message] = []
        self._requests: list[Request] = []
        self._compactions: list[Compaction] = []
        self._standing = CodexHistory()
        self._open: _Call | None = None
        self._said: tuple[str, int, str] | None = None
        """Id, line and time of the open response; None if it has no items yet."""
        self._parts: list[Part] = []
        self._results: list[Message] = []
        self._unanswered: dict[str, str] = {}
        """Tool calls of complete responses that have no result: the id of the response, by call id."""
        self._compaction: Compaction | None = None
        self.side_calls: list[SideCall] = []
        """Calls that wrote the summaries of compactions."""
        self._counted = False

    def client(self, message: Message) -> None:
        """Take a message of the client or the user. It ends the open response."""
        self.turn()
        self._put(message)

    def model(self, parts: Sequence[Part], id: str, line: int, time: str) -> None:  # noqa: A002
        """Take an item of a response. If the file has no counts, text after a tool result begins a new response."""
        if (
            self._results
            and not self._counted
            and not any(isinstance(part, ToolCall) for part in parts)
        ):
            self.turn()
        if self._said is None:
            self._settle_compaction()
            self._said = (id, line, time)
            if self._open is None and not self.setting.inherited:
                self._open = _Call(self._standing.view(), line, time)
        self._parts.extend(parts)

    def result(self, message: Message) -> None:
        """Take a tool result. A result within an open response is placed after the response."""
        if self._said is None:
            self._put(message)
        else:
            self._results.append(message)

    def abort_calls(self) -> None:
        """Add an `aborted` result for each tool call without a result, as Codex does before the next call."""
        self.turn()
        for at, (call_id, name) in enumerate(list(self._unanswered.items())):
            self._put(
                Message(
                    f"{name}.{ABORTED}{at}",
                    "tool",
                    (ToolResult(call_id, ABORTED, is_error=True),),
                    mark="meta",
                )
            )

    def count(self, usage: Usage, line: int, time: str) -> None:
        """Take the usage that the provider reported for one call."""
        self._counted = True
        if self.setting.inherited:
            self.turn()
            return
        if self._open is None or self._open.usage is not None:
            self.turn()
            self._settle_compaction()
            unexplained = self._standing.report(usage, explain=True)  # the response follows
            self._open = _Call(
                self._standing.view(), line, time, usage, self.setting.window, unexplained
            )
            return
        self._open.unexplained = self._standing.report(
            usage, explain=any(map(by_provider, self._parts))
        )
        self._open.view, self._open.usage = self._standing.view(), usage
        self._open.window = self.setting.window
        self.turn()

    def turn(self, finish: str = "") -> None:
        """End the open response and its call, if there are any."""
        if self._said is not None:
            inside, outside = self._response()
            for message in inside:
                self._respond(message)
                if self._open is not None:
                    self._open.view = self._standing.view()
            for message in outside:
                self._respond(message)
            for message in self._results:
                self._put(message)
            self._said, self._parts, self._results = None, [], []
        if self._open is not None:
            self._requests.append(self._request(self._open, finish))
            self._open = None

    def aside(self, message: Message) -> None:
        """Take a message that was never in a buffer of this thread."""
        self._messages.append(message)

    def summary_call(self, usage: Usage, line: int, time: str) -> None:
        """Take the usage of the side call that writes the summary of the next compaction."""
        compaction_number = len(self._compactions) + (self._compaction is not None)
        at, model = len(self._requests), self.setting.model
        self.side_calls.append(
            SideCall(
                "compaction",
                before_request=at,
                made=compaction_number,
                model=model,
                usage=usage,
                line=line,
                time=time,
            )
        )

    def compacted(self, messages: Sequence[Message], compaction: Compaction) -> None:
        """Replace the whole buffer. A preceding count without a response belongs to the call for the summary."""
        self.settle_before_compaction()
        self._settle_compaction()
        known_ids = {id(message) for message in self._standing.view()}
        self._messages.extend(message for message in messages if id(message) not in known_ids)
        self._standing = CodexHistory(messages)
        self._unanswered.clear()
        self._compaction = replace(compaction, before_request=len(self._requests))

    def settle_before_compaction(self) -> None:
        """End the open response. An open call without a response is recorded as the call for the summary."""
        if self._open is not None and self._said is None:
            if self._open.usage is not None:
                self.summary_call(self._open.usage, self._open.line, self._open.time)
            self._open = None
        self.turn()

    def size_after_compaction(self, tokens: int) -> None:
        """Take the client's estimate of the new buffer in tokens, which follows a compaction."""
        if self._compaction is not None:
            self._compaction = replace(self._compaction, tokens_after=tokens)
            self._settle_compaction()

    def buffer(self) -> View:
        """Return the buffer that the next call would send. O(messages of the open response)."""
        return self._standing.view(self._unsettled())

    def thread(self) -> Thread:
        """Return the thread so far. The last call may still lack its usage."""
        open_request = (self._request(self._open),) if self._open else ()
        open_compaction = (self._compaction,) if self._compaction else ()
        messages = Prefix(self._messages, then=self._unsettled())
        return Thread(
            id="main",
            model=self.setting.model,
            requests=Prefix(self._requests, then=open_request),
            messages=messages,
            end=self.buffer(),
            prompt=self.setting.prompt,
            compactions=Prefix(self._compactions, then=open_compaction),
        )

    def _request(self, call: _Call, finish: str = "") -> Request:
        setting = self.setting
        return Request(
            len(self._requests),
            call.view,
            setting.prompt,
            call.usage,
            setting.model,
            call.time,
            finish,
            call.line,
            window=call.window if call.usage else setting.window,
        )

    def _response(self) -> tuple[Sequence[Message], Sequence[Message]]:
        """Return the answer so far: the message that the call's last prompt contained, and the message after it.

        Each is a tuple of one message, or empty.
        """
        if self._said is None:
            return (), ()
        name, line, time = self._said
        call = self._open
        if call is None or call.usage is None:
            return (), (
                Message(name, role="assistant", parts=tuple(self._parts), line=line, time=time),
            )
        parts = with_reasoning(self._parts, call.usage.reasoning)
        inside, rest = split_at_search(parts)
        if not inside:
            return (), (Message(name, role="assistant", parts=parts, line=line, time=time),)
        if call.unexplained is not None:
            inside = with_search_tokens(inside, call.unexplained)
        first = Message(name, role="assistant", parts=tuple(inside), line=line, time=time)
        return (first,), (
            Message(f"{name}.2", role="assistant", parts=tuple(rest), line=line, time=time),
        ) if rest else ()

    def _unsettled(self) -> tuple[Message, ...]:
        """Return the messages of the open response, then its tool results."""
        inside, outside = self._response()
        return (*inside, *outside, *self._results)

    def _respond(self, message: Message) -> None:
        self._unanswered |= {call.id: message.id for call in message.calls}
        self._messages.append(message)
        self._standing.respond(message)

    def _put(self, message: Message) -> None:
        if message.result is not None:
            self._unanswered.pop(message.result.call_id, None)
        self._messages.append(message)
        self._standing.put(message)

    def _settle_compaction(self) -> None:
        if self._compaction is not None:
            self._compactions.append(self._compaction)
            self._compaction = None
