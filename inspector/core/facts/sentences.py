"""Find the sentences that are facts: the user's wishes, the assistant's decisions, and errors.

They are recognised by typical words, in English and Chinese. Sentences in pasted text, code, headings and tables are
left out.
"""

import re
from collections.abc import Iterator

from inspector.core.facts.fact import Fact
from inspector.core.facts.rules import asks, constrains, forbids, is_chinese, rule, simplified
from inspector.core.heavy import pattern

LONGEST = 400
"""Characters that are kept of a sentence."""
TYPED = 6_000
"""Longest text, in characters, that a user is assumed to type. Longer texts are mostly pasted, and only constraints
are read from them."""

_FENCE = rule("sentences.fence")
_RAISED = rule("sentences.raised")
_SMALL = frozenset(
    [
        "a",
        "an",
        "and",
        "at",
        "by",
        "for",
        "from",
        "in",
        "is",
        "of",
        "on",
        "or",
        "the",
        "to",
        "vs",
        "with",
    ]
)
_END = pattern(r"(?<=[。！？])|(?<=[.!?])(?=\s)|(?<=\.\.\.)(?=[A-Za-z])|\n+")
_BULLET = rule("sentences.bullet")
_NO_PROSE, _NO_CHINESE_PROSE = rule("sentences.no_prose"), rule("chinese.no_prose")

_DECISION = rule("sentences.decision")
_DECIDED_LIST = rule("sentences.decided_list")
_PLAIN_STEP, _CHINESE_STEP = rule("sentences.plain_step"), rule("chinese.plain_step")
_BRIEF = rule("english.brief")
_HEAD = 4
"""Fewest words of a line above a list that counts as a sentence."""
_ERROR = rule("sentences.error")
_SOURCE = rule("sentences.source")
_FAILS = rule("sentences.fails")
_FEW, _SEARCHED = 3, 200
"""In a failed result of at most `_FEW` lines, the first line is the error. In a longer result, the first `_SEARCHED`
lines are searched for the error."""
_EXIT = rule("sentences.exit")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences and lines of a text."""
    return filter(None, map(str.strip, _END.split(text)))


def find_wishes(text: str) -> Iterator[Fact]:
    """Yield the instructions and constraints in a text that the user wrote."""
    is_short = len(text) <= TYPED
    for sentence in _prose(text, with_heads=True):
        if constrains(sentence):
            yield Fact("constraint", sentence)
        elif is_short and (asks(sentence) or _BRIEF.match(sentence)):
            yield Fact("instruction", sentence)


def _is_title(sentence: str) -> bool:
    """Is the sentence a title: three or more Words in Capitals, no other word in lower case, no full stop?"""
    if sentence.endswith((".", "!", "?")):
        return False
    words = [word for word in sentence.split() if word not in _SMALL]
    if any(word[0].islower() for word in words):
        return False
    capitalised = [word for word in words if word[0].isupper() and not word.isupper()]
    return len(capitalised) >= 3


def find_decisions(text: str) -> Iterator[Fact]:
    """Yield the decisions in a text of the assistant, and the items of its lists of deferred or skipped work."""
    for listed in _DECIDED_LIST.finditer(text):
        for item in listed["items"].split("\n"):
            if decision := _BULLET.sub("", item.strip())[:LONGEST].strip("*_ "):
                yield Fact("decision", decision)
    for sentence in _prose(text):
        plain = simplified(sentence)
        plain_step = _PLAIN_STEP.search(plain) or _CHINESE_STEP.search(plain)
        if _DECISION.search(plain) and not plain_step and sentence[-1] not in "?？":
            yield Fact("decision", sentence)


def find_errors(text: str, is_error: bool) -> Iterator[Fact]:
    """Yield the errors in the output of a tool. `is_error`: True if the tool reports that it failed."""
    has_error = False
    for match in _ERROR.finditer(text):
        line = match.group().strip()
        if not _SOURCE.search(line):
            has_error = True
            yield Fact("error", line[:LONGEST])
    if is_error and not has_error and (failure := _first_failure(text)):
        line = re.sub(r"</?\w+>", "", failure)
        if " " in line and len(line) >= 12 and not _SOURCE.search(line):
            yield Fact("error", line[:LONGEST])


def _first_failure(text: str) -> str:
    """Return the first line of a failed result that reports an error; if the result is short, its first line."""
    exit_note = _EXIT.match(text)
    begin = exit_note.end() if exit_note is not None else 0
    lines = text[begin:].split("\n", _SEARCHED)[:_SEARCHED]
    for line in lines:
        if _FAILS.search(line):
            return line.strip()
    return lines[0].strip() if len(lines) <= _FEW else ""


def _prose(text: str, with_heads: bool = False) -> Iterator[str]:
    """Yield the sentences of a text that are prose, each once.

    `with_heads`: yield also lines of four words and more above a list, without their colon.
    """
    for piece in dict.fromkeys(sentences(_RAISED.sub("\n", _FENCE.sub("\n", text)))):
        sentence = _BULLET.sub("", piece)[:LONGEST].strip("*_ ").lstrip("(")
        if with_heads and sentence.endswith(":") and len(sentence.split(None, 4)) > _HEAD:
            sentence = sentence[:-1]
        if _is_prose(sentence):
            yield sentence


def _is_prose(sentence: str) -> bool:
    """Has the sentence at least three words, or two that forbid ("Don't push."), or three Chinese characters?"""
    if is_chinese(sentence):
        return len(sentence) >= 3 and not _NO_CHINESE_PROSE.search(sentence)
    if _NO_PROSE.search(sentence) or _is_title(sentence):
        return _BRIEF.match(sentence) is not None
    words = len(sentence.split(None, 2))
    if words == 3 or (words == 2 and forbids(sentence)):
        return True
    return words > 0 and _BRIEF.match(sentence) is not None
