"""Find the source of a passage of rendered Markdown in the text as it was written. No Qt here.

Rendering drops signs, addresses of links and line ends, but keeps the words and their order. So the words of both texts
are aligned, and a position in one text is converted to the other by the words around it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from inspector.core.facts.sentences import sentences

_WORD = re.compile(r"[^\W_]+")
_EMPHASIS = "*_~`"
_FAR, _NEAR = 80, 20
"""Number of words of the source in which a pair of consecutive words is searched, and in which a single word is."""


class Word(NamedTuple):
    """A word that both texts have, with its position in the rendered text and in the source."""

    position: int
    source: int
    length: int

    @property
    def end(self) -> int:
        """The position after the word in the rendered text."""
        return self.position + self.length

    @property
    def source_end(self) -> int:
        """The position after the word in the source."""
        return self.source + self.length


def find_sentence(line: str, position: int) -> tuple[int, int] | None:
    """Return the start and the end of the sentence at a position of a line; None after the last sentence."""
    end = 0
    for sentence in sentences(line):
        start = line.index(sentence, end)
        end = start + len(sentence)
        if position <= end:
            return start, end
    return None


def align_words(rendered: str, source: str) -> Iterator[Word]:
    """Yield the words of a rendered text that its source contains, in order.

    If the source continues with another word, a word is searched together with the word after it, because the addresses
    of links contain short words, too.
    """
    words = [*_WORD.finditer(rendered)]
    source_words = [*_WORD.finditer(source)]
    names = [word.group() for word in source_words]
    following_names = [word.group() for word in words[1:]]
    following_names.append("")
    next_place = 0
    missed = 0
    for word, following in zip(words, following_names, strict=False):
        name = word.group()
        place = _find_word(names, first=next_place, name=name, following=following, missed=missed)
        if place is None:
            missed += 1
            continue
        next_place = place + 1
        missed = 0
        yield Word(word.start(), source_words[place].start(), len(name))


def _find_word(
    names: Sequence[str], first: int, name: str, following: str, missed: int
) -> int | None:
    """Return the index of a name at or after `first`; None if it is not near.

    Args:
        following: the name that comes next in the rendered text.
        missed: number of names directly before this one that were not found.
    """
    if first < len(names) and names[first] == name:
        return first
    last = min(len(names), first + _FAR + missed)
    nearest = None
    for place in range(first, last):
        if names[place] != name:
            continue
        if names[place + 1 : place + 2] == [following]:
            return place
        if nearest is None and place < first + _NEAR:
            nearest = place
    return nearest


def source_of_selection(rendered: str, source: str, start: int, end: int) -> tuple[int, int] | None:
    """Return (start, end) of the source of `rendered[start:end]`; None if the rendered passage contains no word."""
    words = [*align_words(rendered, source)]
    return _find_stretch(rendered, source, start, end, words)


def source_of_sentence(rendered: str, source: str, position: int) -> tuple[int, int] | None:
    """Return (start, end) in the source of the sentence at a position of the rendered text; None if there is none."""
    line_start = rendered.rfind("\n", 0, position) + 1
    line = rendered[line_start:].partition("\n")[0]
    sentence = find_sentence(line, position - line_start)
    if sentence is None:
        return None
    start = line_start + sentence[0]
    end = line_start + sentence[1]
    words = [*align_words(rendered, source)]
    stretch = _find_stretch(rendered, source, start, end, words)
    if stretch is None:
        return None
    first, last = _widen_to_blanks(source, stretch, start, end, words)
    return _leave_open_emphasis(source, first, last)


def _widen_to_blanks(
    source: str, stretch: tuple[int, int], start: int, end: int, words: Sequence[Word]
) -> tuple[int, int]:
    """Extend a passage of the source to the next blank on both sides, but not into a word of another sentence."""
    lowest = 0
    highest = len(source)
    for word in words:
        if word.position < start:
            lowest = word.source_end
        elif word.position >= end:
            highest = word.source
            break
    first, last = stretch
    while first > lowest and not source[first - 1].isspace():
        first -= 1
    while last < highest and not source[last].isspace():
        last += 1
    return first, last


def _find_stretch(
    rendered: str, source: str, start: int, end: int, words: Sequence[Word]
) -> tuple[int, int] | None:
    """Return (start, end) in the source from the first to the last word of `rendered[start:end]`.

    The passage includes the characters around these words that are the same in both texts.
    """
    inner_words = [word for word in words if word.position < end and word.end > start]
    if not inner_words:
        return None
    first_word = inner_words[0]
    last_word = inner_words[-1]
    left = max(start, first_word.position)
    right = min(end, last_word.end)
    first = first_word.source + left - first_word.position
    last = last_word.source_end - (last_word.end - right)
    while left > start and first > 0 and rendered[left - 1] == source[first - 1]:
        left -= 1
        first -= 1
    while right < end and last < len(source) and rendered[right] == source[last]:
        right += 1
        last += 1
    return first, last


def _leave_open_emphasis(source: str, first: int, last: int) -> tuple[int, int]:
    """Shorten a passage by the emphasis signs at its ends whose counterpart is outside the passage."""
    for sign in _EMPHASIS:
        text = source[first:last]
        runs = re.findall(f"{re.escape(sign)}+", text)
        if len(runs) % 2 == 0:
            continue
        last -= len(text) - len(text.rstrip(sign))
        first += len(text) - len(text.lstrip(sign))
    return first, last
