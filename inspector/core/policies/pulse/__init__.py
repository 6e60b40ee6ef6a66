"""Pulse Coder: one tier, summary of all but the newest user turns (spec section 2)."""

from collections.abc import Sequence
from dataclasses import replace

from inspector.core.buffer import Buffer
from inspector.core.message import ToolCall
from inspector.core.needs import Answer, Conversation
from inspector.core.outcome import Outcome
from inspector.core.policies.harness import Policy
from inspector.core.policies.pulse.compaction import (
    TIER,
    attempt,
    compact,
    forced,
    is_trouble,
    split,
    tokens,
    turn_starts,
)
from inspector.core.policies.pulse.settings import PulseSettings, PulseState, read
from inspector.core.policies.replacements import without
from inspector.core.policies.settings import of_window, share_of
from inspector.core.policies.turn import AllDone, Done, TurnContext
from inspector.core.policies.verdict import PolicyInput, TierName, Verdict, Verdicts, Watermark, measured
from inspector.core.words import per_cent

Context = TurnContext[PulseState]


class PulsePolicy(Policy[PulseSettings, PulseState]):
    """See `Policy`. It never looks at what the provider reports."""

    name = "pulse"
    title = "Pulse Coder"
    tiers: Sequence[TierName] = (
        TierName(TIER, "Compact", "Has a model summarise all but the newest user turns.", calls_model=True),
    )
    settings_type = PulseSettings
    state_type = PulseState

    def settings(self, values: Sequence[tuple[str, str]] = (), window: int | None = None) -> PulseSettings:
        return read(values, window)

    def measure(self, buffer: Buffer, settings: PulseSettings, running: PulseState) -> tuple[int, int]:
        total = tokens(buffer.messages, settings)
        return total, total

    def watermarks(self, settings: PulseSettings) -> tuple[Watermark, ...]:
        limit = settings.compact_trigger
        share = share_of(limit, settings.context_window_tokens, settings.window_from)
        return (Watermark(f"{share} compact", limit, "compact_trigger", (TIER,), fires_on=True),)

    def due(self, buffer: Buffer, settings: PulseSettings, running: PulseState, moment: PolicyInput) -> Verdicts:
        total, limit = tokens(buffer.messages, settings), settings.compact_trigger
        window = settings.context_window_tokens
        share = f"{per_cent(limit / window)} of {of_window(window, settings.window_from)}"
        why = measured(total, limit, share, fires_on=True)
        by_force = forced(moment, settings)
        due = total >= limit or by_force
        if by_force and total < limit:
            why += f" · forced: the last call ended with {moment.finish or 'an overflow'}"
        most = settings.max_compaction_attempts
        if running.at(buffer.messages).attempts >= most:
            why, due = f"{why} · all {most} attempts of this loop are used up", False
        elif not split(buffer.messages, settings).old:
            turns = len(turn_starts(buffer.messages))
            why += f" · nothing older than the {settings.keep_last_turns} turns kept (there are {turns})"
            due = False
        return (Verdict(TIER, due, why, total, limit),)

    def tier(
        self, name: str, buffer: Buffer, settings: PulseSettings, running: PulseState, moment: PolicyInput
    ) -> Done[PulseState]:
        """Forced, by hand: it costs no attempt of the loop."""
        if name.lower() != TIER:
            raise self.unknown(name)
        return (yield from compact(buffer, settings, running, "forced"))

    def before_call(
        self, buffer: Buffer, settings: PulseSettings, running: PulseState, moment: PolicyInput
    ) -> AllDone[PulseState]:
        """The way from the end of one model call to the next: forced where that one ended with `length`
        (`moment.finish`), then while it is due."""
        running = running.at(buffer.messages)
        done: tuple[Outcome[PulseState], ...] = ()
        if forced(moment, settings):
            done = yield from attempt(buffer, settings, running, "length-retry")
        while True:
            last = done[-1] if done else Outcome(TIER, buffer, running)
            more = yield from attempt(last.buffer, settings, last.running, "pre-loop")
            if not more:
                return done
            done += more

    def recover(self, turn: Context, settings: PulseSettings, moment: PolicyInput, error: str) -> Conversation[str]:
        """Safe mode treats a refusal like `length`; upstream fails."""
        if settings.safe:
            done = len(turn.outcomes)
            yield from self.compact(turn, settings, replace(moment, overflow=error))
            return error if len(turn.outcomes) == done else ""
        return error

    def accept(
        self, turn: Context, settings: PulseSettings, moment: PolicyInput, answer: Answer
    ) -> Conversation[Answer | None]:
        """After an answer that was cut off it compacts and asks again, while it may. Nobody runs such an answer's
        calls."""
        if not is_trouble(answer.finish, answer.usage, settings):
            turn.add(answer.messages)
            return answer
        cut_off = replace(answer, messages=without(answer.messages, lambda part: isinstance(part, ToolCall)))
        turn.add(cut_off.messages)
        done = len(turn.outcomes)
        yield from self.compact(turn, settings, replace(moment, usage=answer.usage, finish=answer.finish))
        if len(turn.outcomes) > done:
            return None
        said = "\n".join(message.text for message in cut_off.messages)
        return replace(cut_off, text=said or "Context limit reached.")


POLICY = PulsePolicy()
