"""What the timeline draws: one number a request, None where there is none; marks at requests; and what each step did to
the pressure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.facts.user_words import user_words
from inspector.core.findings.breaks import Rebilling
from inspector.core.replay.pins import PinIndex, find_pins, recorded_pins
from inspector.core.session import Thread, additions
from inspector.core.tokens.change_sizes import compaction_sizes
from inspector.core.tokens.pressure import PressureKind, Pressures
from inspector.core.tokens.sizing import sizer
from inspector.core.words import plural
from inspector.workbench.state import State
from inspector.workbench.steps import Steps

MarkKind: TypeAlias = Literal["compaction", "drop", "cache miss", "user message", "pin removed", "step", "search hit"]


MOST_QUOTED = 120
"""Characters of a user's message that a mark quotes."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened in front of or at request `at`; the number of requests: after the last record."""

    at: int
    label: str
    large: bool = True
    """Not only a clean-up of single messages."""
    kind: MarkKind = "compaction"

    @property
    def silent(self) -> bool:
        """Nobody announced it."""
        return self.kind == "drop"


@dataclass(frozen=True, slots=True)
class Series:
    """All of a thread, one value a request."""

    reported: tuple[int | None, ...]
    other: tuple[int | None, ...]
    """Pressure where nothing was reported: predicted, counted or estimated."""
    kinds: tuple[PressureKind, ...]
    predicted: tuple[int | None, ...]
    """What was said of each request before anybody reported it."""
    end: int | None
    """Pressure of the buffer after the last record."""
    believed: tuple[int, ...]
    """By the chosen policy; empty until it is worked out."""
    cache_read: tuple[int | None, ...]
    fresh: tuple[int | None, ...]
    """Tokens that were not read from the cache: cache writes and uncached input."""
    output: tuple[int | None, ...]
    marks: tuple[Mark, ...]

    @property
    def heights(self) -> tuple[int | None, ...]:
        """The number that is shown of each request."""
        both = zip(self.reported, self.other, strict=True)
        return tuple(reported if reported is not None else other for reported, other in both)

    @property
    def unreported(self) -> tuple[int | None, ...]:
        """As a curve: `other`, on either side of a gap what was reported - a line takes two points - and the end."""
        gap = [one is None for one in self.reported]
        near = zip(gap, [*gap[1:], self.end is not None], [False, *gap], strict=False)
        drawn = [height if any(about) else None for height, about in zip(self.heights, near, strict=True)]
        return (*drawn, self.end)


def series(state: State) -> Series | None:
    """The curves of the chosen thread; None while nothing is open. O(requests)."""
    thread, pressures = state.thread, state.pressures
    if thread is None or pressures is None:
        return None
    usages = [request.usage for request in thread.requests]
    return Series(
        reported=tuple(pressure.reported for pressure in pressures),
        other=tuple(pressure.tokens if pressure.reported is None else None for pressure in pressures),
        kinds=tuple(pressure.kind for pressure in pressures),
        predicted=tuple(
            pressure.predicted.tokens if pressure.predicted is not None else None for pressure in pressures
        ),
        end=pressures.end.tokens,
        believed=state.believed.tokens if state.believed is not None and state.believed.thread is thread else (),
        cache_read=tuple(usage.cache_read if usage else None for usage in usages),
        fresh=tuple(usage.cache_write + usage.input if usage else None for usage in usages),
        output=tuple(usage.output if usage else None for usage in usages),
        marks=_marks(state),
    )


def _marks(state: State) -> tuple[Mark, ...]:
    thread, pressures = state.thread, state.pressures
    if thread is None or pressures is None:
        return ()
    marks = []
    for compaction in thread.compactions:
        before, after = compaction_sizes(thread, pressures, compaction).tokens
        sizes = f" {before:,} → {after:,}" if before is not None and after is not None else ""
        what = (
            f"{compaction.trigger} compaction"
            if compaction.kind == "summary"
            else compaction.trigger or compaction.kind
        )
        what = f"{compaction.kind}-compaction, inferred" if compaction.evidence else what
        marks.append(Mark(compaction.before_request, f"{what.strip()}{sizes}", compaction.kind == "summary"))
    return tuple(sorted((*marks, *_silent(state)), key=lambda mark: mark.at))


def _silent(state: State) -> Iterator[Mark]:
    """Drops that nobody announced. What was only rewritten is a small mark."""
    for drop in state.drops.found if state.drops else ():
        if drop.compaction is None and drop.kind != "sub-agent":
            yield Mark(drop.request, f"drop, {drop.kind}", drop.loss, "drop")


def miss_marks(misses: Iterable[Rebilling]) -> tuple[Mark, ...]:
    """Mark the cache misses of a thread."""
    return tuple(
        Mark(miss.request, f"cache miss, {miss.cause}: {miss.tokens:,} tokens re-sent", kind="cache miss")
        for miss in misses
    )


def user_marks(thread: Thread) -> tuple[Mark, ...]:
    """Mark the requests that bring words of the user. O(text): not for the GUI thread."""
    marks = []
    for at, messages in enumerate(additions(thread.requests)):
        words = [words.text for message in messages for words in user_words(message)]
        if words:
            text = " ".join(" ".join(words).split())
            marks.append(Mark(at, f"user: {text[:MOST_QUOTED]}", kind="user message"))
    return tuple(marks)


def pin_marks(thread: Thread, given: Sequence[str]) -> tuple[Mark, ...]:
    """Mark where pins and constraints of the user (not mere instructions) were removed. O(text), minutes in a long
    session: not for the GUI thread."""
    pins = [pin for pin in find_pins(thread, given) if pin.message and pin.origin != "instruction"]
    return tuple(
        Mark(span.first, f"removed: {history.pin.text}", kind="pin removed")
        for history in recorded_pins(thread, PinIndex(pins))
        for span in history.spans
        if span.state == "gone"
    )


def chosen_marks(state: State) -> tuple[Mark, ...]:
    """Our steps, and what the search found."""
    thread, found = state.thread, state.found
    if thread is None:
        return ()
    end = len(thread.requests)
    steps = (
        Mark(one.at if one.at is not None else end, f"{one.name} {one.before:,} → {one.after:,}", kind="step")
        for one in step_effects(state)
    )
    hits = found.places.get(thread.id, {}) if found is not None else {}
    words = f" with “{found.text}”" if found is not None else ""
    came = (Mark(at, plural(many, "message") + words, kind="search hit") for at, many in hits.items())
    return (*steps, *came)


@dataclass(frozen=True, slots=True)
class StepEffect:
    """One step, at request `at` (None = after the last record): from `before` to `after` tokens."""

    at: int | None
    name: str
    before: int
    after: int
    """Both as the gauge shows them: what was reported or predicted, and what the next prompt would be instead."""


def step_effects(state: State) -> tuple[StepEffect, ...]:
    """Of every place of the chosen thread where the chosen policy took steps, along the path to where each stands."""
    wanted = (state.thread_id, state.choices.policy)
    places = [steps for (thread, _, by), steps in state.trees.items() if (thread, by) == wanted]
    pressures = state.pressures
    return tuple(effect for steps in places for effect in _path(steps, pressures)) if pressures is not None else ()


def _path(steps: Steps, pressures: Pressures) -> list[StepEffect]:
    """Steps that start before the recorded change have no place on the line of what was recorded."""
    if steps.is_before(steps.at):
        return []
    size = sizer(pressures, steps.request)
    before, found = size.tokens(steps.sent), []
    for step in (steps.taken[n] for n in steps.own_path):
        after = size.tokens(step.buffer)
        found.append(StepEffect(steps.request, step.name, before, after))
        before = after
    return found
