"""Sentences that bind: what a user says must never, or always, or only be done. English and Chinese.

They are found by wording. A rule addresses somebody: "do not touch it", "the API must stay", "只能改 a.py".
"I don't know", "it will never be set", questions, code and logs are no rules. What is missed can be pinned by hand.
"""

import re

_APOSTROPHE = "['\u2019]"
_DONT = rf"(?:do not|don{_APOSTROPHE}?t)"
_CLAUSE = r"(?:^|[,;:.!(*>\"\u2013\u2014-]\s*|\b(?:and|but|please|also|then|so|just)\s+)"
_ACTS = (
    r"(?:use|edit|touch|change|modify|run|write|read|work|commit|push|add|delete|remove|install|create|call|look|reply"
    r"|answer|return|rename|move|open|rely|import|print|log|show|test|build)"
)
_IDIOMS = (
    r"(?!worry|bother|forget|know|think|understand|hold back|mind|see\b|have to|need|get me|we\b|you\b|i\b|they\b)"
)
FORBIDDING = (
    rf"{_CLAUSE}(?:never\s+(?=\w)(?!be\b)|{_DONT}\s+{_IDIOMS}|avoid\s+(?=\w)|under no circumstances\s+|hands off\s+"
    r")|^\W{0,3}no (?=(?:new|more|other|further|\w+ing)\s)"
    rf"|\b(?:must|should|shall|you may)\s*(?:not|never)\s+|\b(?:must|should)n{_APOSTROPHE}?t\s+"
    rf"|\b(?:i|we) (?:{_DONT}|never) want\s+"
    r"|\bwithout (?=(?:touch|chang|modify|break|add|us|runn|delet|edit)\w*ing\b)"
    r"|(?<!要)不要|(?<!能)不能(?!不)|不得(?!不)|(?<!可)不可(?!能|以吗)|不许|不准|禁止|严禁|切?勿"
    r"|别(?=再?[改动碰删用写提加跑运])|绝不|永远不|不应该?"
)
"""What begins a clause that forbids; what is forbidden follows it."""
_FORBIDS = re.compile(
    rf"(?i){FORBIDDING}|\b(?:not allowed|forbidden|prohibited|off[- ]limits)\b"
    r"|\b(?:leave|keep)\b.{1,60}\b(?:alone|untouched|as[- ]is|unchanged)\b"
)
_DEMANDS = re.compile(
    rf"(?i){_CLAUSE}(?:always\s+\w|only\s+{_ACTS}\b|{_ACTS}\b[^.;,]{{1,60}}\bonly\b)"
    r"|\b(?:must|shall)\s+(?!have been)(?:always |only )?\w|\bshould always\b"
    r"|必须|只能|只准|只许|只可以|只(?=[改用动修读写在])|务必|一定要|千万|始终|总是"
)
_SHOUTS = re.compile(rf"\b(?:NEVER|ALWAYS|MUST|DO NOT|DON{_APOSTROPHE}T|ONLY)\b")
_NO_RULE = re.compile(
    r"[?\uff1f]\s*$|[吗呢么]\s*[。.]?$|^\s*(?://|[+$│├└⏺]|\w+\.\w+\(|return\b|\w{3} +\d+ \d\d:)|[{};]\s*$|:="
    r"|\((?:\"[^\"]*\"|'[^']*')\)\s*$"
    r"|(?i:\b(?:copyright|warrant(?:y|ies)|sublicen[cs]e|permission notice|in no event)\b)"
)
_BINDING_WORD = re.compile(rf"(?i)\b(?:never|not|no|always|only|must|avoid\w*|without|forbid\w*|\w+n{_APOSTROPHE}t)\b")


def forbids(sentence: str) -> bool:
    """Does it say what must not be done?"""
    return bool(_FORBIDS.search(sentence)) and not _NO_RULE.search(sentence)


def constrains(sentence: str) -> bool:
    """Does it say what must never, or always, or only be done?"""
    if _NO_RULE.search(sentence):
        return False
    return any(rule.search(sentence) for rule in (_FORBIDS, _DEMANDS, _SHOUTS))


def may_bind(sentence: str) -> bool:
    """Could it, by a word of it? What repeats a rule in other words holds one of these words."""
    return bool(_BINDING_WORD.search(sentence) or _FORBIDS.search(sentence) or _DEMANDS.search(sentence))
