"""What a sentence is by its words - a wish, a ban, a demand - in English and Chinese: by the rules of
`resources/facts.toml`. docs/regret.md says how often they are right; what they miss can be pinned by hand.

A rule addresses somebody: "do not touch it", "the API must stay", "只能改 a.py". "I don't know", "it will never be
set", questions, code and logs are no rules. Many English verbs are nouns as well (build, test, report): such a one asks
unless what follows tells of it ("build failed"). Chinese has neither endings nor spaces: a wish is known by the verb
that a clause begins with, and a report by what comes after or before it (了, 起来, 已经).
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache

from inspector.core.heavy import pattern
from inspector.resources import resource


@cache
def _texts() -> Mapping[str, str]:
    """Every entry by `section.name`, those that it names written out."""
    found: dict[str, str] = {}
    for section, entries in tomllib.loads(resource("facts.toml").read_text("utf-8")).items():
        for name, text in entries.items():
            parts = re.split(r"\{([a-z_.]+)\}", text if section == "words" else re.sub(r"\n *", "", text))
            parts[1::2] = [found[other if "." in other else f"{section}.{other}"] for other in parts[1::2]]
            found[f"{section}.{name}"] = "".join(parts)
    return found


def rule(name: str) -> re.Pattern[str]:
    """The rule `section.name`, looked up and compiled when it is first used."""
    return pattern(lambda: _texts()[name])


@cache
def word_list(name: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(_texts()[f"words.{name}"].split())


_CHINESE_WANTED, _DEMANDED = rule("chinese.wanted"), rule("chinese.demanded")
_NARRATES, _REPORTS = rule("chinese.narrates"), rule("chinese.reports")
_TOLD, _IS = rule("chinese.told"), rule("chinese.is")
_POLITE, _TURNS = rule("chinese.polite"), rule("chinese.turns")
_END, _BLANK = rule("chinese.end"), rule("chinese.blank")
_HALF_WIDTH = str.maketrans(",;:?!", "，；：？！")
_WANTED, _ASKED = rule("english.wanted"), rule("english.asked")
_FORBIDS, _DEMANDS, _SHOUTS = rule("constraints.forbids"), rule("constraints.demands"), rule("constraints.shouts")
_NO_RULE, _BINDING_WORD = rule("constraints.no_rule"), rule("constraints.binding_word")


def is_chinese(text: str) -> bool:
    """Is there Chinese in the beginning of it?"""
    begins = text[:40]
    return not begins.isascii() and any("\u4e00" <= c <= "\u9fff" for c in begins)


@cache
def _simpler() -> dict[int, int]:
    return str.maketrans(*_texts()["words.traditional"].split())


def simplified(text: str) -> str:
    """The same, as long, in the letters that the rules are written in."""
    return text if text.isascii() else text.translate(_simpler())


def asks(sentence: str) -> bool:
    """Does the user want something done?"""
    if is_chinese(sentence):
        return _asks_in_chinese(_plain(sentence))
    return _WANTED.search(sentence) is not None and (sentence[-1] not in "?？" or _ASKED.search(sentence) is not None)


def _plain(chinese: str) -> str:
    """With Chinese signs, and no blanks after them."""
    return _BLANK.sub("", simplified(chinese).translate(_HALF_WIDTH))


def _asks_in_chinese(sentence: str) -> bool:
    clauses = [clause for clause in _END.split(sentence) if clause]
    narrated = len(clauses) > 1 and _REPORTS.search(clauses[-1]) is not None
    for clause in clauses:
        narrated = narrated or _NARRATES.search(clause) is not None
        if _CHINESE_WANTED.search(clause):
            told = _TOLD.search(clause) or _IS.search(clause) or (narrated and not _TURNS.search(clause))
            if not told or _POLITE.search(clause):
                return True
    return False


def forbids(sentence: str) -> bool:
    """Does it say what must not be done?"""
    said = simplified(sentence)
    return bool(_FORBIDS.search(said)) and not _NO_RULE.search(said)


def constrains(sentence: str) -> bool:
    """Does it say what must never, or always, or only be done?"""
    said = simplified(sentence)
    return not _NO_RULE.search(said) and _binds(said)


def may_bind(sentence: str) -> bool:
    """Could it, by a word of it? What repeats a rule in other words holds one of these words."""
    said = simplified(sentence)
    return _BINDING_WORD.search(said) is not None or _binds(said)


def _binds(sentence: str) -> bool:
    if any(rule.search(sentence) for rule in (_FORBIDS, _DEMANDS, _SHOUTS)):
        return True
    return is_chinese(sentence) and _DEMANDED.search(_plain(sentence)) is not None
