"""Find pasted text in a user's message, such as a document, a mail or a log.

Pasted text is recognised by the line above it ("here is the spec:", 这是同事的邮件, 翻译成英文：) or by its form: the
headers of a mail, the chapters of a document, a licence, HTML, lines wrapped at one width. A list of wishes
("Requirements:", 要求如下：) counts as the user's own text, and so does a last paragraph that asks for something.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise

from inspector.core.facts.rules import rule, simplified

_SHOWS = rule("pasted.shows")
_NAMES = rule("pasted.names")
_OF_IT = rule("pasted.of_it")
_PRINTS = rule("pasted.prints")
_OWNED = rule("pasted.owned")
_SECTION = rule("pasted.section")
_LABEL = rule("pasted.label")
_RESUMES = rule("pasted.resumes")
_SPEAKS = rule("pasted.speaks")
_ABOVE = rule("pasted.above")
_LOG = rule("pasted.log")
_QUOTE = rule("pasted.quote")
_ITEM = rule("pasted.item")
_LONGEST = 300
"""Characters of a first line that are searched for an announcement of pasted text."""


_MAIL = rule("pasted.mail")
_CHAPTER = rule("pasted.chapter")
_LICENCE = rule("pasted.licence")
_TAG = rule("pasted.tag")
_PROMPT = rule("pasted.prompt")
_BROKEN, _NARROW, _WIDE = 5, 55, 100
"""Fewest lines of a paragraph that counts as wrapped at one width, and the least and the largest width of its lines in
characters. People who type do not break their lines so evenly."""


def own_words(text: str) -> str:
    """Return the text with every pasted line replaced by an empty line. O(text)."""
    lines = text.split("\n")
    plain = simplified(text).split("\n")
    pasted = _announced_lines(plain) | _document_lines(plain) | _terminal_lines(plain)
    for form, fewest in ((_LOG, 2), (_QUOTE, 1)):
        places = {at for at, line in enumerate(lines) if form.match(line)}
        if fewest <= len(places) < len(lines):
            pasted |= places
    if not pasted:
        return text
    return "\n".join("" if at in pasted else line for at, line in enumerate(lines))


def _filled_places(lines: list[str]) -> list[int]:
    return [at for at, line in enumerate(lines) if line.strip()]


def _announced_lines(lines: list[str]) -> set[int]:
    """Return the indices of the lines that the first or the last line announces as pasted."""
    filled = _filled_places(lines)
    if len(filled) < 2:
        return set()
    first, second, *_ = filled
    head = lines[first].strip()[:_LONGEST]
    last = _find_last_words(lines, filled)
    if last == second and _OF_IT.search(head):  # else no pasted text would remain
        last = len(lines)
    if _PRINTS.search(head):
        gap = _find_line(lines, range(second, last), _is_blank)
        end = last if gap is None else gap
        return set(range(first + 1, end))
    resumed = _find_line(lines, range(second, last), _RESUMES.match)
    end = last if resumed is None else resumed
    body = [line.strip() for line in lines[first + 1 : end]]
    if _is_announcement(head, body):
        return set(range(first + 1, end))
    is_about_above = last < len(lines) and _ABOVE.search(lines[last]) is not None
    if is_about_above and len(filled) > 3:
        return set(range(last))
    return set()


def _find_line(
    lines: list[str], places: Iterable[int], matches: Callable[[str], object]
) -> int | None:
    """Return the first of these indices whose line matches; None if no line matches."""
    for at in places:
        if matches(lines[at]):
            return at
    return None


def _is_blank(line: str) -> bool:
    return not line.strip()


def _is_announcement(head: str, body: list[str]) -> bool:
    """Does the line `head` announce that the lines below it are pasted?"""
    if _SECTION.match(head):
        return False
    labels = [line for line in body if _LABEL.match(line)]
    if len(labels) > 1 or any(map(_SECTION.match, body)):
        return bool(_NAMES.search(head) or _SHOWS.search(head))
    return bool(_SHOWS.search(head)) and not _OWNED.search(head)


def _document_lines(lines: list[str]) -> set[int]:
    """Return the indices of the lines that look like a document by their form."""
    filled = _filled_places(lines)
    if len(filled) < 3:
        return set()
    places = _wrapped_lines(lines)
    end = _find_last_words(lines, filled)
    starts = (
        _find_mail(lines, filled),
        _find_chapters(lines, filled, end),
        _find_licence(lines, filled),
    )
    known_starts = [start for start in starts if start is not None]
    if known_starts:
        places.update(range(min(known_starts), end))
    tags = [at for at in filled if _TAG.match(lines[at])]
    if len(tags) > 2:
        places.update(range(tags[0], tags[-1] + 1))
    return places


def _find_mail(lines: list[str], filled: list[int]) -> int | None:
    """Return the index of the first of two consecutive header lines of a mail; None if there are none."""
    for at, below in pairwise(filled):
        if _MAIL.match(lines[at]) and _MAIL.match(lines[below]):
            return at
    return None


def _find_chapters(lines: list[str], filled: list[int], end: int) -> int | None:
    """Return the index of a document's title, or of its first chapter; None if there are fewer than two chapters."""
    chapters = [at for at in filled if at < end and _CHAPTER.match(lines[at])]
    if len(chapters) < 2:
        return None
    title = _find_line(lines, range(chapters[0]), _SECTION.match)
    return chapters[0] if title is None else title


def _find_licence(lines: list[str], filled: list[int]) -> int | None:
    """Return the index of the first line of a paragraph with a licence; None if there is no licence."""
    licence = _find_line(lines, filled, _LICENCE.search)
    if licence is None:
        return None
    gap = _find_line(lines, reversed(range(licence)), _is_blank)
    return 0 if gap is None else gap + 1


def _terminal_lines(lines: list[str]) -> set[int]:
    """Return the indices of terminal lines: from a prompt to the next blank line."""
    places = set[int]()
    is_inside = False
    for at, line in enumerate(lines):
        is_inside = bool(line.strip()) and (is_inside or _PROMPT.match(line) is not None)
        if is_inside:
            places.add(at)
    return places


def _wrapped_lines(lines: list[str]) -> set[int]:
    """Return the indices of the lines of paragraphs that are wrapped at one width."""
    places = set[int]()
    begin = 0
    for end, line in enumerate([*lines, ""]):
        if line.strip():
            continue
        without_last_line = lines[begin : end - 1]
        if _is_wrapped(without_last_line):
            places.update(range(begin, end))
        begin = end + 1
    return places


def _is_wrapped(lines: list[str]) -> bool:
    """Are the lines of a paragraph, given without its last line, about equally wide, and is none a list item?"""
    if len(lines) < _BROKEN - 1:
        return False
    widths = [len(line) for line in lines]
    narrowest = min(widths)
    widest = max(widths)
    if narrowest < _NARROW or widest > _WIDE or widest - narrowest > _WIDTHS_APART:
        return False
    return not any(map(_ITEM.match, lines))


def _find_last_words(lines: list[str], filled: list[int]) -> int:
    """Return the index of the line with which the user's last request begins; the number of lines if there is none."""
    gap = _find_line(lines, reversed(range(filled[-1])), _is_blank)
    begin = 0 if gap is None else gap + 1
    if begin <= filled[0] or len([at for at in filled if at >= begin]) > 3:
        begin = filled[-1]
    line = lines[begin].strip()
    filled_above = [at for at in filled if at < begin]
    line_above = lines[filled_above[-1]]
    if len(line) > _LONGEST_REQUEST or not _SPEAKS.search(line) or _ITEM.match(line):
        return len(lines)
    return len(lines) if _SECTION.match(line_above) else begin


_WIDTHS_APART = 25
"""Largest difference in width, in characters, between two lines of a paragraph that is wrapped at one width."""
_LONGEST_REQUEST = 120
"""Longest line, in characters, that counts as the user's request below a pasted text."""
