"""Would Pi compact this buffer now, and why: the trigger with its guards (spec 3.2, 3.3)."""

from dataclasses import dataclass

from inspector.core.buffer import Buffer
from inspector.core.policies.pi.cut import rules_of
from inspector.core.policies.pi.preparation import prepare
from inspector.core.policies.pi.running import Running, border_of, entries_at, reports_of
from inspector.core.policies.pi.settings import Settings
from inspector.core.policies.pi.trigger import (
    compaction_cost,
    continue_cost,
    is_clamped,
    reserve,
    should_compact,
    should_compact_by_cost,
)
from inspector.core.policies.pi.usage import Fill, context_tokens, estimated_tokens
from inspector.core.policies.policy import Moment, Verdict
from inspector.core.policies.settings import WHOSE

TIER = "compact"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The trigger's numbers. `guard` says what keeps it from firing although it is over; empty = nothing."""

    fill: Fill
    reserve: int
    limit: int
    over: bool
    guard: str = ""

    @property
    def due(self) -> bool:
        return self.over and not self.guard


def judge(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> Judgement:
    """The trigger on this buffer. Cheap where usage is reported: looks at the messages behind it only."""
    reports = reports_of(buffer.messages, running, moment)
    border = border_of(buffer.messages, running, moment)
    stale = _is_stale(buffer, border)
    if stale:  # what was reported for an older answer is not about this buffer
        fill = Fill(estimated_tokens(buffer, settings, moment.filed))
    else:
        fill = context_tokens(buffer, reports, settings, border, moment.filed)
    room = reserve(settings, buffer.messages)
    over = should_compact(fill.tokens, settings.context_window, room)
    limit = settings.context_window - room
    aborted = settings.is_code and bool(reports) and reports[-1].finish == "aborted"
    guard = _guard(fill, limit, settings, running, stale, aborted)
    return Judgement(fill, room, limit, over, guard)


def _is_stale(buffer: Buffer, border: str) -> bool:
    """The newest answer is older than the latest compaction."""
    if not border:
        return False
    for message in reversed(buffer.messages):
        if message.id == border:
            return True
        if message.role == "assistant":
            return False
    return False


def _guard(fill: Fill, limit: int, settings: Settings, running: Running, stale: bool, aborted: bool) -> str:
    if not settings.enabled:
        return "switched off"
    if stale:
        return "the newest answer is older than the compaction"
    if aborted:
        return "the newest answer was aborted"
    if settings.safe and not settings.context_window:
        return "the window is unknown"
    if settings.safe and running.open:
        return f"{running.failures} compactions failed in a row"
    if settings.cost_aware and fill.tokens > limit and not _is_worth_it(fill.tokens, limit, settings):
        return "going on costs less than compacting"
    return ""


def _is_worth_it(tokens: int, limit: int, settings: Settings) -> bool:
    def going_on(size: int) -> float:
        return continue_cost(size, settings.keep_recent_tokens, settings.expected_calls)

    return should_compact_by_cost(tokens, limit, compaction_cost, going_on)


def verdict(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> Verdict:
    """The verdict on the one tier that Pi has."""
    found = judge(buffer, settings, running, moment)
    tokens, limit = found.fill.tokens, found.limit
    sum_of = f"({settings.context_window:,} - {found.reserve:,})"
    if found.over:
        why = f"{tokens:,} > {limit:,} {sum_of}: {tokens - limit:,} over"
    else:
        why = f"{tokens:,} <= {limit:,} {sum_of}: {limit - tokens + 1:,} to go"
    notes = [why, _source(found.fill), f"the window is {WHOSE[settings.window_from]}", found.guard]
    if is_clamped(settings, settings.reserve_tokens):
        notes.append(f"a reserve of {settings.reserve_tokens:,} does not fit: a quarter of the window is kept free")
    if found.due and _is_empty(buffer, settings, running, moment):
        notes.append("nothing can be summarised")
    notes.append(f"by the rules of pi {settings.version}")
    due = found.due or bool(moment.overflow)
    return Verdict(TIER, due, " · ".join(filter(None, [moment.overflow, *notes])), tokens, limit)


def _source(fill: Fill) -> str:
    if fill.reported is None:
        return "estimated"
    if not fill.behind:
        return "as reported for the newest answer"
    behind = f"{fill.behind:,} message{'s' * (fill.behind != 1)} behind it"
    if fill.tokens == fill.reported:
        return f"as reported, {behind} not counted"
    return f"{fill.reported:,} reported, {behind} estimated"


def _is_empty(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> bool:
    entries = entries_at(buffer.messages, running, moment, settings.is_newest)
    return prepare(entries, settings.keep_recent_tokens, 0, settings.legacy_start, rules=rules_of(settings)) is None
