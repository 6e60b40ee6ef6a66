"""One thread of a recording while its exchanges come in, in whatever order their answers come.

What was handed out is never changed: a list of which somebody holds a beginning is copied before an item of it changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from inspector.core.buffer import EMPTY_VIEW, Prompt, View, shared
from inspector.core.dialects.anthropic import is_summary
from inspector.core.formats.proxy.exchange import Exchange
from inspector.core.formats.proxy.keys import ClientKey
from inspector.core.formats.proxy.pool import extended
from inspector.core.message import Message, Text
from inspector.core.prefix import Prefix
from inspector.core.session import SERVER_SIDE, Compaction, CompactionKind, Request, Thread

_MACHINE = ("<", "# AGENTS.md instructions")
"""How texts begin that travel in the user's name."""
_PROXY = "proxy"
_LABELS = ("description", "task_name", "title")
"""Arguments of a call for a sub-agent that name it."""
_NEAR = 8
"""A summary stands among the first so many messages after what two buffers share."""


@dataclass(slots=True, eq=False)
class ShownCompaction:
    """A compaction: the exchange that showed it, and the calls that made it."""

    by: Exchange
    summary: Message | None
    kept: int
    kind: CompactionKind
    calls: Sequence[Exchange]
    trigger: str


Scope: TypeAlias = tuple[str, str, str]
"""Within which threads are told apart by what they say."""


@dataclass(slots=True, eq=False)
class Conversation:
    """The steps of one thread."""

    key: ClientKey
    number: int
    scope: Scope
    parent: "Conversation | None" = None
    parent_call: str = ""
    steps: list[Exchange] = field(default_factory=list)
    made: list[ShownCompaction] = field(default_factory=list)
    label: str = ""
    """What the call that started it says of it."""
    connections: set[tuple[int, int]] = field(default_factory=set)
    """Those that its requests came on."""
    system: str | None = None
    """The system prompt of its last request, refused ones too."""
    compacting: list[Exchange] = field(default_factory=list)
    """Calls for a summary of which nothing has come yet."""
    tried: View = EMPTY_VIEW
    """The buffer of the last request that the provider refused."""
    worked: bool = False
    """Some request of it offered tools."""
    _messages: list[Message] = field(default_factory=list)
    _ids: set[str] = field(default_factory=set)
    _requests: list[Request] = field(default_factory=list)
    """The steps as they were handed out: those from `_stale` on are others now."""
    _stale: int = 0
    _thread: tuple[tuple[str, str, str, str], Thread] | None = None

    @property
    def end(self) -> View:
        """The buffer after the last step."""
        return self.steps[-1].end if self.steps else EMPTY_VIEW

    @property
    def prompt(self) -> Prompt:
        """What went along with the last step."""
        return self.steps[-1].body.prompt if self.steps else Prompt()

    def add(self, one: Exchange) -> None:
        """The next step."""
        last, body = self.steps[-1] if self.steps else None, one.body
        prompt = body.prompt
        view, same = _on(last, body.view)
        self._compare(last, view, same, one)
        self._settle(one, view)
        self.worked = self.worked or bool(prompt.tools)
        self.steps.append(one)
        self.connections.add(one.connection)
        self.system = prompt.system
        self._collect(view.tail(same))
        self._thread = None

    def change(self, one: Exchange) -> None:
        """Something came for a step: what was really sent, or what it continues."""
        at = self.index(one)
        last = self.steps[at - 1] if at else None
        view, same = _on(last, one.body.view)
        self._settle(one, view)
        self.made = [made for made in self.made if made.by is not one]
        self._compare(last, view, same, one)
        self._collect(view.messages())
        self._changed(at)

    def known(self, one: Exchange) -> None:
        """More is known of a step than its messages and its answer."""
        self._changed(self.index(one))

    def answered(self, one: Exchange, end: View) -> None:
        """The answer to a step is known (see `known`); `end` is the buffer with it."""
        self._collect(end.tail(one.body.view.length))
        one.end = end
        self._thread = None

    def remove(self, one: Exchange) -> None:
        """It was no step after all: the provider refused it."""
        at = self.index(one)
        self.tried = one.body.view
        del self.steps[at]
        self.made = [made for made in self.made if made.by is not one]
        self._changed(at)

    def index(self, one: Exchange) -> int:
        """Where a step stands: near the end."""
        return next(at for at in range(len(self.steps) - 1, -1, -1) if self.steps[at] is one)

    def holds(self, message: Message) -> bool:
        """Did the message stand in one of its buffers?"""
        return message.id in self._ids

    def _collect(self, messages: Sequence[Message]) -> None:
        for message in messages:
            if message.id not in self._ids:
                self._ids.add(message.id)
                self._messages.append(message)

    def _settle(self, one: Exchange, view: View) -> None:
        one.end = view
        if view is one.body.view:
            return
        if one.sent is not None:
            one.sent = replace(one.sent, view=view)
        else:
            one.asked = replace(one.asked, view=view)

    def _changed(self, at: int) -> None:
        self._stale, self._thread = min(self._stale, at), None

    def _as_requests(self) -> Sequence[Request]:
        """Somebody may hold a beginning of the list: it is appended to, or left to them."""
        if self._stale < len(self._requests):
            self._requests = self._requests[: self._stale]
        for n, one in enumerate(self.steps[self._stale :], self._stale):
            self._requests.append(one.request(n, one.body.view))
        self._stale = len(self.steps)
        return Prefix(self._requests)

    def _compare(self, last: Exchange | None, view: View, same: int, one: Exchange) -> None:
        """A buffer that lost messages where a summary stands now, or after a call for one: a compaction. `same`: so
        many of its messages are those of the buffer before."""
        before = last.end if last is not None else EMPTY_VIEW
        if same >= before.length if last is not None else one.sent is None:
            return
        fresh = next((message for message in view.tail(same)[:_NEAR] if message.summary), None)
        if (cut := _cut(one, view, fresh)) is not None:
            self.made.append(cut)
            return
        calls = tuple(self.compacting)
        shrunk = last is not None and same < last.body.view.length and view.length < before.length
        if last is None or (fresh is None and not (shrunk and calls)):
            return
        old = {message.id for message in before}
        kept = sum(message.id in old and message is not fresh for message in view)
        known = SERVER_SIDE if fresh is not None and is_summary(fresh.parts) else ""
        trigger = next((call.trigger for call in calls if call.trigger), known)
        self.made.append(ShownCompaction(one, fresh, kept, "summary", calls, trigger))
        self.compacting = []

    def thread(self, name: str, title: str, parent: str, parent_call: str, *, forwarded: bool = False) -> Thread:
        """The thread so far. `forwarded`: by a proxy, which may change its requests."""
        about = (name, title, parent, parent_call)
        if self._thread is not None and self._thread[0] == about:
            return self._thread[1]
        last = self.steps[-1] if self.steps else None
        made = Thread(
            id=name,
            title=title,
            model=last.model if last else "",
            requests=self._as_requests(),
            messages=Prefix(self._messages),
            end=self.end,
            prompt=self.prompt,
            compactions=[self._compaction(one) for one in self.made],
            parent=parent,
            parent_call=parent_call,
            window=last.window if last else None,
            client=self.key.client,
            keeps_instructions=forwarded,
        )
        self._thread = about, made
        return made

    def _compaction(self, made: ShownCompaction) -> Compaction:
        line, time = (made.summary.line, made.summary.time) if made.summary else (made.by.line, made.by.time)
        at = self.index(made.by)
        return Compaction(
            at,
            made.trigger,
            made.kind,
            self._compacted_inside(made, at),
            summary=made.summary,
            kept=made.kept,
            line=line or made.by.line,
            time=time or made.by.time,
            predicted=made.by.predicted if made.trigger == _PROXY else None,
        )

    def _compacted_inside(self, made: ShownCompaction, at: int) -> int | None:
        """Return the tokens before a compaction that the provider made inside the call, or in one that only did so."""
        if made.trigger != SERVER_SIDE:
            return None
        replies = (one.reply for one in (made.by, *self.steps[max(0, at - 1) : at]))
        counts = (one.usage.compacted for one in replies if one is not None and one.usage is not None)
        return next((count for count in counts if count), None)

    def is_prompted(self, one: Exchange) -> bool:
        """Has the request its system prompt?"""
        return self.system == one.body.prompt.system

    def may_ask_again(self, one: Exchange) -> bool:
        """May its last request, of the same words, be asked once more by that one: is it refused, or not answered?

        While an answer is under way its client does not ask again on another connection.
        """
        if self.steps and self.end.length > self.steps[-1].body.view.length:
            return False
        if one.connection in self.connections:
            return True
        run, _ = one.connection
        under_way = bool(self.steps) and self.steps[-1].reply is None and self.steps[-1].connection[0] == run
        return self.is_prompted(one) and not under_way

    def label_of(self, call: str) -> str:
        """What one of its calls says, in a word or a line, of what it starts."""
        made = next((each for message in reversed(self._messages) for each in message.calls if each.id == call), None)
        given = made.arguments if made is not None and isinstance(made.arguments, dict) else {}
        told = (given.get(key) for key in _LABELS)
        return next((line_of(text) for text in told if isinstance(text, str) and text.strip()), "")

    @property
    def asked(self) -> str:
        """What the user said first: one line, for a title."""
        parts = (part for message in self._messages if message.role == "user" for part in message.parts)
        texts = (part.text.lstrip() for part in parts if isinstance(part, Text))
        return next((line_of(text) for text in texts if text and not text.startswith(_MACHINE)), "")


def _cut(one: Exchange, view: View, fresh: Message | None) -> ShownCompaction | None:
    """What was done to a request at the proxy: the client sent one buffer, another was forwarded. Cuts of earlier
    requests that were only made again are none."""
    if one.sent is None or one.released == "cut again":
        return None
    asked, sent = one.uncut.view, {message.id for message in view}
    theirs = {message.id for message in asked}
    if theirs <= sent or (fresh is not None and fresh.id in theirs):
        return None
    kept = sum(message.id in sent for message in asked)
    by_provider = fresh is not None and is_summary(fresh.parts)
    trigger = SERVER_SIDE if by_provider else _PROXY
    return ShownCompaction(one, fresh, kept, "edit" if fresh is None else "summary", (), trigger)


def line_of(text: str) -> str:
    """How a text begins, for a title."""
    return text.strip().partition("\n")[0][:80]


def _on(last: Exchange | None, view: View) -> tuple[View, int]:
    """The same messages, in the stretch of the thread as far as they are the same, and how many are."""
    if last is None:
        return view, 0
    before = last.end
    same = shared(before, view)
    base = view.stretch.base
    if not same or view.stretch is before.stretch or (base is not None and base.stretch is before.stretch):
        return view, same
    return extended(View(before.stretch, same), view.tail(same)), same
