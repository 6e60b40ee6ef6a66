"""Follow pins, the sentences that should stay in the buffer, and find the state of each at every request.

A pin is *verbatim* if a message contains its text, *paraphrased* if a sentence says nearly the same
(`core.facts.wording`), and *gone* in all other cases. Each message is compared with the pins once, and only added and
removed messages are processed at each request: O(messages) for all requests together.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from inspector.core.buffer import EMPTY_VIEW, shared
from inspector.core.facts.fact import Fact
from inspector.core.facts.reading import texts, wishes
from inspector.core.facts.wording import GONE, Saying, Speech, join_lines
from inspector.core.heavy import checkpoint
from inspector.core.message import Message, Text
from inspector.core.session import Compaction, Thread

_WORD = re.compile(r"\w+")

NOT_RECORDED = "not recorded in this file"
"""State of a given text that no message contains, such as a sentence of CLAUDE.md: it may be in the system prompt."""
UNANNOUNCED = "a change without a record"

PinOrigin: TypeAlias = Literal["given", "instruction", "constraint"]
PinState: TypeAlias = Literal["verbatim", "paraphrased", "gone"]


@dataclass(frozen=True, slots=True)
class Pin:
    """A text that is followed from the first request whose buffer contains it."""

    text: str
    origin: PinOrigin = "given"
    message: str = ""
    """Id of the first message that contains the text; empty if no message does."""
    request: int = 0
    """Index of the first request whose buffer contains the text; 0 if there is none."""


@dataclass(frozen=True, slots=True)
class PinSpan:
    """A run of requests, `first` to `last` inclusive, during which a pin has the same state."""

    first: int
    last: int
    state: PinState
    evidence: str = ""
    """The paraphrase, if the state is paraphrased; a description of what removed the pin, if it is gone."""
    message: str = ""
    """Id of the message with the text or the paraphrase; empty if the pin is gone."""


@dataclass(frozen=True, slots=True)
class PinHistory:
    """The states of a pin at every request from the pin's first request on."""

    pin: Pin
    spans: tuple[PinSpan, ...]

    @property
    def kept(self) -> bool:
        """Was the pin in the buffer at every request?"""
        return all(span.state != "gone" for span in self.spans)

    def at(self, request: int) -> PinSpan | None:
        """Return the span that includes a request; None before the pin's first request."""
        return next((span for span in self.spans if span.first <= request <= span.last), None)


def describe_fate(history: PinHistory) -> str:
    """Describe the fate of a pin: "gone since request 212, by auto compaction"."""
    if not history.spans:
        return NOT_RECORDED if history.pin.origin == "given" else ""
    last = history.spans[-1]
    was_gone = next((span for span in history.spans if span.state == "gone"), None)
    if last.state == "gone":
        by = f", by {last.evidence}" if last.evidence else ""
        return f"gone since request {last.first:,}{by}"
    if was_gone is not None:
        return f"{last.state} again since {last.first:,}, gone at {was_gone.first:,}"
    return last.state


def pins_kept(histories: Iterable[PinHistory]) -> tuple[int, int]:
    """Return (number of pins that were never gone, number of pins), counting manual pins and constraints only.

    Instructions do not count, because they end when they have been followed; nor do pins that are not in the file.
    """
    counted = [
        history for history in histories if history.pin.origin != "instruction" and history.spans
    ]
    kept_count = len([history for history in counted if history.kept])
    return kept_count, len(counted)


def collect_pins(thread: Thread, given_texts: Iterable[str] = ()) -> tuple[Pin, ...]:
    """Return the given texts as pins, then the user's constraints, then instructions; each once, in order. O(text)."""
    finder = _PinFinder(given_texts)
    for request, (_, added) in enumerate(buffer_changes(thread)):
        for message in added:
            checkpoint(request, len(thread.requests))
            finder.read(message, request)
    return finder.pins()


class _PinFinder:
    """Collects the pins of a thread, message by message."""

    def __init__(self, given_texts: Iterable[str]) -> None:
        """Start with the texts that the user pinned."""
        self._given = {text: Pin(text) for text in map(join_lines, given_texts) if text}
        self._unplaced = {text: Saying(text) for text in self._given}
        """The given texts that no message so far contains."""
        self._bare = {saying.bare for saying in self._unplaced.values()}
        self._wishes = list[Pin]()

    def read(self, message: Message, request: int) -> None:
        """Add the wishes of a message, and locate the given texts that appear in it for the first time."""
        for fact in wishes(message):
            self._add(fact, message, request)
        if self._unplaced:
            self._place("\n".join(texts(message)), message, request)

    def _add(self, fact: Fact, message: Message, request: int) -> None:
        """Add a wish as a pin, unless there is a pin with the same text."""
        kind = fact.kind
        if kind != "constraint" and kind != "instruction":
            return
        text = join_lines(fact.text)
        bare = Saying(text).bare
        if bare not in self._bare:
            self._bare.add(bare)
            self._wishes.append(Pin(text, origin=kind, message=message.id, request=request))

    def _place(self, whole: str, message: Message, request: int) -> None:
        """Set the first message and request of the given texts that the text `whole` of a message contains."""
        held = [text for text, saying in self._unplaced.items() if saying.is_in(whole)]
        for text in held:
            self._given[text] = Pin(text, message=message.id, request=request)
            del self._unplaced[text]

    def pins(self) -> tuple[Pin, ...]:
        """Return the given texts, then constraints, then instructions."""
        constraints = [pin for pin in self._wishes if pin.origin == "constraint"]
        instructions = [pin for pin in self._wishes if pin.origin == "instruction"]
        return (*self._given.values(), *constraints, *instructions)


def buffer_changes(thread: Thread) -> Iterator[tuple[Sequence[Message], Sequence[Message]]]:
    """Yield (messages removed, messages added) since the previous request, for each request. O(changed messages)."""
    last = EMPTY_VIEW
    for view in thread.typed or [request.view for request in thread.requests]:
        rewritten = view.rewritten_since(last)
        if rewritten is not None:
            removed = [message for message, _ in rewritten.values()]
            added = [message for _, message in rewritten.values()]
            yield removed, (*added, *view.tail(len(last)))
        else:
            same = shared(last, view)
            yield last.tail(same), view.tail(same)
        last = view


class PinIndex:
    """Finds pins in messages, and reads each message once. Not thread-safe."""

    def __init__(self, pins: Sequence[Pin]) -> None:
        """Index the pins by a word of each, so that a message is compared with few pins."""
        self.pins = tuple(pins)
        self._sayings = [Saying(pin.text) for pin in pins]
        self._speech = Speech()
        self._inner = [frozenset(_WORD.findall(saying.bare)[1:-1]) for saying in self._sayings]
        """The words of each pin without its first and last word, which may be parts of longer words in a message."""
        self._by_word = dict[str, list[int]]()
        self._wordless = list[int]()
        for number, inner in enumerate(self._inner):
            if inner:
                self._by_word.setdefault(max(inner, key=len), []).append(number)
            else:
                self._wordless.append(number)
        self._by_content = _index_by_content(self._sayings)
        self._read: dict[int, tuple[Message, tuple[int, ...]]] = {}
        """(message, numbers of pins) by `id()` of the message, which is kept alive so that its id is not reused."""

    def held(self, message: Message) -> tuple[int, ...]:
        """Return the numbers of the pins whose text a message contains. O(text) the first time."""
        entry = self._read.get(id(message))
        if entry is not None:
            _, numbers = entry
            return numbers
        numbers = tuple(self._search(message))
        self._read[id(message)] = message, numbers
        return numbers

    def _search(self, message: Message) -> Iterator[int]:
        """Yield the numbers of the pins whose text a message contains. O(text)."""
        text = "\n".join(texts(message))
        words = set(_WORD.findall(text))
        likely = [*self._wordless]
        for word in self._by_word.keys() & words:
            likely += [number for number in self._by_word[word] if self._inner[number] <= words]
        if likely:
            line = join_lines(text)
            yield from (number for number in likely if self._sayings[number].is_in_line(line))

    def likely_paraphrased(self, message: Message, among: Set[int]) -> set[int]:
        """Return the pins of `among` that the message may paraphrase, judged by its words. O(text)."""
        likely = set[int]()
        for word in self._speech.words(message) & self._by_content.keys():
            likely |= self._by_content[word] & among
        return likely

    def paraphrase(self, number: int, message: Message) -> tuple[float, str] | None:
        """Return (similarity, sentence) of the best paraphrase of a pin in a message; None if there is none."""
        return self._speech.paraphrase(self._sayings[number], message)


def _index_by_content(sayings: Sequence[Saying]) -> dict[str, set[int]]:
    """Index sayings by content word, so that every paraphrase contains at least one indexed word of its saying.

    The most frequent words of each saying are left out, as far as this still holds.
    """
    frequency = Counter(word for saying in sayings for word in saying.content)
    by_content = defaultdict[str, set[int]](set)
    for number, saying in enumerate(sayings):
        rarest_first = sorted(saying.content, key=lambda word: (frequency[word], word))
        count = len(rarest_first)
        # a paraphrase has at least `enough` of the words, so it lacks at most `count - enough` of them
        enough = next((words for words in range(1, count + 1) if words / count >= GONE), 0)
        indexed_count = count - enough + 1
        for word in rarest_first[:indexed_count]:
            by_content[word].add(number)
    return dict(by_content)


class PinTracker:
    """Follows the pins through a sequence of buffers: report the changes, then call `note_request` for each request."""

    def __init__(self, index: PinIndex) -> None:
        """Begin with an empty buffer."""
        self._index = index
        self._buffer: dict[int, Message] = {}
        """The messages of the buffer, by `id()`."""
        self._verbatim: list[dict[int, Message]] = [{} for _ in index.pins]
        self._nearly: list[dict[int, tuple[float, str]]] = [{} for _ in index.pins]
        self._paraphrased = defaultdict[int, set[int]](set)
        """Numbers of the pins that a message paraphrases, by `id()` of the message."""
        self._watched = set[int]()
        """Pins that no message contains verbatim, whose paraphrases are searched."""
        self._begun = set[int]()
        self._touched = set[int]()
        self._cause = [""] * len(index.pins)
        self._open: list[PinSpan | None] = [None] * len(index.pins)
        self._spans: list[list[PinSpan]] = [[] for _ in index.pins]
        self._starts: dict[int, list[int]] = {}
        for number, pin in enumerate(index.pins):
            self._starts.setdefault(pin.request, []).append(number)
        self._system: Message | None = None
        self._last = -1

    def set_prompt(self, system: str | None) -> None:
        """Set the current system prompt, which is followed like a message; None if it is not recorded."""
        former = self._system
        if system == (former.text if former is not None else None):
            return
        self._system = Message("system prompt", "system", (Text(system),)) if system else None
        removed = () if former is None else (former,)
        added = () if self._system is None else (self._system,)
        self.change(removed, added)

    def replace_buffer(self, messages: Iterable[Message], cause: str = "") -> None:
        """Replace the messages of the buffer. `cause` describes the change. O(messages)."""
        now = {id(message): message for message in messages}
        if self._system is not None:
            now[id(self._system)] = self._system
        removed = [self._buffer[identity] for identity in self._buffer.keys() - now.keys()]
        added = [message for identity, message in now.items() if identity not in self._buffer]
        self.change(removed, added, cause)

    def change(self, removed: Iterable[Message], added: Iterable[Message], cause: str = "") -> None:
        """Remove messages from the buffer and add others. `cause` describes the change."""
        fallen = set[int]()
        for message in removed:
            self._buffer.pop(id(message), None)
            held = self._index.held(message)
            for number in held:
                self._verbatim[number].pop(id(message), None)
            fallen.update(held)
            paraphrased = self._paraphrased.pop(id(message), set())
            for number in paraphrased:
                del self._nearly[number][id(message)]
            fallen |= paraphrased
        for message in added:
            checkpoint()
            self._buffer[id(message)] = message
            for number in self._index.held(message):
                self._verbatim[number][id(message)] = message
                self._touched.add(number)
            if self._watched:
                for number in self._index.likely_paraphrased(message, self._watched):
                    self._compare(number, message)
        for number in fallen:
            self._cause[number] = cause
            self._touched.add(number)
        for number in fallen - self._watched:
            if not self._verbatim[number]:
                self._watch(number)

    def _watch(self, number: int) -> None:
        """Start searching for paraphrases of a pin that no message contains verbatim."""
        checkpoint()
        self._watched.add(number)
        for message in self._buffer.values():
            self._compare(number, message)

    def _compare(self, number: int, message: Message) -> None:
        """Record the similarity of a message to a pin, if the message paraphrases the pin."""
        similarity = self._index.paraphrase(number, message)
        if similarity is not None:
            self._nearly[number][id(message)] = similarity
            self._paraphrased[id(message)].add(number)
            self._touched.add(number)

    def note_request(self, request: int) -> None:
        """Record the states of the pins at a request whose buffer is the current one."""
        self._last = request
        for number in self._starts.pop(request, ()):
            self._begun.add(number)
            self._touched.add(number)
            if not self._verbatim[number] and number not in self._watched:
                self._watch(number)
        for number in self._touched & self._begun:
            if self._verbatim[number] and number in self._watched:
                self._stop_watching(number)
            self._enter(number, request)
        self._touched = {number for number in self._touched if number not in self._begun}

    def _stop_watching(self, number: int) -> None:
        self._watched.discard(number)
        for identity in self._nearly[number]:
            self._paraphrased[identity].discard(number)
        self._nearly[number].clear()

    def _enter(self, number: int, request: int) -> None:
        """If the state of a pin has changed, end its current span and start the next."""
        span = self._open[number]
        now = self._now(number, request)
        if span is not None:
            if span.state == now.state and self._is_still_in(number, span.message, now.message):
                return
            self._spans[number].append(
                PinSpan(
                    span.first,
                    last=request - 1,
                    state=span.state,
                    evidence=span.evidence,
                    message=span.message,
                )
            )
        self._open[number] = now

    def _is_still_in(self, number: int, message: str, current: str) -> bool:
        """Does the message with id `message` still contain or paraphrase a pin? `current`: id in the new span."""
        if message == current:
            return True
        holders = self._verbatim[number] or self._nearly[number]
        return any(self._buffer[identity].id == message for identity in holders)

    def _now(self, number: int, request: int) -> PinSpan:
        """Return the state of a pin in the buffer, as a span of one request."""
        if self._verbatim[number]:
            holder = next(iter(self._verbatim[number].values()))
            return PinSpan(request, last=request, state="verbatim", message=holder.id)
        if self._nearly[number]:
            shares = {identity: share for identity, (share, _) in self._nearly[number].items()}
            nearest = max(shares, key=lambda identity: shares[identity])
            _, sentence = self._nearly[number][nearest]
            return PinSpan(
                request,
                last=request,
                state="paraphrased",
                evidence=sentence,
                message=self._buffer[nearest].id,
            )
        return PinSpan(request, last=request, state="gone", evidence=self._cause[number])

    def histories(self) -> tuple[PinHistory, ...]:
        """Return the histories of all pins up to the last request."""
        histories = []
        for pin, ended, last in zip(self._index.pins, self._spans, self._open, strict=True):
            spans = tuple(ended)
            if last is not None:
                spans = (*spans, replace(last, last=self._last))
            is_recorded = bool(pin.message) or any(span.state != "gone" for span in spans)
            if not is_recorded:
                spans = ()
            histories.append(PinHistory(pin, spans))
        return tuple(histories)


def recorded_pins(thread: Thread, index: PinIndex) -> tuple[PinHistory, ...]:
    """Return the histories of the pins over the recorded session.

    O(messages), plus O(buffer) at each request whose buffer changed other than by appending.
    """
    if not index.pins:
        return ()
    tracker = PinTracker(index)
    compactions: Mapping[int, Compaction] = {
        compaction.before_request: compaction for compaction in thread.compactions
    }
    for request, (removed, added) in zip(thread.requests, buffer_changes(thread), strict=True):
        checkpoint(request.index, len(thread.requests))
        tracker.set_prompt(request.prompt.system)
        tracker.change(removed, added, _words(compactions.get(request.index)))
        tracker.note_request(request.index)
    return tracker.histories()


def _words(compaction: Compaction | None) -> str:
    if compaction is None:
        return UNANNOUNCED
    words = {"summary": "compaction", "micro": "micro-compaction", "edit": "edit"}[compaction.kind]
    if compaction.trigger not in ("", compaction.kind):
        words = f"{compaction.trigger} {words}"
    return words if compaction.is_readable else f"{words}, whose summary cannot be read"
