"""What of a user's message is somebody else's text: a document, a mail or a log that was pasted in.

It is known by the line before it, which shows it ("here is the spec:", 这是同事的邮件, 翻译成英文：), and by its form:
headers of a mail, chapters that documents have, a licence, HTML, lines broken at one width. A list of wishes
("Requirements:", 要求如下：) is the user's own, and so is the last paragraph, where it asks for something.
"""

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
"""Letters of a line that shows a text."""


_MAIL = rule("pasted.mail")
_CHAPTER = rule("pasted.chapter")
_LICENCE = rule("pasted.licence")
_TAG = rule("pasted.tag")
_PROMPT = rule("pasted.prompt")
_BROKEN, _NARROW, _WIDE = 5, 55, 100
"""Lines in a row that end within a sentence, about as wide as each other: nobody breaks them while typing."""


def own_words(text: str) -> str:
    """Return a text of the user's with the lines empty that were pasted into it. O(text)."""
    lines, plain = text.split("\n"), simplified(text).split("\n")
    foreign = _shown(plain) | _documents(plain) | _terminal(plain)
    for form in (_LOG, _QUOTE):
        found = {at for at, line in enumerate(lines) if form.match(line)}
        if len(found) > (form is _LOG) and len(found) < len(lines):
            foreign |= found
    return "\n".join("" if at in foreign else line for at, line in enumerate(lines)) if foreign else text


def _shown(lines: list[str]) -> set[int]:
    """The lines of a text that the message shows, and does not say."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    if len(filled) < 2:
        return set()
    first, last = filled[0], _last_words(lines, filled)
    head = lines[first].strip()[:_LONGEST]
    if last == filled[1] and _OF_IT.search(head):  # nothing else is there to be looked at
        last = len(lines)
    body = range(first + 1, next((at for at in filled[1:] if at < last and _RESUMES.match(lines[at])), last))
    if _PRINTS.search(head):
        gap = next((at for at in range(filled[1], last) if not lines[at].strip()), last)
        return set(range(first + 1, gap))
    rest = [lines[at].strip() for at in body]
    sections = any(map(_SECTION.match, rest)) or sum(map(bool, map(_LABEL.match, rest))) > 1
    shows = _NAMES.search(head) or _SHOWS.search(head) if sections else _SHOWS.search(head) and not _OWNED.search(head)
    if shows and not _SECTION.match(head):
        return set(body)
    if last < len(lines) and len(filled) > 3 and _ABOVE.search(lines[last]):
        return set(range(last))
    return set()


def _documents(lines: list[str]) -> set[int]:
    """The lines of what no line shows, and what is a document by its form."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    if len(filled) < 3:
        return set()
    end = _last_words(lines, filled)
    begins = [at for at, below in pairwise(filled) if _MAIL.match(lines[at]) and _MAIL.match(lines[below])][:1]
    chapters = [at for at in filled if at < end and _CHAPTER.match(lines[at])]
    if len(chapters) > 1:  # its title, too
        title = next((at for at in filled if at < chapters[0] and _SECTION.match(lines[at])), chapters[0])
        begins.append(title)
    if (at := next((at for at in filled if _LICENCE.search(lines[at])), None)) is not None:
        begins.append(next((above for above in range(at, 0, -1) if not lines[above - 1].strip()), 0))
    found = set(range(min(begins), end)) if begins else set()
    tags = [at for at in filled if _TAG.match(lines[at])]
    return found | (set(range(tags[0], tags[-1] + 1)) if len(tags) > 2 else set()) | _wrapped(lines)


def _terminal(lines: list[str]) -> set[int]:
    """Lines of a terminal: from a prompt to the next blank line."""
    found, inside = set[int](), False
    for at, line in enumerate(lines):
        inside = bool(line.strip()) and (inside or _PROMPT.match(line) is not None)
        if inside:
            found.add(at)
    return found


def _wrapped(lines: list[str]) -> set[int]:
    """Paragraphs whose lines are broken at one width."""
    found, begin = set[int](), 0
    for at, line in enumerate([*lines, ""]):
        if line.strip():
            continue
        inner = lines[begin : at - 1]
        broken = [one for one in inner if _NARROW <= len(one) <= _WIDE and not _ITEM.match(one)]
        if (
            len(inner) >= _BROKEN - 1
            and len(broken) == len(inner)
            and max(map(len, inner)) - min(map(len, inner)) <= 25
        ):
            found.update(range(begin, at))
        begin = at + 1
    return found


def _last_words(lines: list[str], filled: list[int]) -> int:
    """Where the last words of the user begin, or the number of lines."""
    begin = next((at for at in reversed(range(filled[-1])) if not lines[at].strip()), -1) + 1
    if begin <= filled[0] or len([at for at in filled if at >= begin]) > 3:
        begin = filled[-1]
    said, before = lines[begin].strip(), max(at for at in filled if at < begin)
    asks = len(said) <= 120 and _SPEAKS.search(said) and not _ITEM.match(said)
    return begin if asks and not _SECTION.match(lines[before]) else len(lines)
