"""A thread put together message by message, for formats that record one conversation in order.

Each message is told once; a request is what stands when its answer comes.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

from inspector.core.buffer import NOT_IN_FILE, Prompt, Rewritten, Stretch, View
from inspector.core.dialects.dialect import Dialect
from inspector.core.identity import UniqueIds
from inspector.core.message import Message, Text
from inspector.core.prefix import Prefix
from inspector.core.session import Compaction, Request, SideCall, Thread
from inspector.core.untyped import objects_of, text_of
from inspector.core.usage import Usage


class GrowingThread:
    """Messages and requests of one agent. The readers that use it never change what they have told."""

    def __init__(self, name: str = "main", title: str = "", parent: str = "", parent_call: str = "") -> None:
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
        """Another one that goes on from here, while this one stays."""
        other = copy(self)
        other._stretch, other._ids = Stretch(self._stretch.view()), self._ids.copy()
        other._messages, other._requests = list(self._messages), list(self._requests)
        other._compactions, other.side_calls = list(self._compactions), list(self.side_calls)
        return other

    def say(self, messages: Iterable[Message]) -> None:
        """They stand in the buffer from now on. An id that was used before is told apart by a number."""
        self._stretch.append(*self.note(messages))

    def note(self, messages: Iterable[Message]) -> Sequence[Message]:
        """They do not stand in the buffer. Returns them as they are called from now on."""
        noted = []
        for message in messages:
            name = self._ids.claim(message.id)
            noted.append(message if name == message.id else replace(message, id=name))
        self._messages += noted
        return noted

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
        elapsed_ms: float | None = None,
        first_byte_ms: float | None = None,
    ) -> None:
        """A model call: `sent`, or what stands now, was sent."""
        self.model = model or self.model
        request = Request(
            index=len(self._requests),
            view=self._stretch.view() if sent is None else sent,
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
        self, kind: str, usage: Usage | None, model: str, line: int = 0, time: str = "", made: int | None = None
    ) -> None:
        """A call beside the conversation."""
        at = len(self._requests)
        self.side_calls.append(SideCall(kind, self.id, at, made, model=model, usage=usage, line=line, time=time))

    def report(self, usage: Usage | None) -> None:
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
        self.begin_again(kept[:at], Compaction(0, "", summary=made, kept=len(kept), line=line, time=time), kept[at:])

    def compacted(self, made: Compaction) -> None:
        """A compaction took place before the next call."""
        self._compactions.append(replace(made, before_request=len(self._requests)))

    def begin_again(self, kept: Iterable[Message], made: Compaction, then: Iterable[Message] = ()) -> None:
        """A compaction: the buffer is `kept` of the messages that stood there, its summary, and `then` more of them."""
        self._stretch = Stretch(own=tuple(kept))
        self.compacted(made)
        if made.summary is not None:
            self.say([made.summary])
        self.repeat(then)

    def clear(self, cleared: Rewritten, trigger: str) -> None:
        """A micro-compaction: some messages read otherwise from now on."""
        self._stretch = Stretch(self._stretch.view(), rewritten=cleared)
        ids = tuple(message.id for message, _ in cleared.values())
        self.compacted(Compaction(0, trigger, "micro", cleared=ids))

    def become(self, messages: Sequence[Message], same: int, made: Compaction | None = None) -> None:
        """The buffer is these messages, which were noted; the first `same` of them stood there before."""
        if same < len(self._stretch):
            self.cut(same)
        self.repeat(messages[same:])
        if made is not None:
            self.compacted(made)

    def cut(self, length: int) -> None:
        """The buffer is its first so many messages, others follow."""
        self._stretch = Stretch(View(self._stretch, length))

    def return_to(self, view: View) -> None:
        """The buffer is what stood there earlier, others follow."""
        self._stretch = Stretch(view)

    def view(self, length: int | None = None) -> View:
        """The buffer as it stands; its first `length` messages."""
        return self._stretch.view(length)

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
            begins_late=self.begins_late,
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
