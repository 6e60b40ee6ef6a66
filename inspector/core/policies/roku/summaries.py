"""The two ways to have removed messages summarised: L3a remote compact, L3b local four-section summary (spec 1.7)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from inspector.core.message import Message, Opaque, ToolCall
from inspector.core.needs import (
    Answer,
    ContextWindowExceeded,
    Conversation,
    Failure,
    RemoteCompact,
    Summarize,
)
from inspector.core.policies.roku.digest import digest
from inspector.core.policies.roku.settings import Settings

HEADERS = ("Goal:", "Accomplished:", "Key Decisions:", "Relevant Files:")
INSTRUCTIONS = (
    "Summarise the part of an agent's session that you are given, so that the agent can go on without it. "
    "Answer with exactly four sections, each under its header on a line of its own:\n"
    "Goal: what the user wants, in their words where it matters.\n"
    "Accomplished: what was done, with results.\n"
    "Key Decisions: what was decided, and why; what failed.\n"
    "Relevant Files: paths, each with what it is for.\n"
    "Keep paths, identifiers, error texts and numbers as they are. No other text."
)
SUMMARY_TOKENS = 2_048
PROVIDER_FAILURE = "provider_failure"
CONTRACT_VIOLATION = "contract_violation"
OVERFLOW = "overflow_after_retries"


@dataclass(frozen=True, slots=True)
class Attempt:
    """How a summary went. `error` is empty on success; `why` says more, for people."""

    text: str = ""
    messages: tuple[Message, ...] = ()
    error: str = ""
    why: str = ""
    prompt_tokens: int = 0
    output_tokens: int = 0
    retries: int = 0
    elapsed_ms: int = 0


def remote(removed: Sequence[Message], settings: Settings) -> Conversation[Attempt]:
    """L3a: one request, no retry, never followed by L3b."""
    try:
        answer: Answer = yield RemoteCompact(INSTRUCTIONS, tuple(removed), settings.compact_request_timeout)
    except Failure as failure:
        return Attempt(error=PROVIDER_FAILURE, why=str(failure), elapsed_ms=failure.elapsed_ms)
    usable = usable_messages(answer.messages, settings)
    if not usable:
        return replace(_spent(answer), error=PROVIDER_FAILURE, why="the provider returned no message that can be read")
    return replace(_spent(answer), messages=usable)


def usable_messages(messages: Sequence[Message], settings: Settings) -> tuple[Message, ...]:
    """What is kept of a remote compact's output. Upstream skips opaque items (`opaque_items` says otherwise).

    Safe mode also drops calls that no result answers, and results without their call.
    """
    if settings.opaque_items == "keep":
        return _without_open_calls(messages) if settings.safe else tuple(messages)
    known: list[Message] = []
    for message in messages:
        parts = tuple(part for part in message.parts if not isinstance(part, Opaque))
        if parts:
            known.append(message if len(parts) == len(message.parts) else replace(message, parts=parts))
    return _without_open_calls(known) if settings.safe else tuple(known)


def local(removed: Sequence[Message], settings: Settings) -> Conversation[Attempt]:
    """L3b: ask for four sections; when the call itself overflows, drop the older half and ask again."""
    work, retries, elapsed = list(removed), 0, 0
    while work:
        text = digest(work, settings.safe)
        try:
            answer: Answer = yield Summarize(
                INSTRUCTIONS,
                text,
                max_tokens=SUMMARY_TOKENS,
                timeout_s=settings.compact_llm_timeout,
                source=tuple(work),
            )
        except ContextWindowExceeded as failure:
            elapsed += failure.elapsed_ms
            if retries >= settings.max_drop_oldest_retries:
                break
            retries += 1
            del work[: -(-len(work) // 2)]
            continue
        except Failure as failure:
            elapsed += failure.elapsed_ms
            return Attempt(error=PROVIDER_FAILURE, why=str(failure), retries=retries, elapsed_ms=elapsed)
        return _judged(answer, retries, elapsed)
    return Attempt(error=OVERFLOW, why="the summary call overflowed each time", retries=retries, elapsed_ms=elapsed)


def _judged(answer: Answer, retries: int, elapsed: int) -> Attempt:
    spent = replace(_spent(answer), retries=retries, elapsed_ms=answer.elapsed_ms + elapsed)
    if not answer.text.strip():
        return replace(spent, error=PROVIDER_FAILURE, why="the summary is blank")
    missing = [header for header in HEADERS if header not in answer.text]
    if missing:
        return replace(spent, error=CONTRACT_VIOLATION, why=f"the summary lacks {', '.join(missing)}")
    return replace(spent, text=answer.text)


def _spent(answer: Answer) -> Attempt:
    usage = answer.usage
    prompt, output = (usage.prompt, usage.output) if usage else (0, 0)
    return Attempt(prompt_tokens=prompt, output_tokens=output, elapsed_ms=answer.elapsed_ms)


def _without_open_calls(messages: Sequence[Message]) -> tuple[Message, ...]:
    answered = {m.result.call_id for m in messages if m.result is not None}
    called = {call.id for m in messages for call in m.calls}
    kept: list[Message] = []
    for message in messages:
        if message.result is not None and message.result.call_id not in called:
            continue
        parts = tuple(p for p in message.parts if not (isinstance(p, ToolCall) and p.id not in answered))
        if parts:
            kept.append(message if len(parts) == len(message.parts) else replace(message, parts=parts))
    return tuple(kept)
