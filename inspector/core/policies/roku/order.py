"""Which tier runs where in Roku's turn, and the way into each (spec 1.4, 1.10)."""

from dataclasses import replace

from inspector.core.buffer import Buffer
from inspector.core.needs import Conversation
from inspector.core.outcome import Event, Outcome
from inspector.core.policies.policy import Moment
from inspector.core.policies.roku.collapse import collapse, remember
from inspector.core.policies.roku.compaction import Path, choose_path, run_compaction
from inspector.core.policies.roku.running import Running, total_tokens
from inspector.core.policies.roku.settings import Settings, is_above


def high_tier(
    buffer: Buffer, settings: Settings, running: Running, moment: Moment
) -> Conversation[tuple[Outcome[Running], ...]]:
    """L3 where it is due."""
    if not is_above(total_tokens(buffer, running), settings.high_watermark):
        return ()
    return ((yield from compact("L3", choose_path(running, moment), buffer, settings, running, moment)),)


def mid_tier(
    buffer: Buffer, settings: Settings, running: Running, moment: Moment
) -> Conversation[tuple[Outcome[Running], ...]]:
    """Where it is due: L2 if a summary is at hand or can be made, else L1."""
    if not is_above(total_tokens(buffer, running), settings.mid_watermark):
        return ()
    if moment.summary.strip() or settings.session_memory == "generate":
        return ((yield from remember(buffer, settings, running, moment)),)
    return (collapse(buffer, settings, running, moment),)


def compact(
    tier: str, path: Path, buffer: Buffer, settings: Settings, running: Running, moment: Moment
) -> Conversation[Outcome[Running]]:
    """L3, with the event that announces it. The outcome names the path that was taken."""
    total = total_tokens(buffer, running)
    sent = (Event("CompactTriggered", {"step": moment.step, "estimated_tokens": total}),)
    name = path if tier == "L3" and path != "mechanical" else tier
    return (yield from run_compaction(name, path, buffer, settings, running, moment, sent))


def react(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> Conversation[Outcome[Running]]:
    """L4: compact without looking at any watermark (spec 1.10)."""
    running = replace(running, detector=running.detector.notify_compaction())
    sent = (Event("ReactiveCompactTriggered", {"step": moment.step, "detail": moment.overflow}),)
    path = choose_path(running, moment)
    return (yield from run_compaction("L4", path, buffer, settings, running, moment, sent))
