"""Split sections of text into pieces that are small enough to be laid out one at a time. This file needs no Qt.

A section keeps its original text. A piece is the displayed form of a part of it, and maps Qt's positions back to the
original. JSON is indented without changing a token: numbers of thirty digits, escapes and repeated keys keep their
spelling. Lines of JSON and of diffs are coloured when they become visible, so the size of a text does not matter. Code
is coloured by its language once it has been highlighted.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from inspector.core.untyped import value_in
from inspector.gui.look.visible import Shown, visible
from inspector.gui.widgets.code import CodeStretch, ColouredSpan, split_fences

Look: TypeAlias = Literal["heading", "prose", "code", "exact", "diff"]
"""How a section is shown. JSON in a `code` section is indented; an `exact` section is shown unchanged."""

PIECE = 16_000
"""Maximum number of characters of one piece: a few milliseconds of work."""
Rules: TypeAlias = Literal["", "json", "diff"]
"""The rules by which the lines of a piece are coloured; empty for none."""

PRETTY_LIMIT = 2_000_000
"""Maximum number of characters of a JSON text that is indented. Longer texts are shown unchanged."""
SHORT = 72
"""Maximum number of characters of a list of plain values that stays on one line."""
DEEPEST = 40
"""Maximum depth of indentation. Deeper levels keep this indent, because the spaces alone would grow quadratically."""

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
    """A heading and an original text. An empty heading is not shown; with an empty text only the heading is shown."""

    heading: str
    text: str = ""
    look: Look = "prose"
    language: str = ""
    """pygments' name of the code's language; empty: none, or guessed from the text."""
    before: int = 0
    """Number of characters of `text` before the code."""
    strict: bool = False
    """Passed to `visible`: spell out every character that could mislead someone who has to decide."""


class Piece(NamedTuple):
    """A stretch of the displayed text."""

    display: Shown
    look: Look
    rules: Rules = ""
    code: CodeStretch | None = None
    """The whole code to which the piece belongs; the piece begins at its character `at`."""
    at: int = 0
    brackets: tuple[tuple[int, int], ...] = ()
    """The brackets of JSON in the piece: (index, count).

    `index` is the bracket's index in the text before hidden characters are spelt out. `count` is the number of entries
    that a closing bracket ends; 0 for an opening bracket.
    """


def split_sections(sections: Sequence[Section]) -> Iterator[Piece]:
    """Yield all pieces in order, with headings and the line ends between sections.

    Lazy: a section is only processed when its first piece is read.
    """
    gap = ""
    for section in sections:
        if section.heading:
            yield Piece(_self_mapped(f"{gap}{section.heading}\n"), "heading")
        elif gap:
            yield Piece(_self_mapped(gap), section.look)
        yield from _split_body(section)
        gap = "\n\n" if section.text else "\n"


def _split_body(section: Section) -> Iterator[Piece]:
    if section.look == "code" and not section.language:
        indented = pretty(section.text)
        if indented is not None:
            for text, brackets in _join_tokens(indented):
                yield Piece(visible(text), section.look, "json", brackets=brackets)
            return
    for text, look, language in _stretches(section):
        yield from _split_stretch(text, look, language, section.strict)


def _split_stretch(text: str, look: Look, language: str, strict: bool) -> Iterator[Piece]:
    """Yield the pieces of a text in one language, or in none."""
    is_diff = "diff" in (language, look)
    if look == "code" and not language:
        is_diff = looks_like_diff(text)
    code = CodeStretch(text, language) if language and not is_diff else None
    rules: Rules = "diff" if is_diff else ""
    position = 0
    for chunk in split_text(text):
        yield Piece(visible(chunk, strict=strict), look, rules, code, position)
        position += len(chunk)


def _stretches(section: Section) -> Iterator[tuple[str, Look, str]]:
    """Split the text of a section into stretches of one language or none; yield each with its look and language."""
    if section.look == "prose":
        for text, language in split_fences(section.text):
            yield text, "prose" if language is None else "exact", language or ""
    else:
        yield section.text[: section.before], "exact", ""
        yield section.text[section.before :], section.look, section.language


def _self_mapped(text: str) -> Shown:
    """Return a text of the program itself, whose original is the displayed text."""
    displayed = visible(text)
    return Shown(displayed.text, displayed.text)


def split_text(text: str) -> Iterator[str]:
    """Yield stretches of about PIECE characters, split at line ends if there are any, never inside CR LF."""
    position = 0
    while len(text) - position > PIECE:
        end = text.rfind("\n", position + PIECE // 2, position + PIECE) + 1 or position + PIECE
        end += text[end - 1 : end + 1] == "\r\n"
        yield text[position:end]
        position = end
    if position < len(text):
        yield text[position:]


def _join_tokens(tokens: Iterable[str]) -> Iterator[tuple[str, tuple[tuple[int, int], ...]]]:
    """Join tokens into stretches of about PIECE characters, with their brackets. A longer token is split."""
    held = list[str]()
    brackets = list[tuple[int, int]]()
    counts = list[int]()
    length = 0
    for token in tokens:
        if length + len(token) > PIECE and token[0] == "\n":
            yield from _split_with_brackets("".join(held), brackets)
            held = []
            brackets = []
            length = 0
        if token in _OPEN:
            brackets.append((length, 0))
            counts.append(1)
        elif token in _CLOSE:
            brackets.append((length, counts.pop()))
        elif token == ",":
            counts[-1] += 1
        held.append(token)
        length += len(token)
    yield from _split_with_brackets("".join(held), brackets)


def _split_with_brackets(
    text: str, brackets: Sequence[tuple[int, int]]
) -> Iterator[tuple[str, tuple[tuple[int, int], ...]]]:
    position = 0
    for chunk in split_text(text):
        inside = [
            (place - position, count)
            for place, count in brackets
            if position <= place < position + len(chunk)
        ]
        yield chunk, tuple(inside)
        position += len(chunk)


# -- where pieces lie in the document ----------------------------------------------------------------------------------


class PlacedPiece(NamedTuple):
    """A piece in the document, from `start` to `end` in Qt's positions (UTF-16 units)."""

    start: int
    end: int
    piece: Piece

    def code_point(self, at: int) -> int:
        """Convert a position of Qt to an index into the piece's text."""
        text = self.piece.display.text
        local = at - self.start
        if self.end - self.start == len(text):
            return local
        return len(text.encode("utf-16-le")[: 2 * local].decode("utf-16-le", "ignore"))

    def position(self, at: int) -> int:
        """Convert an index into the piece's text to a position of Qt."""
        text = self.piece.display.text
        if self.end - self.start == len(text):
            return self.start + at
        return self.start + len(text[:at].encode("utf-16-le")) // 2


class TextLayout:
    """All pieces of a document in order; each begins where the previous one ends."""

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
        """Yield the pieces that overlap two positions of Qt, each with the overlap in its text (code points)."""
        for index in range(max(0, bisect_right(self._starts, start) - 1), len(self._placed)):
            placed = self._placed[index]
            if placed.start >= end:
                return
            if placed.end > start:
                yield (
                    placed,
                    placed.code_point(max(start, placed.start)),
                    placed.code_point(min(end, placed.end)),
                )

    def original(self, start: int, end: int) -> str:
        """Return the original of the text displayed between two positions of Qt."""
        return "".join(
            placed.piece.display.origin(first, last)
            for placed, first, last in self.between(start, end)
        )


# -- JSON and diffs ----------------------------------------------------------------------------------------------------


def pretty(text: str) -> Iterator[str] | None:
    """Return a JSON object or list as tokens, with indentation and line breaks.

    Return None if the text is neither, or is longer than PRETTY_LIMIT.
    """
    if len(text) > PRETTY_LIMIT or text.lstrip()[:1] not in ("{", "["):
        return None
    return None if value_in(text) is None else _indent(text)


def _indent(text: str) -> Iterator[str]:
    depth = 0
    position = 0
    previous = ""
    while match := _TOKEN.search(text, position):
        token = match.group()
        position = match.end()
        if token == "[" and (flat := _FLAT.match(text, match.start(), match.start() + SHORT)):
            token = "".join(", " if t == "," else t for t in _TOKEN.findall(flat.group()))
            position = flat.end()
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
    """Return True if a hunk, a git header or the first line of a patch occurs near the beginning."""
    return _HUNK.search(text, 0, 20_000) is not None


def spans(line: str, rules: Rules) -> Iterator[ColouredSpan]:
    """Yield the coloured spans of one line."""
    if rules == "json":
        for match in _COLOUR.finditer(line):
            kind = match.lastgroup
            yield ColouredSpan(*match.span(), kind)  # type: ignore[arg-type]  # the groups are named after the kinds
    elif rules == "diff":
        if line.startswith(_PLACES):
            yield ColouredSpan(start=0, end=len(line), kind="place")
        elif line.startswith(("+", "-")):
            yield ColouredSpan(
                start=0, end=len(line), kind="added" if line[0] == "+" else "removed"
            )
