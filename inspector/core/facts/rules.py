"""Decide by patterns of words whether an English or Chinese sentence is a wish, a ban or a demand.

The patterns are in `resources/facts.toml`. docs/regret.md says how often they are right; the user can pin what they
miss. A rule addresses somebody: "do not touch it", "the API must stay", "只能改 a.py". "I don't know", "it will never
be set", questions, code and logs are not rules. Many English verbs are nouns as well (build, test, report): such a word
asks for something unless a report follows ("build failed"). Chinese has neither endings nor spaces: a clause is a wish
if it begins with such a verb, and a report if certain words follow or precede the verb (了, 起来, 已经).
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache

from inspector.core.heavy import pattern
from inspector.resources import resource


@cache
def _texts() -> Mapping[str, str]:
    """Return every entry of the file by `section.name`, with each `{name}` replaced by the entry of that name."""
    entries_by_name: dict[str, str] = {}
    for section, entries in tomllib.loads(resource("facts.toml").read_text("utf-8")).items():
        for name, text in entries.items():
            if section != "words":  # a pattern may be written in several indented lines
                text = re.sub(r"\n *", "", text)
            pieces = list[str]()
            for place, piece in enumerate(re.split(r"\{([a-z_.]+)\}", text)):
                is_reference = place % 2 == 1
                if is_reference:
                    full_name = piece if "." in piece else f"{section}.{piece}"
                    piece = entries_by_name[full_name]
                pieces.append(piece)
            entries_by_name[f"{section}.{name}"] = "".join(pieces)
    return entries_by_name


def rule(name: str) -> re.Pattern[str]:
    """Return the pattern `section.name`, which is compiled at first use."""
    return pattern(lambda: _texts()[name])


@cache
def word_list(name: str) -> frozenset[str]:
    """Return the word list `words.name` of `resources/facts.toml`."""
    return frozenset(_texts()[f"words.{name}"].split())


_CHINESE_WANTED, _DEMANDED = rule("chinese.wanted"), rule("chinese.demanded")
_NARRATES, _REPORTS = rule("chinese.narrates"), rule("chinese.reports")
_TOLD, _IS = rule("chinese.told"), rule("chinese.is")
_POLITE, _TURNS = rule("chinese.polite"), rule("chinese.turns")
_END, _BLANK = rule("chinese.end"), rule("chinese.blank")
_HALF_WIDTH = str.maketrans(",;:?!", "，；：？！")
_WANTED, _ASKED = rule("english.wanted"), rule("english.asked")
_FORBIDS, _DEMANDS, _SHOUTS = (
    rule("constraints.forbids"),
    rule("constraints.demands"),
    rule("constraints.shouts"),
)
_NO_RULE, _BINDING_WORD = rule("constraints.no_rule"), rule("constraints.binding_word")


def is_chinese(text: str) -> bool:
    """Do the first 40 characters of the text contain Chinese?"""
    begins = text[:40]
    return not begins.isascii() and any("\u4e00" <= c <= "\u9fff" for c in begins)


@cache
def _simpler() -> dict[int, int]:
    return str.maketrans(*_texts()["words.traditional"].split())


def simplified(text: str) -> str:
    """Convert traditional to simplified Chinese, in which the patterns are written. The length does not change."""
    return text if text.isascii() else text.translate(_simpler())


def asks(sentence: str) -> bool:
    """Does the sentence ask for something to be done?"""
    if is_chinese(sentence):
        return _asks_in_chinese(_plain(sentence))
    if _WANTED.search(sentence) is None:
        return False
    is_question = sentence[-1] in "?？"
    return not is_question or _ASKED.search(sentence) is not None


def _plain(chinese: str) -> str:
    """Return a Chinese sentence in simplified characters, with Chinese punctuation and without its blanks."""
    return _BLANK.sub("", simplified(chinese).translate(_HALF_WIDTH))


def _asks_in_chinese(sentence: str) -> bool:
    clauses = [clause for clause in _END.split(sentence) if clause]
    narrated = len(clauses) > 1 and _REPORTS.search(clauses[-1]) is not None
    for clause in clauses:
        narrated = narrated or _NARRATES.search(clause) is not None
        if _CHINESE_WANTED.search(clause):
            is_report = (
                _TOLD.search(clause)
                or _IS.search(clause)
                or (narrated and not _TURNS.search(clause))
            )
            if not is_report or _POLITE.search(clause):
                return True
    return False


def forbids(sentence: str) -> bool:
    """Does the sentence say what must not be done?"""
    plain = simplified(sentence)
    return bool(_FORBIDS.search(plain)) and not _NO_RULE.search(plain)


def constrains(sentence: str) -> bool:
    """Does the sentence say what must never, or always, or only be done?"""
    plain = simplified(sentence)
    return not _NO_RULE.search(plain) and _binds(plain)


def may_bind(sentence: str) -> bool:
    """Does the sentence contain a binding word? Every rule, and every paraphrase of a rule, contains one."""
    plain = simplified(sentence)
    return _BINDING_WORD.search(plain) is not None or _binds(plain)


def _binds(sentence: str) -> bool:
    if any(rule.search(sentence) for rule in (_FORBIDS, _DEMANDS, _SHOUTS)):
        return True
    return is_chinese(sentence) and _DEMANDED.search(_plain(sentence)) is not None
