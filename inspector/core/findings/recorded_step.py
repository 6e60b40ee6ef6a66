"""A recorded compaction, micro-compaction or silent drop as a step: the buffer that would have been sent, the buffer
that was sent, and the fate of every message.

The buffer before the change is that of the previous request, with its answer and the messages that arrived since. It is
the end of the thread at that time, so everything that is computed for the end of a thread (a size, a policy's verdicts,
a step) can be computed for it, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inspector.core.arrivals import arrivals, thread_before
from inspector.core.buffer import Buffer
from inspector.core.drops import Drops, change_fates
from inspector.core.drops.causes import DropKind, explain_record
from inspector.core.outcome import Fate, FateName, Outcome, fates
from inspector.core.replay.driver import Ground
from inspector.core.replay.economics import Economics
from inspector.core.replay.recorded_report import recorded as recorded_report
from inspector.core.session import SideCall, Thread, first_place
from inspector.core.tokens.change_sizes import BufferSize, change_sizes
from inspector.core.tokens.prediction import Prediction, scale
from inspector.core.tokens.pressure import PressureKind, Pressures, holds_all, thread_pressures
from inspector.core.tokens.sizing import Sizer, sizer


@dataclass(frozen=True, slots=True, eq=False)
class RecordedStep:
    """One change of a thread's buffer, before `request`."""

    request: int
    """Index of the first request that was sent after the change; the number of requests if none was."""
    kind: DropKind
    trigger: str
    """auto, manual, ... in the harness's own word; empty if the harness does not say, or the drop was silent."""
    why: str
    """The reason for the change, as a sentence."""
    thread: Thread
    """The thread right before the change: its `end` is the buffer before."""
    after: Buffer
    """The buffer that was sent."""
    changed: Mapping[str, FateName]
    """Fate by message id, for the messages that were not kept unchanged."""
    renamed: Mapping[str, str]
    """New id by old id, for the messages whose id changed."""
    compactions: tuple[int, ...] = ()
    """Indices of the thread's recorded compactions; none for a silent drop."""

    @property
    def before(self) -> Buffer:
        """Return the buffer that would have been sent. O(messages)."""
        return self.thread.place(None).buffer()

    @property
    def name(self) -> str:
        """Return `auto compaction`, `micro-compaction`, `rewind`."""
        if self.trigger and self.trigger not in self.kind:
            return f"{self.trigger} {self.kind}"
        return self.kind

    @property
    def outcome(self) -> Outcome[None]:
        """Return the step as the outcome of a tier."""
        return Outcome(
            self.name, self.after, running=None, changed=self.changed, renamed=self.renamed
        )

    def fates(self) -> tuple[Fate, ...]:
        """Return the fate of every message. O(messages)."""
        return fates(self.before, self.outcome)


def places(thread: Thread, drops: Drops) -> tuple[int, ...]:
    """Return the indexes of the requests right after a compaction or a loss of content, in order.

    A change before the first request is left out, because the earlier buffer is not known, unless a proxy recorded it.
    """
    requests = thread.requests
    if not requests:
        return ()
    requests_changed = {compaction.before_request for compaction in thread.compactions} | {
        drop.request for drop in drops.found if drop.loss
    }
    return tuple(
        sorted(at for at in requests_changed if first_place(thread) <= at <= len(requests))
    )


def recorded_step(thread: Thread, drops: Drops, at: int) -> RecordedStep | None:
    """Return the step before request `at`, or None. O(messages).

    `at` is the number of requests for a step after the last request.
    """
    if at not in places(thread, drops):
        return None
    before = thread_before(thread, at, arrivals(thread)[at])
    place = thread.place(at)
    numbers = tuple(
        number
        for number, compaction in enumerate(thread.compactions)
        if compaction.before_request == at
    )
    compactions = [thread.compactions[number] for number in numbers]
    summaries = [compaction for compaction in compactions if compaction.kind == "summary"]
    changed, renamed = change_fates(before.end, place.view, summarised=bool(summaries))
    if compactions:
        main = (summaries or compactions)[0]  # a summary is more informative than a clean-up
        record = explain_record(main)
        kind = record.kind
        why = record.why
        trigger = " ".join(main.trigger.split())
    else:
        drop = next(drop for drop in drops.found if drop.request == at and drop.kind != "sub-agent")
        kind = drop.kind
        why = drop.why
        trigger = ""
    return RecordedStep(
        at,
        kind,
        trigger,
        why,
        thread=before,
        after=place.buffer(),
        changed=changed,
        renamed=renamed,
        compactions=numbers,
    )


@dataclass(frozen=True, slots=True)
class RecordedSizes:
    """The sizers of the two buffers of a recorded step."""

    before: Sizer
    after: Sizer

    @property
    def tokens(self) -> tuple[int, int]:
        """Return (before, after) as the gauge shows them: recorded, reported, predicted or estimated."""
        return self.before.pressure.tokens or 0, self.after.pressure.tokens or 0


def recorded_sizes(step: RecordedStep, thread: Thread, pressures: Pressures) -> RecordedSizes:
    """Return the sizers of both buffers, with the sizes of `change_sizes`.

    O(requests); weights are cached on the messages.

    Args:
        step: A change of the thread's buffer.
        thread: The whole thread.
        pressures: The pressures of the whole thread.
    """
    before = sizer(thread_pressures(step.thread, pressures.by, pressures), None)
    size = change_sizes(thread, pressures, step.request).before
    if size.tokens is not None and size.tokens != before.pressure.tokens:
        before = _resized(before, size, is_whole=holds_all(step.thread.place(None)))
    return RecordedSizes(before, sizer(pressures, step.request))


def _resized(size: Sizer, size_before: BufferSize, *, is_whole: bool) -> Sizer:
    """Return the sizer fitted to a size that is recorded, or that was predicted while the request was held."""
    tokens = size_before.tokens or 0
    scaled = size.scale
    predicted = Prediction(tokens, *size_before.band) if size_before.band is not None else None
    reported = None if predicted is not None else tokens
    kind: PressureKind = "reported" if predicted is None else "predicted"
    pressure = replace(
        size.pressure, tokens=tokens, kind=kind, reported=reported, predicted=predicted
    )
    fitted = scale(tokens, size.pressure.counted, scaled.slope, scaled.spread, is_whole=is_whole)
    return Sizer(size.estimator, pressure, fitted)


def recorded_economics(thread: Thread, calls: Sequence[SideCall]) -> Mapping[int, Economics]:
    """Return the economics of the recorded compactions, by the request after each. O(messages).

    If several compactions precede one request, the economics are those of the summary.

    Args:
        thread: A thread.
        calls: The side calls beside the conversation.
    """
    if not thread.compactions or not thread.requests:
        return {}
    report = recorded_report(Ground(thread, pins=None, calls=calls), losses=False)
    summaries_last = sorted(report.compactions, key=lambda compacted: compacted.kind == "summary")
    return {compacted.at.before_request: compacted.economics for compacted in summaries_last}
