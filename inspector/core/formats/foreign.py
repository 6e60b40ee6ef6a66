"""Formats that are recognised and cannot be read: a file is refused by its name, not opened as something else.

The table is `resources/foreign_formats.toml`.
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
"""Surer than a bare body of an API, less sure than the marks that only one agent's sessions bear."""
_CHAT = (
    "this looks like a chat of an unknown program. If its messages are those of an API, `--format openai-chat` (or"
    " anthropic, openai-responses, gemini) reads them"
)
_CONTENT = frozenset(("content", "text", "message", "value", "parts", "body"))
"""Under which names programs keep what was said, and below who said it."""
_SPEAKERS = ("role", "sender", "author", "from", "speaker", "type", "source")
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
    """A foreign format: its signs, and what to tell about it."""

    name: str
    """With its article: `a Cursor chat`."""
    hint: str
    """What to open instead; empty where nothing is known."""
    sure: float
    signs: FileSigns
    begins: re.Pattern[bytes] | None
    """How such a text or binary file begins."""
    tables: tuple[frozenset[str], ...]
    """Tables of such a database, one set or another. A single table must be the only one."""

    @property
    def sentence(self) -> str:
        """What to tell about a file of this format, as a clause without its full stop."""
        return f"this looks like {self.name}" + (
            f": {self.hint}" if self.hint else ", which cannot be read yet"
        )

    def sureness(self, head: Head) -> float:
        """Return how sure it is that the file is of this format: 0 or `sure`."""
        is_known = self.signs(head) > 0 or (
            self.begins is not None and self.begins.match(_text(head.data)) is not None
        )
        return self.sure if is_known else 0.0

    def owns(self, tables: Collection[str]) -> bool:
        """Are these the tables of such a database?"""
        names = frozenset(tables)
        return any(own == names if len(own) == 1 else own <= names for own in self.tables)


@cache
def foreign_formats() -> tuple[ForeignFormat, ...]:
    """The table, read when a file is first refused."""
    table = tomllib.loads(resource("foreign_formats.toml").read_text("utf-8"))
    return tuple(map(_entry, table["format"]))


def _entry(entry: Mapping[str, Any]) -> ForeignFormat:
    sure = entry.get("sure", _SURE)
    signs = (
        FileSign(sign["pattern"], sign.get("rows", "first"), sure)
        for sign in entry.get("signs", ())
    )
    begins = entry.get("begins")
    return ForeignFormat(
        entry["name"],
        entry.get("hint", ""),
        sure,
        FileSigns(*signs),
        re.compile(begins.encode("latin-1")) if begins else None,
        tuple(map(frozenset, entry.get("tables", ()))),
    )


def _text(data: bytes) -> bytes:
    return data.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")


def foreign_format(head: Head) -> ForeignFormat | None:
    """Return the surest foreign format of a file; None where it bears the signs of none."""
    best = max(foreign_formats(), key=lambda foreign: foreign.sureness(head))
    return best if best.sureness(head) > 0 else None


def foreign_database(tables: Collection[str]) -> ForeignFormat | None:
    """Return the foreign format of a database with these tables."""
    return next((foreign for foreign in foreign_formats() if foreign.owns(tables)), None)


def chat_sentence(head: Head) -> str:
    """Return the sentence for a chat of an unknown program; empty for a file that is no chat."""
    first = head.rows[0] if head.rows else None
    inside = fields_of(first).values() if not isinstance(first, list) else [first]
    return _CHAT if any(map(_is_chat, (list(head.rows), *inside))) else ""


def _is_chat(rows: Any) -> bool:
    """Is it a list in which speakers say something?"""
    messages = [
        row
        for row in objects_of(list_of(rows)[:20])
        if _speaker(row) and not _CONTENT.isdisjoint(row)
    ]
    return len(messages) > 1 and any(_speaker(message).lower() in _NAMES for message in messages)


def _speaker(row: Mapping[str, Any]) -> str:
    named = (row.get(key) for key in _SPEAKERS)
    return next((name for name in named if isinstance(name, str)), "")
