"""opencode: prunes old tool outputs, then replaces all but a tail of the newest turns by a summary.

docs/policies.md says how the gaps in its source are filled. In addition: a message that the client wrote with the role
of the user belongs to the turn before it; pruning is checked after every request, while opencode checks when the agent
has finished (the two newest turns are protected, so it prunes once per turn here as well); sizes of the tail are
characters divided by 4, and for pruning only those of the output count; the wording of the request is this project's
own. A user message precedes the summary, and a request to continue follows the tail.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from inspector.core.jsontext import dumps
from inspector.core.message import Image, Message, Text, ToolCall, ToolResult
from inspector.core.needs import Answer, Conversation, Failure, Summarize
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import (
    CHARACTERS,
    SimplePolicy,
    SimpleSettings,
    SimpleState,
    failed,
    settled,
)
from inspector.core.policies.replacements import PLACEHOLDER, clear_result, inserted
from inspector.core.policies.settings import setting
from inspector.core.policies.turn import AllDone, Done
from inspector.core.policies.verdict import TierName, Verdict, Verdicts, Watermark
from inspector.core.tokens.estimators import weight
from inspector.core.words import per_cent

PRUNE, COMPACT = "prune", "compact"
TOOL_OUTPUT_CHARS = 2_000
QUESTION = "What did we do so far?"
GO_ON = "Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed."
INSTRUCTIONS = (
    "You summarise a conversation so that another agent can go on from it. Do not answer it and call no tools. Use "
    "these headings: Goal; Instructions (of the user that still hold); Discoveries; Accomplished (done, in progress, "
    "left to do); Relevant files. Keep exact paths, commands, names and error texts."
)
UPDATE = "There is an earlier summary. Write it anew with what came since: what you leave out is lost.\n\n{summary}\n\n"


@dataclass(frozen=True, slots=True)
class OpencodeSettings(SimpleSettings):
    """The constants of opencode."""

    max_output_tokens: int = setting(
        32_000, "the model's output budget; at most a quarter of the window", low=0
    )
    reserved: int = setting(20_000, "tokens kept free besides; at most the output budget", low=0)
    prune: bool = setting(True, "whether old tool outputs are pruned")
    prune_protect: int = setting(40_000, "tokens of the newest tool outputs that stay", low=0)
    prune_minimum: int = setting(
        20_000, "prunes only if more tokens than this can be removed", low=0
    )
    prune_turns: int = setting(2, "newest user turns whose outputs stay and do not count", low=0)
    protected_tools: tuple[str, ...] = setting(("skill",), "tools whose outputs are never pruned")
    tail_share: float = setting(0.25, "share of the usable window for the tail", low=0, high=1)
    tail_min: int = setting(2_000, "tokens of the tail at least", low=0)
    tail_max: int = setting(15_000, "and at most", low=0)

    @property
    def usable(self) -> int:
        """Return the tokens at which opencode compacts: window - output budget - min(20,000, output budget)."""
        output = min(self.max_output_tokens, self.context_window_tokens // 4)
        return max(1, self.context_window_tokens - output - min(self.reserved, output))

    @property
    def tail_tokens(self) -> int:
        """Return the tokens of the tail: 25% of `usable`, between 2,000 and 15,000."""
        return min(self.tail_max, max(self.tail_min, int(self.usable * self.tail_share)))


OpencodeContext: TypeAlias = PolicyContext[OpencodeSettings, SimpleState]


class OpencodePolicy(SimplePolicy[OpencodeSettings]):
    """opencode as a `Policy`. The base class documents the methods."""

    name = "opencode"
    title = "opencode"
    tiers: Sequence[TierName] = (
        TierName(
            PRUNE,
            "Prune",
            "Clears tool outputs beyond the newest 40,000 tokens and two turns.",
            after_turn=True,
        ),
        TierName(
            COMPACT, "Compact", "A summary, and the newest turns word for word.", calls_model=True
        ),
    )
    settings_type = OpencodeSettings

    def watermarks(self, settings: OpencodeSettings) -> tuple[Watermark, ...]:
        share = settings.usable / settings.context_window_tokens
        return (
            Watermark(
                f"{per_cent(share)} compact",
                tokens=settings.usable,
                setting="reserved",
                tiers=(COMPACT,),
                fires_on=True,
            ),
        )

    def due(self, context: OpencodeContext) -> Verdicts:
        settings = context.settings
        places, freed = find_prunable(context.messages, settings)
        more = settings.prune and freed > settings.prune_minimum
        prune = (
            f"{len(places):,} old outputs of {freed:,} tokens, {settings.prune_minimum:,} needed"
        )
        return (
            Verdict(PRUNE, due=more, why=prune, tokens=freed, limit=settings.prune_minimum),
            self.from_limit(
                COMPACT, limit=settings.usable, tokens=self.tokens(context), context=context
            ),
        )

    def tier(self, name: str, context: OpencodeContext) -> Done[SimpleState]:
        match name.lower():
            case "prune":
                places, _ = find_prunable(context.messages, context.settings)
                return _prune(context, places)
            case "compact":
                return (yield from _compact(context))
        raise self.unknown(name)

    def before_call(self, context: OpencodeContext) -> AllDone[SimpleState]:
        """Compact if due. Overrides the default to avoid the slow computation of prunable outputs."""
        if not context.moment.overflow and self.tokens(context) < context.settings.usable:
            return ()
        return ((yield from _compact(context)),)


def find_prunable(messages: Sequence[Message], settings: OpencodeSettings) -> tuple[list[int], int]:
    """Return (indices of the outputs that pruning would clear, newest first; their tokens). O(messages)."""
    names = {call.id: call.name for message in messages for call in message.calls}
    places: list[int] = []
    turns = seen = freed = 0
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        turns += message.from_user
        if turns < settings.prune_turns:
            continue
        if message.summary:
            break
        result = message.result
        if (
            result is None
            or result.is_error
            or names.get(result.call_id, "") in settings.protected_tools
        ):
            continue
        if result.content == PLACEHOLDER:
            break
        tokens = CHARACTERS.text(result.content)
        seen += tokens
        if seen > settings.prune_protect:
            freed += tokens
            places.append(at)
    return places, freed


def _prune(context: OpencodeContext, places: Sequence[int]) -> Outcome[SimpleState]:
    if not places:
        return context.unchanged(PRUNE)
    messages = list(context.messages)
    for at in places:
        messages[at] = clear_result(messages[at])
    changed: dict[str, FateName] = {messages[at].id: "cleared" for at in places}
    events = (Event("pruned", {"count": len(places)}),)
    return settled(PRUNE, context, context.buffer.with_messages(messages), events, changed)


def _compact(context: OpencodeContext) -> Done[SimpleState]:
    messages, overflow = context.messages, context.moment.overflow
    head, tail = _split_before_prompt(messages) if overflow else ((), ())
    if not head:
        start = find_tail_start(messages, context.settings.tail_tokens)
        head = messages[:start]
        tail = messages[start:]
    if not head:
        return failed(COMPACT, context, "nothing_to_compact")
    try:
        text = yield from _request_summary(head, context.moment.instructions)
    except Failure:
        return failed(COMPACT, context, "provider_failure")
    if not text.strip():
        return failed(COMPACT, context, "empty_summary")
    question = inserted("opencode-question", role="user", text=QUESTION, made_from=head)
    new = [question, inserted("opencode", role="assistant", text=text, made_from=head), *tail]
    if not (overflow and tail):
        new.append(inserted("opencode-go-on", role="user", text=GO_ON, made_from=head))
    stays = {message.id for message in tail}
    changed: dict[str, FateName] = {
        message.id: "summarised" for message in messages if message.id not in stays
    }
    events = (
        Event("session.compacted", {"step": context.moment.step, "tail_messages": len(tail)}),
    )
    return settled(COMPACT, context, context.buffer.with_messages(new), events, changed)


def _split_before_prompt(
    messages: tuple[Message, ...],
) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Return (messages to summarise, the user's last message) for a compaction after an overflow.

    The user's last message is sent again, and the messages after it are dropped. Both results are empty if the user
    wrote only one message.
    """
    turns = [at for at, message in enumerate(messages) if message.from_user]
    if len(turns) < 2:
        return (), ()
    return messages[: turns[-1]], (messages[turns[-1]],)


def _request_summary(head: Sequence[Message], instructions: str) -> Conversation[str]:
    summaries = [message for message in head if message.summary and message.role == "assistant"]
    fresh = [message for message in head if not message.summary]
    text = "\n\n".join(line for message in fresh for line in _describe_parts(message))
    if summaries:
        text = UPDATE.format(summary=summaries[-1].text) + text
    request = f"{INSTRUCTIONS}\n{instructions}".strip()
    answer: Answer = yield Summarize(request, text, source=tuple(head))
    return answer.text


def find_tail_start(messages: Sequence[Message], budget: int) -> int:
    """Return the index at which the tail begins.

    The tail has the newest turns that fit into the budget, then the end of the next older turn as far as it fits.

    Returns:
        The index of the first message of the tail; the number of messages if there is no tail.
    """
    sizes = _sum_from_each(messages)
    turns = [at for at, message in enumerate(messages) if message.from_user]
    start = len(messages)
    for turn in reversed(turns):
        if sizes[turn] > budget:
            start = _cut_turn(messages, turn, end=start, sizes=sizes, budget=budget)
            break
        start = turn
    return start if start > 0 else len(messages)


def _sum_from_each(messages: Sequence[Message]) -> list[int]:
    """Return the tokens from each message to the end; one more entry, 0, for the end itself."""
    sizes = [0] * (len(messages) + 1)
    for at in range(len(messages) - 1, -1, -1):
        sizes[at] = sizes[at + 1] + CHARACTERS.tokens(weight(CHARACTERS, messages[at]))
    return sizes


def _cut_turn(
    messages: Sequence[Message], turn: int, end: int, sizes: Sequence[int], budget: int
) -> int:
    """Return where the kept end of a turn begins: not at a tool result. `end` if no part of the turn fits."""
    for start in range(turn + 1, end):
        if sizes[start] <= budget and messages[start].role != "tool":
            return start
    return end


_SPEAKERS = {"user": "User", "system": "System"}


def _describe_parts(message: Message) -> Iterator[str]:
    """Yield a line for each part, for the summariser. Results are cut; thinking and opaque parts are left out."""
    speaker = _SPEAKERS.get(message.role, "Assistant")
    for part in message.parts:
        match part:
            case Text(text=text) if text:
                yield f"[{speaker}]: {text}"
            case ToolCall():
                yield f"[Tool call]: {part.name}({dumps(part.arguments)})"
            case ToolResult(content=text):
                if len(text) > TOOL_OUTPUT_CHARS:
                    text = f"{text[:TOOL_OUTPUT_CHARS]}\n[truncated]"
                yield f"[Tool {'error' if part.is_error else 'result'}]: {text}"
            case Image():
                yield f"[Attached {part.media_type}]"
            case _:
                pass


POLICY = OpencodePolicy()
