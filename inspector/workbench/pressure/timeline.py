"""What the timeline draws: curves with one number (or None) per request, marks at requests, and the effect of each
step.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from inspector.core.facts.user_words import user_words
from inspector.core.findings.breaks import Rebilling
from inspector.core.heavy import checkpoint
from inspector.core.replay.pins import PinIndex, collect_pins, recorded_pins
from inspector.core.session import Compaction, Request, Thread, additions
from inspector.core.tokens.change_sizes import compaction_sizes
from inspector.core.tokens.pressure import Pressure, PressureKind, Pressures, count_same_requests
from inspector.core.tokens.sizing import sizer
from inspector.core.words import plural
from inspector.workbench.state import State
from inspector.workbench.steps import Steps

MarkKind: TypeAlias = Literal[
    "compaction", "drop", "cache miss", "user message", "pin removed", "step", "search hit"
]


MOST_QUOTED = 120
"""Characters of a user's message that a mark quotes."""


@dataclass(frozen=True, slots=True)
class Mark:
    """An event before or at request `at`. If `at` is the number of requests, the event comes after the last one."""

    at: int
    label: str
    large: bool = True
    """False for a clean-up of single messages, which gets a small mark."""
    kind: MarkKind = "compaction"

    @property
    def silent(self) -> bool:
        """Is the event a drop that the file does not record as a compaction?"""
        return self.kind == "drop"


@dataclass(frozen=True, slots=True)
class Series:
    """The curves of a thread, with one value per request."""

    reported: tuple[int | None, ...]
    other: tuple[int | None, ...]
    """The pressure of requests without a report: predicted, counted or estimated."""
    kinds: tuple[PressureKind, ...]
    predicted: tuple[int | None, ...]
    """The prediction of each request before its report."""
    end: int | None
    """Pressure of the buffer after the last record; None if it is unknown."""
    believed: tuple[int, ...]
    """The chosen policy's own count; empty until it is computed."""
    cache_read: tuple[int | None, ...]
    fresh: tuple[int | None, ...]
    """Tokens that were not read from the cache: cache writes and uncached input."""
    output: tuple[int | None, ...]
    marks: tuple[Mark, ...]
    pressures: Pressures | None = field(default=None, compare=False, repr=False)
    """The pressures that the curves were made from."""

    @property
    def heights(self) -> tuple[int | None, ...]:
        """Return the number that is shown for each request."""
        if None not in self.reported:
            return self.reported
        both = zip(self.reported, self.other, strict=True)
        return tuple([reported if reported is not None else other for reported, other in both])

    @property
    def unreported(self) -> tuple[int | None, ...]:
        """Return `other` as a curve that includes the end and the adjacent reported points, so that lines join."""
        if None not in self.reported:
            last = self.reported[-1:] if self.end is not None else (None,) * bool(self.reported)
            return (*(None,) * (len(self.reported) - 1), *last, self.end)
        gap = [reported is None for reported in self.reported]
        near = zip(gap, [*gap[1:], self.end is not None], [False, *gap], strict=False)
        drawn = [
            height if True in about else None
            for height, about in zip(self.heights, near, strict=True)
        ]
        return (*drawn, self.end)


NO_SERIES = Series(
    (),
    other=(),
    kinds=(),
    predicted=(),
    end=None,
    believed=(),
    cache_read=(),
    fresh=(),
    output=(),
    marks=(),
)


def series(state: State, former: Series | None = None) -> Series | None:
    """Return the curves of the chosen thread; None while nothing is open.

    O(requests), but after `former`, the curves when the thread was shorter, hardly more than O(new requests).
    """
    thread = state.thread
    pressures = state.pressures
    if thread is None or pressures is None:
        return None
    if former is None or former.pressures is None:
        former = NO_SERIES
        same = 0
    else:
        same = pressures.count_same(former.pressures)
    new = [pressures[index] for index in range(same, len(pressures))]
    belief = state.believed
    believed = belief.tokens if belief is not None and belief.thread is thread else ()
    reported = former.reported[:same] + tuple(pressure.reported for pressure in new)
    unreported = former.other[:same] + tuple(map(_unreported_tokens, new))
    kinds = former.kinds[:same] + tuple(pressure.kind for pressure in new)
    predicted = former.predicted[:same] + tuple(map(_predicted_tokens, new))
    new_read, new_fresh, new_output = _usage_curves(thread.requests[same:])
    cache_read = former.cache_read[:same] + new_read
    fresh = former.fresh[:same] + new_fresh
    output = former.output[:same] + new_output
    return Series(
        reported,
        other=unreported,
        kinds=kinds,
        predicted=predicted,
        end=pressures.end.tokens,
        believed=believed,
        cache_read=cache_read,
        fresh=fresh,
        output=output,
        marks=_marks(state),
        pressures=pressures,
    )


def count_new(state: State, former: Pressures | None) -> int:
    """Count the requests of a State that are not in `former`, the sizes when its thread was shorter.

    All requests count if the scale has changed since. O(new requests).
    """
    pressures = state.pressures
    if pressures is None:
        return 0
    return len(pressures) if former is None else len(pressures) - pressures.count_settled(former)


_Curve: TypeAlias = tuple[int | None, ...]


def _usage_curves(requests: Sequence[Request]) -> tuple[_Curve, _Curve, _Curve]:
    """Return the curves of the tokens read from the cache, of those not read from it, and of the answers."""
    usages = [request.usage for request in requests]
    cache_read = tuple(usage.cache_read if usage else None for usage in usages)
    fresh = tuple(usage.cache_write + usage.input if usage else None for usage in usages)
    output = tuple(usage.output if usage else None for usage in usages)
    return cache_read, fresh, output


def _unreported_tokens(pressure: Pressure) -> int | None:
    return pressure.tokens if pressure.reported is None else None


def _predicted_tokens(pressure: Pressure) -> int | None:
    return pressure.predicted.tokens if pressure.predicted is not None else None


def _marks(state: State) -> tuple[Mark, ...]:
    thread = state.thread
    pressures = state.pressures
    if thread is None or pressures is None:
        return ()
    marks = []
    for compaction in thread.compactions:
        before, after = compaction_sizes(thread, pressures, compaction).tokens
        sizes = f" {before:,} → {after:,}" if before is not None and after is not None else ""
        label = f"{_compaction_words(compaction)}{sizes}"
        marks.append(Mark(compaction.before_request, label, compaction.kind == "summary"))
    return tuple(sorted((*marks, *_silent_marks(state)), key=lambda mark: mark.at))


def _compaction_words(compaction: Compaction) -> str:
    """Name a recorded compaction: `auto compaction`, `micro-compaction, inferred`."""
    if compaction.evidence:
        return f"{compaction.kind}-compaction, inferred"
    if compaction.kind == "summary":
        return f"{compaction.trigger} compaction".strip()
    return (compaction.trigger or compaction.kind).strip()


def _silent_marks(state: State) -> Iterator[Mark]:
    """Yield the silent drops. One that only rewrote messages is a small mark."""
    for drop in state.drops.found if state.drops else ():
        if drop.compaction is None and drop.kind != "sub-agent":
            yield Mark(drop.request, label=f"drop, {drop.kind}", large=drop.loss, kind="drop")


def miss_marks(misses: Iterable[Rebilling]) -> tuple[Mark, ...]:
    """Return a mark for each cache miss of a thread."""
    return tuple(
        Mark(
            miss.request,
            f"cache miss, {miss.cause}: {miss.tokens:,} tokens re-sent",
            kind="cache miss",
        )
        for miss in misses
    )


@dataclass(frozen=True, slots=True)
class UserMarks:
    """Marks of the requests of a thread that add text written by the user."""

    thread: Thread
    marks: tuple[Mark, ...] = ()
    seen: frozenset[str] = frozenset()
    """Ids of the messages of all requests except the last, which may still change."""

    @property
    def settled(self) -> int:
        """Return how many requests will not change when the thread grows."""
        return max(0, len(self.thread.requests) - 1)


def user_marks(thread: Thread, former: UserMarks | None = None) -> UserMarks:
    """Mark the requests that add text written by the user. Not for the GUI thread.

    O(text); O(new text) after `former`, the marks when the thread was shorter.
    """
    requests = thread.requests
    start = 0
    marks = list[Mark]()
    seen = set[str]()
    if (
        former is not None
        and count_same_requests(former.thread.requests, requests) >= former.settled
    ):
        start = former.settled
        seen = set(former.seen)
        marks = [mark for mark in former.marks if mark.at < start]
    settled = frozenset(seen)
    for number, messages in enumerate(
        additions(requests[start:], seen, requests[start - 1] if start else None), start
    ):
        checkpoint(number, len(requests))
        words = [words.text for message in messages for words in user_words(message)]
        if words:
            text = " ".join(" ".join(words).split())
            marks.append(Mark(number, f"user: {text[:MOST_QUOTED]}", kind="user message"))
        if number == len(requests) - 2:
            settled = frozenset(seen)
    return UserMarks(thread, tuple(marks), settled)


@dataclass(frozen=True, slots=True)
class PinMarks:
    """Marks of the requests of a thread whose buffers lost pins and constraints of the user."""

    thread: Thread
    given_texts: Sequence[str]
    marks: tuple[Mark, ...] = ()


def pin_marks(
    thread: Thread, given_texts: Sequence[str], former: PinMarks | None = None
) -> PinMarks:
    """Mark the requests whose buffers lost pins and constraints of the user; instructions are left out.

    O(text), minutes in a long session: not for the GUI thread. O(new requests) if messages were only added after
    `former`, the marks when the thread was shorter.
    """
    if (
        former is not None
        and former.given_texts == given_texts
        and _has_only_grown(former.thread, thread)
    ):
        return PinMarks(thread, given_texts, former.marks)
    pins = [
        pin
        for pin in collect_pins(thread, given_texts)
        if pin.message and pin.origin != "instruction"
    ]
    marks = (
        Mark(span.first, f"removed: {history.pin.text}", kind="pin removed")
        for history in recorded_pins(thread, PinIndex(pins))
        for span in history.spans
        if span.state == "gone"
    )
    return PinMarks(thread, given_texts, tuple(marks))


def _has_only_grown(former: Thread, thread: Thread) -> bool:
    """Is a thread the former one with messages added, so that no pin was removed since? O(new requests)."""
    count = len(former.requests)
    if not count or former.typed or thread.typed:
        return False
    if count_same_requests(former.requests, thread.requests) < count - 1:
        return False
    last = former.requests[-1]
    for request in thread.requests[count - 1 :]:
        if request.view.stretch is not last.view.stretch or len(request.view) < len(last.view):
            return False
        if request.prompt.system != last.prompt.system:
            return False
        last = request
    return True


def chosen_marks(state: State) -> tuple[Mark, ...]:
    """Return marks for the user's steps and for the hits of the search."""
    thread = state.thread
    search = state.hits
    if thread is None:
        return ()
    end = len(thread.requests)
    steps = (
        Mark(
            effect.at if effect.at is not None else end,
            f"{effect.name} {effect.before:,} → {effect.after:,}",
            kind="step",
        )
        for effect in step_effects(state)
    )
    hits = search.places.get(thread.id, {}) if search is not None else {}
    words = f" with “{search.text}”" if search is not None else ""
    hit_marks = (
        Mark(request, plural(many, "message") + words, kind="search hit")
        for request, many in hits.items()
    )
    return (*steps, *hit_marks)


@dataclass(frozen=True, slots=True)
class StepEffect:
    """The effect of one step at request `at` (None: after the last record)."""

    at: int | None
    name: str
    before: int
    after: int
    """Tokens before and after the step, as the gauge shows them: the reported or predicted size, then that of the next
    prompt.
    """


def step_effects(state: State) -> tuple[StepEffect, ...]:
    """Return the effects of the chosen policy's steps in the chosen thread, along the current path of each tree."""
    pressures = state.pressures
    if pressures is None:
        return ()
    chosen = (state.thread_id, state.choices.policy)
    trees = [steps for (thread, _, by), steps in state.trees.items() if (thread, by) == chosen]
    return tuple(effect for steps in trees for effect in _path(steps, pressures))


def _path(steps: Steps, pressures: Pressures) -> list[StepEffect]:
    """Return the effects of the steps on a path; none if it starts before a recorded change, which the curve does not
    show.
    """
    if steps.is_before(steps.at):
        return []
    size = sizer(pressures, steps.request)
    before = size.tokens(steps.sent)
    effects = []
    for step in (steps.taken[step_index] for step_index in steps.own_path):
        after = size.tokens(step.buffer)
        effects.append(StepEffect(steps.request, step.name, before, after))
        before = after
    return effects
