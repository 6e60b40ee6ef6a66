"""learn-claude-code v5: micro, auto and manual compaction, and large outputs saved to disk."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from inspector.core.needs import Answer, Conversation
from inspector.core.outcome import Outcome
from inspector.core.policies.harness import Policy
from inspector.core.policies.learn_claude_code import layers
from inspector.core.policies.learn_claude_code.layers import LearnContext
from inspector.core.policies.learn_claude_code.settings import (
    LearnSettings,
    LearnState,
    check_learn_settings,
)
from inspector.core.policies.learn_claude_code.wire import count_list_tokens
from inspector.core.policies.replacements import replace_content
from inspector.core.policies.settings import WHOSE, read_settings, share_of
from inspector.core.policies.turn import AllDone, Done, TurnContext, list_calls
from inspector.core.policies.verdict import (
    BreakerState,
    TierName,
    Verdict,
    Verdicts,
    Watermark,
    compare_to_limit,
)
from inspector.core.words import plural

Turn: TypeAlias = TurnContext[LearnSettings, LearnState]


class LearnClaudeCodePolicy(Policy[LearnSettings, LearnState]):
    """learn-claude-code as a `Policy`. It does not calibrate its estimate with reported usage."""

    name = "learn-claude-code"
    title = "learn-claude-code v5"
    tiers: Sequence[TierName] = (
        TierName(layers.MICRO, "Micro-compaction", "Clears large old outputs of some tools."),
        TierName(
            "auto",
            "Auto compaction",
            "Has a model summarise all; keeps the newest messages.",
            calls_model=True,
        ),
        TierName(
            "manual",
            "Manual /compact",
            "Like auto, when the user asks, with the user's wishes.",
            calls_model=True,
        ),
        TierName(
            layers.SPILL, "Large output", "Saves a very large tool output to disk; a preview stays."
        ),
    )
    settings_type = LearnSettings
    state_type = LearnState

    def settings(
        self, values: Sequence[tuple[str, str]] = (), window: int | None = None
    ) -> LearnSettings:
        """Return the settings. The window is learn-claude-code's own constant, not the model's."""
        return check_learn_settings(read_settings(LearnSettings(), values, window, follows=False))

    def parsed(self, data: Mapping[str, Any]) -> LearnState:
        return super().parsed(data.get("breaker", {}))

    def dump(self, running: LearnState) -> dict[str, Any]:
        return {"breaker": asdict(running)}

    def measure(self, context: LearnContext) -> tuple[int, int]:
        total = count_list_tokens(context.messages)
        return total, total

    def breaker(self, context: LearnContext) -> BreakerState | None:
        """Return the breaker of safe mode; learn-claude-code itself has none."""
        settings, running = context.settings, context.running
        if not settings.safe:
            return None
        return BreakerState(running.open, running.failures, settings.max_summary_failures)

    def watermarks(self, settings: LearnSettings) -> tuple[Watermark, ...]:
        limit = max(0, settings.threshold)
        share = share_of(limit, settings.context_window, settings.window_from)
        return (Watermark(f"{share} auto", tokens=limit, setting="overhead", tiers=("auto",)),)

    def due(self, context: LearnContext) -> Verdicts:
        return (
            _micro(context),
            _auto(context),
            Verdict("manual", due=False, why="only when the user asks for it (/compact)"),
            _spill(context),
        )

    def tier(self, name: str, context: LearnContext) -> Done[LearnState]:
        match name.lower():
            case "micro":
                return layers.clear_large_results(context)
            case "auto" | "manual" as layer:
                return (yield from layers.compact_list(layer, context))
            case "spill":
                return (yield from layers.spill_large_results(context))
        raise self.unknown(name)

    def before_call(self, context: LearnContext) -> AllDone[LearnState]:
        """Move large outputs to disk, micro-compact, and auto-compact if due.

        An overflow makes no difference. The list of a sub-agent is not micro-compacted.
        """
        settings = context.settings
        done: list[Outcome[LearnState]] = []
        if any(layers.is_large(message, settings) for message in context.messages):
            done.append((yield from layers.spill_large_results(context)))
        if not context.moment.agent:
            done.append(layers.clear_large_results(context.after(*done)))
        context = context.after(*done)
        if not context.running.open and layers.is_worth_compacting(context.messages, settings):
            done.append((yield from layers.compact_list("auto", context)))
        return tuple(done)

    def prepare(self, turn: Turn) -> Conversation[str]:
        """Compact. In faithful mode a failed compaction ends the loop, as an exception would."""
        yield from self.compact(turn)
        if turn.now.settings.safe:
            return ""
        return next((outcome.error for outcome in turn.outcomes if outcome.error), "")

    def recover(self, turn: Turn, error: str) -> Conversation[str]:
        """Return the error: learn-claude-code does not recover from an overflow."""
        yield from ()
        return error

    def act(self, turn: Turn, answer: Answer) -> Conversation[None]:
        """Run the tools. Only a preview of a large result enters the list."""
        results = []
        for message in (yield from turn.run_tools(list_calls(answer))):
            if message.result is not None:
                content = yield from layers.handle_tool_output(
                    message.result.content, turn.now.settings
                )
                if content is not message.result.content:
                    message = replace_content(message, content)
            results.append(message)
        turn.add(results)


def _micro(context: LearnContext) -> Verdict:
    settings, agent = context.settings, context.moment.agent
    indices = layers.find_large_results(context.messages, settings)
    if not indices:
        newest = f"the newest {settings.keep_recent}"
        why = f"no compactable tool result over {settings.micro_min_tokens:,} tokens is older than {newest}"
    else:
        why = f"{plural(len(indices), 'old tool result')} can be cleared"
    if agent:
        why += " · a sub-agent's list is only compacted as a whole"
    return Verdict(
        layers.MICRO,
        due=bool(indices) and not agent,
        why=why,
        tokens=layers.count_freed(context.messages, indices),
    )


def _auto(context: LearnContext) -> Verdict:
    settings = context.settings
    running = context.running
    limit = context.settings.threshold
    total, savings = layers.measure_list(context.messages, settings)
    why = compare_to_limit(
        total, limit, f"{settings.context_window:,} − {settings.reserve:,} − {settings.overhead:,}"
    )
    window_note = f" · the window is {WHOSE[settings.window_from]}"
    if total <= limit:
        return Verdict("auto", due=False, why=why + window_note, tokens=total, limit=limit)
    worth = savings >= settings.min_savings
    why += f" · saves {savings:,} {'≥' if worth else '<'} {settings.min_savings:,}"
    if not worth:
        why += ": not worth it"
    elif running.open:
        why += f" · {running.failures} summaries failed in a row: no more are made in this session"
    return Verdict(
        "auto", due=worth and not running.open, why=why + window_note, tokens=total, limit=limit
    )


def _spill(context: LearnContext) -> Verdict:
    limit = context.settings.large_output_tokens
    large = sum(layers.is_large(message, context.settings) for message in context.messages)
    why = f"{plural(large, 'tool result') if large else 'no tool result'} over {limit:,} tokens"
    return Verdict(layers.SPILL, due=bool(large), why=why, limit=limit)


POLICY = LearnClaudeCodePolicy()
