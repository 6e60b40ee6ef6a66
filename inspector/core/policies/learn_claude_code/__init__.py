"""learn-claude-code v5: micro, auto and manual compaction, large outputs on disk (spec section 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.needs import Answer, Conversation
from inspector.core.outcome import Outcome
from inspector.core.policies.harness import Policy
from inspector.core.policies.learn_claude_code import layers
from inspector.core.policies.learn_claude_code.settings import LearnSettings, LearnState, checked
from inspector.core.policies.learn_claude_code.wire import list_tokens
from inspector.core.policies.replacements import with_content
from inspector.core.policies.settings import WHOSE, read, share_of
from inspector.core.policies.turn import AllDone, Done, TurnContext, calls_of
from inspector.core.policies.verdict import BreakerState, PolicyInput, TierName, Verdict, Verdicts, Watermark, measured
from inspector.core.words import plural

Context = TurnContext[LearnState]


class LearnClaudeCodePolicy(Policy[LearnSettings, LearnState]):
    """See `Policy`. Its estimate is never compared with what the provider reports."""

    name = "learn-claude-code"
    title = "learn-claude-code v5"
    tiers: Sequence[TierName] = (
        TierName(layers.MICRO, "Micro-compaction", "Clears large old outputs of some tools."),
        TierName("auto", "Auto compaction", "Has a model summarise all; keeps the newest messages.", calls_model=True),
        TierName("manual", "Manual /compact", "As auto, when the user asks, with their wishes.", calls_model=True),
        TierName(layers.SPILL, "Large output", "Saves a very large tool output to disk; a preview stays."),
    )
    settings_type = LearnSettings
    state_type = LearnState

    def settings(self, values: Sequence[tuple[str, str]] = (), window: int | None = None) -> LearnSettings:
        """The window is its own constant, whatever the model's is."""
        return checked(read(LearnSettings(), values, window, follows=False))

    def parsed(self, data: Mapping[str, Any]) -> LearnState:
        return super().parsed(data.get("breaker", {}))

    def dump(self, running: LearnState) -> dict[str, Any]:
        return {"breaker": asdict(running)}

    def measure(self, buffer: Buffer, settings: LearnSettings, running: LearnState) -> tuple[int, int]:
        total = list_tokens(buffer.messages)
        return total, total

    def breaker(self, settings: LearnSettings, running: LearnState) -> BreakerState | None:
        """Safe mode's only: upstream has none."""
        if not settings.safe:
            return None
        return BreakerState(running.open, running.failures, settings.max_summary_failures)

    def watermarks(self, settings: LearnSettings) -> tuple[Watermark, ...]:
        limit = max(0, settings.threshold)
        share = share_of(limit, settings.context_window, settings.window_from)
        return (Watermark(f"{share} auto", limit, "overhead", ("auto",)),)

    def due(self, buffer: Buffer, settings: LearnSettings, running: LearnState, moment: PolicyInput) -> Verdicts:
        return (
            _micro(buffer, settings, moment),
            _auto(buffer, settings, running),
            Verdict("manual", False, "only when the user asks for it (/compact)"),
            _spill(buffer, settings),
        )

    def tier(
        self, name: str, buffer: Buffer, settings: LearnSettings, running: LearnState, moment: PolicyInput
    ) -> Done[LearnState]:
        match name.lower():
            case "micro":
                return layers.microcompact(buffer, settings, running)
            case "auto" | "manual" as layer:
                return (yield from layers.compact(layer, buffer, settings, running, moment))
            case "spill":
                return (yield from layers.spill(buffer, settings, running))
        raise self.unknown(name)

    def before_call(
        self, buffer: Buffer, settings: LearnSettings, running: LearnState, moment: PolicyInput
    ) -> AllDone[LearnState]:
        """Large outputs that came in, micro-compaction, auto compaction where it is due. A refusal of the buffer
        changes nothing. A sub-agent's list is only ever compacted as a whole."""
        done: list[Outcome[LearnState]] = []
        if any(layers.is_large(message, settings) for message in buffer.messages):
            done.append((yield from layers.spill(buffer, settings, running)))
            buffer = done[-1].buffer
        if not moment.agent:
            done.append(layers.microcompact(buffer, settings, running))
            buffer = done[-1].buffer
        if not running.open and layers.should_compact(buffer.messages, settings):
            done.append((yield from layers.compact("auto", buffer, settings, running, moment)))
        return tuple(done)

    def prepare(self, turn: Context, settings: LearnSettings, moment: PolicyInput) -> Conversation[str]:
        """In faithful mode a failed compaction ends the loop, as an exception would."""
        yield from self.compact(turn, settings, moment)
        return "" if settings.safe else next((one.error for one in turn.outcomes if one.error), "")

    def recover(self, turn: Context, settings: LearnSettings, moment: PolicyInput, error: str) -> Conversation[str]:
        """There is no way out of an overflow."""
        yield from ()
        return error

    def act(self, turn: Context, settings: LearnSettings, moment: PolicyInput, answer: Answer) -> Conversation[None]:
        """Of large results only a preview enters the list."""
        found = []
        for message in (yield from turn.run_tools(calls_of(answer))):
            if message.result is not None:
                content = yield from layers.handle_tool_output(message.result.content, settings)
                if content is not message.result.content:
                    message = with_content(message, content)
            found.append(message)
        turn.add(found)


def _micro(buffer: Buffer, settings: LearnSettings, moment: PolicyInput) -> Verdict:
    indices = layers.clearable(buffer.messages, settings)
    if not indices:
        newest = f"the newest {settings.keep_recent}"
        why = f"no compactable tool result over {settings.micro_min_tokens:,} tokens is older than {newest}"
    else:
        why = plural(len(indices), "old tool result")
    if moment.agent:
        why += " · the list of a sub-agent is compacted as a whole only"
    return Verdict(layers.MICRO, bool(indices) and not moment.agent, why, layers.freed(buffer.messages, indices))


def _auto(buffer: Buffer, settings: LearnSettings, running: LearnState) -> Verdict:
    limit = settings.threshold
    total, savings = layers.sizes(buffer.messages, settings)
    why = measured(total, limit, f"{settings.context_window:,} − {settings.reserve:,} − {settings.overhead:,}")
    whose = f" · the window is {WHOSE[settings.window_from]}"
    if total <= limit:
        return Verdict("auto", False, why + whose, total, limit)
    worth = savings >= settings.min_savings
    why += f" · saves {savings:,} {'≥' if worth else '<'} {settings.min_savings:,}"
    if not worth:
        why += ": not worth it"
    elif running.open:
        why += f" · {running.failures} summaries failed in a row: none any more in this session"
    return Verdict("auto", worth and not running.open, why + whose, total, limit)


def _spill(buffer: Buffer, settings: LearnSettings) -> Verdict:
    large, limit = sum(layers.is_large(message, settings) for message in buffer.messages), settings.large_output_tokens
    why = f"{plural(large, 'tool result') if large else 'no tool result'} over {limit:,} tokens"
    return Verdict(layers.SPILL, bool(large), why, None, limit)


POLICY = LearnClaudeCodePolicy()
