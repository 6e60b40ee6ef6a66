"""A thread put together message by message, for formats that record one conversation in order.

Each message is told once; a request is what stands when its answer comes.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from inspector.core.buffer import NOT_IN_FILE, Prompt, Stretch, View
from inspector.core.dialects.dialect import Dialect
from inspector.core.message import Message, Text
from inspector.core.prefix import Prefix
from inspector.core.session import Compaction, Request, Thread
from inspector.core.untyped import objects_of, text_of
from inspector.core.usage import Usage


class GrowingThread:
    """Messages and requests of one agent. The readers that use it never change what they have told."""

    def __init__(self, name: str = "main", title: str = "", parent: str = "", parent_call: str = "") -> None:
        self.id, self.title, self.parent, self.parent_call = name, title, parent, parent_call
        self.model = ""
        self.prompt: Prompt = NOT_IN_FILE
        self.window: int | None = None
        self._stretch = Stretch()
        self._messages: list[Message] = []
        self._ids: dict[str, int] = {}
        self._requests: list[Request] = []
        self._compactions: list[Compaction] = []

    def say(self, messages: Iterable[Message]) -> None:
        """They stand in the buffer from now on. An id that was used before is told apart by a number."""
        for message in messages:
            told = self._ids[message.id] = self._ids.get(message.id, 0) + 1
            one = message if told == 1 else replace(message, id=f"{message.id}.{told}")
            self._messages.append(one)
            self._stretch.append(one)

    def repeat(self, messages: Iterable[Message]) -> None:
        """They stood there before, and do again."""
        self._stretch.append(*messages)

    def hear(self, dialect: Dialect, items: Iterable[Any], name: str, line: int = 0, time: str = "") -> None:
        """The messages of these wire items, called after `name`."""
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
    ) -> None:
        """A model call: `sent`, or what stands now, was sent."""
        self.model = model or self.model
        number, view = len(self._requests), self._stretch.view() if sent is None else sent
        self._requests.append(Request(number, view, self.prompt, usage, model, time, finish, line, self.window))

    def report(self, usage: Usage) -> None:
        """What was reported, later, for the newest call."""
        self._requests = [*self._requests[:-1], replace(self._requests[-1], usage=usage)]

    @property
    def calls(self) -> int:
        """How many model calls there are."""
        return len(self._requests)

    @property
    def compactions(self) -> int:
        """How many compactions there are."""
        return len(self._compactions)

    def condense(self, gone: Collection[str], summary: str, offset: Any, name: str, line: int, time: str) -> None:
        """A compaction: messages are forgotten, a summary stands in their place (`offset` messages from the start)."""
        kept = [message for message in self._stretch.view() if message.id not in gone]
        at = offset if type(offset) is int and 0 <= offset <= len(kept) else len(kept)
        made = Message(name, "user", (Text(summary),), summary=True, line=line, time=time) if summary else None
        self.begin_again(kept[:at], Compaction(0, "", summary=made, kept=len(kept), line=line, time=time))
        if made is not None:
            self.say([made])
        self._stretch.append(*kept[at:])

    def begin_again(self, kept: Iterable[Message], made: Compaction) -> None:
        """A compaction: the buffer is these messages of those that stood there; others follow."""
        self._stretch = Stretch(own=tuple(kept))
        self._compactions.append(replace(made, before_request=len(self._requests)))

    def view(self) -> View:
        """The buffer as it stands."""
        return self._stretch.view()

    def thread(self) -> Thread:
        """The thread so far."""
        return Thread(
            id=self.id,
            title=self.title,
            model=self.model,
            requests=Prefix(self._requests),
            messages=Prefix(self._messages),
            end=self._stretch.view(),
            prompt=self.prompt,
            compactions=Prefix(self._compactions),
            parent=self.parent,
            parent_call=self.parent_call,
            window=self.window,
        )


def measured(usage: Usage | None) -> Usage | None:
    """None where a provider, or a scrubber, put 0 or 1: no prompt is that short, so nothing was measured."""
    return usage if usage is not None and usage.prompt > 1 else None


def split_prompt(messages: list[Any]) -> tuple[str | None, list[Any]]:
    """The system messages at the head as one prompt (None = there is none), and the others."""
    count = 0
    while count < len(messages) and isinstance(one := messages[count], Mapping) and one.get("role") == "system":
        count += 1
    texts = [_text(one.get("content")) for one in messages[:count]]
    return ("\n\n".join(texts) if count else None), messages[count:]


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(_text(one.get("text")) for one in objects_of(content))
    return text_of(content)
