"""Would Pulse compact now, and why: with the numbers."""

from inspector.core.buffer import Buffer
from inspector.core.policies.policy import Moment, Verdict
from inspector.core.policies.pulse.compaction import TIER, cut
from inspector.core.policies.pulse.running import Running, begun
from inspector.core.policies.pulse.settings import Settings
from inspector.core.policies.pulse.sites import forced
from inspector.core.policies.pulse.summary import tokens
from inspector.core.policies.pulse.turns import turn_starts
from inspector.core.policies.settings import of_window


def verdict(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> Verdict:
    """The one tier's verdict. Pure."""
    total, limit = tokens(buffer.messages, settings), settings.compact_trigger
    window = settings.context_window_tokens
    share = f"({limit / window:.0%} of {of_window(window, settings.window_from)})"
    compared = f"{total:,} >= {limit:,} {share}" if total >= limit else f"{total:,} < {limit:,} {share}"
    by_force = forced(moment, settings)
    due = total >= limit or by_force
    why = f"{compared}: {total - limit:,} over" if total >= limit else f"{compared}: {limit - total:,} to go"
    if by_force and total < limit:
        why += f" · forced: the last call ended with {moment.finish or 'an overflow'}"
    attempts, most = begun(running, buffer.messages).attempts, settings.max_compaction_attempts
    if attempts >= most:
        why, due = f"{why} · all {most} attempts of this loop are used up", False
    elif not cut(buffer.messages, settings).old:
        turns = len(turn_starts(buffer.messages))
        why, due = f"{why} · nothing older than the {settings.keep_last_turns} turns kept (there are {turns})", False
    return Verdict(TIER, due, why, total, limit)
