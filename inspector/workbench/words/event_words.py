"""Explain the events of the harnesses, in a sentence each.

Events keep the names and fields that their harness gives them; these sentences are shown beside them for readers who do
not know the harness. An event of a policy that the user added has no sentence here.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from inspector.core.message import Json
from inspector.core.outcome import Event
from inspector.core.words import plural

Fields: TypeAlias = Mapping[str, Json]


def event_words(event: Event) -> str:
    """Explain an event in one sentence; empty for an unknown event."""
    describe = _SENTENCES.get(event.name)
    return describe(event.fields) if describe is not None else ""


def _number(fields: Fields, name: str) -> int:
    value = fields.get(name)
    return value if isinstance(value, int) else 0


def _tokens(fields: Fields, name: str) -> str:
    return plural(_number(fields, name), "token")


def _messages(fields: Fields, name: str) -> str:
    return plural(_number(fields, name), "message")


def _summarizer_called(fields: Fields) -> str:
    ended = "succeeded" if fields.get("succeeded") else "failed"
    retries = _number(fields, "drop_oldest_retries")
    again = f" after {plural(retries, 'retry', 'retries')} with fewer messages" if retries else ""
    read = _tokens(fields, "prompt_tokens")
    written = _number(fields, "output_tokens")
    usage = f" ({read} in, {written:,} out)" if written else ""
    return f"The model call for the summary {ended}{again}{usage}."


def _compact_complete(fields: Fields) -> str:
    source = (
        "with the model's summary" if fields.get("llm_succeeded") else "without a model's summary"
    )
    return f"The compaction ended {source}."


def _calibrated(fields: Fields) -> str:
    estimated = _number(fields, "estimated_prompt_tokens")
    reported = _number(fields, "prompt_tokens")
    return f"The estimate of {estimated:,} was compared with the {reported:,} tokens that the provider reported."


def _tool_budget(fields: Fields) -> str:
    over = "more" if fields.get("exceeded") else "no more"
    return f"The tool results of this turn took {_tokens(fields, 'per_turn_tool_tokens')}: {over} than the budget."


def _cache_break(fields: Fields) -> str:
    changed = fields.get("component_changed")
    why = f" because this changed: {changed}" if changed else ""
    return f"The provider's cache lost {_tokens(fields, 'tokens_lost')}{why}."


def _pi_ended(fields: Fields) -> str:
    if error := fields.get("errorMessage"):
        return f"The compaction failed: {error}"
    if fields.get("aborted"):
        return "An extension prevented the compaction."
    if fields.get("result") is not None:
        return "The compaction ended."
    return "There was nothing to compact."


def _pi_before(fields: Fields) -> str:
    preparation = fields.get("preparation")
    count = preparation.get("messagesToSummarize") if isinstance(preparation, Mapping) else 0
    many = plural(count if isinstance(count, int) else 0, "message")
    return f"{many} of a context of {_tokens(fields, 'contextTokens')} will be summarised; an extension may step in."


def _gemini(fields: Fields) -> str:
    sizes = f"{_number(fields, 'tokens_before'):,} to {_number(fields, 'tokens_after'):,} tokens"
    match fields.get("status"):
        case "COMPRESSED":
            return f"The history was compressed from {sizes}."
        case "CONTENT_TRUNCATED":
            return f"{plural(_number(fields, 'responses'), 'tool response')} shortened."
        case "COMPRESSION_FAILED_INFLATED_TOKEN_COUNT":
            return (
                f"The compression was discarded, because the history would have grown from {sizes}."
            )
        case "COMPRESSION_FAILED_EMPTY_SUMMARY":
            return "The compression failed: the model returned an empty summary."
        case _:
            return "The compression failed."


def _learn_failed(fields: Fields) -> str:
    why = str(fields.get("why") or "unknown reason").rstrip(".")
    return (
        f"The compaction failed ({why}); {plural(_number(fields, 'failures'), 'failure')} in a row."
    )


def _pulse(fields: Fields) -> str:
    why = fields.get("why")
    without = f" without a model's summary ({why})" if why else ""
    before, after = _number(fields, "tokens_before"), _tokens(fields, "tokens_after")
    return f"The history was compacted from {before:,} to {after}{without}."


_SENTENCES: Mapping[str, Callable[[Fields], str]] = {
    # Roku
    "MicrocompactRan": lambda fields: (
        f"Old tool results were cleared, which freed {_tokens(fields, 'freed_tokens')}."
    ),
    "MidCompactLayer1Ran": lambda fields: (
        f"A mechanical digest replaced {_messages(fields, 'messages_collapsed')}; no model was called."
    ),
    "MidCompactLayer2Ran": lambda fields: (
        f"The summary of the session memory replaced {_messages(fields, 'messages_replaced')}."
    ),
    "CompactTriggered": lambda fields: (
        f"A compaction began at {_tokens(fields, 'estimated_tokens')} by the policy's own count."
    ),
    "ReactiveCompactTriggered": lambda fields: (
        f"A compaction began because the model refused the buffer: {fields.get('detail') or 'too long'}."
    ),
    "ReasoningContentStripped": lambda fields: (
        f"Thinking was removed from {_messages(fields, 'messages_stripped')} before they were summarised."
    ),
    "AutoCompactSummarizerCalled": _summarizer_called,
    "AutoCompactCircuitBreakerTripped": lambda fields: (
        f"The circuit breaker opened after {plural(_number(fields, 'consecutive_failures'), 'failure')} in a row: "
        "no more model calls for summaries."
    ),
    "CompactComplete": _compact_complete,
    "EstimatorCalibrated": _calibrated,
    "ToolBudgetCheck": _tool_budget,
    "OutputSlotEscalated": lambda fields: (
        f"The answer was cut off, so the harness asked again and allowed {_tokens(fields, 'escalated_max_tokens')}."
    ),
    "OutputSlotEscalationUnsupported": lambda fields: (
        "The answer was cut off; this provider does not let its clients ask for a longer answer."
    ),
    "CacheBreakDetected": _cache_break,
    # pi
    "auto_compaction_start": lambda fields: f"A compaction began (reason: {fields.get('reason')}).",
    "session_before_compact": _pi_before,
    "session_compact": lambda fields: "A summary was added to the session.",
    "auto_compaction_end": _pi_ended,
    "message_added": lambda fields: f"A message with the role {fields.get('role')} was added.",
    # Claude Code, Anthropic context editing
    "microcompact_boundary": lambda fields: (
        f"{plural(_number(fields, 'cleared'), 'old tool result')} cleared, which freed "
        f"{_tokens(fields, 'tokensSaved')}."
    ),
    "compact_boundary": lambda fields: (
        f"The conversation was replaced by a summary at {_tokens(fields, 'preTokens')}; "
        f"{plural(_number(fields, 'files'), 'file')} re-attached."
    ),
    "clear_tool_uses_20250919": lambda fields: (
        f"The API cleared {plural(_number(fields, 'cleared_tool_uses'), 'tool use')}, which freed "
        f"{_tokens(fields, 'cleared_input_tokens')}."
    ),
    # Codex
    "ContextCompacted": lambda fields: (
        f"The history was compacted; {_messages(fields, 'trimmed_items')} were left out of the summary call."
    ),
    "Warning": lambda fields: (
        "Codex warns its user that long conversations make the model less accurate."
    ),
    # Gemini CLI, opencode, learn-claude-code, Pulse
    "ChatCompressed": _gemini,
    "pruned": lambda fields: f"{plural(_number(fields, 'count'), 'old tool result')} cleared.",
    "session.compacted": lambda fields: (
        f"The session was compacted; the last {_messages(fields, 'tail_messages')} were kept."
    ),
    "output_spilled": lambda fields: (
        f"{plural(_number(fields, 'results'), 'large tool result')} moved to disk, with a preview left behind."
    ),
    "compacted": lambda fields: (
        f"The history was compacted from {_number(fields, 'tokens_before'):,} to {_tokens(fields, 'tokens_after')}."
    ),
    "compact_failed": _learn_failed,
    "Compacted": _pulse,
    # the workbench itself
    "BufferRepaired": lambda fields: (
        f"{plural(_number(fields, 'dropped_results'), 'result')} without a call removed, "
        f"{plural(_number(fields, 'answered_calls'), 'call')} without a result answered."
    ),
    "MessageInserted": lambda fields: "You inserted a message.",
    "MessageEdited": lambda fields: "You edited a message.",
    "MessagesDropped": lambda fields: f"You removed {_messages(fields, 'messages')}.",
}
