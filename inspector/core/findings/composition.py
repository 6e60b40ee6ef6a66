"""Compute the tokens of a buffer by category, at any request, from prefix sums.

There is one classification: `segments` classifies each piece of a message. Gauge, timeline, the colours of the rows and
the breakdown are sums over it. The text that a client writes around the user's words (memory files, skills, reminders)
is recognised by markers found in recorded prompts: Claude Code wraps its additions in `<system-reminder>` and the
results of background tasks in `<task-notification>`, names a memory file as `Contents of PATH:` and a skill as
`Base directory for this skill: PATH`; Codex writes `# AGENTS.md instructions for FOLDER` and `<skills_instructions>`;
Gemini CLI `--- Context from: PATH ---`; OpenCode `Instructions from: PATH`; Pi `# Project Context` or
`<project_instructions path="PATH">`, and `<available_skills>`. Markers count only in text that a client wrote (a system
prompt, a marked message, a text that begins or is wrapped as clients do), because a user may write them, too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias, get_args

from inspector.core.buffer import Prompt, Stretch, View
from inspector.core.facts.rules import rule
from inspector.core.heavy import checkpoint
from inspector.core.message import (
    Image,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from inspector.core.session import Thread
from inspector.core.tokens.estimator import Estimator
from inspector.core.tokens.estimators import prompt_tokens, weigh_newest, weight
from inspector.core.tokens.pressure import Pressure
from inspector.core.tokens.sizing import Sizer, rounded
from inspector.core.tokens.weigher import Weigher

ClientCategory: TypeAlias = Literal["system", "memory files", "skills", "reminders", "user"]


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of a text. All pieces of a text, joined, are the text."""

    category: ClientCategory
    label: str
    """The path of a memory file or a skill, or the first line of a reminder; else empty."""
    text: str


_REMINDER, _NOTICE, _SECTION = (
    rule("clients.reminder"),
    rule("clients.notice"),
    rule("clients.section"),
)
_RESULT = rule("clients.result")
_BEGINS = (
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<environment_context>",
    "<skills_instructions>",
    "<skill>",
    "Base directory for this skill: ",
)
_ENDS = {
    "folder": "</INSTRUCTIONS>",
    "agents": "</user_instructions>",
    "context": "--- End of Context from: ",
    "project": "</project_instructions>",
}
_SKILLS_END = {
    "<skills_instructions>": "</skills_instructions>",
    "<available_skills>": "</available_skills>",
}
_LABEL = 80
"""Largest number of characters of a label."""


def split_prompt_text(text: str, *, by_client: bool, system: bool = False) -> list[TextPiece]:
    """Split the text of a prompt, or of a message of the user or the client, into pieces. O(text).

    Args:
        text: The text.
        by_client: True if a mark on the message, or its place, shows that the client wrote the text.
        system: True if the text is the system prompt, or part of it.
    """
    if system:
        return list(_sections(text, "system"))
    notice = _NOTICE.match(text)
    if notice is not None:
        label = (notice[1] or "task notification").strip()
        return [TextPiece("reminders", label[:_LABEL], text)]
    if by_client or text.lstrip().startswith(_BEGINS):
        return list(_sections(text, "reminders"))
    return _split_user_text(text)


def _split_user_text(text: str) -> list[TextPiece]:
    """Separate the user's own text from the reminders that the client added to it."""
    pieces: list[TextPiece] = []
    end = 0
    for match in _REMINDER.finditer(text):
        if match.start() > end:
            pieces.append(TextPiece("user", "", text[end : match.start()]))
        pieces += _sections(match.group(), "reminders")
        end = match.end()
    if end < len(text) or not pieces:
        pieces.append(TextPiece("user", "", text[end:]))
    return pieces


def _sections(text: str, base: ClientCategory) -> Iterator[TextPiece]:
    """Yield the sections that begin with a marker. Text outside the sections is of the category `base`."""
    at = 0
    match = _SECTION.search(text)
    while match is not None:
        if match.start() > at:
            yield _other(base, text[at : match.start()])
        end = _end(text, match)
        has_end_marker = end < len(text)
        # A section with an end marker holds no other section.
        after = _SECTION.search(text, end if has_end_marker else match.end())
        if after is not None:
            end = min(end, after.start())
        yield _section(match, text[match.start() : end], base)
        at = end
        match = after
    if at < len(text) or not text:
        yield _other(base, text[at:])


def _other(base: ClientCategory, text: str) -> TextPiece:
    return TextPiece(base, _first_line(text) if base == "reminders" else "", text)


def _section(match: re.Match[str], text: str, base: ClientCategory) -> TextPiece:
    kind = match.lastgroup or ""
    path = match[kind].strip()
    if kind == "other":
        return _other(base, text)
    if kind == "skill":
        return TextPiece("skills", path[-_LABEL:], text)
    if kind == "skills":
        named = re.search(r"<name>([^<\n]{1,120})</name>", text)
        label = "list of skills"
        if path == "<skill>":
            label = named[1] if named else "skill"
        return TextPiece("skills", label, text)
    named_so = {
        "folder": f"{path.rstrip('/')}/AGENTS.md",
        "agents": "AGENTS.md",
        "pi": "Project Context",
    }
    return TextPiece("memory files", named_so.get(kind, path), text)


def _end(text: str, match: re.Match[str]) -> int:
    kind = match.lastgroup or ""
    sign = _ENDS.get(kind) or (_SKILLS_END.get(match[kind]) if kind == "skills" else None)
    at = text.find(sign, match.end()) if sign else -1
    if sign is None or at < 0:
        return len(text)
    line = text.find("\n", at + len(sign))
    return len(text) if line < 0 else line + 1


def _first_line(text: str) -> str:
    """Return the first line that is not blank, without `<system-reminder>`."""
    for line in text.replace("<system-reminder>", "")[:2_000].splitlines():
        if stripped := line.strip():
            return stripped[:_LABEL]
    return ""


Category: TypeAlias = Literal[
    "system",
    "tools",
    "memory files",
    "skills",
    "reminders",
    "user",
    "assistant",
    "thinking",
    "tool calls",
    "tool results",
    "summaries",
    "images",
    "opaque",
    "difference",
]
"""*difference* is no content: it is the provider's count minus the recorded messages, if all messages are recorded."""
LARGEST_PROMPT = 60_000
"""Tokens of system prompt and tool definitions that clients hardly ever exceed. If more is not recorded, other content
is missing, too."""
CATEGORIES: tuple[Category, ...] = get_args(Category)
"""All categories in the order in which they are stacked, lowest first."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a message: a part, or a piece of a text."""

    category: Category
    label: str
    """The path of a memory file, the name of a skill, the first line of a reminder; else empty."""
    part: Part


_BY_PART: Mapping[type[Part], Category] = {
    Text: "assistant",
    Thinking: "thinking",
    ToolCall: "tool calls",
    ToolResult: "tool results",
    Image: "images",
    Opaque: "opaque",
}


def segments(message: Message) -> list[Segment]:
    """Return the segments of a message, in order. All parts of a summary are *summaries*. O(text of the user)."""
    result: list[Segment] = []
    for part in message.parts:
        if message.summary:
            result.append(Segment("summaries", "", part))
        elif isinstance(part, Text) and message.role != "assistant":
            result += _text_segments(message, part)
        else:
            result.append(Segment(_BY_PART[type(part)], "", part))
    return result


def _text_segments(message: Message, part: Text) -> Iterator[Segment]:
    by_client = message.mark in ("meta", "attachment")
    if by_client and _RESULT.match(part.text):
        yield Segment("tool results", "", part)
        return
    pieces = split_prompt_text(
        part.text, by_client=by_client, system=message.role == "system" and not by_client
    )
    for piece in pieces:
        yield Segment(piece.category, piece.label, part if len(pieces) == 1 else Text(piece.text))


def message_category(message: Message) -> Category:
    """Return the category of a message's first segment that is not thinking, else of its first segment."""
    return _main(message, segments(message))


def _main(message: Message, segments: Sequence[Segment]) -> Category:
    if not segments:
        return "assistant" if message.role == "assistant" else "user"
    for segment in segments:
        if not isinstance(segment.part, Thinking):
            return segment.category
    return segments[0].category


def split(
    estimator: Estimator, message: Message, segments: Sequence[Segment]
) -> Mapping[Category, int]:
    """Return the weight of a message by category, given its segments. The sum is the weight of the message.

    Each category except the main one is weighed as a message of its parts alone. The main category gets the remaining
    weight, framing included. If rounding would make it negative, the other categories get less.
    """
    total = weight(estimator, message)
    main = _main(message, segments)
    groups: dict[Category, list[Part]] = {}
    for segment in segments:
        groups.setdefault(segment.category, []).append(segment.part)
    if len(groups) < 2:
        return {main: total}
    weights: dict[Category, int] = {}
    for category, parts in groups.items():
        if category != main:
            alone = weigh_parts(estimator, message, parts)
            weights[category] = max(0, min(alone, total - sum(weights.values())))
    weights[main] = total - sum(weights.values())
    return weights


def weigh_parts(estimator: Estimator, message: Message, parts: Iterable[Part]) -> int:
    """Return the weight of some parts of a message, without its framing."""
    if isinstance(estimator, Weigher):
        weights = dict(zip(map(id, message.parts), estimator.part_weights(message), strict=False))
        chosen_parts = list(parts)
        known_weight = sum(weights.get(id(part), 0) for part in chosen_parts)
        new = [part for part in chosen_parts if id(part) not in weights]
        return known_weight + sum(estimator.weigh_parts(new)) if new else known_weight
    frame = weight(estimator, replace(message, parts=()))
    return weight(estimator, replace(message, parts=tuple(parts))) - frame


_PROMPTS_KEPT = 32
_SYSTEM_PIECES: dict[tuple[str, str], tuple[tuple[Category, str, int], ...]] = {}


def system_pieces(estimator: Estimator, system: str) -> tuple[tuple[Category, str, int], ...]:
    """Return (category, label, tokens) of the pieces of a system prompt, each counted alone. Cached."""
    key = estimator.name, system
    if key not in _SYSTEM_PIECES:
        pieces = split_prompt_text(system, by_client=True, system=True)
        _SYSTEM_PIECES[key] = tuple(
            (piece.category, piece.label, estimator.text(piece.text)) for piece in pieces
        )
        while len(_SYSTEM_PIECES) > _PROMPTS_KEPT:
            _SYSTEM_PIECES.pop(next(iter(_SYSTEM_PIECES)))
    return _SYSTEM_PIECES[key]


def weigh_categories(thread: Thread, estimator: Estimator, start: int = 0) -> None:
    """Fill the caches that make `composition` of any request of the thread fast. O(messages after `start`).

    `start`: the first request that was not weighed before.
    """
    weigh_newest(estimator, thread.messages)
    key = _key(estimator)
    packed = partial(_packed, estimator)
    requests = thread.requests
    for at in range(start, len(requests)):
        checkpoint(at, len(requests))
        requests[at].view.weight(key, packed)
    thread.end.weight(key, packed)


def composition(
    estimator: Estimator, view: View, prompt: Prompt | None = None
) -> dict[Category, int]:
    """Return the tokens by category, without empty categories. O(categories) if the view's messages were weighed."""
    packed = view.weight(_key(estimator), partial(_packed, estimator))
    weights = [(category, packed >> n * _BITS & _MASK) for n, category in enumerate(CATEGORIES)]
    sizes = {category: estimator.tokens(weight) for category, weight in weights}
    if prompt is not None:
        for category, tokens in prompt_categories(estimator, prompt):
            sizes[category] += tokens
    return {category: tokens for category, tokens in sizes.items() if tokens}


def prompt_categories(estimator: Estimator, prompt: Prompt) -> list[tuple[Category, int]]:
    """Return (category, tokens) of the pieces of the system prompt, and last of the tool schemas."""
    system, tools = prompt_tokens(estimator, prompt)
    pieces = system_pieces(estimator, prompt.system) if prompt.system and system else ()
    whole = sum(tokens for _, _, tokens in pieces) or 1
    shares = rounded([system * tokens / whole for _, _, tokens in pieces], system)
    sizes: list[tuple[Category, int]] = [
        (category, share) for (category, _, _), share in zip(pieces, shares, strict=True)
    ]
    return [*sizes, ("tools", tools)]


_BITS = 48
_MASK = (1 << _BITS) - 1
"""The weights of all categories are packed into one integer, 48 bits each, so that one running sum serves them all."""


def _key(estimator: Estimator) -> str:
    return f"{estimator.name} by category"


def _packed(estimator: Estimator, message: Message) -> int:
    key = _key(estimator)
    if key not in message.counts:
        weights = split(estimator, message, segments(message))
        packed = 0
        for category in reversed(CATEGORIES):
            packed = (packed << _BITS) + weights.get(category, 0)
        message.counts[key] = packed
    return message.counts[key]


def not_recorded_words(thread: Thread, at: int | None, tokens: int) -> str:
    """List the likely content of the part of a buffer that is not recorded: `system prompt, tool definitions`.

    Args:
        at: index of the request; None: the buffer after the last record.
        tokens: size of that part.
    """
    place = len(thread.requests) if at is None else at
    prompt = thread.place(place).prompt
    compacted = any(
        compaction.kind == "summary" and compaction.before_request <= place
        for compaction in thread.compactions
    )
    likely = (
        ("system prompt", prompt.system is None),
        ("tool definitions", prompt.tools is None),
        ("re-attached files", compacted),
        ("earlier messages", tokens > LARGEST_PROMPT),
    )
    return (
        ", ".join(name for name, is_likely in likely if is_likely)
        or "text that the client or the provider adds"
    )


def sized(
    size: Sizer, pressure: Pressure, view: View | Iterable[Message], prompt: Prompt
) -> tuple[tuple[Category, int], ...]:
    """Return the recorded tokens of a buffer by category, lowest first, then the difference to the provider's count.

    Together with the tokens that are not recorded they sum to the tokens of `pressure`.
    """
    if not isinstance(view, View):
        view = Stretch(own=tuple(view)).view()
    counted = composition(size.estimator, view, prompt)
    if pressure.tokens is None or not counted:
        return ()
    recorded = pressure.tokens - size.scale.beside
    tokens = rounded([size.scale.slope * count for count in counted.values()], recorded)
    sizes = [(category, share) for category, share in zip(counted, tokens, strict=True) if share]
    if size.scale.difference:
        sizes.append(("difference", size.scale.difference))
    return tuple(sizes)
