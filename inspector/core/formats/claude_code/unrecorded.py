"""Rules of what leaves the buffer without a record: old tool results (micro-compaction) and old thinking.

Claude Code 2.1.5 to 2.1.20 cleared old tool results by a fixed rule and mostly recorded nothing. If the reported usage
shows that results were cleared, the rule determines which. It reproduces every list that was recorded.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from inspector.core.buffer import Stretch, View
from inspector.core.message import Image, Message, Opaque, Part, Thinking
from inspector.core.session import Compaction
from inspector.core.tokens.harnesses import u16
from inspector.core.usage import Usage

CLEARED = "[Old tool result content cleared]"
"""Text that the model reads in place of a cleared tool result. The client inserts it; the file does not hold it."""

INFERRED = "inferred"
"""The trigger of a micro-compaction that the file does not record."""

VERSIONS = (2, 1, 5), (2, 1, 20)

_TOOLS = frozenset({"Read", "Bash", "Grep", "Glob", "Edit", "Write"})
STAYS, LEAST = 40_000, 20_000
"""Tokens of tool results that may stay in context; the fewest tokens that a clearing must save."""
_IMAGE = 2_000
_SEEN = 0.5, 2.5
"""Lower and upper limit of the prompt's decrease (provider's tokens) divided by the saving of the rule (estimated from
characters)."""
_CACHED = 1_000
"""Tokens by which the cached prefix may become shorter without any clearing."""


def inferred(
    former: tuple[Usage | None, View], now: tuple[Usage | None, View]
) -> tuple[Compaction, list[str]] | None:
    """Return the micro-compaction between two calls and the call ids of the cleared results.

    Args:
        former: Usage and buffer of the earlier call.
        now: Usage and buffer of the later call.

    Returns:
        None unless the usage shows that results were cleared.
    """
    (before, earlier), (after, later) = former, now
    if (
        before is None
        or after is None
        or not 0 < after.prompt < before.prompt
        or later.rewritten_since(earlier) != {}
    ):
        return None
    cached = before.cache_read + before.cache_write
    if after.cache_read >= cached - _CACHED:
        return None
    cleared, saved = oldest_results(later.messages())
    grown = sum(map(client_tokens, later.tail(earlier.length)))
    lost = before.prompt - after.prompt + grown
    if not cleared or not _SEEN[0] * saved <= lost <= _SEEN[1] * saved:
        return None
    evidence = (
        f"The provider counted {before.prompt:,} tokens, then {after.prompt:,}, while the messages grew by some "
        f"{grown:,}, and found {after.cache_read:,} of {cached:,} cached tokens again. By its rule this version clears "
        f"the {len(cleared)} oldest results then, some {saved:,} tokens."
    )
    return Compaction(before_request=0, trigger=INFERRED, kind="micro", evidence=evidence), cleared


def oldest_results(
    messages: Sequence[Message], stays: int = STAYS, least: int = LEAST
) -> tuple[list[str], int]:
    """Return the call ids whose results the rule clears, oldest first, and the tokens saved; none if too few.

    Results after the last answer stay, because the model has not read them yet.
    """
    last = max((n for n, message in enumerate(messages) if message.role == "assistant"), default=0)
    sizes = _result_sizes(messages)
    unread = _result_sizes(messages[last + 1 :])
    calls: dict[str, int] = {}
    for message in messages:
        for call in message.calls:
            if call.id in sizes and _may_go(call.name):
                calls[call.id] = sizes[call.id]
    total = sum(calls.values())
    saved = 0
    cleared = list[str]()
    for call_id, size in calls.items():
        if call_id not in unread and total - saved > stays:
            cleared.append(call_id)
            saved += size
    return (cleared, saved) if saved >= least else ([], 0)


def _result_sizes(messages: Sequence[Message]) -> dict[str, int]:
    """Return the client's token count of each tool result that is not cleared yet, by call id."""
    results = [
        message
        for message in messages
        if message.result is not None and message.result.content != CLEARED
    ]
    return {
        message.result.call_id: client_tokens(message)
        for message in results
        if message.result is not None
    }


def _may_go(tool: str) -> bool:
    return tool in _TOOLS or tool.startswith("Web")


def client_tokens(message: Message) -> int:
    """Count the tokens of a message as the client does: 1 per 4 characters, and 2,000 per image."""
    text = message.text if message.result is None else message.result.content
    calls = sum(len(str(call.arguments)) for call in message.calls)
    images = sum(isinstance(part, Image) for part in message.parts)
    return round((u16(text) + calls) / 4) + _IMAGE * images


_MODEL = re.compile(
    r"claude-(?:(?P<old>\d)(?:[-.]\d)?(?:-|$)|(?P<family>[a-z]+)-(?P<major>\d{1,2})(?!\d)(?:[-.](?P<minor>\d{1,2})(?!\d))?)"
)
"""claude-3-7-sonnet-..., claude-2.1; claude-opus-4-1-20250805, anthropic/claude-sonnet-4.5, claude-sonnet-4@2025..."""


@lru_cache(maxsize=64)  # called for every model call, with one or two models
def keeps_thinking(model: str) -> bool:
    """Does thinking stay in context when the next turn begins?

    True from Opus 4.5 and from version 4.6 of other families on, and for unknown models.
    """
    match = _MODEL.search(model.lower())
    if match is None:
        return True
    if match["old"]:
        return False
    version = int(match["major"]), int(match["minor"] or 0)
    return version >= ((4, 5) if match["family"] == "opus" else (4, 6))


def without_thinking(stretch: Stretch, start: int, turn: int) -> tuple[Stretch, int]:
    """Remove the thinking from the messages between the indexes `start` and `turn`. O(messages after `start`).

    Returns:
        The stretch without that thinking, and the number of messages removed because they held nothing else.
    """
    tail = stretch.view().tail(start)
    size = max(0, turn - start)
    left = [message for message in map(_without, tail[:size]) if message is not None]
    pairs = enumerate(zip(tail, left, strict=False))
    same = next((n for n, (old, new) in pairs if old is not new), len(left))
    if same == size:
        return stretch, 0
    return Stretch(View(stretch, start + same), [*left[same:], *tail[size:]]), size - len(left)


def _without(message: Message) -> Message | None:
    """Return a message without its thinking; None if the message holds nothing else."""
    if message.role != "assistant":
        return message
    parts = tuple(part for part in message.parts if not _is_thinking(part))
    if len(parts) == len(message.parts):
        return message
    if not parts:
        return None
    m = message
    return Message(m.id, m.role, parts, m.together, m.summary, m.mark, m.line, m.time)


def _is_thinking(part: Part) -> bool:
    return isinstance(part, Thinking) or (
        isinstance(part, Opaque) and part.kind == "redacted_thinking"
    )
