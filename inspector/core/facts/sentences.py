"""Sentences that are facts: what the user wants, what the assistant decides, what went wrong.

They are found by the words that such sentences have, English and Chinese. What only stands in a pasted text, in code,
in a heading or in a table is none.
"""

import re
from collections.abc import Iterator

from inspector.core.facts.fact import Fact
from inspector.core.facts.rules import asks, constrains, forbids, is_chinese, rule, simplified
from inspector.core.heavy import pattern

LONGEST = 400
"""Characters of a sentence."""
TYPED = 6_000
"""Characters: longer words of the user are mostly pasted, and are searched for what they forbid only."""

_FENCE = rule("sentences.fence")
_RAISED = rule("sentences.raised")
_SMALL = frozenset(
    ["a", "an", "and", "at", "by", "for", "from", "in", "is", "of", "on", "or", "the", "to", "vs", "with"]
)
_END = pattern(r"(?<=[。！？])|(?<=[.!?])(?=\s)|(?<=\.\.\.)(?=[A-Za-z])|\n+")
_BULLET = rule("sentences.bullet")
_NO_PROSE, _NO_CHINESE_PROSE = rule("sentences.no_prose"), rule("chinese.no_prose")

_DECISION = rule("sentences.decision")
_PLAIN_STEP, _CHINESE_STEP = rule("sentences.plain_step"), rule("chinese.plain_step")
_BRIEF = rule("english.brief")
_HEAD = 4
"""Words of a line above a list that is a sentence."""
_ERROR = rule("sentences.error")
_SOURCE = rule("sentences.source")
_FAILS = rule("sentences.fails")
_FEW, _SEARCHED = 3, 200
"""Lines of a result that failed: so few are the failure, in so many it is looked for."""
_EXIT = rule("sentences.exit")


def sentences(text: str) -> Iterator[str]:
    """The sentences and lines of a text."""
    return filter(None, map(str.strip, _END.split(text)))


def find_wishes(text: str) -> Iterator[Fact]:
    """What the user asks for, and what the user forbids or demands, of words that are the user's own."""
    is_short = len(text) <= TYPED
    for sentence in _prose(text, with_heads=True):
        if constrains(sentence):
            yield Fact("constraint", sentence)
        elif is_short and (asks(sentence) or _BRIEF.match(sentence)):
            yield Fact("instruction", sentence)


def _is_title(sentence: str) -> bool:
    """Three Words in Capitals or More, no small one among them, no end sign."""
    said = [word for word in sentence.split() if word not in _SMALL]
    capital = sum(word[0].isupper() and not word.isupper() for word in said)
    return capital >= 3 and all(not word[0].islower() for word in said) and sentence[-1] not in ".!?"


def decided(text: str) -> Iterator[Fact]:
    """What the assistant chose, of its prose."""
    for sentence in _prose(text):
        said = simplified(sentence)
        plain_step = _PLAIN_STEP.search(said) or _CHINESE_STEP.search(said)
        if _DECISION.search(said) and not plain_step and sentence[-1] not in "?？":
            yield Fact("decision", sentence)


def failed(text: str, is_error: bool) -> Iterator[Fact]:
    """Lines that tell of a failure, of what a tool printed. `is_error`: the tool says that it failed."""
    found = False
    for match in _ERROR.finditer(text):
        line = match.group().strip()
        if not _SOURCE.search(line):
            found = True
            yield Fact("error", line[:LONGEST])
    if is_error and not found and (told := _first_failure(text)):
        line = re.sub(r"</?\w+>", "", told)
        if " " in line and len(line) >= 12 and not _SOURCE.search(line):
            yield Fact("error", line[:LONGEST])


def _first_failure(text: str) -> str:
    """The first line of a result that failed which says so; of a few lines simply the first."""
    begin = _EXIT.match(text)
    lines = text[begin.end() if begin else 0 :].split("\n", _SEARCHED)[:_SEARCHED]
    told = next((line for line in lines if _FAILS.search(line)), lines[0] if len(lines) <= _FEW else "")
    return told.strip()


def _prose(text: str, with_heads: bool = False) -> Iterator[str]:
    """Sentences of at least three words, or two that forbid ("Don't push."), or three Chinese characters, each once.

    `with_heads`: also lines of four words and more above a list, without their colon.
    """
    for piece in dict.fromkeys(sentences(_RAISED.sub("\n", _FENCE.sub("\n", text)))):
        sentence = _BULLET.sub("", piece)[:LONGEST].strip("*_ ").lstrip("(")
        if with_heads and sentence.endswith(":") and len(sentence.split(None, 4)) > _HEAD:
            sentence = sentence[:-1]
        if is_chinese(sentence):
            if len(sentence) >= 3 and not _NO_CHINESE_PROSE.search(sentence):
                yield sentence
        elif not _NO_PROSE.search(sentence) and not _is_title(sentence):
            count = len(sentence.split(None, 2))
            if count == 3 or (count == 2 and forbids(sentence)) or (count and _BRIEF.match(sentence)):
                yield sentence
        elif _BRIEF.match(sentence):
            yield sentence
