"""Anthropic's context editing, strategy `clear_tool_uses_20250919`: the API clears old tool results.

All settings except `mode` are the API's own; `clear_at_least` is compared with an estimate. docs/policies.md says how
the gaps in the API's documentation are filled.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from inspector.core.message import Message, Part, ToolCall
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import (
    CHARACTERS,
    SimplePolicy,
    SimpleSettings,
    SimpleState,
    compared,
    settled,
)
from inspector.core.policies.replacements import PLACEHOLDER, clear_result
from inspector.core.policies.settings import setting
from inspector.core.policies.turn import Done
from inspector.core.policies.verdict import TierName, Verdict, Verdicts, Watermark
from inspector.core.tokens.estimators import buffer_tokens

TIER = "clear"
INPUT_TOKENS, TOOL_USES = 100_000, 30
"""Default thresholds of the trigger. The API documents the tokens, but has no default for tool uses."""


@dataclass(frozen=True, slots=True)
class EditingSettings(SimpleSettings):
    """The fields of the strategy. The API's `trigger.value` is `trigger_value`."""

    trigger: Literal["input_tokens", "tool_uses"] = setting(
        "input_tokens", "what the trigger counts"
    )
    trigger_value: int | None = setting(
        None, f"clears above it; none = {INPUT_TOKENS:,} tokens, {TOOL_USES} uses"
    )
    keep: int = setting(3, "newest tool uses that are left alone", low=0)
    clear_at_least: int = setting(
        0, "tokens that clearing must free at least, since it breaks the cache", low=0
    )
    exclude_tools: tuple[str, ...] = setting((), "tools that are never cleared")
    clear_tool_inputs: bool = setting(False, "clear the arguments of the calls, too")

    @property
    def limit(self) -> int:
        """Return the threshold of the trigger, in tokens or tool uses."""
        if self.trigger_value is not None:
            return self.trigger_value
        return INPUT_TOKENS if self.trigger == "input_tokens" else TOOL_USES


@dataclass(frozen=True, slots=True)
class _Clearing:
    """The effect of clearing: new messages by index, number of tool uses cleared, tokens freed."""

    messages: dict[int, Message]
    uses: int
    freed: int


EditingContext: TypeAlias = PolicyContext[EditingSettings, SimpleState]


class AnthropicEditing(SimplePolicy[EditingSettings]):
    """Anthropic's context editing as a `Policy`. The base class documents the methods."""

    name = "anthropic-editing"
    title = "Anthropic context editing"
    tiers: Sequence[TierName] = (
        TierName(TIER, "Clear tool uses", "Clears all but the newest tool results."),
    )
    settings_type = EditingSettings

    def watermarks(self, settings: EditingSettings) -> tuple[Watermark, ...]:
        if settings.trigger != "input_tokens":
            return ()
        return (
            Watermark(
                f"{settings.limit:,} clear",
                tokens=settings.limit,
                setting="trigger_value",
                tiers=(TIER,),
            ),
        )

    def due(self, context: EditingContext) -> Verdicts:
        settings, messages = context.settings, context.messages
        by_tokens = settings.trigger == "input_tokens"
        count = self.tokens(context) if by_tokens else len(_results(messages))
        is_above = count > settings.limit
        is_reached = is_above or bool(context.moment.overflow)
        why = compared(
            count,
            settings.limit,
            of=settings.trigger.replace("_", " "),
            reached=is_above,
            above=True,
        )
        clearing = _plan_clearing(messages, settings)
        if not clearing.uses:
            why += " · nothing can be cleared"
        elif clearing.freed < settings.clear_at_least:
            why += f" · frees {clearing.freed:,}, less than {settings.clear_at_least:,}"
        else:
            why += f" · clears {clearing.uses:,}, frees {clearing.freed:,}"
        is_worth = bool(clearing.uses) and clearing.freed >= settings.clear_at_least
        return (
            Verdict(TIER, due=is_reached and is_worth, why=why, tokens=count, limit=settings.limit),
        )

    def tier(self, name: str, context: EditingContext) -> Done[SimpleState]:
        yield from ()
        if name.lower() != TIER:
            raise self.unknown(name)
        return _clear(context, _plan_clearing(context.messages, context.settings))


def _results(messages: Sequence[Message]) -> list[int]:
    """Return the indices of messages with results that have not been cleared."""
    return [at for at, message in enumerate(messages) if _holds_result(message)]


def _holds_result(message: Message) -> bool:
    if message.role != "tool" or message.mark == "placeholder":
        return False
    return message.result is not None and message.result.content != PLACEHOLDER


def _plan_clearing(messages: Sequence[Message], settings: EditingSettings) -> _Clearing:
    """Plan to clear all results but the newest, and with `clear_tool_inputs` also the arguments of their calls."""
    results = _results(messages)
    old = results[: max(0, len(results) - settings.keep)]
    spared: set[str] = set()
    if old and settings.exclude_tools:
        spared = {
            call.id
            for message in messages
            for call in message.calls
            if call.name in settings.exclude_tools
        }
    new: dict[int, Message] = {}
    ids = set[str]()
    for at in old:
        result = messages[at].result
        assert result is not None
        if result.call_id not in spared:
            new[at] = clear_result(messages[at])
            ids.add(result.call_id)
    if settings.clear_tool_inputs:
        new |= _clear_arguments(messages, ids)
    before = buffer_tokens(CHARACTERS, (messages[at] for at in new))
    return _Clearing(new, len(ids), max(0, before - buffer_tokens(CHARACTERS, new.values())))


def _clear_arguments(messages: Sequence[Message], ids: set[str]) -> dict[int, Message]:
    """Return the messages with these calls, without the calls' arguments, by index."""
    cleared: dict[int, Message] = {}
    for at, message in enumerate(messages):
        if any(call.id in ids for call in message.calls):
            parts = (_without_arguments(part, ids) for part in message.parts)
            cleared[at] = replace(message, parts=tuple(parts))
    return cleared


def _without_arguments(part: Part, ids: set[str]) -> Part:
    return replace(part, arguments={}) if isinstance(part, ToolCall) and part.id in ids else part


def _clear(context: EditingContext, clearing: _Clearing) -> Outcome[SimpleState]:
    if not clearing.messages:
        return context.unchanged(TIER)
    messages = list(context.messages)
    for at, message in clearing.messages.items():
        messages[at] = message
    changed: dict[str, FateName] = {context.messages[at].id: "cleared" for at in clearing.messages}
    fields = {"cleared_tool_uses": clearing.uses, "cleared_input_tokens": clearing.freed}
    events = (Event("clear_tool_uses_20250919", fields),)
    return settled(TIER, context, context.buffer.with_messages(messages), events, changed)


POLICY = AnthropicEditing()
