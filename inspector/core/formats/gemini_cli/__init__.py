"""Gemini CLI sessions: an append-only log (with repeated messages, `$set`, `$rewindTo`), or a document before 0.4x."""

from collections.abc import Sequence
from pathlib import PurePath

from inspector.core.formats.format import AgentFolder, Contents, Format, Head
from inspector.core.formats.gemini_cli.reader import NAME, GeminiReader
from inspector.core.formats.signs import FileSign, FileSigns, fits_pattern
from inspector.core.session import Session

_HEX = "0123456789abcdef"


_HEADER = {"sessionId": "<text>", "projectHash": "<text>"}
_SIGNS = FileSigns(
    FileSign(_HEADER, "any"),
    FileSign({"$rewindTo": "<any>"}, "any"),
    FileSign({"$set": "<object>"}, "any"),
    FileSign({"id": "<any>", "content": "<any>", "type": "gemini"}, "any", sure=0.95),
    FileSign(
        {"id": "<any>", "content": "<any>", "type": "user|info|warning|error"}, "most", sure=0.3
    ),
)


def companions(path: PurePath) -> Sequence[str]:
    """Return a glob for the chats of sub-agents, in the folder named after the session.

    The file `session-<time>-<first 8 characters of the id>` gives the beginning of the folder's name.
    """
    short = path.stem.rpartition("-")[2]
    named = len(short) == 8 and all(letter in _HEX for letter in short)
    return (f"{short}*/*.jsonl",) if named else ()


def is_companion(head: Head, session: Session) -> bool:
    """Is the file a sub-agent's chat? The reader checks by the folder whether it belongs to this session."""
    return any(fits_pattern(value, {**_HEADER, "kind": "subagent"}) for value in head.values[:1])


FORMAT = Format(
    NAME,
    title="Gemini CLI session",
    sniff=_SIGNS,
    start=GeminiReader,
    companions=companions,
    is_companion=is_companion,
    grows=True,
    folders=(AgentFolder(".gemini/tmp/*/chats/session-*.json*", "", "GEMINI_CLI_HOME"),),
    contents=Contents(tokens="yes"),
)
