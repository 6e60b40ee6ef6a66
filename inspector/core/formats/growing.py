"""Build a thread message by message, for formats that record one conversation in order.

Each message is added once. The buffer of a request is everything before its answer.
"""

from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

from inspector.core.buffer import NOT_IN_FILE, Prompt, Rewritten, Stretch, View
from inspector.core.dialects.dialect import Dialect
from inspector.core.identity import UniqueIds
from inspector.core.message import Message, Text
from inspector.core.prefix import Prefix
from inspector.core.session import Compaction, Request, SideCall, Thread
from inspector.core.untyped import objects_of, text_at, text_of
from inspector.core.usage import Usage


class GrowingThread:
    """Builds the messages, requests and compactions of one agent. Returned views and threads never change."""

    def __init__(
        self, name: str = "main", title: str = "", parent: str = "", parent_call: str = ""
    ) -> None:
        self.id, self.title, self.parent, self.parent_call = name, title, parent, parent_call
        self.model = ""
        self.prompt: Prompt = NOT_IN_FILE
        self.window: int | None = None
        self.begins_late = False
        self._stretch = Stretch()
        self._messages: list[Message] = []
        self._ids = UniqueIds()
        self._requests: list[Request] = []
        self._compactions: list[Compaction] = []
        self.side_calls: list[SideCall] = []

    def copy(self) -> Self:
        """Return an independent copy, which can grow without changing this thread."""
        other = copy(self)
        other._stretch, other._ids = Stretch(self._stretch.view()), self._ids.copy()
        other._messages, other._requests = list(self._messages), list(self._requests)
        other._compactions, other.side_calls = list(self._compactions), list(self.side_calls)
        return other

    def say(self, messages: Iterable[Message]) -> None:
        """Append new messages to the buffer. An id that is already used gets a number."""
        self._stretch.append(*self.note(messages))

    def note(self, messages: Iterable[Message]) -> Sequence[Message]:
        """Add messages to the list of all messages, not to the buffer. Return them with unique ids."""
        noted = []
        for message in messages:
            name = self._ids.claim(message.id)
            noted.append(message if name == message.id else replace(message, id=name))
        self._messages += noted
        return noted

    def repeat(self, messages: Iterable[Message]) -> None:
        """Append messages to the buffer that are already in the list of all messages."""
        self._stretch.append(*messages)

    def hear(
        self, dialect: Dialect, items: Iterable[Any], name: str, line: int = 0, time: str = ""
    ) -> None:
        """Append the messages of these wire items, with ids made from `name`."""
        units = dialect.units(items, line, time, self._stretch.view())
        self.say(replace(message, id=name) for unit in units for message in unit)

    def call(
        self,
        usage: Usage | None,
        model: str = "",
        time: str = "",
        finish: str = "",
        line: int = 0,
        sent: View | None = None,
        elapsed_ms: float | None = None,
        first_byte_ms: float | None = None,
    ) -> None:
        """Add a model call whose buffer is `sent`, or the current buffer if `sent` is None."""
        self.model = model or self.model
        view = self._stretch.view() if sent is None else sent
        request = Request(
            index=len(self._requests),
            view=view,
            prompt=self.prompt,
            usage=usage,
            model=model,
            time=time,
            finish=finish,
            line=line,
            window=self.window,
            elapsed_ms=elapsed_ms,
            first_byte_ms=first_byte_ms,
        )
        self._requests.append(request)

    def aside(
        self,
        kind: str,
        usage: Usage | None,
        model: str,
        line: int = 0,
        time: str = "",
        compaction: int | None = None,
    ) -> None:
        """Add a side call, which is not part of the conversation."""
        at = len(self._requests)
        self.side_calls.append(
            SideCall(
                kind,
                thread=self.id,
                before_request=at,
                made=compaction,
                model=model,
                usage=usage,
                line=line,
                time=time,
            )
        )

    def report(self, usage: Usage | None) -> None:
        """Set the usage of the newest call, which the file records after the call."""
        self._requests = [*self._requests[:-1], replace(self._requests[-1], usage=usage)]

    @property
    def calls(self) -> int:
        """Number of model calls so far."""
        return len(self._requests)

    @property
    def compactions(self) -> int:
        """Number of compactions so far."""
        return len(self._compactions)

    def condense(
        self, gone: Collection[str], summary: str, offset: Any, name: str, line: int, time: str
    ) -> None:
        """Take a compaction that replaces messages by a summary.

        Args:
            gone: Ids of the messages that are no longer sent.
            summary: Text of the summary; empty if there is none.
            offset: Number of remaining messages before the summary. Any invalid value puts the summary at the end.
            name: Id of the summary's message.
            line: Line of the record.
            time: Time of the record.
        """
        remaining = [message for message in self._stretch.view() if message.id not in gone]
        at = offset if type(offset) is int and 0 <= offset <= len(remaining) else len(remaining)
        message = (
            Message(name, "user", (Text(summary),), summary=True, line=line, time=time)
            if summary
            else None
        )
        compaction = Compaction(
            before_request=0, trigger="", summary=message, kept=len(remaining), line=line, time=time
        )
        self.begin_again(remaining[:at], compaction, remaining[at:])

    def compacted(self, compaction: Compaction) -> None:
        """Add a compaction before the next call to the list. The buffer is not changed."""
        self._compactions.append(replace(compaction, before_request=len(self._requests)))

    def begin_again(
        self, before: Iterable[Message], compaction: Compaction, after: Iterable[Message] = ()
    ) -> None:
        """Take a compaction. The new buffer is `before`, the compaction's summary, and `after`.

        Args:
            before: Known messages before the summary.
            compaction: The compaction to record.
            after: Known messages after the summary.
        """
        self._stretch = Stretch(own=tuple(before))
        self.compacted(compaction)
        if compaction.summary is not None:
            self.say([compaction.summary])
        self.repeat(after)

    def clear(self, cleared: Rewritten, trigger: str) -> None:
        """Take a micro-compaction, which replaces the texts of some messages from now on."""
        self._stretch = Stretch(self._stretch.view(), rewritten=cleared)
        ids = tuple(message.id for message, _ in cleared.values())
        self.compacted(Compaction(before_request=0, trigger=trigger, kind="micro", cleared=ids))

    def become(
        self, messages: Sequence[Message], same: int, compaction: Compaction | None = None
    ) -> None:
        """Replace the buffer by messages that are already in the list of all messages.

        The first `same` messages are those of the current buffer.
        """
        if same < len(self._stretch):
            self.cut(same)
        self.repeat(messages[same:])
        if compaction is not None:
            self.compacted(compaction)

    def cut(self, length: int) -> None:
        """Shorten the buffer to its first `length` messages."""
        self._stretch = Stretch(View(self._stretch, length))

    def return_to(self, view: View) -> None:
        """Continue from an earlier buffer."""
        self._stretch = Stretch(view)

    def view(self, length: int | None = None) -> View:
        """Return the current buffer, or its first `length` messages."""
        return self._stretch.view(length)

    def thread(self) -> Thread:
        """Return the thread so far."""
        requests = Prefix(self._requests)
        messages = Prefix(self._messages)
        compactions = Prefix(self._compactions)
        end = self._stretch.view()
        return Thread(
            id=self.id,
            title=self.title,
            model=self.model,
            requests=requests,
            messages=messages,
            end=end,
            prompt=self.prompt,
            compactions=compactions,
            parent=self.parent,
            parent_call=self.parent_call,
            window=self.window,
            begins_late=self.begins_late,
        )


def measured(usage: Usage | None) -> Usage | None:
    """Return the usage; None if its prompt has 0 or 1 tokens, which means that it was not measured or was scrubbed."""
    return usage if usage is not None and usage.prompt > 1 else None


def split_prompt(messages: list[Any]) -> tuple[str | None, list[Any]]:
    """Split the leading system messages off as one prompt. Return the prompt (None without any) and the rest."""
    count = 0
    while count < len(messages) and text_at(messages[count], "role") == "system":
        count += 1
    texts = [_text(message.get("content")) for message in messages[:count]]
    return ("\n\n".join(texts) if count else None), messages[count:]


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(_text(block.get("text")) for block in objects_of(content))
    return text_of(content)
