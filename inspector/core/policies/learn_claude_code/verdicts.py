"""Which layer would fire now, and why: with the numbers."""

from inspector.core.buffer import Buffer
from inspector.core.policies.learn_claude_code import micro
from inspector.core.policies.learn_claude_code.order import sizes
from inspector.core.policies.learn_claude_code.running import Running
from inspector.core.policies.learn_claude_code.settings import Settings
from inspector.core.policies.learn_claude_code.spill import TIER as SPILL
from inspector.core.policies.learn_claude_code.spill import is_large
from inspector.core.policies.policy import Moment, Verdict
from inspector.core.policies.settings import WHOSE


def verdicts(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> tuple[Verdict, ...]:
    """micro, auto, manual, spill in that order. Each for the buffer as it stands. Pure."""
    return (
        _micro(buffer, settings, moment),
        _auto(buffer, settings, running),
        Verdict("manual", False, "only when the user asks for it (/compact)"),
        _spill(buffer, settings),
    )


def _micro(buffer: Buffer, settings: Settings, moment: Moment) -> Verdict:
    indices = micro.clearable(buffer.messages, settings)
    freed = micro.freed(buffer.messages, indices)
    if not indices:
        newest = f"the newest {settings.keep_recent}"
        why = f"no compactable tool result over {settings.micro_min_tokens:,} tokens is older than {newest}"
    else:
        why = f"{len(indices):,} old tool result{'s' * (len(indices) != 1)}"
    if moment.agent:
        why += " · the list of a sub-agent is compacted as a whole only"
    return Verdict(micro.TIER, bool(indices) and not moment.agent, why, freed)


def _auto(buffer: Buffer, settings: Settings, running: Running) -> Verdict:
    limit = settings.threshold
    total, savings = sizes(buffer.messages, settings)
    of = f"({settings.context_window:,} - {settings.reserve:,} - {settings.overhead:,})"
    whose = f" · the window is {WHOSE[settings.window_from]}"
    if total <= limit:
        why = f"{total:,} <= {limit:,} {of}: {limit - total + 1:,} to go{whose}"
        return Verdict("auto", False, why, total, limit)
    why = f"{total:,} > {limit:,} {of}: {total - limit:,} over"
    worth = savings >= settings.min_savings
    why += f" · saves {savings:,} {'>=' if worth else '<'} {settings.min_savings:,}"
    if not worth:
        why += ": not worth it"
    elif running.open:
        why += f" · {running.failures} summaries failed in a row: none any more in this session"
    return Verdict("auto", worth and not running.open, why + whose, total, limit)


def _spill(buffer: Buffer, settings: Settings) -> Verdict:
    large = sum(is_large(message, settings) for message in buffer.messages)
    limit = settings.large_output_tokens
    if not large:
        return Verdict(SPILL, False, f"no tool result over {limit:,} tokens", None, limit)
    return Verdict(SPILL, True, f"{large:,} tool result{'s' * (large != 1)} over {limit:,} tokens", None, limit)
