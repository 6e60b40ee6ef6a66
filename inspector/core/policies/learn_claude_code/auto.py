"""Layers 2 and 3: the whole list becomes a summary, the files read last, and the newest messages (spec 4.5, 4.6).

Nothing is replaced before the transcript is saved. Where upstream lets an exception out, the outcome says so in
`error` and leaves the list as it was; the loop then ends in faithful mode and goes on in safe mode.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.message import Message, Text
from inspector.core.needs import Answer, Conversation, Failure, SaveTranscript, Summarize
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.inserted import inserted
from inspector.core.policies.learn_claude_code.kept import kept
from inspector.core.policies.learn_claude_code.restore import restored
from inspector.core.policies.learn_claude_code.running import Running
from inspector.core.policies.learn_claude_code.settings import Settings
from inspector.core.policies.learn_claude_code.transcript import readable
from inspector.core.policies.learn_claude_code.wire import list_tokens
from inspector.core.policies.policy import Moment

Layer: TypeAlias = Literal["auto", "manual"]
MARKER = "[Conversation compressed]"
ACKNOWLEDGED = "Understood. Continuing with compressed context."
INSTRUCTIONS = (
    "Summarize this conversation chronologically: goals, actions, decisions, current state. "
    "Keep file paths, identifiers, errors and numbers as they are, so that the work can go on from the summary alone."
)
NOT_SAVED, NO_SUMMARY, BLANK = "transcript_not_saved", "provider_failure", "blank_summary"


def compact(
    layer: Layer, buffer: Buffer, settings: Settings, running: Running, moment: Moment
) -> Conversation[Outcome[Running]]:
    """Run the layer, whatever the threshold says. An empty list: nothing to compact, nobody is asked."""
    messages = buffer.messages
    if not messages:
        return Outcome(layer, buffer, running, succeeded=False)
    try:
        path = (yield SaveTranscript(messages, transcript_name(moment))).text
    except Failure as failure:
        return _failed(layer, buffer, running, NOT_SAVED, str(failure))
    files = yield from restored(messages, settings)
    try:
        answer = yield _request(messages, settings, moment)
    except Failure as failure:
        return _failed(layer, buffer, running.failed(settings), NO_SUMMARY, str(failure))
    if settings.safe and not answer.text.strip():
        return _failed(layer, buffer, running.failed(settings), BLANK, "the summary is blank")
    after = _compressed(messages, answer, files, settings)
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
    return Outcome(layer, buffer.with_messages(after), Running(), (event,), changed=changed)


def transcript_name(moment: Moment) -> str:
    """A sub-agent's transcript goes to a file of its own."""
    return f"subagent-{moment.agent}" if moment.agent else "transcript"


def _request(messages: Sequence[Message], settings: Settings, moment: Moment) -> Summarize:
    wanted = moment.instructions.strip()
    return Summarize(
        f"{INSTRUCTIONS}\n\nThe user asks: {wanted}" if wanted else INSTRUCTIONS,
        readable(messages, settings),
        max_tokens=settings.summary_max_tokens,
        timeout_s=settings.summary_timeout,
        source=tuple(messages),
    )


def _compressed(messages: Sequence[Message], answer: Answer, files: str, settings: Settings) -> tuple[Message, ...]:
    """The summary in the user's name, so that the system prompt and its cache stay as they are; then what is kept."""
    text = f"{MARKER}\n{answer.text}" + (f"\n\n{files}" if files else "")
    summary = inserted("learn-claude-code", "user", text, messages)
    stays = kept(messages, settings)
    if not stays.acknowledged:
        return (summary, *stays.messages)
    acknowledgement = Message(f"{summary.id}-ok", "assistant", (Text(ACKNOWLEDGED),), summary=True)
    return (summary, acknowledgement, *stays.messages)


def _failed(layer: Layer, buffer: Buffer, running: Running, error: str, why: str) -> Outcome[Running]:
    event = Event("compact_failed", {"layer": layer, "error": error, "why": why, "failures": running.failures})
    return Outcome(layer, buffer, running, (event,), succeeded=False, error=error)
