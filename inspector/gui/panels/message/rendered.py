"""What a stretch of rendered Markdown is in the text as it was written. No Qt here.

Rendering drops signs, addresses of links and line ends, but keeps the words and their order. So the words of both texts
are aligned, and positions are carried over by them.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from inspector.core.facts.sentences import sentences

_WORD = re.compile(r"\w+")
_EMPHASIS = "*_~`"
_FAR, _NEAR = 80, 20
"""Words of the source within which two words in a row are looked for, and a single one."""


class Word(NamedTuple):
    """A word that stands at `shown` in the rendered text and at `source` in the text as it was written."""

    shown: int
    source: int
    length: int


def find_sentence(line: str, at: int) -> tuple[int, int] | None:
    """Return where the sentence of a line that holds a position begins and ends; None behind the last one."""
    end = 0
    for found in sentences(line):
        start = line.index(found, end)
        end = start + len(found)
        if at <= end:
            return start, end
    return None


def align_words(shown: str, source: str) -> Iterator[Word]:
    """Yield the words of a rendered text that are found in its source, in order.

    A word that does not follow the previous one at once is looked for together with the word after it: addresses of
    links hold short words, too.
    """
    wanted, written = [*_WORD.finditer(shown)], [*_WORD.finditer(source)]
    names = [word.group() for word in written]
    at = missed = 0
    for place, word in enumerate(wanted):
        following = wanted[place + 1].group() if place + 1 < len(wanted) else ""
        found = _find_word(names, at, word.group(), following, missed)
        if found is None:
            missed += 1
            continue
        at, missed = found + 1, 0
        yield Word(word.start(), written[found].start(), len(word.group()))


def _find_word(names: Sequence[str], at: int, name: str, following: str, missed: int) -> int | None:
    """Return the place of a word from `at` on; None where it is not near. `missed`: words that were not found."""
    if at < len(names) and names[at] == name:
        return at
    nearest = None
    for place in range(at, min(len(names), at + _FAR + missed)):
        if names[place] != name:
            continue
        if place + 1 < len(names) and names[place + 1] == following:
            return place
        if nearest is None and place < at + _NEAR:
            nearest = place
    return nearest


def source_of_selection(shown: str, source: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the stretch of the source that `shown[start:end]` was made of; None where that holds no word."""
    return _find_stretch(shown, source, start, end, [*align_words(shown, source)])


def source_of_sentence(shown: str, source: str, at: int) -> tuple[int, int] | None:
    """Return the stretch of the source that holds the sentence at a position of the rendered text; None for none."""
    begin = shown.rfind("\n", 0, at) + 1
    line = shown[begin:].partition("\n")[0]
    found = find_sentence(line, at - begin)
    if found is None:
        return None
    start, end = begin + found[0], begin + found[1]
    words = [*align_words(shown, source)]
    stretch = _find_stretch(shown, source, start, end, words)
    if stretch is None:
        return None
    begins, ends = stretch
    before = max((word.source + word.length for word in words if word.shown < start), default=0)
    after = min((word.source for word in words if word.shown >= end), default=len(source))
    while begins > before and not source[begins - 1].isspace():
        begins -= 1
    while ends < after and not source[ends].isspace():
        ends += 1
    return _leave_open_emphasis(source, begins, ends)


def _find_stretch(shown: str, source: str, start: int, end: int, words: Sequence[Word]) -> tuple[int, int] | None:
    """Return where the first and the last word of `shown[start:end]` stand, with the signs that both texts have."""
    within = [word for word in words if word.shown < end and word.shown + word.length > start]
    if not within:
        return None
    first, last = within[0], within[-1]
    begins = first.source + max(0, start - first.shown)
    ends = last.source + min(last.length, end - last.shown)
    left, right = max(start, first.shown), min(end, last.shown + last.length)
    while left > start and begins > 0 and shown[left - 1] == source[begins - 1]:
        left, begins = left - 1, begins - 1
    while right < end and ends < len(source) and shown[right] == source[ends]:
        right, ends = right + 1, ends + 1
    return begins, ends


def _leave_open_emphasis(source: str, begins: int, ends: int) -> tuple[int, int]:
    """Leave out signs of emphasis at the ends that only open or only close."""
    for sign in _EMPHASIS:
        text = source[begins:ends]
        if len(re.findall(f"{re.escape(sign)}+", text)) % 2:
            ends -= len(text) - len(text.rstrip(sign))
            begins += len(text) - len(text.lstrip(sign))
    return begins, ends
