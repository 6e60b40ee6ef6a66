"""The summary of the old part: one call over the messages as they are; or, by choice, in parts and then of those."""

from collections.abc import Sequence
from itertools import pairwise

from inspector.core.message import Message
from inspector.core.needs import Answer, Conversation, Summarize
from inspector.core.policies.inserted import inserted
from inspector.core.policies.pulse.settings import Settings
from inspector.core.policies.pulse.turns import turn_starts
from inspector.core.tokens.characters import Chars4, ToolNames
from inspector.core.tokens.estimators import estimator, messages_weight

PREFIX = "[COMPACTED_CONTEXT]"
INSTRUCTIONS = (
    "You compress the older part of a conversation between a user and a coding agent, so that the agent can go on "
    "without it. Keep facts, file paths, identifiers, error texts and numbers as they are; invent nothing."
)
REQUEST = (
    "Compress the conversation so far. Answer in the user's language with exactly these parts, each under its heading, "
    "and nothing else:\n"
    "## 目标 (goal)\n"
    "## 进展 (progress)\n"
    "## 关键结果 (key results)\n"
    "## 文件与变更 (files and changes)\n"
    "## 关键片段 (key snippets)\n"
    "## 待确认 (to be confirmed)"
)
_SPACE = " \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
"""What JavaScript's `trim` removes."""


def tokens(messages: Sequence[Message], settings: Settings) -> int:
    """The list by the estimator that is set: one ceiling for all of it; prompt and tools are not counted."""
    found, listed = estimator(settings.estimator), tuple(messages)
    units = messages_weight(found, listed)
    return found.tokens(units + (messages_weight(ToolNames(listed), listed) if isinstance(found, Chars4) else 0))


def summarise(old: Sequence[Message], settings: Settings) -> Conversation[str]:
    """The text with its prefix; empty where the reply is blank. Failures pass through."""
    parts = _parts(old, settings)
    while len(parts) > 1:
        level: list[Message] = []
        for part in parts:
            text = yield from _asked(part, settings)
            if not text:
                return ""
            level.append(inserted("pulse-part", settings.summary_role, text, part))
        joined = _parts(level, settings)
        parts = joined if len(joined) < len(parts) else [tuple(level)]
    return (yield from _asked(parts[0], settings))


def _asked(messages: Sequence[Message], settings: Settings) -> Conversation[str]:
    answer: Answer = yield Summarize(INSTRUCTIONS, REQUEST, tuple(messages), settings.compact_summary_max_tokens)
    text = answer.text.strip(_SPACE)
    if not text or (settings.safe and text == PREFIX):
        return ""
    return text if text.startswith(PREFIX) else f"{PREFIX}\n{text}"


def _parts(messages: Sequence[Message], settings: Settings) -> list[tuple[Message, ...]]:
    """Whole turns, as many as fit into a part; a turn that is larger is a part by itself. O(messages)."""
    if not settings.summary_part_tokens:
        return [tuple(messages)]
    parts: list[list[Message]] = []
    room = 0
    for unit in _units(messages):
        size = tokens(unit, settings)
        if not parts or size > room:
            parts.append([])
            room = settings.summary_part_tokens
        parts[-1] += unit
        room -= size
    return [tuple(part) for part in parts]


def _units(messages: Sequence[Message]) -> list[Sequence[Message]]:
    """What must not be torn apart: a turn, an earlier summary."""
    own = {at for at, message in enumerate(messages) if message.summary}
    edges = sorted({0, len(messages), *turn_starts(messages), *own, *(at + 1 for at in own)})
    return [messages[start:end] for start, end in pairwise(edges)]
