"""Micro-compactions: old tool results that the client cleared, with or without a record of it.

Claude Code 2.1.5 to 2.1.20 cleared by a rule, and mostly wrote nothing down. Where the counts tell that it did, the
rule says what. It gives every recorded list exactly.
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
"""What the model reads in place of a cleared tool result. Spelled by the client, not by the file."""

INFERRED = "inferred"
"""The trigger of a micro-compaction that no record tells of."""

VERSIONS = (2, 1, 5), (2, 1, 20)

_TOOLS = frozenset({"Read", "Bash", "Grep", "Glob", "Edit", "Write"})
STAYS, LEAST = 40_000, 20_000
"""Tokens of results that may stay; tokens that it must save."""
_IMAGE = 2_000
_SEEN = 0.5, 2.5
"""What the provider counts less over what the rule saves, by characters: other tokens, and a word in their place."""
_CACHED = 1_000
"""Tokens by which the cached prefix may end earlier for other reasons."""


def inferred(former: tuple[Usage | None, View], now: tuple[Usage | None, View]) -> tuple[Compaction, list[str]] | None:
    """What was cleared between two calls, by call id; None unless the counts tell so."""
    (before, earlier), (after, later) = former, now
    if before is None or after is None or not 0 < after.prompt < before.prompt or later.rewritten_since(earlier) != {}:
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
    return Compaction(0, INFERRED, "micro", evidence=evidence), cleared


def oldest_results(messages: Sequence[Message], stays: int = STAYS, least: int = LEAST) -> tuple[list[str], int]:
    """The calls whose results the rule clears, the oldest first, and the tokens that it saves; none if too few.

    What came since the last answer has not been read yet, and stays.
    """
    last = max((n for n, message in enumerate(messages) if message.role == "assistant"), default=0)
    sizes, unread = dict[str, int](), set[str]()
    for n, message in enumerate(messages):
        if message.result is not None and message.result.content != CLEARED:
            sizes[message.result.call_id] = client_tokens(message)
            unread |= {message.result.call_id} if n > last else set()
    made = (call for message in messages for call in message.calls if call.id in sizes and _may_go(call.name))
    calls = list(dict.fromkeys(call.id for call in made))
    total, saved = sum(map(sizes.__getitem__, calls)), 0
    cleared = list[str]()
    for call in calls:
        if call not in unread and total - saved > stays:
            cleared.append(call)
            saved += sizes[call]
    return (cleared, saved) if saved >= least else ([], 0)


def _may_go(tool: str) -> bool:
    return tool in _TOOLS or tool.startswith("Web")


def client_tokens(message: Message) -> int:
    """As the client counts: characters over 4, a picture by a fixed number."""
    said = message.text if message.result is None else message.result.content
    calls = sum(len(str(call.arguments)) for call in message.calls)
    return round((u16(said) + calls) / 4) + _IMAGE * sum(isinstance(part, Image) for part in message.parts)


_MODEL = re.compile(
    r"claude-(?:(?P<old>\d)(?:[-.]\d)?(?:-|$)|(?P<family>[a-z]+)-(?P<major>\d{1,2})(?!\d)(?:[-.](?P<minor>\d{1,2})(?!\d))?)"
)
"""claude-3-7-sonnet-..., claude-2.1; claude-opus-4-1-20250805, anthropic/claude-sonnet-4.5, claude-sonnet-4@2025..."""


@lru_cache(maxsize=64)  # asked at every call, of one or two models
def keeps_thinking(model: str) -> bool:
    """Does thinking stay when the next turn begins? From Opus 4.5 on; taken of any model that nothing is known of."""
    found = _MODEL.search(model.lower())
    if found is None:
        return True
    if found["old"]:
        return False
    version = int(found["major"]), int(found["minor"] or 0)
    return version >= ((4, 5) if found["family"] == "opus" else (4, 6))


def without_thinking(stretch: Stretch, start: int, turn: int) -> tuple[Stretch, int]:
    """The stretch without the thinking between two places, and how many messages were nothing else. O(those after)."""
    tail = stretch.view().tail(start)
    size = max(0, turn - start)
    left = [kept for message in tail[:size] if (kept := _without(message)) is not None]
    same = next((n for n, (old, new) in enumerate(zip(tail, left, strict=False)) if old is not new), len(left))
    if same == size:
        return stretch, 0
    return Stretch(View(stretch, start + same), [*left[same:], *tail[size:]]), size - len(left)


def _without(message: Message) -> Message | None:
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
    return isinstance(part, Thinking) or (isinstance(part, Opaque) and part.kind == "redacted_thinking")
