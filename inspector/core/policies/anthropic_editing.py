"""Anthropic's context editing, strategy `clear_tool_uses_20250919`: the API clears old tool results.

The settings but for `mode` are the API's own; `clear_at_least` is compared with an estimate. docs/policies.md says what
is done where the API's documentation leaves something open.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from inspector.core.message import Message, ToolCall
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import CHARACTERS, SimplePolicy, SimpleSettings, SimpleState, compared, settled
from inspector.core.policies.replacements import PLACEHOLDER, clear_result
from inspector.core.policies.settings import setting
from inspector.core.policies.turn import Done
from inspector.core.policies.verdict import TierName, Verdict, Verdicts, Watermark
from inspector.core.tokens.estimators import buffer_tokens

TIER = "clear"
INPUT_TOKENS, TOOL_USES = 100_000, 30
"""Where the trigger lies by default. Tokens: the API's; tool uses: ours, the API has none."""


@dataclass(frozen=True, slots=True)
class EditingSettings(SimpleSettings):
    """The strategy's fields. `trigger.value` is `trigger_value` here."""

    trigger: Literal["input_tokens", "tool_uses"] = setting("input_tokens", "what the trigger looks at")
    trigger_value: int | None = setting(None, f"clears above it; none = {INPUT_TOKENS:,} tokens, {TOOL_USES} uses")
    keep: int = setting(3, "newest tool uses that are left alone", low=0)
    clear_at_least: int = setting(0, "tokens that clearing must free to be worth a broken cache", low=0)
    exclude_tools: tuple[str, ...] = setting((), "tools that are never cleared")
    clear_tool_inputs: bool = setting(False, "clear the arguments of the calls, too")

    @property
    def limit(self) -> int:
        """Tokens or tool uses."""
        if self.trigger_value is not None:
            return self.trigger_value
        return INPUT_TOKENS if self.trigger == "input_tokens" else TOOL_USES


@dataclass(frozen=True, slots=True)
class _Clearing:
    """What clearing would do: the new messages by their place, and the tokens it frees."""

    messages: dict[int, Message]
    uses: int
    freed: int


EditingContext: TypeAlias = PolicyContext[EditingSettings, SimpleState]


class AnthropicEditing(SimplePolicy[EditingSettings]):
    """See `core.policies.harness.Policy`."""

    name = "anthropic-editing"
    title = "Anthropic context editing"
    tiers: Sequence[TierName] = (TierName(TIER, "Clear tool uses", "Clears all but the newest tool results."),)
    settings_type = EditingSettings

    def watermarks(self, settings: EditingSettings) -> tuple[Watermark, ...]:
        if settings.trigger != "input_tokens":
            return ()
        return (Watermark(f"{settings.limit:,} clear", settings.limit, "trigger_value", (TIER,)),)

    def due(self, context: EditingContext) -> Verdicts:
        settings, messages = context.settings, context.messages
        by_tokens = settings.trigger == "input_tokens"
        seen = self.tokens(context) if by_tokens else len(_results(messages))
        reached = seen > settings.limit or bool(context.moment.overflow)
        why = compared(seen, settings.limit, settings.trigger.replace("_", " "), seen > settings.limit, above=True)
        clearing = _clearable(messages, settings)
        if not clearing.uses:
            why += " · nothing can be cleared"
        elif clearing.freed < settings.clear_at_least:
            why += f" · frees {clearing.freed:,}, less than {settings.clear_at_least:,}"
        else:
            why += f" · clears {clearing.uses:,}, frees {clearing.freed:,}"
        worth = bool(clearing.uses) and clearing.freed >= settings.clear_at_least
        return (Verdict(TIER, reached and worth, why, seen, settings.limit),)

    def tier(self, name: str, context: EditingContext) -> Done[SimpleState]:
        yield from ()
        if name.lower() != TIER:
            raise self.unknown(name)
        return _clear(context, _clearable(context.messages, context.settings))


def _results(messages: Sequence[Message]) -> list[int]:
    """Places of results that still hold what the tool said."""
    return [
        at
        for at, message in enumerate(messages)
        if message.role == "tool"
        and message.mark != "placeholder"  # the quick answer
        and (found := message.result)
        and found.content != PLACEHOLDER
    ]


def _clearable(messages: Sequence[Message], settings: EditingSettings) -> _Clearing:
    old = _results(messages)
    old = old[: max(0, len(old) - settings.keep)]
    excluded = settings.exclude_tools
    spared = {call.id for m in messages for call in m.calls if call.name in excluded} if old and excluded else ()
    new: dict[int, Message] = {}
    ids = set[str]()
    for at in old:
        result = messages[at].result
        assert result is not None
        if result.call_id not in spared:
            new[at] = clear_result(messages[at])
            ids.add(result.call_id)
    if settings.clear_tool_inputs and ids:
        for at, one in enumerate(messages):
            if any(call.id in ids for call in one.calls):
                bare = (replace(p, arguments={}) if isinstance(p, ToolCall) and p.id in ids else p for p in one.parts)
                new[at] = replace(one, parts=tuple(bare))
    before = buffer_tokens(CHARACTERS, (messages[at] for at in new))
    return _Clearing(new, len(ids), max(0, before - buffer_tokens(CHARACTERS, new.values())))


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
