"""JSON laid out for reading, and the rules that colour it and diffs, line by line.

The layout never changes a token: numbers of thirty digits, escapes and repeated keys stay as they were written. Lines
are coloured one at a time and only when they come into sight, so the size of a text does not matter.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from inspector.core.jsontext import NotJson, loads

Kind: TypeAlias = Literal["key", "string", "number", "word", "added", "removed", "place"]
"""What a stretch of a line is; the theme gives it a colour."""
Rules: TypeAlias = Literal["", "json", "diff"]

PRETTY_LIMIT = 2_000_000
"""Characters; a longer JSON text is shown as it is."""
SHORT = 72
"""A list of plain values up to this many characters stays on one line."""
DEEPEST = 40
"""Levels that are indented; what lies deeper keeps this indent, or the spaces alone would be quadratic."""

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]++')
_FLAT = re.compile(r'\[(?:[^\[\]{}"]++|"(?:[^"\\]++|\\.)*+")*+\]')
_OPEN, _CLOSE = frozenset("{["), frozenset("}]")
_COLOUR = re.compile(
    r'(?P<key>"(?:[^"\\]++|\\.)*+"(?=\s*:))|(?P<string>"(?:[^"\\]++|\\.)*+"?)'
    r"|(?P<number>-?\d[\d.eE+-]*+)|(?P<word>\b(?:true|false|null)\b)"
)
_HUNK = re.compile(r"^(?:@@ -\d+(?:,\d+)? \+\d+|diff --git )", re.MULTILINE)


class Span(NamedTuple):
    """`line[start:end]` is a `kind`."""

    start: int
    end: int
    kind: Kind


def pretty(text: str) -> Iterator[str] | None:
    """The JSON text laid out over lines, token by token; None where it is no JSON object or list (or too large)."""
    if len(text) > PRETTY_LIMIT or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        loads(text.encode("utf-8", "replace"))
    except NotJson:
        return None
    return _laid_out(text)


def _laid_out(text: str) -> Iterator[str]:
    depth, at, previous = 0, 0, ""
    while match := _TOKEN.search(text, at):
        token, at = match.group(), match.end()
        if token == "[" and (flat := _FLAT.match(text, match.start(), match.start() + SHORT)):
            token, at = "".join(", " if t == "," else t for t in _TOKEN.findall(flat.group())), flat.end()
        if token in _CLOSE:
            depth -= 1
            if previous not in _OPEN:
                yield _line(depth)
        elif previous in _OPEN:
            yield _line(depth)
        yield token
        depth += token in _OPEN
        if token == ",":
            yield _line(depth)
        elif token == ":":
            yield " "
        previous = token


def _line(depth: int) -> str:
    return "\n" + "  " * min(depth, DEEPEST)


def looks_like_diff(text: str) -> bool:
    """Is there a hunk or a git header near the beginning?"""
    return _HUNK.search(text, 0, 20_000) is not None


def spans(line: str, rules: Rules) -> Iterator[Span]:
    """What to colour in one line."""
    if rules == "json":
        for match in _COLOUR.finditer(line):
            kind = match.lastgroup
            yield Span(*match.span(), kind)  # type: ignore[arg-type]  # the groups are named after the kinds
    elif rules == "diff":
        if line.startswith(("@@ ", "diff --git ", "--- ", "+++ ", "index ")):
            yield Span(0, len(line), "place")
        elif line.startswith(("+", "-")):
            yield Span(0, len(line), "added" if line[0] == "+" else "removed")
