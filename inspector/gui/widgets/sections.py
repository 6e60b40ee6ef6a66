"""What the plain-text view is given: sections, cut into pieces small enough to be laid out one after the other.

A section keeps its original text; a piece is what is displayed of it, with the way back. No Qt here.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from inspector.gui.look.visible import Shown, visible
from inspector.gui.widgets.plain_json import Rules, looks_like_diff, pretty

Look: TypeAlias = Literal["heading", "prose", "code", "exact", "diff"]
"""Code that is JSON is laid out anew; what is exact stays as it is."""

PIECE = 16_000
"""Characters of one piece: a few milliseconds of work."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and an original text. Empty heading: none; empty text: the heading alone."""

    heading: str
    text: str = ""
    look: Look = "prose"


class Piece(NamedTuple):
    """A stretch of what is displayed."""

    shown: Shown
    look: Look
    rules: Rules = ""


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
    laid_out = pretty(section.text) if section.look == "code" else None
    if laid_out is not None:
        for text in _gathered(laid_out):
            yield Piece(visible(text), section.look, "json")
        return
    is_diff = section.look == "diff" or (section.look == "code" and looks_like_diff(section.text))
    rules: Rules = "diff" if is_diff else ""
    for text in cut(section.text):
        yield Piece(visible(text), section.look, rules)


def _own(text: str) -> Shown:
    shown = visible(text)
    return Shown(shown.text, shown.text)


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


def _gathered(tokens: Iterable[str]) -> Iterator[str]:
    """Tokens put together into stretches of about PIECE characters; a long token is cut."""
    held: list[str] = []
    length = 0
    for token in tokens:
        if length + len(token) > PIECE and token[0] == "\n":
            yield from cut("".join(held))
            held, length = [], 0
        held.append(token)
        length += len(token)
    yield from cut("".join(held))
