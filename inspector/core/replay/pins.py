"""Pins: sentences that should go on standing in the buffer, and what became of each, request by request.

A pin stands *verbatim* where a message holds its text, *paraphrased* where a sentence says nearly the same
(`core.facts.wording`), else it is *gone*. What a message says of the pins is worked out once a message, and a buffer is
followed by what came and what went: O(messages) for all requests together.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.buffer import EMPTY_VIEW, shared
from inspector.core.facts.reading import texts, wishes
from inspector.core.facts.wording import GONE, Saying, Speech, plain
from inspector.core.heavy import checkpoint
from inspector.core.message import Message, Text
from inspector.core.session import Compaction, Thread

_WORD = re.compile(r"\w+")

NOT_RECORDED = "not recorded in this file"
"""Of a given text that no message holds, as one of a CLAUDE.md in a system prompt: nobody can say that it is gone."""
UNANNOUNCED = "a change that nothing announced"

PinOrigin: TypeAlias = Literal["given", "instruction", "constraint"]
PinState: TypeAlias = Literal["verbatim", "paraphrased", "gone"]


@dataclass(frozen=True, slots=True)
class Pin:
    """A text to be followed, from the first request on whose buffer holds it."""

    text: str
    found: PinOrigin = "given"
    message: str = ""
    """Id of the first message that holds it; empty where none does."""
    request: int = 0
    """Index of that request; 0 where there is none."""


@dataclass(frozen=True, slots=True)
class PinSpan:
    """Requests `first` to `last`, both with it, in which a pin stands alike."""

    first: int
    last: int
    state: PinState
    evidence: str = ""
    """paraphrased: the sentence; gone: what removed it, in words."""
    message: str = ""
    """Id of the message that holds it; empty where it is gone."""


@dataclass(frozen=True, slots=True)
class PinHistory:
    """A pin over all requests from its first on."""

    pin: Pin
    spans: tuple[PinSpan, ...]

    @property
    def kept(self) -> bool:
        """It was never gone."""
        return all(span.state != "gone" for span in self.spans)

    def at(self, request: int) -> PinSpan | None:
        """How it stood at a request; None before its first."""
        return next((span for span in self.spans if span.first <= request <= span.last), None)


def became(history: PinHistory) -> str:
    """Say what became of a pin: "gone since request 212, by auto compaction"."""
    if not history.spans:
        return NOT_RECORDED if history.pin.found == "given" else ""
    last = history.spans[-1]
    was_gone = next((span for span in history.spans if span.state == "gone"), None)
    if last.state == "gone":
        by = f", by {last.evidence}" if last.evidence else ""
        return f"gone since request {last.first}{by}"
    if was_gone is not None:
        return f"{last.state} again since {last.first}, gone at {was_gone.first}"
    return last.state


def pins_kept(histories: Iterable[PinHistory]) -> tuple[int, int]:
    """(never gone, all) of what was pinned by hand and of the constraints: an instruction is done some day. What the
    file does not hold counts in neither."""
    counted = [history.kept for history in histories if history.pin.found != "instruction" and history.spans]
    return sum(counted), len(counted)


def find_pins(thread: Thread, given: Iterable[str] = ()) -> tuple[Pin, ...]:
    """The given texts, then what the user wrote: constraints, then instructions; each once, in order. O(text)."""
    pinned = {text: Pin(text) for text in map(plain, given) if text}
    unplaced = {text: Saying(text) for text in pinned}
    known = {saying.bare for saying in unplaced.values()}
    found = list[Pin]()
    for request, (_, came) in enumerate(buffer_changes(thread)):
        for message in came:
            checkpoint()
            for fact in wishes(message):
                text, kind = plain(fact.text), fact.kind
                if (kind == "constraint" or kind == "instruction") and (bare := Saying(text).bare) not in known:
                    known.add(bare)
                    found.append(Pin(text, kind, message.id, request))
            if unplaced:
                whole = "\n".join(texts(message))
                for text in [text for text, saying in unplaced.items() if saying.stands_in(whole)]:
                    pinned[text] = Pin(text, "given", message.id, request)
                    del unplaced[text]
    return (*pinned.values(), *sorted(found, key=lambda pin: pin.found))  # constraint, instruction


def buffer_changes(thread: Thread) -> Iterator[tuple[Sequence[Message], Sequence[Message]]]:
    """For each request the messages that went since the one before, and those that came. O(what changed)."""
    last = EMPTY_VIEW
    for view in thread.typed or [request.view for request in thread.requests]:
        rewritten = view.rewritten_since(last)
        if rewritten is not None:
            old, new = [one for one, _ in rewritten.values()], [one for _, one in rewritten.values()]
            yield old, (*new, *view.tail(len(last)))
        else:
            same = shared(last, view)
            yield last.tail(same), view.tail(same)
        last = view


class PinIndex:
    """What messages say of these pins, each message read once. For one thread of execution."""

    def __init__(self, pins: Sequence[Pin]) -> None:
        self.pins = tuple(pins)
        self._sayings = [Saying(pin.text) for pin in pins]
        self._speech = Speech()
        self._inner = [frozenset(_WORD.findall(saying.bare)[1:-1]) for saying in self._sayings]
        """The words of each but the first and the last, which may be part of a longer word."""
        self._by_word = dict[str, list[int]]()
        self._wordless = list[int]()
        for n, inner in enumerate(self._inner):
            if inner:
                self._by_word.setdefault(max(inner, key=len), []).append(n)
            else:
                self._wordless.append(n)
        self._by_content = _index_by_content(self._sayings)
        self._known: dict[int, tuple[Message, tuple[int, ...]]] = {}
        """By identity of the message, which is kept so that nothing else can get it."""

    def held(self, message: Message) -> tuple[int, ...]:
        """Numbers of the pins whose text it holds. O(text) the first time."""
        known = self._known.get(id(message))
        if known is None:
            known = self._known[id(message)] = message, tuple(self._search(message))
        return known[1]

    def _search(self, message: Message) -> Iterator[int]:
        said = "\n".join(texts(message))
        words = set(_WORD.findall(said))
        likely = [*self._wordless]
        for word in self._by_word.keys() & words:
            likely += [n for n in self._by_word[word] if self._inner[n] <= words]
        if likely:
            line = plain(said)
            yield from (n for n in likely if self._sayings[n].stands_in_line(line))

    def likely_paraphrased(self, message: Message, among: Set[int]) -> set[int]:
        """Return those of some pins of which the message says enough to be compared with them. O(text)."""
        likely = set[int]()
        for word in self._speech.words(message) & self._by_content.keys():
            likely |= self._by_content[word] & among
        return likely

    def paraphrase(self, number: int, message: Message) -> tuple[float, str] | None:
        """How like the pin the most similar sentence of the message is, and the sentence; None where none is."""
        return self._speech.paraphrase(self._sayings[number], message)


def _index_by_content(sayings: Sequence[Saying]) -> dict[str, set[int]]:
    """Return the sayings by those of their content words of which whoever says enough of one says at least one.

    A few words of each can be left out: those that most of the others have, too.
    """
    frequency = Counter(word for saying in sayings for word in saying.content)
    by_content = defaultdict[str, set[int]](set)
    for n, saying in enumerate(sayings):
        rarest_first = sorted(saying.content, key=lambda word: (frequency[word], word))
        count = len(rarest_first)
        enough = next((words for words in range(1, count + 1) if words / count >= GONE), 0)
        for word in rarest_first[: count + 1 - enough]:
            by_content[word].add(n)
    return dict(by_content)


class PinTracker:
    """Follows the pins through one sequence of buffers. Tell it what changes, then `settle` each request."""

    def __init__(self, index: PinIndex) -> None:
        self._index = index
        self._there: dict[int, Message] = {}
        """Messages of the buffer, by identity."""
        self._verbatim: list[dict[int, Message]] = [{} for _ in index.pins]
        self._nearly: list[dict[int, tuple[float, str]]] = [{} for _ in index.pins]
        self._paraphrased = defaultdict[int, set[int]](set)
        """The same by message: the pins that it paraphrases."""
        self._watched = set[int]()
        """Pins that stand nowhere verbatim, though they once did or never will: paraphrases of these count."""
        self._begun = set[int]()
        self._touched = set[int]()
        self._cause = [""] * len(index.pins)
        self._open: list[PinSpan | None] = [None] * len(index.pins)
        self._spans: list[list[PinSpan]] = [[] for _ in index.pins]
        self._starts: dict[int, list[int]] = {}
        for n, pin in enumerate(index.pins):
            self._starts.setdefault(pin.request, []).append(n)
        self._system: tuple[str, Message] | None = None
        self._last = -1

    def prompt(self, system: str | None) -> None:
        """The system prompt that goes along now."""
        if system == (self._system[0] if self._system else None):
            return
        before = (self._system[1],) if self._system else ()
        self._system = (system, Message("system prompt", "system", (Text(system),))) if system else None
        self.change(before, (self._system[1],) if self._system else ())

    def become(self, messages: Iterable[Message], cause: str = "") -> None:
        """The buffer holds these messages now. O(messages)."""
        now = {id(message): message for message in messages}
        if self._system:
            now[id(self._system[1])] = self._system[1]
        went = [self._there[one] for one in self._there.keys() - now.keys()]
        self.change(went, [message for one, message in now.items() if one not in self._there], cause)

    def change(self, went: Iterable[Message], came: Iterable[Message], cause: str = "") -> None:
        """These are in the buffer no more, these are new in it. `cause` in words."""
        fallen = set[int]()
        for message in went:
            self._there.pop(id(message), None)
            held = self._index.held(message)
            for n in held:
                self._verbatim[n].pop(id(message), None)
            fallen.update(held)
            paraphrased = self._paraphrased.pop(id(message), set())
            for n in paraphrased:
                del self._nearly[n][id(message)]
            fallen |= paraphrased
        for message in came:
            checkpoint()
            self._there[id(message)] = message
            for n in self._index.held(message):
                self._verbatim[n][id(message)] = message
                self._touched.add(n)
            if self._watched:
                for n in self._index.likely_paraphrased(message, self._watched):
                    self._compare(n, message)
        for n in fallen:
            self._cause[n] = cause
            self._touched.add(n)
        for n in fallen - self._watched:
            if not self._verbatim[n]:
                self._watch(n)

    def _watch(self, n: int) -> None:
        checkpoint()
        self._watched.add(n)
        for message in self._there.values():
            self._compare(n, message)

    def _compare(self, n: int, message: Message) -> None:
        if (found := self._index.paraphrase(n, message)) is not None:
            self._nearly[n][id(message)] = found
            self._paraphrased[id(message)].add(n)
            self._touched.add(n)

    def settle(self, request: int) -> None:
        """This is what request `request` sends."""
        self._last = request
        for n in self._starts.pop(request, ()):
            self._begun.add(n)
            self._touched.add(n)
            if not self._verbatim[n] and n not in self._watched:
                self._watch(n)
        for n in self._touched & self._begun:
            if self._verbatim[n] and n in self._watched:
                self._stop_watching(n)
            self._enter(n, request)
        self._touched = {n for n in self._touched if n not in self._begun}

    def _stop_watching(self, n: int) -> None:
        self._watched.discard(n)
        for identity in self._nearly[n]:
            self._paraphrased[identity].discard(n)
        self._nearly[n].clear()

    def _enter(self, n: int, request: int) -> None:
        span, now = self._open[n], self._now(n, request)
        if span is not None:
            if span.state == now.state and (span.message == now.message or span.message in self._holders(n)):
                return
            self._spans[n].append(PinSpan(span.first, request - 1, span.state, span.evidence, span.message))
        self._open[n] = now

    def _holders(self, n: int) -> Iterator[str]:
        """Yield the ids of the messages that say it."""
        return (self._there[identity].id for identity in (self._verbatim[n] or self._nearly[n]))

    def _now(self, n: int, request: int) -> PinSpan:
        if self._verbatim[n]:
            return PinSpan(request, request, "verbatim", "", next(iter(self._verbatim[n].values())).id)
        if self._nearly[n]:
            one, (_, sentence) = max(self._nearly[n].items(), key=lambda item: item[1][0])
            return PinSpan(request, request, "paraphrased", sentence, self._there[one].id)
        return PinSpan(request, request, "gone", self._cause[n])

    def histories(self) -> tuple[PinHistory, ...]:
        """All pins up to the last request."""
        found = []
        for pin, spans, last in zip(self._index.pins, self._spans, self._open, strict=True):
            end = () if last is None else (PinSpan(last.first, self._last, last.state, last.evidence, last.message),)
            whole = (*spans, *end)
            is_recorded = bool(pin.message) or any(span.state != "gone" for span in whole)
            found.append(PinHistory(pin, whole if is_recorded else ()))
        return tuple(found)


def recorded_pins(thread: Thread, index: PinIndex) -> tuple[PinHistory, ...]:
    """The pins as the session was recorded. O(messages), and a walk over the buffer where it was not appended to."""
    if not index.pins:
        return ()
    tracker = PinTracker(index)
    made: Mapping[int, Compaction] = {compaction.before_request: compaction for compaction in thread.compactions}
    for request, (went, came) in zip(thread.requests, buffer_changes(thread), strict=True):
        tracker.prompt(request.prompt.system)
        tracker.change(went, came, _words(made.get(request.index)))
        tracker.settle(request.index)
    return tracker.histories()


def _words(one: Compaction | None) -> str:
    if one is None:
        return UNANNOUNCED
    kind = {"summary": "compaction", "micro": "micro-compaction", "edit": "edit"}[one.kind]
    words = kind if one.trigger in ("", one.kind) else f"{one.trigger} {kind}"
    return words if one.is_readable else f"{words}, whose summary cannot be read"
