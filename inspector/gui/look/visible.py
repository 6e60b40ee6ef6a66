"""Make untrusted text visible: hidden characters are shown as tokens, and lines too long to lay out are broken.

Nothing is lost: every change is kept as an Edit, so that a selection of the shown text maps back to the original.
Positions are Python string indices (code points). No Qt here.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from inspector.core.heavy import pattern

LONG_LINE = 10_000
"""Maximum number of characters of an unbroken line.

Longer lines take Qt seconds to lay out, so they are shown broken.
"""
BREAK = 2_000
LONG_PICTURES, BREAK_PICTURES = 1_000, 200
"""The same two limits for lines that are mostly pictures, each of which costs as much as a hundred letters."""
MOST_JOINED = 10
"""Maximum number of pictures joined into one, more than any in use. A joiner beyond the limit is spelt out."""
BROKEN = "↩\n"
"""The text shown where a long line was broken."""

_NAMES = {0x00: "NUL", 0x07: "BEL", 0x08: "BS", 0x0D: "CR", 0x1B: "ESC", 0x7F: "DEL"}
_HIDDEN = pattern(
    "([\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffc\ufffe\uffff"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff])\\1*"
)
"""Control characters, bidi marks, zero-width and filler characters, tags, and the characters that Qt uses
internally.
"""
_HIDDEN_OR_BLANK = pattern(
    _HIDDEN.pattern.replace(
        "\xad",
        "\xa0\xad\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\ue000-\uf8ff"
        "\U00013430-\U0001345f\U0001bca0-\U0001bca3\U000f0000-\U0010ffff",
        1,
    )
)
"""The same, plus characters that look like a blank and characters for which fonts need not have a glyph."""
_PLAIN_HIDDEN = pattern("([\x00-\x08\x0b-\x1f\x7f])\\1*")
_LONG = pattern(f"[^\n]{{{LONG_LINE + 1},}}")
_LONGISH = pattern(f"[^\n]{{{LONG_PICTURES + 1},}}")
_DRAWN = pattern("[\u200d\ufe0f\U0001f000-\U0001faff]")
_GLUE = "\u200d\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_PICTURE = pattern(
    "[\u00a9\u00ae\u203c-\u2049\u2122-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_JOINING = pattern("[\u0600-\u109f\u1780-\u18af\ua800-\uabff]")
"""Scripts whose spelling uses joiners: Arabic, scripts of India and South-East Asia, Mongolian."""
_FLAG = pattern("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,7}\U000e007f")


class Edit(NamedTuple):
    """A replacement: the displayed text `[start:end]` replaces the original `[first:last]`."""

    start: int
    end: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Shown:
    """A displayed text, and how it maps back to the original."""

    text: str
    original: str
    edits: Sequence[Edit] = ()

    def origin(self, start: int, end: int) -> str:
        """Return the original of `text[start:end]`. If a token is cut, its whole original is included."""
        starts = [edit.start for edit in self.edits]
        return self.original[
            self._back(start, starts, after=False) : self._back(end, starts, after=True)
        ]

    def back(self, at: int) -> int:
        """Return the index in the original of `text[at]`."""
        return self._back(at, [edit.start for edit in self.edits], after=False)

    def place(self, at: int) -> int:
        """Return the index in the text of `original[at]`; within a token, the index of the token's first character."""
        index = bisect_right(self.edits, at, key=lambda edit: edit.first) - 1
        if index < 0:
            return at
        edit = self.edits[index]
        return edit.start if at < edit.last else edit.end + at - edit.last

    def _back(self, at: int, starts: Sequence[int], after: bool) -> int:
        index = bisect_right(starts, at) - 1
        if index < 0:
            return at
        edit = self.edits[index]
        if at >= edit.end:
            return edit.last + at - edit.end
        return edit.last if after and at > edit.start else edit.first


def visible(text: str, *, strict: bool = False) -> Shown:
    """Spell out hidden characters as `⟨U+202E⟩`, repeated ones as `⟨NUL ×12⟩`, and break long lines. O(text).

    Args:
        text: The original text.
        strict: Also spell out unusual blanks and joiners of pictures, so that no two different texts look alike.
    """
    pieces: list[str] = []
    edits: list[Edit] = []
    position = length = 0
    for first, last, spelt in _tokens(text, strict):
        pieces += (text[position:first], spelt)
        length += first - position
        edits.append(Edit(length, end=length + len(spelt), first=first, last=last))
        length += len(spelt)
        position = last
    displayed = (
        Shown("".join([*pieces, text[position:]]), text, edits) if edits else Shown(text, text)
    )
    return _break_long_lines(displayed)


def token(character: str, times: int = 1) -> str:
    """Return the spelling of a hidden character that occurs `times` in a row."""
    code = ord(character)
    name = _NAMES.get(code) or f"U+{code:04X}"
    return f"⟨{name} ×{times:,}⟩" if times > 1 else f"⟨{name}⟩"


def _tokens(text: str, strict: bool) -> Iterator[tuple[int, int, str]]:
    """Yield (first, last, spelling) of the hidden characters, in order and without overlaps."""
    hidden = _HIDDEN_OR_BLANK if strict else _HIDDEN
    if text.isascii():
        hidden = _PLAIN_HIDDEN
    joiners = _Joiners(text)
    for match in hidden.finditer(text):
        at, end = match.span()
        character = text[at]
        if character in "\r\u2028\u2029":
            yield from _line_ends(text, at, end)
        elif strict:
            yield at, end, token(character, end - at)
        elif not joiners.is_in_flag(at):
            at += joiners.is_visible(at)
            if at < end:
                yield at, end, token(character, end - at)


def _line_ends(text: str, at: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Yield the unusual line ends of a range, each with a line break added unless one follows."""
    for index in range(at, end):
        has_break = text[index] == "\r" and text[index + 1 : index + 2] == "\n"
        yield index, index + 1, token(text[index]) + ("" if has_break else "\n")


class _Joiners:
    """Decides which hidden characters of a text belong to visible ones. Ask about ascending positions only."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._flag_end = 0
        self._joined = 0
        """Number of pictures joined in a row up to `_joined_at`."""
        self._joined_at = -9

    def is_in_flag(self, at: int) -> bool:
        """Return True if the character belongs to the flag of a region."""
        character = self._text[at]
        if "\U000e0000" < character < "\U000e0080":
            flag = _FLAG.match(self._text, at - 1)
            if flag:
                self._flag_end = flag.end()
                return True
        return at < self._flag_end

    def is_visible(self, at: int) -> bool:
        """Return True if the character is a joiner or variation selector of a visible character.

        At most MOST_JOINED joiners in a row count as such.
        """
        if not _belongs(self._text, at):
            return False
        if self._text[at] != "\u200d":
            return True
        # A single picture since the last joiner.
        is_chain = _is_picture(self._text[self._joined_at + 1 : at])
        self._joined = self._joined + 1 if is_chain else 1
        self._joined_at = at
        if self._joined > MOST_JOINED:
            self._joined = 0
            return False
        return True


def _is_picture(between: str) -> bool:
    """Return True if the text is a single picture with its joiners and selectors."""
    return len(between) < 5 and sum(character not in _GLUE for character in between) == 1


def _belongs(text: str, at: int) -> bool:
    """Return True if the joiner or variation selector at `at` belongs to the spelling of a visible character."""
    character = text[at]
    before = text[at - 1 : at]
    after = text[at + 1 : at + 2]
    if "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef":
        return before > " " and not _HIDDEN.match(before)
    if character == "\u200d" and before == "\ufe0f":
        before = text[at - 2 : at - 1]
    if character == "\u200d" and _PICTURE.match(before) and _PICTURE.match(after):
        return True
    return character in "\u200c\u200d" and bool(_JOINING.match(before) and _JOINING.match(after))


def _break_long_lines(displayed: Shown) -> Shown:
    """Break lines that are too long to lay out, but never inside a token or a composed character."""
    breaks: list[tuple[int, Edit | None]] = []
    for start, end, every in _long_lines(displayed.text):
        breaks += [(position, None) for position in _places(displayed.text, start, end, every)]
    if not breaks:
        return displayed
    tokens: list[tuple[int, Edit | None]] = [(edit.start, edit) for edit in displayed.edits]
    pieces: list[str] = []
    edits: list[Edit] = []
    position = shift = drift = 0  # drift: how far the original lags behind the displayed text
    end = 0
    for place, edit in sorted(breaks + tokens, key=lambda mark: mark[0]):
        if edit is not None:
            edits.append(edit._replace(start=edit.start + shift, end=edit.end + shift))
            drift = edit.last - edit.end
            end = edit.end
            continue
        place = max(place, end)
        pieces += (displayed.text[position:place], BROKEN)
        start = place + shift
        original_place = place + drift
        edits.append(
            Edit(start, end=start + len(BROKEN), first=original_place, last=original_place)
        )
        position = place
        shift += len(BROKEN)
    return Shown("".join([*pieces, displayed.text[position:]]), displayed.original, edits)


def _long_lines(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, characters between two breaks) for each line that is too long to lay out."""
    for line in (_LONG if text.isascii() else _LONGISH).finditer(text):
        start, end = line.span()
        if len(_DRAWN.findall(text, start, end)) * 4 > end - start:
            yield start, end, BREAK_PICTURES
        elif end - start > LONG_LINE:
            yield start, end, BREAK


def _places(text: str, start: int, end: int, every: int) -> Iterator[int]:
    for place in range(start + every, end, every):
        near = range(place, min(place + 64, end))
        yield next((position for position in near if not _is_joined(text, position)), place)


def _is_joined(text: str, at: int) -> bool:
    """Do the characters before and after an index form one character on screen?"""
    character = text[at]
    if unicodedata.combining(character) or character in _GLUE:
        return True
    return text[at - 1] == "\u200d"  # a joiner


def line(text: str, most: int = 200) -> str:
    """Return the beginning of a text on one line, with hidden characters spelt out; at most `most` characters."""
    head = text[: most + 1].strip()
    displayed = " ".join(visible(head[:most]).text.split())
    return displayed + "…" if len(text.strip()) > most else displayed
