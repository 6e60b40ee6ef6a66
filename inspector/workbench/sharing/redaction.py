"""Private texts in what is to be shared: keys, e-mail addresses and the names of home folders, found and replaced."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inspector.core.jsontext import dumps, loads
from inspector.proxy.record.redact_text import REDACTED, redact_values, redacted_text
from inspector.transcripts.binary_values import (
    change_marked_text,
    has_bytes,
    is_marked,
    read_marked_text,
)

_EMAIL = re.compile(r"(?<![\w.+-])\w[\w.+-]*@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}")
_HOME = re.compile(r"(?:/home/|/Users/|[A-Za-z]:[\\/]+Users[\\/]+)([\w-]+(?:\.[\w-]+)*)")
_DEVICE = r"(?!/(?:null|zero|tty|stdin|stdout|stderr|fd|shm|u?random)\b)"
"""After a name that is also that of a folder of the system, as `dev`."""
_IS_PLACEHOLDER = re.compile(r"\W*(?:redacted|key)\W*", re.IGNORECASE)
"""What is written in the place of a replaced key."""
_SHORTEST_NAME = 3
"""Characters of a name that is also replaced where it is not part of a path."""
_PUBLIC_NAMES = frozenset({"user", "shared", "public", "runner", "ubuntu", "root"})
_UNSAFE = re.compile(r"[\x00-\x1f\"\\<>]")
"""What a replacement may not hold, as it may be put into JSON that is inside a string."""


@dataclass(frozen=True, slots=True)
class PrivateText:
    """A text that should not be shared."""

    kind: str
    """key, e-mail, home folder."""
    text: str
    times: int
    place: str = ""
    """Where it was found first."""

    @property
    def preview(self) -> str:
        """Return the text as a review shows it: of a key only its beginning and its length."""
        if self.kind != "key":
            return self.text
        return f"{self.text[: min(6, len(self.text) // 3)]}… ({len(self.text)} characters)"

    @property
    def replacement(self) -> str:
        """Return what takes its place, unless the user says otherwise."""
        return f"({self.kind})"


class PrivateTexts:
    """Collects what is private of many texts."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        self._places: dict[tuple[str, str], str] = {}

    def add_text(self, place: str, text: str) -> None:
        """Look at a text. `place` says to people where it is."""
        for key in _find_keys(text):
            self._count("key", key, place)
        self._add_names(place, text)

    def add_value(self, place: str, written: str) -> None:
        """Look at every string of a value, given as JSON, and at what the names of its fields say."""
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
        """`replacements`: what the user wants in the place of a text; without an entry, its kind."""
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
        """Return a text without what is private."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._signs[match[0]], text)

    def replace_in_value(self, value: Any) -> Any:
        """Return a value as JSON has it, with the private texts of its strings and names replaced."""
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
    """Yield every string of a value as JSON has it, names included."""
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
    """Return the texts that the redaction of recordings takes out."""
    return _compare(text, redacted_text(text))


def _compare(text: str, redacted: str) -> list[str]:
    """Return what was taken out of a text."""
    if text == redacted:
        return []
    keys = []
    pieces = redacted.split(REDACTED)
    at = len(pieces[0])
    for piece in pieces[1:]:
        end = text.index(piece, at) if piece else len(text)
        keys.append(text[at:end])
        at = end + len(piece)
    return [key for key in keys if key.strip()]


def _find_keys_in_value(written: str) -> list[str]:
    """Return the keys in a value that is given as JSON."""
    value = loads(written.encode())
    secrets = redact_values(value)
    if dumps(value) == written and not has_bytes(written):
        return []
    keys = [text for _, text in secrets if len(text) > 2]
    for text in strings_in(loads(written.encode())):
        keys += _find_keys(text)
    return keys
