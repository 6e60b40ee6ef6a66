"""A recorded compaction, micro-compaction or silent drop as a step: what would have been sent, what was sent instead,
and what became of every message.

The buffer before is that of the request before, with its answer and what arrived since: the end of the thread as it
stood then. What is worked out at the end of a thread (a size, a policy's verdicts, a step of its own) can be worked out
there just as well.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inspector.core.buffer import Buffer, Stretch, View, shared
from inspector.core.changes import Change, aligned, change
from inspector.core.drops import DropKind, Drops, recorded
from inspector.core.outcome import Fate, FateName, Outcome, fates
from inspector.core.replay.driver import Arrival, Ground, arrivals
from inspector.core.replay.economics import Economics
from inspector.core.replay.report import recorded as recorded_report
from inspector.core.session import SideCall, Thread, compaction_sizes, first_place
from inspector.core.tokens.estimators import Estimator
from inspector.core.tokens.prediction import scale
from inspector.core.tokens.pressure import Pressures, thread_pressures
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
    listed: int | None = None
    """Tokens before, as lists of compactions and drops give them: as recorded, or what the last call reported."""
    told: int | None = None
    """The same, where the file records it."""

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
    found = {one.before_request for one in thread.compactions} | {drop.request for drop in drops.found if drop.loss}
    return tuple(sorted(at for at in found if first_place(thread) <= at <= len(requests)))


def recorded_step(thread: Thread, drops: Drops, at: int) -> RecordedStep | None:
    """The one before request `at` (== number of requests: after the last one), if any. O(messages)."""
    if at not in places(thread, drops):
        return None
    before, here = thread_before(thread, at, arrivals(thread)[at]), thread.place(at)
    made = [(n, one) for n, one in enumerate(thread.compactions) if one.before_request == at]
    summarised = any(one.kind == "summary" for _, one in made)
    changed, renamed = _changes(before.end, here.view, summarised)
    drop = next((one for one in drops.found if one.request == at and one.kind != "sub-agent"), None)
    if made:  # of several, a summary says more than a clean-up
        one = next((one for _, one in made if one.kind == "summary"), made[0][1])
        kind, why, trigger = recorded(one).kind, recorded(one).why, " ".join(one.trigger.split())
    else:
        assert drop is not None  # else it were no place
        kind, why, trigger = drop.kind, drop.why, ""
    told = made[0][1].tokens_before if made else None
    listed = compaction_sizes(thread, made[0][1])[0] if made else drop.tokens_before if drop else None
    told = None if listed != told else told
    return RecordedStep(
        at, kind, trigger, why, before, here.buffer(), changed, renamed, tuple(n for n, _ in made), listed, told
    )


def thread_before(thread: Thread, at: int, arrival: Arrival) -> Thread:
    """The thread as it stood right before its buffer was changed in front of request `at`."""
    request = thread.requests[at] if at < len(thread.requests) else None
    if request is not None and request.asked is not None and not (at and request.edits):
        end = request.asked  # the client sends again what the provider had cleared before
    else:
        standing = thread.requests[at - 1].view
        came = (*arrival.answer, *arrival.new)
        end = Stretch(standing, came).view() if came else standing
    last = thread.requests[at - 1] if at else request
    earlier = bisect_left(thread.compactions, at, key=lambda one: one.before_request)
    return replace(
        thread,
        requests=thread.requests[:at],
        end=end,
        prompt=last.prompt if last else thread.prompt,
        model=(request.model if request else "") or thread.model,
        compactions=thread.compactions[:earlier],
        trailing=(),
    )


_FATES: Mapping[Change, FateName] = {"cleared": "cleared", "shortened": "cut"}
"""Of messages that read otherwise; all other changes replace them."""


def _changes(before: View, after: View, summarised: bool) -> tuple[dict[str, FateName], dict[str, str]]:
    """What became of the messages that both buffers do not share at their beginning. O(these). `summarised`: there is a
    summary of what is gone, though it may be one that only the provider can read."""
    same = shared(before, after)
    old, new = before.tail(same), after.tail(same)
    changed: dict[str, FateName] = {}
    renamed: dict[str, str] = {}
    gone: list[str] = []
    stands = {message.id for message in old}
    for message, place in zip(old, aligned(old, new), strict=True):
        then = new[place] if place >= 0 else None
        if then is None or (then.id != message.id and message.summary):
            gone.append(message.id)  # a new summary is not the old one, edited
            continue
        if then.id != message.id:
            renamed[message.id] = then.id
        how = change(message, then)
        if how is not None or then != message:
            changed[message.id] = "kept" if how is None else _FATES.get(how, "replaced")
    summarised = summarised or any(message.summary and message.id not in stands for message in new)
    return {**changed, **dict.fromkeys(gone, "summarised" if summarised else "dropped")}, renamed


@dataclass(frozen=True, slots=True)
class RecordedSizes:
    """What measures the two buffers of a recorded step."""

    before: Sizer
    after: Sizer

    @property
    def tokens(self) -> tuple[int, int]:
        """(before, after), as the gauge shows them: as recorded, reported, predicted or estimated."""
        return self.before.pressure.tokens or 0, self.after.pressure.tokens or 0


def recorded_sizes(step: RecordedStep, pressures: Pressures, estimator: Estimator) -> RecordedSizes:
    """`pressures`: of the whole thread, by that estimator. O(requests); weights are cached on the messages."""
    earlier = thread_pressures(step.thread, estimator, pressures)
    before, told = sizer(earlier, None), step.told
    if told is not None:
        known, counted = before.scale, before.pressure.estimated
        pressure = replace(before.pressure, tokens=told, kind="reported", reported=told)
        before = Sizer(estimator, pressure, scale(told, counted, known.unseen, known.slope, known.spread, known.around))
    return RecordedSizes(before, sizer(pressures, step.request))


def recorded_economics(thread: Thread, calls: Sequence[SideCall]) -> Mapping[int, Economics]:
    """Whether the recorded compactions paid, by the request after each; of several there, the summary's. `calls`: those
    beside the conversation. O(messages)."""
    if not thread.compactions or not thread.requests:
        return {}
    made = recorded_report(Ground(thread, pins=None), calls=calls, losses=False).compactions
    return {one.at.before_request: one.economics for one in sorted(made, key=lambda one: one.kind == "summary")}
