"""Signs: patterns of JSON values by which formats are recognised.

A pattern is a JSON value. An object matches an object that has all its keys with matching values. A list matches a list
whose first item matches; an empty list matches any list. A text matches texts: `a|b` is a choice, `*` at either end
matches any characters. `<text>`, `<number>`, `<list>`, `<object>` and `<any>` match values of that type, and `<absent>`
means that the key must be missing. A pattern may also be a function that returns whether a value matches.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from inspector.core.formats.format import Head

Pattern: TypeAlias = Any
"""A JSON value as described above, or a predicate of a value."""
Rows: TypeAlias = Literal["first", "any", "most", "every", "document"]
"""Which rows of a file must match. `most` means at least half of the first lines; `document` the whole JSON file."""

_TYPES: Mapping[str, Callable[[Any], bool]] = MappingProxyType(
    {
        "<any>": lambda value: True,
        "<text>": lambda value: isinstance(value, str),
        "<number>": lambda value: type(value) in (int, float),
        "<list>": lambda value: isinstance(value, list),
        "<object>": lambda value: isinstance(value, Mapping),
    }
)
_ABSENT = "<absent>"


def fits_pattern(value: Any, pattern: Pattern) -> bool:
    """Does a JSON value match the pattern? The module's docstring defines patterns."""
    if callable(pattern):
        return bool(pattern(value))
    if isinstance(pattern, Mapping):
        return isinstance(value, Mapping) and all(
            _has(value, key, inner) for key, inner in pattern.items()
        )
    if isinstance(pattern, str):
        return _fits_text(value, pattern)
    if isinstance(pattern, Sequence):
        return _fits_list(value, pattern)
    return type(value) is type(pattern) and bool(value == pattern)


def _fits_text(value: Any, pattern: str) -> bool:
    if pattern in _TYPES:
        return _TYPES[pattern](value)
    return isinstance(value, str) and any(_is_like(value, choice) for choice in pattern.split("|"))


def _fits_list(value: Any, pattern: Sequence[Pattern]) -> bool:
    if not isinstance(value, list):
        return False
    return not pattern or (bool(value) and fits_pattern(value[0], pattern[0]))


def _has(value: Mapping[str, Any], key: str, pattern: Pattern) -> bool:
    if isinstance(pattern, str) and pattern == _ABSENT:
        return key not in value
    return key in value and fits_pattern(value[key], pattern)


def _is_like(text: str, choice: str) -> bool:
    if choice.endswith("*"):
        return text.startswith(choice[:-1])
    return text.endswith(choice[1:]) if choice.startswith("*") else text == choice


@dataclass(frozen=True, slots=True)
class FileSign:
    """One sign of a format: a pattern, and the rows of the file that must match it."""

    pattern: Pattern
    rows: Rows = "first"
    sure: float = 1.0
    """How sure it is that a file with this sign has the format, from 0 to 1."""

    def is_on(self, head: Head) -> bool:
        """Does the file have this sign?"""
        rows = head.rows
        if self.rows == "document":
            return head.document is not None and fits_pattern(head.document, self.pattern)
        if self.rows == "first":
            return bool(rows) and fits_pattern(rows[0], self.pattern)
        needed = {"any": 1, "most": (len(rows) + 1) // 2, "every": len(rows)}[self.rows]
        return sum(fits_pattern(row, self.pattern) for row in rows) >= max(needed, 1)


class FileSigns:
    """All signs of a format: the `sniff` of a `Format`."""

    def __init__(self, *signs: FileSign) -> None:
        self.signs = signs

    def __call__(self, head: Head) -> float:
        """Return the sureness of the surest sign that the file has; 0 if it has none."""
        return max((sign.sure for sign in self.signs if sign.is_on(head)), default=0.0)
