"""What a client writes around the user's words: memory files, skills, reminders, each by the signs that clients leave.

The signs, as read in recorded prompts: Claude Code wraps what it adds in `<system-reminder>`, what ran in background in
`<task-notification>`, names a memory file as `Contents of PATH:` and a skill as `Base directory for this skill: PATH`;
Codex writes `# AGENTS.md instructions for FOLDER` and `<skills_instructions>`; Gemini CLI `--- Context from: PATH ---`;
OpenCode `Instructions from: PATH`; Pi a `# Project Context` or `<project_instructions path="PATH">`, and
`<available_skills>`. They count only in what a client wrote (a system prompt, a marked message, a text that begins or
is wrapped as clients do): a user may say them, too.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.heavy import pattern

ClientCategory: TypeAlias = Literal["system", "memory files", "skills", "reminders", "user"]


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A part of a text: all pieces of one, joined, are the text."""

    category: ClientCategory
    label: str
    """The path of a memory file, of a skill; the first line of a reminder; else empty."""
    text: str


_REMINDER = pattern(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)
_BEGINS = (
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<environment_context>",
    "<skills_instructions>",
    "<skill>",
    "Base directory for this skill: ",
)
_SECTION = pattern(
    r"^(?:Contents of (?P<contents>[^\n]{1,500}?)(?: \([^\n]*\))?:$"
    r"|# AGENTS\.md instructions for (?P<folder>[^\n]{1,500})$"
    r"|(?P<agents><user_instructions>|# AGENTS\.md instructions$)"
    r"|--- Context from: (?P<context>[^\n]{1,500}?) ---$"
    r"|Instructions from: (?P<instructions>[^\n]{1,500})$"
    r"|<project_instructions path=\"(?P<project>[^\"\n]{1,500})\">"
    r"|(?P<pi># Project Context)$"
    r"|Base directory for this skill: (?P<skill>[^\n]{1,500})$"
    r"|(?P<skills><skills_instructions>|<available_skills>|<skill>|Skills(?: invoked)?:$"
    r"|The following skills are available\b)"
    r"|(?P<other># (?:currentDate|userEmail|gitStatus)$|\s*IMPORTANT: this context may or may not be relevant"
    r"|Current date(?: and time)?: ))",
    re.MULTILINE,
)
_NOTICE = pattern(r"\s*<task-notification>(?:.{0,2000}?<summary>([^<]{1,200})</summary>)?", re.DOTALL)
"""What Claude Code hands on from an agent or a command in the background, its whole report maybe."""
_ENDS = {
    "folder": "</INSTRUCTIONS>",
    "agents": "</user_instructions>",
    "context": "--- End of Context from: ",
    "project": "</project_instructions>",
}
_SKILLS_END = {"<skills_instructions>": "</skills_instructions>", "<available_skills>": "</available_skills>"}
_LABEL = 80
"""Characters of a label."""


def pieces(text: str, *, by_client: bool, system: bool = False) -> list[TextPiece]:
    """The text of a prompt, a message of the user or the client, piece by piece. O(text).

    `by_client`: a mark or its place says that the client wrote it; `system`: it is (part of) the system prompt.
    """
    if not system and (notice := _NOTICE.match(text)):
        return [TextPiece("reminders", (notice[1] or "task notification").strip()[:_LABEL], text)]
    base: ClientCategory = "system" if system else "reminders" if by_client else "user"
    if by_client or system or text.lstrip().startswith(_BEGINS):
        return list(_sections(text, "reminders" if base == "user" else base))
    if "<system-reminder>" not in text:
        return [TextPiece(base, "", text)]
    found: list[TextPiece] = []
    at = 0
    for match in _REMINDER.finditer(text):
        if match.start() > at:
            found.append(TextPiece(base, "", text[at : match.start()]))
        found += _sections(match.group(), "reminders")
        at = match.end()
    return found + ([TextPiece(base, "", text[at:])] if at < len(text) or not found else [])


def _sections(text: str, base: ClientCategory) -> Iterator[TextPiece]:
    """What stands before the first sign and between an end and the next sign is `base`."""
    at = 0
    match = _SECTION.search(text)
    while match is not None:
        if match.start() > at:
            yield _other(base, text[at : match.start()])
        after = _SECTION.search(text, _inside(text, match))
        end = min(_end(text, match), after.start() if after else len(text))
        yield _section(match, text[match.start() : end], base)
        at, match = end, after
    if at < len(text) or not text:
        yield _other(base, text[at:])


def _other(base: ClientCategory, text: str) -> TextPiece:
    return TextPiece(base, _first_line(text) if base == "reminders" else "", text)


def _section(match: re.Match[str], text: str, base: ClientCategory) -> TextPiece:
    kind = match.lastgroup or ""
    path = match[kind].strip()
    match kind:
        case "other":
            return _other(base, text)
        case "skill":
            return TextPiece("skills", path[-_LABEL:], text)
        case "skills":
            return TextPiece("skills", "list of skills" if path != "<skill>" else _skill(text), text)
        case "folder":
            return TextPiece("memory files", f"{path.rstrip('/')}/AGENTS.md", text)
        case "agents":
            return TextPiece("memory files", "AGENTS.md", text)
        case "pi":
            return TextPiece("memory files", "Project Context", text)
        case _:
            return TextPiece("memory files", path, text)


def _inside(text: str, match: re.Match[str]) -> int:
    """Where the next sign is looked for: what has an end of its own holds no other."""
    end = _end(text, match)
    return end if end < len(text) else match.end()


def _end(text: str, match: re.Match[str]) -> int:
    kind = match.lastgroup or ""
    sign = _ENDS.get(kind) or (_SKILLS_END.get(match[kind]) if kind == "skills" else None)
    at = text.find(sign, match.end()) if sign else -1
    if sign is None or at < 0:
        return len(text)
    line = text.find("\n", at + len(sign))
    return len(text) if line < 0 else line + 1


def _skill(text: str) -> str:
    found = re.search(r"<name>([^<\n]{1,120})</name>", text)
    return found[1] if found else "skill"


def _first_line(text: str) -> str:
    """With something on it, without the wrapping."""
    for line in text.replace("<system-reminder>", "")[:2_000].splitlines():
        if stripped := line.strip():
            return stripped[:_LABEL]
    return ""
