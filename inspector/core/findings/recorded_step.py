"""A recorded compaction, micro-compaction or silent drop as a step: what would have been sent, what was sent instead,
and what became of every message.

The buffer before is that of the request before, with its answer and what arrived since: the end of the thread as it
stood then. What is worked out at the end of a thread (a size, a policy's verdicts, a step of its own) can be worked out
there just as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inspector.core.arrivals import arrivals, thread_before
from inspector.core.buffer import Buffer
from inspector.core.drops import DropKind, Drops, change_fates, explain_record
from inspector.core.outcome import Fate, FateName, Outcome, fates
from inspector.core.replay.driver import Ground
from inspector.core.replay.economics import Economics
from inspector.core.replay.report import recorded as recorded_report
from inspector.core.session import SideCall, Thread, first_place
from inspector.core.tokens.change_sizes import BufferSize, change_sizes
from inspector.core.tokens.prediction import Prediction, scale
from inspector.core.tokens.pressure import PressureKind, Pressures, holds_all, thread_pressures
from inspector.core.tokens.sizing import Sizer, sizer


@dataclass(frozen=True, slots=True, eq=False)
class RecordedStep:
    """One change of a thread's buffer, before `request`."""

    request: int
    """Index of the first request that was sent after it; == number of requests where none was."""
    kind: DropKind
    trigger: str
    """auto, manual, ... in the harness's own word; empty where it does not say, or nobody announced the change."""
    why: str
    """A sentence."""
    thread: Thread
    """As it stood right before: its `end` is the buffer before."""
    after: Buffer
    changed: Mapping[str, FateName]
    """Fate by id, of the messages that were not kept as they were."""
    renamed: Mapping[str, str]
    """Id after by id before, of messages that stand there under another one."""
    compactions: tuple[int, ...] = ()
    """Indices of the compactions that the thread records there; none for a silent drop."""

    @property
    def before(self) -> Buffer:
        """What would have been sent. O(messages)."""
        return self.thread.place(None).buffer()

    @property
    def name(self) -> str:
        """`auto compaction`, `micro-compaction`, `rewind`."""
        return f"{self.trigger} {self.kind}" if self.trigger and self.trigger not in self.kind else self.kind

    @property
    def outcome(self) -> Outcome[None]:
        """As the outcome of a tier."""
        return Outcome(self.name, self.after, None, changed=self.changed, renamed=self.renamed)

    def fates(self) -> tuple[Fate, ...]:
        """What became of every message. O(messages)."""
        return fates(self.before, self.outcome)


def places(thread: Thread, drops: Drops) -> tuple[int, ...]:
    """The requests in front of which a thread's buffer was compacted or lost something, in order. What stands in front
    of the first request has no buffer before it, unless a proxy saw one."""
    requests = thread.requests
    if not requests:
        return ()
    found = {compaction.before_request for compaction in thread.compactions} | {
        drop.request for drop in drops.found if drop.loss
    }
    return tuple(sorted(at for at in found if first_place(thread) <= at <= len(requests)))


def recorded_step(thread: Thread, drops: Drops, at: int) -> RecordedStep | None:
    """The one before request `at` (== number of requests: after the last one), if any. O(messages)."""
    if at not in places(thread, drops):
        return None
    before, here = thread_before(thread, at, arrivals(thread)[at]), thread.place(at)
    made = [(n, one) for n, one in enumerate(thread.compactions) if one.before_request == at]
    summarised = any(one.kind == "summary" for _, one in made)
    changed, renamed = change_fates(before.end, here.view, summarised)
    drop = next((one for one in drops.found if one.request == at and one.kind != "sub-agent"), None)
    if made:  # of several, a summary says more than a clean-up
        one = next((one for _, one in made if one.kind == "summary"), made[0][1])
        kind, why, trigger = explain_record(one).kind, explain_record(one).why, " ".join(one.trigger.split())
    else:
        assert drop is not None  # else it were no place
        kind, why, trigger = drop.kind, drop.why, ""
    numbers = tuple(n for n, _ in made)
    return RecordedStep(at, kind, trigger, why, before, here.buffer(), changed, renamed, numbers)


@dataclass(frozen=True, slots=True)
class RecordedSizes:
    """What measures the two buffers of a recorded step."""

    before: Sizer
    after: Sizer

    @property
    def tokens(self) -> tuple[int, int]:
        """(before, after), as the gauge shows them: as recorded, reported, predicted or estimated."""
        return self.before.pressure.tokens or 0, self.after.pressure.tokens or 0


def recorded_sizes(step: RecordedStep, thread: Thread, pressures: Pressures) -> RecordedSizes:
    """Return what measures both buffers: the sizes are those of `change_sizes`.

    O(requests); weights are cached on the messages.

    Args:
        step: A change of the thread's buffer.
        thread: The whole thread.
        pressures: Those of the whole thread.
    """
    before = sizer(thread_pressures(step.thread, pressures.by, pressures), None)
    known = change_sizes(thread, pressures, step.request).before
    if known.tokens is not None and known.tokens != before.pressure.tokens:
        before = _resized(before, known, is_whole=holds_all(step.thread.place(None)))
    return RecordedSizes(before, sizer(pressures, step.request))


def _resized(size: Sizer, known: BufferSize, *, is_whole: bool) -> Sizer:
    """The same measure where the buffer is known to have another size: recorded, or predicted when it was held."""
    tokens, scaled = known.tokens or 0, size.scale
    predicted = Prediction(tokens, *known.band) if known.band is not None else None
    reported = None if predicted is not None else tokens
    kind: PressureKind = "reported" if predicted is None else "predicted"
    pressure = replace(size.pressure, tokens=tokens, kind=kind, reported=reported, predicted=predicted)
    fitted = scale(tokens, size.pressure.counted, scaled.slope, scaled.spread, is_whole=is_whole)
    return Sizer(size.estimator, pressure, fitted)


def recorded_economics(thread: Thread, calls: Sequence[SideCall]) -> Mapping[int, Economics]:
    """Whether the recorded compactions paid, by the request after each; of several there, the summary's. `calls`: those
    beside the conversation. O(messages)."""
    if not thread.compactions or not thread.requests:
        return {}
    made = recorded_report(Ground(thread, pins=None, calls=calls), losses=False).compactions
    return {one.at.before_request: one.economics for one in sorted(made, key=lambda one: one.kind == "summary")}
