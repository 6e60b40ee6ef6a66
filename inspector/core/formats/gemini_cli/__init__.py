"""Gemini CLI sessions: an append log (messages repeated, `$set`, `$rewindTo`), or one JSON document (before 0.4x)."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from inspector.core.formats.format import AgentFolder, Contents, Format, Head
from inspector.core.formats.gemini_cli.reader import NAME, GeminiReader
from inspector.core.session import Session

_TYPES = ("user", "gemini", "info", "warning", "error")
_HEX = "0123456789abcdef"


def sniff(head: Head) -> float:
    """Sure where the header of a session stands, or a patch of it; less so for messages alone."""
    if any(_is_header(value) or _is_patch(value) for value in (head.document, *head.values)):
        return 1.0
    messages = [value for value in head.values if _is_message(value)]
    if not messages or 2 * len(messages) < len(head.values):
        return 0.0
    return 0.95 if any(value["type"] == "gemini" for value in messages) else 0.3


def _is_header(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(value.get(key), str) for key in ("sessionId", "projectHash"))


def _is_patch(value: Any) -> bool:
    return isinstance(value, Mapping) and ("$rewindTo" in value or isinstance(value.get("$set"), Mapping))


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and "id" in value and "content" in value and value.get("type") in _TYPES


def companions(path: PurePath) -> Sequence[str]:
    """Chats of sub-agents lie in a folder named after the session, as is the end of `session-<time>-<its first 8>`."""
    short = path.stem.rpartition("-")[2]
    named = len(short) == 8 and all(letter in _HEX for letter in short)
    return (f"{short}*/*.jsonl",) if named else ()


def is_companion(head: Head, session: Session) -> bool:
    """A sub-agent's chat says so; the reader checks whose it is, by its folder."""
    return any(_is_header(value) and value.get("kind") == "subagent" for value in head.values[:1])


FORMAT = Format(
    NAME,
    "Gemini CLI session",
    sniff,
    GeminiReader,
    companions,
    is_companion,
    grows=True,
    folders=(AgentFolder(".gemini/tmp/*/chats/session-*.json*", "", "GEMINI_CLI_HOME"),),
    contents=Contents(tokens="yes"),
)
