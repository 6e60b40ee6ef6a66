"""Formats that are recognised but cannot be read.

Opening such a file fails with an error that names its format; no other format is tried. The formats are listed in
`resources/foreign_formats.toml`.
"""

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from inspector.core.formats.format import Head
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.untyped import fields_of, list_of, objects_of
from inspector.resources import resource

_SURE = 0.94
"""Default sureness: above the sureness of a bare API body, below that of signs that only one agent's files have."""
_CHAT = (
    "this looks like a chat of an unknown program. If its messages are those of an API, `--format openai-chat` (or"
    " anthropic, openai-responses, gemini) reads them"
)
_CONTENT = frozenset(("content", "text", "message", "value", "parts", "body"))
"""Keys under which programs store the text of a message."""
_SPEAKERS = ("role", "sender", "author", "from", "speaker", "type", "source")
"""Keys under which programs store the speaker of a message."""
_NAMES = frozenset(
    (
        "user",
        "human",
        "assistant",
        "ai",
        "bot",
        "model",
        "gpt",
        "chatgpt",
        "claude",
        "system",
        "agent",
    )
)


@dataclass(frozen=True, slots=True)
class ForeignFormat:
    """A format that cannot be read: its signs, and what the error says about it."""

    name: str
    """Name with its article, such as `a Cursor chat`."""
    hint: str
    """What the user can open instead; empty if unknown."""
    sure: float
    """Sureness between 0 and 1 if the signs are found."""
    signs: FileSigns
    begins: re.Pattern[bytes] | None
    """Pattern of the first bytes of a text or binary file; None if not checked."""
    tables: tuple[frozenset[str], ...]
    """Sets of table names, any of which identifies a database. A set of a single table must be the only table."""

    @property
    def sentence(self) -> str:
        """Error text for a file of this format, as a clause without a full stop."""
        return f"this looks like {self.name}" + (
            f": {self.hint}" if self.hint else ", which cannot be read yet"
        )

    def sureness(self, head: Head) -> float:
        """Return how sure it is that the file is of this format: 0 or `sure`."""
        if self.signs(head) > 0:
            return self.sure
        if self.begins is not None and self.begins.match(_text(head.data)):
            return self.sure
        return 0.0

    def owns(self, tables: Collection[str]) -> bool:
        """Are these the tables of a database of this format?"""
        names = frozenset(tables)
        return any(own == names if len(own) == 1 else own <= names for own in self.tables)


@cache
def foreign_formats() -> tuple[ForeignFormat, ...]:
    """Return all foreign formats. Reads the resource on the first call."""
    table = tomllib.loads(resource("foreign_formats.toml").read_text("utf-8"))
    return tuple(map(_entry, table["format"]))


def _entry(entry: Mapping[str, Any]) -> ForeignFormat:
    sure = entry.get("sure", _SURE)
    signs = (
        FileSign(sign["pattern"], sign.get("rows", "first"), sure)
        for sign in entry.get("signs", ())
    )
    begins = entry.get("begins")
    tables = tuple(map(frozenset, entry.get("tables", ())))
    return ForeignFormat(
        entry["name"],
        hint=entry.get("hint", ""),
        sure=sure,
        signs=FileSigns(*signs),
        begins=re.compile(begins.encode("latin-1")) if begins else None,
        tables=tables,
    )


def _text(data: bytes) -> bytes:
    return data.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")


def foreign_format(head: Head) -> ForeignFormat | None:
    """Return the surest foreign format of a file; None if the file has the signs of no foreign format."""
    best = max(foreign_formats(), key=lambda foreign: foreign.sureness(head))
    return best if best.sureness(head) > 0 else None


def foreign_database(tables: Collection[str]) -> ForeignFormat | None:
    """Return the foreign format of a database with these tables; None if there is none."""
    return next((foreign for foreign in foreign_formats() if foreign.owns(tables)), None)


def chat_sentence(head: Head) -> str:
    """Return the error text for a chat of an unknown program; empty if the file is no chat."""
    first = head.rows[0] if head.rows else None
    inside = fields_of(first).values() if not isinstance(first, list) else [first]
    return _CHAT if any(map(_is_chat, (list(head.rows), *inside))) else ""


def _is_chat(rows: Any) -> bool:
    """Is this a list of messages with a speaker and a text each?"""
    first = objects_of(list_of(rows)[:20])
    messages = [row for row in first if _speaker(row) and not _CONTENT.isdisjoint(row)]
    speakers = {_speaker(message).lower() for message in messages}
    return len(messages) > 1 and not speakers.isdisjoint(_NAMES)


def _speaker(row: Mapping[str, Any]) -> str:
    named = (row.get(key) for key in _SPEAKERS)
    return next((name for name in named if isinstance(name, str)), "")
