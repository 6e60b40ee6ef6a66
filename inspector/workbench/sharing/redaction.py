"""Find and replace private texts before sharing: keys, e-mail addresses and the names of home folders."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inspector.core.jsontext import dumps, loads
from inspector.safety.redact_text import REDACTED, redact_values, redacted_text
from inspector.transcripts.binary_values import (
    change_marked_text,
    has_bytes,
    is_marked,
    read_marked_text,
)

_EMAIL = re.compile(r"(?<![\w.+-])\w[\w.+-]*@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}")
_HOME = re.compile(r"(?:/home/|/Users/|[A-Za-z]:[\\/]+Users[\\/]+)([\w-]+(?:\.[\w-]+)*)")
_DEVICE = r"(?!/(?:null|zero|tty|stdin|stdout|stderr|fd|shm|u?random)\b)"
"""Lookahead after a name that is also a system folder, such as `dev`: excludes paths of devices."""
_IS_PLACEHOLDER = re.compile(r"\W*(?:redacted|key)\W*", re.IGNORECASE)
"""Matches the placeholder that is written instead of a key."""
_SHORTEST_NAME = 3
"""Shortest name, in characters, that is also replaced outside a path."""
_PUBLIC_NAMES = frozenset({"user", "shared", "public", "runner", "ubuntu", "root"})
_UNSAFE = re.compile(r"[\x00-\x1f\"\\<>]")
"""Characters that a replacement may not contain, because it may be put into JSON inside a string."""


@dataclass(frozen=True, slots=True)
class PrivateText:
    """A text that should not be shared."""

    kind: str
    """The kind of text: key, e-mail or home folder."""
    text: str
    times: int
    place: str = ""
    """The place where the text was found first, in words."""

    @property
    def preview(self) -> str:
        """Return the text as a review shows it; for a key, only its beginning and its length."""
        if self.kind != "key":
            return self.text
        return f"{self.text[: min(6, len(self.text) // 3)]}… ({len(self.text)} characters)"

    @property
    def replacement(self) -> str:
        """Return the default replacement, used unless the user chooses another one."""
        return f"({self.kind})"


class PrivateTexts:
    """Collects the private texts among many texts."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        self._places: dict[tuple[str, str], str] = {}

    def add_text(self, place: str, text: str) -> None:
        """Search a text. `place` describes its location for people."""
        for key in _find_keys(text):
            self._count("key", key, place)
        self._add_names(place, text)

    def add_value(self, place: str, written: str) -> None:
        """Search every string of a value given as JSON, also using the names of its fields."""
        for key in _find_keys_in_value(written):
            self._count("key", key, place)
        for text in strings_in(loads(written.encode())):
            self._add_names(place, text)

    def _add_names(self, place: str, text: str) -> None:
        if "@" in text:
            for match in _EMAIL.finditer(text):
                self._count("e-mail", match[0], place)
        for match in _HOME.finditer(text):
            if match[1].lower() not in _PUBLIC_NAMES:
                self._count("home folder", match[1], place)

    def _count(self, kind: str, text: str, place: str) -> None:
        if kind == "key" and _IS_PLACEHOLDER.fullmatch(text):
            return
        self._counts[kind, text] = self._counts.get((kind, text), 0) + 1
        self._places.setdefault((kind, text), place)

    @property
    def found(self) -> tuple[PrivateText, ...]:
        """Return the private texts in the order in which they were found."""
        return tuple(
            PrivateText(kind, text, times, self._places[kind, text])
            for (kind, text), times in self._counts.items()
        )


class Redaction:
    """Replaces private texts."""

    def __init__(
        self, texts: Iterable[PrivateText], replacements: Mapping[str, str] | None = None
    ) -> None:
        """Prepare the replacements.

        Args:
            texts: The private texts to replace.
            replacements: The user's replacements by text; a text without an entry is replaced by its kind.
        """
        chosen = replacements or {}
        self._signs: dict[str, str] = {}
        patterns = []
        for private in sorted(texts, key=lambda private: -len(private.text)):
            sign = _UNSAFE.sub("", chosen.get(private.text, private.replacement))
            if private.text not in self._signs:
                patterns.append(_write_pattern(private))
            self._signs.setdefault(private.text, sign)
        self._pattern = re.compile("|".join(patterns)) if patterns else None

    def __len__(self) -> int:
        return len(self._signs)

    def replace(self, text: str) -> str:
        """Return a text with its private parts replaced."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._signs[match[0]], text)

    def replace_in_value(self, value: Any) -> Any:
        """Return a JSON value with the private texts in its strings and field names replaced."""
        if isinstance(value, str):
            return self.replace(value)
        if is_marked(value):
            return change_marked_text(value, self.replace)
        if isinstance(value, dict):
            return {
                self.replace(name): self.replace_in_value(field) for name, field in value.items()
            }
        if isinstance(value, list):
            return [self.replace_in_value(item) for item in value]
        return value


def strings_in(value: Any) -> Iterator[str]:
    """Yield every string of a JSON value, including field names."""
    holders = [value]
    while holders:
        holder = holders.pop()
        if isinstance(holder, str):
            yield holder
        elif is_marked(holder):
            yield read_marked_text(holder)
        elif isinstance(holder, dict):
            yield from holder
            holders += holder.values()
        elif isinstance(holder, list):
            holders += holder


def _write_pattern(private: PrivateText) -> str:
    escaped = re.escape(private.text)
    if private.kind != "home folder":
        return escaped
    if len(private.text) < _SHORTEST_NAME:
        return rf"(?<=/home/){escaped}(?![\w-])|(?<=/Users/){escaped}(?![\w-])"
    return rf"(?<![^\W_]){escaped}(?![^\W_]){_DEVICE}"


def _find_keys(text: str) -> list[str]:
    """Return the texts that the redaction of recordings would remove."""
    return _compare(text, redacted_text(text))


def _compare(text: str, redacted: str) -> list[str]:
    """Return the stretches of a text that were replaced in its redacted version."""
    if text == redacted:
        return []
    keys = []
    pieces = redacted.split(REDACTED)
    position = len(pieces[0])
    for piece in pieces[1:]:
        end = text.index(piece, position) if piece else len(text)
        keys.append(text[position:end])
        position = end + len(piece)
    return [key for key in keys if key.strip()]


def _find_keys_in_value(written: str) -> list[str]:
    """Return the keys in a value given as JSON."""
    value = loads(written.encode())
    secrets = redact_values(value)
    if dumps(value) == written and not has_bytes(written):
        return []
    keys = [text for _, text in secrets if len(text) > 2]
    for text in strings_in(loads(written.encode())):
        keys += _find_keys(text)
    return keys
