"""The layers: micro-compaction, large outputs on disk, and the whole list made into a summary (spec 4.4 to 4.8).

Micro (spec 4.4): no model, no event, idempotent. Spill (spec 4.8): at the moment a tool returns, before its output
enters the list. Auto and manual (spec 4.5 to 4.7): nothing is replaced before the transcript is saved. Where upstream
lets an exception out, the outcome says so in `error` and leaves the list as it was; the loop then ends in faithful mode
and goes on in safe mode.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from inspector.core.calls import used_last
from inspector.core.dialects.anthropic import result_content, wire_groups
from inspector.core.message import Message, Text, ToolResult
from inspector.core.needs import Answer, Conversation, Failure, ReadFile, SaveText, SaveTranscript, Summarize
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.learn_claude_code.settings import LearnSettings, LearnState
from inspector.core.policies.learn_claude_code.wire import (
    Wire,
    carries_result,
    flat,
    is_plain_user,
    list_tokens,
    text_tokens,
    tokens,
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
"""learn-claude-code's own argument, and the one of the client it learned from."""


def clearable(messages: Sequence[Message], settings: LearnSettings) -> list[int]:
    """Indices of the results that would be cleared: large texts among all but the newest compactable. O(messages)."""
    compactable: list[int] = []
    calls: set[str] = set()
    for at, message in enumerate(messages):
        calls.update(call.id for call in message.calls if call.name in settings.compactable_tools)
        if message.result is not None and message.result.call_id in calls:
            compactable.append(at)
    old = compactable[: -settings.keep_recent]  # upstream: `[:-0]` is empty, so KEEP_RECENT = 0 clears nothing
    if settings.safe:
        old = compactable[: max(0, len(compactable) - settings.keep_recent)]
    large = (at for at in old if _size(messages[at]) > settings.micro_min_tokens)
    return [at for at in large if isinstance(result_content(messages[at]), str)]  # blocks, an image: they stay


def freed(messages: Sequence[Message], indices: Sequence[int]) -> int:
    """Tokens that clearing these frees, by their contents alone."""
    return sum(_size(messages[at]) - text_tokens(PLACEHOLDER) for at in indices)


def microcompact(context: LearnContext) -> Outcome[LearnState]:
    """Clear what is clearable. Only contents change."""
    indices = clearable(context.messages, context.settings)
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
    """The output, or where it is large its preview. A disk that fails costs the rest of it, not the turn."""
    if text_tokens(output) <= settings.large_output_tokens:
        return output
    try:
        place = f"Saved to: {(yield SaveText(output, 'output')).text}"
    except Failure as failure:
        place = f"It was not saved: {failure}"
    return f"{TOO_LARGE}{place}\nPreview:\n{output[: settings.preview_chars]}..."


def is_large(message: Message, settings: LearnSettings) -> bool:
    """A text result above the limit, and no preview yet. Upstream's tools return texts: it does not look at a list."""
    result = message.result
    if result is None or not isinstance(result_content(message), str) or result.content.startswith(TOO_LARGE):
        return False
    return text_tokens(result.content) > settings.large_output_tokens


def spill(context: LearnContext) -> Done[LearnState]:
    """Every large result of the list: one that had come through this harness would never have entered it whole."""
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
    return Outcome(SPILL, context.buffer.with_messages(messages), context.running, (event,), changed=changed)


def sizes(messages: Sequence[Message], settings: LearnSettings) -> tuple[int, int]:
    """(tokens of the list, what a compaction would save: all but the newest messages)."""
    whole = wire_groups(messages)
    total = tokens(whole)
    return total, total - tokens(whole[-settings.recent_messages :])


def should_compact(messages: Sequence[Message], settings: LearnSettings) -> bool:
    """Above the threshold, and worth it."""
    total, savings = sizes(messages, settings)
    return total > settings.threshold and savings >= settings.min_savings


def compact(layer: Layer, context: LearnContext) -> Done[LearnState]:
    """Run the layer, whatever the threshold says. An empty list: nothing to compact, nobody is asked."""
    messages, settings = context.messages, context.settings
    agent, running = context.moment.agent, context.running
    if not messages:
        return Outcome(layer, context.buffer, running, succeeded=False)
    try:
        name = f"subagent-{agent}" if agent else "transcript"  # a sub-agent's goes to a file of its own
        path = (yield SaveTranscript(messages, name)).text
    except Failure as failure:
        return _failed(layer, context, NOT_SAVED, str(failure))
    files = yield from restored(messages, settings)
    another_failure = context.with_running(running.failed(settings))
    try:
        answer = yield _request(context)
    except Failure as failure:
        return _failed(layer, another_failure, NO_SUMMARY, str(failure))
    if settings.safe and not answer.text.strip():
        return _failed(layer, another_failure, BLANK, "the summary is blank")
    # the summary in the user's name, so that the system prompt and its cache stay as they are; then what is kept
    text = f"{MARKER}\n{answer.text}" + (f"\n\n{files}" if files else "")
    summary = inserted("learn-claude-code", "user", text, messages)
    recent, acknowledged = kept(messages, settings)
    acknowledgement = Message(f"{summary.id}-ok", "assistant", (Text(ACKNOWLEDGED),), summary=True)
    after = (summary, *([acknowledgement] if acknowledged else ()), *recent)
    event = Event(
        "compacted",
        {
            "layer": layer,
            "tokens_before": list_tokens(messages),
            "tokens_after": list_tokens(after),
            "transcript_path": path,
        },
    )
    stays = {message.id for message in after}
    changed: dict[str, FateName] = {message.id: "summarised" for message in messages if message.id not in stays}
    return Outcome(layer, context.buffer.with_messages(after), LearnState(), (event,), changed=changed)


def _request(context: LearnContext) -> Summarize:
    settings, wishes = context.settings, context.moment.instructions.strip()
    return Summarize(
        f"{INSTRUCTIONS}\n\nThe user asks: {wishes}" if wishes else INSTRUCTIONS,
        readable(context.messages, settings),
        max_tokens=settings.summary_max_tokens,
        timeout_s=settings.summary_timeout,
        source=context.messages,
    )


def _failed(layer: Layer, context: LearnContext, error: str, why: str) -> Outcome[LearnState]:
    failures = context.running.failures
    event = Event("compact_failed", {"layer": layer, "error": error, "why": why, "failures": failures})
    return Outcome(layer, context.buffer, context.running, (event,), succeeded=False, error=error)


def readable(messages: Sequence[Message], settings: LearnSettings) -> str:
    """A line for each text and each tool result, none for a call: so many characters of each, and of all; the end is
    cut off."""
    lines: list[str] = []
    room = settings.summary_total_chars
    for line in (line for message in messages for line in _lines(message, settings)):
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
            case ToolResult():  # a list of blocks as Python writes one
                yield f"[tool_result] {str(result_content(message))[: settings.summary_result_chars]}"
            case _:
                pass


def kept(messages: Sequence[Message], settings: LearnSettings) -> tuple[tuple[Message, ...], bool]:
    """(what stays word for word, whether the assistant's acknowledgement stands before it). Upstream: the last wire
    messages, whatever they are.

    Safe mode begins at the nearest plain user message where a result would be kept without its call; where there is
    none it drops such results. It leaves the acknowledgement out in front of an assistant message.
    """
    whole = wire_groups(messages)
    start = max(0, len(whole) - settings.recent_messages)
    if not settings.safe:
        return (*_pinned(whole, start, settings), *flat(whole[start:])), True
    window = whole[start:]
    if lost := _orphans(flat(window)):
        earlier = _whole_start(whole, start)
        if earlier is None:
            window = wire_groups(message for message in flat(window) if message.id not in lost)
        else:
            start, window = earlier, whole[earlier:]
    stays = (*_pinned(whole, start, settings), *flat(window))
    return stays, not stays or stays[0].role != "assistant"


def _whole_start(whole: list[Wire], start: int) -> int | None:
    """The nearest plain user message at or before `start` from which on no result lacks its call. O(messages)."""
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
    """Ids of messages with a result whose call does not come before."""
    calls: set[str] = set()
    found: set[str] = set()
    for message in messages:
        calls.update(call.id for call in message.calls)
        if message.result is not None and message.result.call_id not in calls:
            found.add(message.id)
    return found


def _pinned(whole: list[Wire], start: int, settings: LearnSettings) -> tuple[Message, ...]:
    """With `pin_last_user`: the newest user message, where it would go."""
    if not settings.pin_last_user:
        return ()
    said = (at for at, wire in enumerate(whole) if wire[0].from_user and not carries_result(wire))
    newest = max(said, default=len(whole))
    return whole[newest] if newest < start else ()


def restored(messages: Sequence[Message], settings: LearnSettings) -> Conversation[str]:
    """The text to append; empty where no file could be read. Asks for one file after the other, until it has enough."""
    limit = settings.max_restore_tokens_per_file * 4
    results = (message.result for message in messages if message.mark != "placeholder")  # not what was cleared since
    recorded = {one.call_id: one.content for one in results if one is not None and not one.is_error}
    found: list[str] = []
    total = 0
    for path, call in used_last(messages, settings.restore_tools, _PATH_KEYS):
        if len(found) >= settings.max_restore_files:
            break
        try:
            answer: Answer = yield ReadFile(path, limit, recorded.get(call.id))
        except Failure:
            continue
        content = answer.text[:limit]
        total += text_tokens(content)
        if total > settings.max_restore_tokens_total:
            break
        found.append(f"[Restored after compact] {path}:\n{content}")
    return "\n\n".join(found)
