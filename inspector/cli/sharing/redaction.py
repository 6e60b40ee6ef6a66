"""Private texts in what is to be shared: keys, e-mail addresses and the names of home folders, found and replaced."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from inspector.proxy.record.redact_text import REDACTED, redacted_text

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_HOME = re.compile(r"(?:/home/|/Users/|[A-Za-z]:[\\/]+Users[\\/]+)([\w.-]+)")
_SHORTEST_NAME = 3
"""Characters of a name that is also replaced where it is not part of a path."""
_PUBLIC_NAMES = frozenset({"user", "shared", "public", "runner", "ubuntu", "root"})


@dataclass(frozen=True, slots=True)
class PrivateText:
    """A text that should not be shared."""

    kind: str
    """key, e-mail, home folder."""
    text: str
    times: int

    @property
    def preview(self) -> str:
        """Return the text as a review shows it: of a key only its beginning and its length."""
        return (
            f"{self.text[:6]}… ({len(self.text)} characters)" if self.kind == "key" else self.text
        )


class Redaction:
    """Replaces private texts. What is private follows from all texts together."""

    def __init__(self, texts: Iterable[str]) -> None:
        whole = "\n".join(texts)
        counts: dict[tuple[str, str], int] = {}
        for kind, private in (
            *(("key", key) for key in _find_keys(whole)),
            *(("e-mail", match[0]) for match in _EMAIL.finditer(whole)),
            *(("home folder", match[1]) for match in _HOME.finditer(whole)),
        ):
            if private.lower() not in _PUBLIC_NAMES:
                counts[kind, private] = counts.get((kind, private), 0) + 1
        self.found = tuple(PrivateText(kind, text, times) for (kind, text), times in counts.items())
        self._pattern, self._signs = _make_pattern(self.found)

    def replace(self, text: str) -> str:
        """Return a text without what is private."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._signs[match[0]], text)


def _find_keys(text: str) -> list[str]:
    """Return the texts that the redaction of recordings takes out."""
    keys = []
    pieces = redacted_text(text).split(REDACTED)
    at = len(pieces[0])
    for piece in pieces[1:]:
        end = text.index(piece, at) if piece else len(text)
        keys.append(text[at:end])
        at = end + len(piece)
    return [key for key in keys if key.strip() and key != REDACTED]


def _make_pattern(texts: Iterable[PrivateText]) -> tuple[re.Pattern[str] | None, Mapping[str, str]]:
    signs: dict[str, str] = {}
    patterns = []
    for private in sorted(texts, key=lambda private: -len(private.text)):
        signs.setdefault(private.text, f"({private.kind})")
        escaped = re.escape(private.text)
        is_name = private.kind == "home folder"
        if is_name and len(private.text) < _SHORTEST_NAME:
            escaped = rf"(?<=/home/){escaped}(?![\w-])|(?<=/Users/){escaped}(?![\w-])"
        elif is_name:
            escaped = rf"(?<![^\W_]){escaped}(?![^\W_])"
        patterns.append(escaped)
    return (re.compile("|".join(patterns)) if patterns else None), signs
