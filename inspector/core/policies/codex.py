"""Codex's local compaction (`compact.rs`): a summary, and the newest user messages word for word.

docs/policies.md says how the gaps in its source are filled. In addition: *initial context* means system messages and
messages that the client wrote with the role of the user; several blocks of a user's text become one; the wording of the
summary request is this project's own, the prefix of the summary is Codex's; its effective window of 95% only changes
the percentage that Codex shows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from inspector.core.message import Message, Opaque, Text
from inspector.core.needs import Answer, ContextWindowExceeded, Conversation, Failure, Summarize
from inspector.core.outcome import Event, FateName
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import (
    SimplePolicy,
    SimpleSettings,
    SimpleState,
    failed,
    settled,
)
from inspector.core.policies.replacements import inserted
from inspector.core.policies.settings import setting
from inspector.core.policies.turn import Done
from inspector.core.policies.verdict import TierName, Verdicts, Watermark
from inspector.core.rounding import divide_up
from inspector.core.tokens.harnesses import utf8_length
from inspector.core.words import per_cent

TIER = "compact"
AUTO_SHARE = 0.9
PREFIX = (
    "Another language model started to solve this problem and produced a summary of its thinking process. You also "
    "have access to the state of the tools that were used by that language model. Use this to build on the work that "
    "has already been done and avoid duplicating work. Here is the summary produced by the other language model, use "
    "the information in this summary to assist with your own analysis:"
)
REQUEST = (
    "You are making a checkpoint of this conversation: another model will go on from your summary alone. Say what has "
    "been done and decided, which constraints and wishes of the user hold, what is left to do as clear next steps, and "
    "every name, path, number or example that is needed to go on. Be brief and orderly."
)
WARNING = {"message": "Long conversations and repeated compactions make the model less accurate."}
SNAPSHOT = "ghost_snapshot"


@dataclass(frozen=True, slots=True)
class CodexSettings(SimpleSettings):
    """Codex's settings and their defaults."""

    model_auto_compact_token_limit: int | None = setting(
        None,
        "tokens at which it compacts; never more than 90% of the window",
        names=["auto_limit"],
        low=1,
    )
    user_message_tokens: int = setting(
        20_000, "tokens of the newest user messages kept unchanged", low=0
    )

    @property
    def limit(self) -> int:
        """Return the tokens at which Codex compacts: the user's limit, but at most 90% of the window."""
        most = int(self.context_window_tokens * AUTO_SHARE)
        if self.model_auto_compact_token_limit is None:
            return most
        return min(most, self.model_auto_compact_token_limit)


CodexContext: TypeAlias = PolicyContext[CodexSettings, SimpleState]


class CodexPolicy(SimplePolicy[CodexSettings]):
    """Codex's local compaction as a `Policy`. The base class documents the methods."""

    name = "codex"
    title = "Codex (local)"
    tiers: Sequence[TierName] = (
        TierName(
            TIER,
            "Compact",
            "A summary and the newest user messages are all that stays.",
            calls_model=True,
        ),
    )
    settings_type = CodexSettings
    estimates_after_compaction = True

    def watermarks(self, settings: CodexSettings) -> tuple[Watermark, ...]:
        share = settings.limit / settings.context_window_tokens
        label = f"{per_cent(share)} compact"
        setting = "model_auto_compact_token_limit"
        return (
            Watermark(label, tokens=settings.limit, setting=setting, tiers=(TIER,), fires_on=True),
        )

    def due(self, context: CodexContext) -> Verdicts:
        return (self.from_limit(TIER, context.settings.limit, self.tokens(context), context),)

    def tier(self, name: str, context: CodexContext) -> Done[SimpleState]:
        if name.lower() != TIER:
            raise self.unknown(name)
        return (yield from _compact(context))


def _compact(context: CodexContext) -> Done[SimpleState]:
    buffer, messages = context.buffer, context.messages
    if not messages:
        return failed(TIER, context, "nothing_to_compact")
    try:
        text, trimmed = yield from _request_summary(context)
    except ContextWindowExceeded:
        return failed(TIER, context, "overflow_after_retries")
    except Failure:
        return failed(TIER, context, "provider_failure")
    first = find_initial_context(messages)
    users = choose_user_messages(messages, context.settings.user_message_tokens)
    summary = inserted(
        "codex", role="user", text=f"{PREFIX}\n{text or _last_words(messages)}", made_from=messages
    )
    snapshots = [message for message in messages if _is_snapshot(message)]
    after = buffer.with_messages([*first, *users, summary, *snapshots])
    kept_ids = {message.id for message in after.messages}
    changed: dict[str, FateName] = {
        message.id: "summarised" for message in messages if message.id not in kept_ids
    }
    changed |= {message.id: "cut" for message in users if message.id in kept_ids}
    compacted = Event("ContextCompacted", {"step": context.moment.step, "trimmed_items": trimmed})
    uncalibrated = context.with_running(SimpleState(failures=context.running.failures))
    return settled(TIER, uncalibrated, after, [compacted, Event("Warning", WARNING)], changed)


def _is_snapshot(message: Message) -> bool:
    """Does the message consist of workspace snapshots only?"""
    kinds = {part.kind if isinstance(part, Opaque) else "" for part in message.parts}
    return kinds == {SNAPSHOT}


def _request_summary(context: CodexContext) -> Conversation[tuple[str, int]]:
    """Return (summary, number of messages left out).

    After every overflow the oldest message and the results of its calls are left out, in the extreme case all messages.
    """
    history = context.messages
    trimmed = 0
    text = f"{REQUEST}\n\n{context.moment.instructions}".strip()
    while True:
        try:
            answer: Answer = yield Summarize(
                context.buffer.prompt.system or "", text, history, source=history
            )
            return answer.text, trimmed
        except ContextWindowExceeded:
            if not history:
                raise
            calls = {call.id for call in history[0].calls}
            shorter = tuple(message for message in history[1:] if not _answers(message, calls))
            trimmed += len(history) - len(shorter)
            history = shorter


def _answers(message: Message, calls: set[str]) -> bool:
    return message.result is not None and message.result.call_id in calls


def _last_words(messages: Sequence[Message]) -> str:
    """Return the text of the last answer, which Codex uses if the model wrote no summary; empty without an answer.

    Codex's own fallback "(no summary available)" is never reached.
    """
    for message in reversed(messages):
        if message.role == "assistant" and message.text:
            return message.text
    return ""


def find_initial_context(messages: Sequence[Message]) -> list[Message]:
    """Return the messages before the first answer that were not typed by the user."""
    initial = []
    for message in messages:
        if message.role == "assistant":
            break
        is_of_client = message.role == "user" and bool(message.mark) and not message.summary
        if message.role == "system" or is_of_client:
            initial.append(message)
    return initial


def choose_user_messages(messages: Sequence[Message], budget: int) -> list[Message]:
    """Return the newest messages that the user typed, in order, cut to at most `budget` tokens together."""
    newest_first: list[Message] = []
    room = budget
    for message in reversed(messages):
        if room <= 0:
            break
        if not message.from_user:
            continue
        text = "".join(part.text for part in message.parts if isinstance(part, Text))
        tokens = _tokens(text)
        kept_text = text if tokens <= room else _cut(text, room)
        parts = (Text(kept_text),)  # parts other than text are dropped
        newest_first.append(message if message.parts == parts else replace(message, parts=parts))
        room -= tokens
    return newest_first[::-1]


def _tokens(text: str) -> int:
    return divide_up(utf8_length(text), 4)


def _cut(text: str, budget: int) -> str:
    """Keep the beginning and the end of a text, together `budget` tokens, around a note of the omission."""
    data = text.encode("utf-8", "replace")
    side = budget * 4 // 2  # bytes, at 4 bytes a token
    head = data[:side].decode("utf-8", "ignore")
    tail = data[len(data) - side :].decode("utf-8", "ignore")
    return f"{head}…{_tokens(text) - budget} tokens truncated…{tail}"


POLICY = CodexPolicy()
