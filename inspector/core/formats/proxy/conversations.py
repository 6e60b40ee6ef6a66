"""Which thread does a request belong to? By the client's own keys; where it sends none, by what the buffers share.

Where several threads share as much, the one with the same system prompt (which names the folder) and the same
connection is meant.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from inspector.core.buffer import View, head, shared
from inspector.core.formats.proxy.conversation import Conversation, Scope, line_of
from inspector.core.formats.proxy.exchange import Exchange
from inspector.core.message import Message, Opaque, Text, ToolCall

_BACK = 400
"""Messages that are looked at, from the last one back, for one that a known thread has seen."""
_NEAR = 8
_EARLY = 51
"""Side calls that wait for their thread, at most."""
_HOLDERS = 64
"""Threads that are known to hold one and the same message, before the latest."""
_LINES = 400
"""Of a side call, that are looked at."""
_TOLD = 12
"""Characters of an argument of a call, at least, that may be a sub-agent's task."""


@dataclass(slots=True, eq=False)
class ScopeThreads:
    """The threads of a scope."""

    threads: list[Conversation] = field(default_factory=list)
    working: dict[int, Conversation] = field(default_factory=dict)
    """By their numbers: that of the last request is the last."""
    ending: dict[str, tuple[Conversation, ...]] = field(default_factory=dict)
    """Those of which some buffer ended in a message, by its id, the latest last."""
    seen: dict[str, tuple[Conversation, ...]] = field(default_factory=dict)
    """Those that a message of the model's (or a result) stood in, by its id, the latest last."""

    def latest(self) -> Sequence[Conversation]:
        """Of many threads those that asked last, in the order in which they began."""
        if len(self.threads) <= _HOLDERS:
            return self.threads
        return sorted(islice(reversed(self.working.values()), _HOLDERS), key=lambda each: each.number)


_NOBODY = ScopeThreads()


class Conversations:
    """All threads of a recording."""

    def __init__(self) -> None:
        self.all: list[Conversation] = []
        self._every = ScopeThreads(self.all)
        self._scopes: dict[Scope, ScopeThreads] = {}
        self._alone: list[tuple[Conversation]] = []
        """Each thread as the only one that a message stood in: most are."""
        self._tasks: dict[str, dict[tuple[int, str], Conversation]] = {}
        """Texts that calls were given: a sub-agent's task stands among them. By number of thread and call."""
        self._asked: dict[str, deque[Conversation]] = {}
        """By their first words: the threads that were looked at for them."""
        self._looked = 0
        self._begun: set[tuple[int, str]] = set()
        """Calls of which a sub-agent is known."""
        self._early: deque[Exchange] = deque(maxlen=_EARLY)
        """The latest side calls whose thread has not begun yet: a title, a prewarm, a router."""

    def place(self, one: Exchange, known: Conversation | None = None) -> Conversation:
        """The thread that the exchange is a step of, where it is not `known`; it is added there."""
        found = known or self._thread_of(one)
        found.add(one)
        one.thread = found.number
        for scope in (self._every, self._scopes[found.scope]):
            scope.working.pop(found.number, None)
            scope.working[found.number] = found
        view = one.body.view
        self._stood(found, view)
        self._saw(found, view)
        if self._early and len(found.steps) == 1:
            self._claim(found)
        return found

    def aside(self, one: Exchange, thread: Conversation | None) -> None:
        """The exchange is a side call, made for that thread, or for one that is not known yet."""
        one.known = len(self.all)
        if thread is not None:
            one.thread = thread.number
        elif one.endpoint.dialect is not None:
            self._early.append(one)

    def _claim(self, begun: Conversation) -> None:
        """The early side calls that were made for a thread. Of a kind those that came on one connection: two clients
        may be given the same task."""
        taken: dict[str, tuple[int, int]] = {}
        for early in sorted(self._early, key=lambda one: one.connection not in begun.connections):
            if taken.get(early.kind, early.connection) == early.connection and self.owner(early, begun):
                taken[early.kind] = early.connection
                early.thread = begun.number
        self._early = deque((early for early in self._early if early.thread is None), _EARLY)

    def thread_of(self, one: Exchange) -> Conversation | None:
        """The thread that the exchange belongs to, as far as it is known."""
        return None if one.thread is None else self.all[one.thread]

    def answered(self, found: Conversation, one: Exchange, end: View) -> None:
        """The answer to a step of that thread is known; `end` is the buffer with it."""
        found.answered(one, end)
        self._saw(found, end, one.body.view.length)

    def change(self, found: Conversation, one: Exchange) -> None:
        """Something came for a step of that thread: what was really sent, or what it continues."""
        found.change(one)
        self._stood(found, one.body.view)
        self._saw(found, one.body.view)

    def owner(self, one: Exchange, begun: Conversation | None = None) -> Conversation | None:
        """The thread that a side call was made for, as far as it can be known. `begun`: is it this one, the newest?"""
        scope = self._scope_of(one)
        if begun is None and (found := self._continued(one, scope)):
            return found
        among = scope.latest() if begun is None else [each for each in scope.threads[-1:] if each is begun]
        if one.key.strong:
            return (scope.threads[0] if begun is None else begun) if among else None
        if not among and one.kind == "compaction" and begun is None:  # a client may leave its key out of just this call
            among = _of_client(one, self._every.latest())
        if told := _spoken_of(one, among):
            return told
        return among[-1] if among and one.kind == "compaction" and begun is None else None

    def named_by(self, one: Exchange) -> Conversation | None:
        """The thread that a title names by its words alone: a client may have a session of its own for it. It begins
        about then, when so many threads were known; else it may be any whose first words are a line of it."""
        if one.kind != "title":
            return None
        near = self.all[max(0, one.known - _HOLDERS) : one.known + _HOLDERS]
        return _spoken_of(one, _of_client(one, near)) or _spoken_of(one, _of_client(one, self._asked_in(one)))

    def _asked_in(self, one: Exchange) -> Sequence[Conversation]:
        """The latest threads whose first words are a line of a side call, or the end of one after a colon."""
        for each in self.all[self._looked :]:
            self._asked.setdefault(each.asked, deque(maxlen=_HOLDERS)).append(each)
        self._looked = len(self.all)
        texts = [message.text for message in one.body.view.tail(max(0, one.body.view.length - 3))]
        lines = [line for text in texts for line in text.splitlines()[:_LINES]]
        told = {line_of(words) for line in lines for words in (line, line.partition(": ")[2])} - {""}
        return sorted((each for words in told for each in self._asked.get(words, ())), key=lambda each: each.number)

    def _saw(self, found: Conversation, view: View, start: int = 0) -> None:
        """The messages of `view` from `start` on stand in that thread."""
        seen = self._scopes[found.scope].seen
        for message in view.tail(start) if start else view.backwards():
            if message.role != "assistant" and message.role != "tool":
                continue
            known = seen.get(message.id, ())
            if not start and found in known:
                break
            seen[message.id] = (*known[-_HOLDERS:], found) if known else self._alone[found.number]
            for part in message.parts:
                if type(part) is ToolCall:
                    for text in _told(part.arguments):
                        self._tasks.setdefault(text, {})[found.number, part.id] = found

    def adopt(self, found: Conversation) -> None:
        """Find out who started a thread, where it is not known: the call that holds its task."""
        if not self._tasks or found.parent_call or not found.steps:
            return
        if found.parent is None and found.key.strong and not found.key.sub:
            return
        view = found.steps[0].body.view  # it may have inherited what came before its task
        for text in _texts((*islice(view.backwards(), 1), *head(view, _NEAR))):
            for (number, call), parent in self._tasks.get(text, {}).items():
                if (number, call) not in self._begun and _may_start(parent, found):
                    found.parent, found.parent_call = parent, call
                    found.label = parent.label_of(call) or ("" if found.asked else line_of(text))
                    self._begun.add((number, call))
                    return

    def disown(self) -> None:
        """Forget who started whom: to be found out anew."""
        self._begun.clear()
        for each in self.all:
            each.parent, each.parent_call, each.label = None, "", ""

    # -- which thread ----------------------------------------------------------------------------------------------

    def _scope_of(self, one: Exchange) -> ScopeThreads:
        return self._scopes.get(_scope(one), _NOBODY)

    def _thread_of(self, one: Exchange) -> Conversation:
        key, scope = one.key, self._scope_of(one)
        if not scope.threads or (not key.strong and _is_fresh(one.body.view, scope)):
            return self._new(one)
        if key.strong and key.thread:
            return scope.threads[0]
        if found := self._continued(one, scope):
            return found
        if self._task(one.body.view):
            return self._new(one)
        if key.strong and not key.sub:
            main = scope.threads[0]
            if one.body.prompt.tools or not main.worked:
                return main
        return _compacted(one, scope.latest()) or self._new(one)

    def _continued(self, one: Exchange, scope: ScopeThreads) -> Conversation | None:
        """The thread whose answers the buffer repeats, or which it extends: of several the likeliest."""
        found = self._repeated(one, scope)
        distance = _distance(found, one) if found is not None else _FARTHEST
        return _extended(one, scope, distance) or found if distance > _NEAREST else found

    def _stood(self, found: Conversation, view: View) -> None:
        """A buffer of that thread: what begins with all of it goes on there."""
        if not view.length:
            return
        ending = self._scopes[found.scope].ending
        name, alone = view.tail(view.length - 1)[0].id, self._alone[found.number]
        before = ending.get(name, alone)
        known = () if before is alone else tuple(each for each in before if each is not found)
        ending[name] = (*known[1 - _HOLDERS :], found) if known else alone

    def _repeated(self, one: Exchange, scope: ScopeThreads) -> Conversation | None:
        """By what the model said. One word alone may be said twice: the beginning must be the same, or most of it."""
        view, seen = one.body.view, scope.seen
        if not seen or not any(message.role in ("assistant", "tool") for message in view.backwards()):
            return None
        begun = head(view, _NEAR)
        summed = any(message.summary for message in begun)
        said, known, answers, own = 0, Counter[int](), 0, Counter[int]()
        for n, message in enumerate(view.backwards()):
            if n >= _BACK:
                break
            if message.role not in ("assistant", "tool"):
                continue
            said += 1
            holders = seen.get(message.id, ())[::-1]
            if same := [each for each in holders if summed or [m.id for m in head(each.end, 1)] == [begun[0].id]]:
                return min(same, key=lambda each: _distance(each, one))
            known.update(each.number for each in holders)
            if message.role == "assistant":  # results may be sent anew when a session is resumed
                answers += 1
                own.update(each.number for each in holders)
        for counts, all_told in ((known, said), (own, answers)):
            number, count = counts.most_common(1)[0] if counts else (0, 0)
            if count > 1 and 2 * count > all_told:
                return self.all[number]
        return None

    def _task(self, view: View) -> bool:
        """Is it the first request of a sub-agent: does a call of another thread hold what its user says?"""
        if not self._tasks:
            return False
        messages = head(view, _NEAR)
        if any(message.role in ("assistant", "tool") for message in messages):
            return False
        return any(text in self._tasks for text in _texts(messages))

    def _new(self, one: Exchange) -> Conversation:
        made = Conversation(one.key, len(self.all), _scope(one))
        self.all.append(made)
        self._alone.append((made,))
        self._scopes.setdefault(made.scope, ScopeThreads()).threads.append(made)
        if one.key.sub:
            made.parent = self._parent(one)
        return made

    def _parent(self, one: Exchange) -> Conversation | None:
        for thread in (one.key.parent, ""):
            if found := self._scopes.get((one.key.session, "", thread)):
                return found.threads[0]
        inner = (each for each in self.all if each.key.sub and each.key.thread == one.key.session)
        return next((each for each in inner if each.key.session != one.key.session), None)


def _scope(one: Exchange) -> Scope:
    key = one.key
    if not key.strong:
        return "", key.session, one.asked.dialect.name if one.asked.dialect else ""
    return key.session, "", key.thread or ("?" if key.sub else "")


def _is_fresh(view: View, scope: ScopeThreads) -> bool:
    """Is it short, and none of its messages known in that scope, nor a summary of others?"""
    known = (one.id in scope.ending or one.id in scope.seen or one.summary for one in view.backwards())
    return view.length <= _NEAR and not any(known)


def _extended(one: Exchange, scope: ScopeThreads, within: tuple[bool, ...]) -> Conversation | None:
    """The thread whose last buffer is the beginning of this one: the nearest of those that are nearer than
    `within`."""
    view, found, among = one.body.view, None, scope.threads
    if len(among) > _HOLDERS:  # only those that ended where this one goes on
        ended = (scope.ending.get(message.id, ()) for message in islice(view.backwards(), _BACK))
        among = sorted(set(chain.from_iterable(ended)), key=lambda each: each.number)
    for each in reversed(among):
        if (distance := _distance(each, one)) >= within:
            continue
        last = each.steps[-1].body.view if each.steps else each.tried
        if last.length == view.length and not each.may_ask_again(one):
            continue  # the same words once more: another session
        if last.length and shared(last, view) == last.length:
            found, within = each, distance
            if distance == _NEAREST:
                break
    return found


def _compacted(one: Exchange, among: Sequence[Conversation]) -> Conversation | None:
    """The thread that a buffer with a summary at its head goes on."""
    view = one.body.view
    begun = [message for message in head(view, _NEAR) if message.summary]
    if not begun:
        return None
    said = "\n".join(message.text for message in begun)
    for each in reversed(among):
        if any(call.said and call.said in said for call in each.compacting):
            return each
    ids = {message.id for message in view if not message.summary}
    for each in reversed(among):
        if not ids.isdisjoint(message.id for message in each.end):
            return each
    return next((each for each in reversed(among) if each.prompt is one.body.prompt), None)


def _of_client(one: Exchange, among: Sequence[Conversation]) -> list[Conversation]:
    return [each for each in among if each.key.client == one.key.client and each.steps]


def _spoken_of(one: Exchange, among: Sequence[Conversation]) -> Conversation | None:
    """The latest thread whose task the last words of a side call hold: of several one of the same connection."""
    said = "\n".join(message.text for message in one.body.view.tail(max(0, one.body.view.length - 3)))
    told = [each for each in among if each.asked and each.asked in said]
    near = [each for each in told if one.connection in each.connections]
    return next(reversed(near or told), None)


def _distance(each: Conversation, one: Exchange) -> tuple[bool, bool]:
    """How far a request is from a thread, by what is known beside the words."""
    return not each.is_prompted(one), one.connection not in each.connections


_NEAREST, _FARTHEST = (False, False), (True, True, True)


def _may_start(parent: Conversation, found: Conversation) -> bool:
    """Where the client names the parent, only that one; where it names the session, only one of that session."""
    if found.key.parent and found.parent is not None and found.parent.key.thread == found.key.parent:
        return parent is found.parent
    told = found.key.strong and found.key.session != found.key.thread
    if told and found.key.session not in (parent.key.session, parent.key.thread):
        return False
    return parent is not found and parent.parent is not found


def _texts(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        for part in message.parts if message.role == "user" else ():
            if isinstance(part, Text):
                yield part.text.strip()
            elif isinstance(part, Opaque) and isinstance(part.value, Mapping):
                sealed = part.value.get("encrypted_content")  # a task that is sealed in the call, too
                if isinstance(sealed, str):
                    yield sealed.strip()


def _told(arguments: object) -> Iterator[str]:
    values = arguments.values() if isinstance(arguments, dict) else ()
    return (text for value in values if isinstance(value, str) and len(text := value.strip()) >= _TOLD)
