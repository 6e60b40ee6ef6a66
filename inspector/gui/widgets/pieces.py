"""What the plain-text view is given, cut into pieces small enough to be laid out one after the other. No Qt here.

A section keeps its original text; a piece is what is displayed of it, with the way back from Qt's positions. JSON is
indented without changing a token: numbers of thirty digits, escapes and repeated keys stay as they were written. Lines
of JSON and of diffs are coloured one at a time, when they come into sight, so the size of a text does not matter.
Code is coloured by its language, once its words were found.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from inspector.core.untyped import value_in
from inspector.gui.look.visible import Shown, visible
from inspector.gui.widgets.code import CodeStretch, ColouredSpan, fenced

Look: TypeAlias = Literal["heading", "prose", "code", "exact", "diff"]
"""Code that is JSON is laid out anew; what is exact stays as it is."""

PIECE = 16_000
"""Characters of one piece: a few milliseconds of work."""
Rules: TypeAlias = Literal["", "json", "diff"]
"""By which rules a line is coloured."""

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
_HUNK = re.compile(r"^(?:@@ -\d+(?:,\d+)? \+\d+|diff --git |\*\*\* Begin Patch$)", re.MULTILINE)
_PLACES = ("@@", "diff --git ", "--- ", "+++ ", "index ", "*** ")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and an original text. Empty heading: none; empty text: the heading alone."""

    heading: str
    text: str = ""
    look: Look = "prose"
    language: str = ""
    """Of its code, by pygments' name; empty: none, or what it looks like."""
    before: int = 0
    """Characters before its code."""
    strict: bool = False
    """Shown to be judged: `visible` says what that means."""


class Piece(NamedTuple):
    """A stretch of what is displayed."""

    shown: Shown
    look: Look
    rules: Rules = ""
    code: CodeStretch | None = None
    """What it is a part of, from the character `at` on."""
    at: int = 0
    brackets: tuple[tuple[int, int], ...] = ()
    """Of JSON: places in its text before hidden characters are spelt out, each with the entries of what is closed
    there; 0: it opens something."""


def pieces(sections: Sequence[Section]) -> Iterator[Piece]:
    """All pieces in order, headings and line ends between them included. Lazy: a text costs when it is read."""
    gap = ""
    for section in sections:
        if section.heading:
            yield Piece(_own(f"{gap}{section.heading}\n"), "heading")
        elif gap:
            yield Piece(_own(gap), section.look)
        yield from _body(section)
        gap = "\n\n" if section.text else "\n"


def _body(section: Section) -> Iterator[Piece]:
    indented = pretty(section.text) if section.look == "code" and not section.language else None
    if indented is not None:
        for text, brackets in _gathered(indented):
            yield Piece(visible(text), section.look, "json", brackets=brackets)
        return
    for text, look, language in _stretches(section):
        is_diff = language == "diff" or look == "diff" or (look == "code" and not language and looks_like_diff(text))
        code, at = CodeStretch(text, language) if language and not is_diff else None, 0
        for chunk in cut(text):
            yield Piece(visible(chunk, strict=section.strict), look, "diff" if is_diff else "", code, at)
            at += len(chunk)


def _stretches(section: Section) -> Iterator[tuple[str, Look, str]]:
    """Its text in stretches of one language, or of none."""
    if section.look == "prose":
        for text, language in fenced(section.text):
            yield text, "prose" if language is None else "exact", language or ""
    else:
        yield section.text[: section.before], "exact", ""
        yield section.text[section.before :], section.look, section.language


def _own(text: str) -> Shown:
    displayed = visible(text)
    return Shown(displayed.text, displayed.text)


def cut(text: str) -> Iterator[str]:
    """The text in stretches of about PIECE characters, at line ends where there are any, never inside CR LF."""
    at = 0
    while len(text) - at > PIECE:
        end = text.rfind("\n", at + PIECE // 2, at + PIECE) + 1 or at + PIECE
        end += text[end - 1 : end + 1] == "\r\n"
        yield text[at:end]
        at = end
    if at < len(text):
        yield text[at:]


def _gathered(tokens: Iterable[str]) -> Iterator[tuple[str, tuple[tuple[int, int], ...]]]:
    """Tokens put together into stretches of about PIECE characters, with their brackets; a long token is cut."""
    held, brackets, counts = list[str](), list[tuple[int, int]](), list[int]()
    length = 0
    for token in tokens:
        if length + len(token) > PIECE and token[0] == "\n":
            yield from _cut("".join(held), brackets)
            held, brackets, length = [], [], 0
        if token in _OPEN:
            brackets.append((length, 0))
            counts.append(1)
        elif token in _CLOSE:
            brackets.append((length, counts.pop()))
        elif token == ",":
            counts[-1] += 1
        held.append(token)
        length += len(token)
    yield from _cut("".join(held), brackets)


def _cut(text: str, brackets: Sequence[tuple[int, int]]) -> Iterator[tuple[str, tuple[tuple[int, int], ...]]]:
    at = 0
    for chunk in cut(text):
        yield chunk, tuple((place - at, count) for place, count in brackets if at <= place < at + len(chunk))
        at += len(chunk)


# -- where pieces lie in the document ----------------------------------------------------------------------------------


class PlacedPiece(NamedTuple):
    """A piece in the document, from `start` to `end` in Qt's positions (UTF-16 units)."""

    start: int
    end: int
    piece: Piece

    def code_point(self, at: int) -> int:
        """Qt's position as one of the piece's text."""
        text, local = self.piece.shown.text, at - self.start
        if self.end - self.start == len(text):
            return local
        return len(text.encode("utf-16-le")[: 2 * local].decode("utf-16-le", "ignore"))

    def position(self, at: int) -> int:
        """A position of the piece's text as Qt's."""
        text = self.piece.shown.text
        if self.end - self.start == len(text):
            return self.start + at
        return self.start + len(text[:at].encode("utf-16-le")) // 2


class TextLayout:
    """All pieces of a document in order. They touch: where one ends the next begins."""

    def __init__(self) -> None:
        self._placed: list[PlacedPiece] = []
        self._starts: list[int] = []

    @property
    def pieces(self) -> Sequence[PlacedPiece]:
        return self._placed

    def add(self, placed: PlacedPiece) -> None:
        self._placed.append(placed)
        self._starts.append(placed.start)

    def between(self, start: int, end: int) -> Iterator[tuple[PlacedPiece, int, int]]:
        """The pieces that have a part between Qt's positions, each with that part of its text (code points)."""
        for index in range(max(0, bisect_right(self._starts, start) - 1), len(self._placed)):
            placed = self._placed[index]
            if placed.start >= end:
                return
            if placed.end > start:
                yield placed, placed.code_point(max(start, placed.start)), placed.code_point(min(end, placed.end))

    def original(self, start: int, end: int) -> str:
        """The original of what is displayed between Qt's positions."""
        return "".join(placed.piece.shown.origin(first, last) for placed, first, last in self.between(start, end))


# -- JSON and diffs ----------------------------------------------------------------------------------------------------


def pretty(text: str) -> Iterator[str] | None:
    """The JSON text over lines, indented, token by token; None where it is no JSON object or list (or too large)."""
    if len(text) > PRETTY_LIMIT or text.lstrip()[:1] not in ("{", "["):
        return None
    return None if value_in(text) is None else _indented(text)


def _indented(text: str) -> Iterator[str]:
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
    """Is there a hunk, a git header or the first line of a patch near the beginning?"""
    return _HUNK.search(text, 0, 20_000) is not None


def spans(line: str, rules: Rules) -> Iterator[ColouredSpan]:
    """What to colour in one line."""
    if rules == "json":
        for match in _COLOUR.finditer(line):
            kind = match.lastgroup
            yield ColouredSpan(*match.span(), kind)  # type: ignore[arg-type]  # the groups are named after the kinds
    elif rules == "diff":
        if line.startswith(_PLACES):
            yield ColouredSpan(0, len(line), "place")
        elif line.startswith(("+", "-")):
            yield ColouredSpan(0, len(line), "added" if line[0] == "+" else "removed")
