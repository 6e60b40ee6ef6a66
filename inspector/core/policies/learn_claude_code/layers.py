"""The layers of learn-claude-code: micro-compaction, large outputs on disk, and a summary of the whole list.

Micro needs no model, sends no event and is idempotent. Spill runs when a tool returns, before its output enters the
list. Auto and manual save the transcript before they replace anything. If learn-claude-code would raise an exception,
the outcome has an `error` and leaves the list unchanged; the loop then ends in faithful mode and continues in safe
mode.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal, TypeAlias

from inspector.core.calls import used_last
from inspector.core.dialects.anthropic import result_content, wire_groups
from inspector.core.message import Json, Message, Text, ToolResult
from inspector.core.needs import (
    Answer,
    Conversation,
    Failure,
    ReadFile,
    SaveText,
    SaveTranscript,
    Summarize,
)
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.learn_claude_code.settings import LearnSettings, LearnState
from inspector.core.policies.learn_claude_code.wire import (
    Wire,
    carries_result,
    count_list_tokens,
    count_wire_tokens,
    flatten_wires,
    is_plain_user,
    text_tokens,
    wire_role,
)
from inspector.core.policies.replacements import clear_result, inserted, replace_content
from inspector.core.policies.turn import Done

MICRO, SPILL = "micro", "spill"
PLACEHOLDER = "[Output compacted - re-read if needed]"
TOO_LARGE = "Output too large. "
LearnContext: TypeAlias = PolicyContext[LearnSettings, LearnState]
Layer: TypeAlias = Literal["auto", "manual"]
MARKER = "[Conversation compressed]"
ACKNOWLEDGED = "Understood. Continuing with compressed context."
INSTRUCTIONS = (
    "Summarize this conversation chronologically: goals, actions, decisions, current state. "
    "Keep file paths, identifiers, errors and numbers as they are, so that the work can go on from the summary alone."
)
NOT_SAVED, NO_SUMMARY, BLANK = "transcript_not_saved", "provider_failure", "blank_summary"
_PATH_KEYS = ("path", "file_path")
"""Names of the path argument in learn-claude-code's own tools and in Claude Code's."""


def find_large_results(messages: Sequence[Message], settings: LearnSettings) -> list[int]:
    """Return the indices of the results to clear. O(messages).

    These are large text results of compactable tools, except the newest `keep_recent` results of such tools.
    """
    compactable: list[int] = []
    calls: set[str] = set()
    for at, message in enumerate(messages):
        calls.update(call.id for call in message.calls if call.name in settings.compactable_tools)
        if message.result is not None and message.result.call_id in calls:
            compactable.append(at)
    # As in the original: `[:-0]` is empty, so KEEP_RECENT = 0 clears nothing.
    old = compactable[: -settings.keep_recent]
    if settings.safe:
        old = compactable[: max(0, len(compactable) - settings.keep_recent)]
    large = (at for at in old if _size(messages[at]) > settings.micro_min_tokens)
    # Results with blocks or images are not cleared.
    return [at for at in large if isinstance(result_content(messages[at]), str)]


def count_freed(messages: Sequence[Message], indices: Sequence[int]) -> int:
    """Return the tokens that clearing these results frees, counting contents only."""
    return sum(_size(messages[at]) - text_tokens(PLACEHOLDER) for at in indices)


def clear_large_results(context: LearnContext) -> Outcome[LearnState]:
    """Replace the contents of old large results by a placeholder."""
    indices = find_large_results(context.messages, context.settings)
    if not indices:
        return context.unchanged(MICRO)
    messages = list(context.messages)
    for at in indices:
        messages[at] = clear_result(messages[at], PLACEHOLDER)
    changed = {messages[at].id: "cleared" for at in indices}
    after = context.buffer.with_messages(messages)
    return Outcome(MICRO, after, context.running, changed=changed)  # type: ignore[arg-type]


def _size(message: Message) -> int:
    result = message.result
    return text_tokens(result.content) if result is not None else 0


def handle_tool_output(output: str, settings: LearnSettings) -> Conversation[str]:
    """Return a tool's output, or the preview of a large output that is saved to disk.

    If a large output cannot be saved, all but the preview is lost, and the turn continues.
    """
    if text_tokens(output) <= settings.large_output_tokens:
        return output
    try:
        place = f"Saved to: {(yield SaveText(output, 'output')).text}"
    except Failure as failure:
        place = f"It was not saved: {failure}"
    return f"{TOO_LARGE}{place}\nPreview:\n{output[: settings.preview_chars]}..."


def is_large(message: Message, settings: LearnSettings) -> bool:
    """Is the message a text result above the limit that is not a preview? Lists of blocks do not count."""
    result = message.result
    if result is None or result.content.startswith(TOO_LARGE):
        return False
    if not isinstance(result_content(message), str):
        return False
    return text_tokens(result.content) > settings.large_output_tokens


def spill_large_results(context: LearnContext) -> Done[LearnState]:
    """Move every large result of the list to disk, because this harness would not have admitted it to the list."""
    messages = list(context.messages)
    changed: dict[str, FateName] = {}
    for at, message in enumerate(messages):
        result = message.result
        if result is not None and is_large(message, context.settings):
            content = yield from handle_tool_output(result.content, context.settings)
            messages[at] = replace_content(message, content)
            changed[message.id] = "cut"
    if not changed:
        return context.unchanged(SPILL)
    event = Event("output_spilled", {"results": len(changed)})
    return Outcome(
        SPILL,
        buffer=context.buffer.with_messages(messages),
        running=context.running,
        events=(event,),
        changed=changed,
    )


def measure_list(messages: Sequence[Message], settings: LearnSettings) -> tuple[int, int]:
    """Return (tokens of the list, tokens that a compaction would save, which are those of all but the newest)."""
    whole = wire_groups(messages)
    total = count_wire_tokens(whole)
    return total, total - count_wire_tokens(whole[-settings.recent_messages :])


def is_worth_compacting(messages: Sequence[Message], settings: LearnSettings) -> bool:
    """Is the list above the threshold, and would a compaction save at least `min_savings` tokens?"""
    total, savings = measure_list(messages, settings)
    return total > settings.threshold and savings >= settings.min_savings


def compact_list(layer: Layer, context: LearnContext) -> Done[LearnState]:
    """Summarise the list, regardless of the threshold. For an empty list no model is called."""
    messages, settings = context.messages, context.settings
    agent, running = context.moment.agent, context.running
    if not messages:
        return Outcome(layer, context.buffer, running, succeeded=False)
    try:
        name = f"subagent-{agent}" if agent else "transcript"
        path = (yield SaveTranscript(messages, name)).text
    except Failure as failure:
        return _failed(layer, context, NOT_SAVED, str(failure))
    files = yield from restore_files(messages, settings)
    another_failure = context.with_running(running.failed(settings))
    try:
        answer = yield _request(context)
    except Failure as failure:
        return _failed(layer, another_failure, NO_SUMMARY, str(failure))
    if settings.safe and not answer.text.strip():
        return _failed(layer, another_failure, BLANK, "the summary is blank")
    # the summary has the role of the user, so that the system prompt and its cache stay unchanged
    text = f"{MARKER}\n{answer.text}"
    if files:
        text += f"\n\n{files}"
    summary = inserted("learn-claude-code", role="user", text=text, made_from=messages)
    recent, acknowledged = choose_kept(messages, settings)
    acknowledgement = Message(f"{summary.id}-ok", "assistant", (Text(ACKNOWLEDGED),), summary=True)
    after = (summary, acknowledgement, *recent) if acknowledged else (summary, *recent)
    fields: dict[str, Json] = {
        "layer": layer,
        "tokens_before": count_list_tokens(messages),
        "tokens_after": count_list_tokens(after),
        "transcript_path": path,
    }
    stays = {message.id for message in after}
    changed: dict[str, FateName] = {
        message.id: "summarised" for message in messages if message.id not in stays
    }
    return Outcome(
        layer,
        buffer=context.buffer.with_messages(after),
        running=LearnState(),
        events=(Event("compacted", fields),),
        changed=changed,
    )


def _request(context: LearnContext) -> Summarize:
    settings = context.settings
    instructions = INSTRUCTIONS
    wishes = context.moment.instructions.strip()
    if wishes:
        instructions += f"\n\nThe user asks: {wishes}"
    return Summarize(
        instructions,
        write_readable(context.messages, settings),
        max_tokens=settings.summary_max_tokens,
        timeout_s=settings.summary_timeout,
        source=context.messages,
    )


def _failed(layer: Layer, context: LearnContext, error: str, why: str) -> Outcome[LearnState]:
    failures = context.running.failures
    event = Event(
        "compact_failed", {"layer": layer, "error": error, "why": why, "failures": failures}
    )
    return Outcome(
        layer, context.buffer, context.running, events=(event,), succeeded=False, error=error
    )


def write_readable(messages: Sequence[Message], settings: LearnSettings) -> str:
    """Return the messages as text for the summariser, a line for each text and tool result, without calls.

    Each line, and the whole text, is cut to its limit.
    """
    all_lines = chain.from_iterable(_lines(message, settings) for message in messages)
    lines: list[str] = []
    room = settings.summary_total_chars
    for line in all_lines:
        if room <= 0:
            break
        lines.append(line)
        room -= len(line) + 1
    return "\n".join(lines)[: settings.summary_total_chars]


def _lines(message: Message, settings: LearnSettings) -> Iterator[str]:
    for part in message.parts:
        match part:
            case Text(text):
                yield f"[{wire_role(message)}] {text[: settings.summary_message_chars]}"
            case ToolResult():  # a list of blocks is written as Python's repr
                yield f"[tool_result] {str(result_content(message))[: settings.summary_result_chars]}"
            case _:
                pass


def choose_kept(
    messages: Sequence[Message], settings: LearnSettings
) -> tuple[tuple[Message, ...], bool]:
    """Return (messages kept word for word, whether the assistant's acknowledgement precedes them).

    learn-claude-code keeps the last wire messages, whatever they are. If a result would be separated from its call,
    safe mode starts at the nearest earlier plain user message instead, or drops such results if there is none. Safe
    mode also leaves out the acknowledgement before an assistant message.
    """
    whole = wire_groups(messages)
    start = max(0, len(whole) - settings.recent_messages)
    if not settings.safe:
        return (*_pinned(whole, start, settings), *flatten_wires(whole[start:])), True
    recent = flatten_wires(whole[start:])
    orphans = _orphans(recent)
    if orphans:
        earlier = _whole_start(whole, start)
        if earlier is None:
            recent = tuple(message for message in recent if message.id not in orphans)
        else:
            start = earlier
            recent = flatten_wires(whole[earlier:])
    messages_kept = (*_pinned(whole, start, settings), *recent)
    begins_with_answer = bool(messages_kept) and messages_kept[0].role == "assistant"
    return messages_kept, not begins_with_answer


def _whole_start(whole: list[Wire], start: int) -> int | None:
    """Return the index of the last plain user message, up to `start`, after which no result lacks its call; None if
    there is none. O(messages)."""
    waiting: set[str] = set()
    for at in range(len(whole) - 1, -1, -1):
        for message in reversed(whole[at]):
            waiting.difference_update(call.id for call in message.calls)
            if message.result is not None:
                waiting.add(message.result.call_id)
        if at <= start and not waiting and is_plain_user(whole[at]):
            return at
    return None


def _orphans(messages: Sequence[Message]) -> set[str]:
    """Return the ids of messages with a result whose call is not among the earlier messages."""
    calls: set[str] = set()
    orphans: set[str] = set()
    for message in messages:
        calls.update(call.id for call in message.calls)
        if message.result is not None and message.result.call_id not in calls:
            orphans.add(message.id)
    return orphans


def _pinned(whole: list[Wire], start: int, settings: LearnSettings) -> tuple[Message, ...]:
    """Return the newest user message if `pin_last_user` is set and the message would be removed."""
    if not settings.pin_last_user:
        return ()
    prompts = [
        at for at, wire in enumerate(whole) if wire[0].from_user and not carries_result(wire)
    ]
    if not prompts or prompts[-1] >= start:
        return ()
    return whole[prompts[-1]]


def restore_files(messages: Sequence[Message], settings: LearnSettings) -> Conversation[str]:
    """Re-read the most recently used files, up to the limits; return the text to append, empty if none was read."""
    limit = settings.max_restore_tokens_per_file * 4
    results = (message.result for message in messages if message.mark != "placeholder")
    recorded = {
        result.call_id: result.content
        for result in results
        if result is not None and not result.is_error
    }
    texts: list[str] = []
    total = 0
    for path, call in used_last(messages, settings.restore_tools, _PATH_KEYS):
        if len(texts) >= settings.max_restore_files:
            break
        try:
            answer: Answer = yield ReadFile(path, limit, recorded.get(call.id))
        except Failure:
            continue
        content = answer.text[:limit]
        total += text_tokens(content)
        if total > settings.max_restore_tokens_total:
            break
        texts.append(f"[Restored after compact] {path}:\n{content}")
    return "\n\n".join(texts)
