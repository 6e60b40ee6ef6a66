"""Sentences that bind: what a user says must never, or always, or only be done. English and Chinese.

They are found by wording. A rule addresses somebody: "do not touch it", "the API must stay", "只能改 a.py".
"I don't know", "it will never be set", questions, code and logs are no rules. What is missed can be pinned by hand.
"""

from inspector.core.facts import chinese
from inspector.core.heavy import pattern

_APOSTROPHE = "['\u2019]"
_DONT = rf"(?:do not|don{_APOSTROPHE}?t)"
_CLAUSE = r"(?:^|[,;:.!(*>\"\u2013\u2014-]\s*|\b(?:and|but|please|also|then|so|just)\s+)"
_ACTS = (
    r"(?:use|edit|touch|change|modify|run|write|read|work|commit|push|add|delete|remove|install|create|call|look|reply"
    r"|answer|return|rename|move|open|rely|import|print|log|show|test|build)"
)
_IDIOMS = (
    r"(?!worry|care\b|bother|forget|know|think|understand|hold back|mind|see\b|have to|need|get me"
    r"|we\b|you\b|i\b|they\b)"
)
FORBIDDING = (
    rf"{_CLAUSE}(?:never\s+(?=\w)(?!be\b|mind\b|again\b|\w+ed\b|had\b|got\b|was\b|saw\b|said\b|knew\b)"
    rf"|{_DONT}(?:,[^,]{{3,30}},)?\s+{_IDIOMS}"
    r"|avoid\s+(?=\w)|under no circumstances\s+|hands off\s+|(?:please )?refrain from\s+|(?:be careful"
    r"|take care) not to\s+"
    r")|^\W{0,3}no (?=(?:new|more|other|further|\w+ing)\s)"
    rf"|\b(?:must|should|shall|you may)\s*(?:not|never)\s+|\b(?:must|should)n{_APOSTROPHE}?t\s+"
    rf"|\b(?:i|we) (?:{_DONT}|never) want\s+"
    r"|\bwithout (?=(?:touch|chang|modify|break|add|us|runn|delet|edit)\w*ing\b)"
    r"|(?<!要)不要(?!紧|求|钱|脸)|(?<![能我他她们才还就])不能(?!不|说|怪|理解|接受|确定|来)"
    r"|(?<![怪恨舍巴了])不得(?!不|了|而知)"
    r"|(?<!可)不可(?!能|以吗|思议|避免|否认)以?|不许|不准|不允许|禁止|严禁|切?勿|(?:绝|永远)不(?:能|可以?|要|会"
    r"|得|允许)?|不应该?(?!是|会|有)"
    r"|(?<![特区分级类性识个告差派辨])别(?![人的担急着名称致扭墅慌怕介谢客逗闹说问忘看])"
)
"""What begins a clause that forbids; what is forbidden follows it."""
_NOBODY = (
    r"\b(?:nothing|nobody|no one|none of \w+)\b.{0,40}\b(?:may|gets? (?:to|\w+ed)|shall|should|must"
    r"|is (?:allowed )?to)\b"
)
_FORBIDS = pattern(
    rf"(?i){FORBIDDING}|\b(?:not allowed|forbidden|prohibited|off[- ]limits)\b"
    r"|\b(?:leave|keep)\b.{1,60}\b(?:alone|untouched|as[- ](?:it )?is|as they are|unchanged|out of (?:it|this|that))\b"
    rf"|{_NOBODY}|\b(?:is|are) (?:never|not) to be\b|\bwithout (?:my|asking|permission|approval)\b"
    rf"|\bdon['\u2019]?t you dare\b"
    r"|^(?!it\b|this\b|that\b|there\b|i\b|we\b|they\b).{2,60}\bmay not (?:exceed|take|run longer|contain"
    r"|be (?:changed|modified))\b"
    r"|\b(?:can['\u2019]t|cannot|can not|may not|must not) be (?:larger|bigger|longer|smaller|shorter|more than"
    r"|less than|changed"
    r"|modified|renamed)\b|\bwe (?:can['\u2019]t|cannot) use\b"
    r"|^no (?!errors?|problems?|issues?|changes?|differences?|idea|need|one\b|sign|trace|mention|reason"
    r"|response|output|results?|repl|answer"
    r"|news|data|rows?|entries|logs?|hits?|match|luck|doubt|way|\w+ation)[\w-]+(?: [\w-]+)? (?:in|on|for"
    r"|outside|at all|please)\b"
)
_NUMBER = r"(?:\d|one\b|two\b|three\b|four\b|five\b|ten\b)"
_EVERY = (
    r"^(?:please )?(?:all|every|each|any)\b(?! of us\b| time\b).{1,60}\b(?:should|needs? (?:to|an?\b)|has to"
    r"|have to|gets?\b|(?:is|are) to\b)"
)
_DEMANDS = pattern(
    rf"(?i){_CLAUSE}(?:always\s+\w|only\s+{_ACTS}\b|{_ACTS}\b[^.;,]{{1,60}}\bonly\b"
    r"|(?:make sure|ensure|see to it)\b[^.]{1,60}\b(?:never|always|not|keeps?|continues?|stays?|remains?|still"
    r"|before|\w+n['\u2019]t)\b|(?:stick (?:to|with)|adhere to|comply with|respect|preserve)\s+\w"
    r"|(?:limit|restrict|confine) yourself\b)"
    r"|(?<!\bit )(?<!\bthat )\b(?:must|shall)\s+(?!have (?:been|had|gone|\w+ed)\b)(?:always |only )?\w"
    r"|\b(?:it|that) must (?!have\b|be (?:the|an?|some|because|due|that|in my)\b)\w|\bshould always\b"
    rf"|{_EVERY}|\bmay only\b|^(?:please )?(?:from now on|from (?:here|this point) on|going forward"
    rf"|whenever you|(?:every|each|any) time you)\b"
    r"|\bfrom (?:now|here) on\W*$|\b(?:ask|tell|consult) me (?:first|before)\b|\blet me (?:approve|sign off|confirm)\b"
    r"|^it(?:['\u2019]s| is) (?:essential|crucial|important|imperative|vital|critical) (?:that|to|not)\b"
    r"|^max(?:imum|\.)?\b.{1,40}\b\d"
    rf"|^(?:please )?(?:keep|use|limit|write|answer|stay|cap|hold|change|add)\b.{{1,50}}\b(?:at most|at least"
    rf"|under|below|within|no more than"
    rf"|fewer than|less than|up to) {_NUMBER}"
    r"|^(?!it\b|this\b|that\b|there\b|i\b|we\b|they\b|you\b|he\b|she\b).{2,60}\b(?:has|have) to (?:stay|remain"
    r"|keep|be|work|pass|fit|match)\b"
    r"|^(?!it\b|this\b|that\b|there\b).{2,60}\b(?:is|are) to be (?:\w+ed|written|kept|left|sent|made|done|set"
    r"|put|built|run)\b"
    r"|必须(?!说|承认)(?![^，。]*才(?:会|能|可以|行))|只能(?!说|这样|算|怪|认)|只准|只许|只可以|只允许"
    r"|只(?=需?要?[改用动修读写在从做保留列])"
    r"|务必|一定[要得]|千万(?=别|不|要|记|注意|勿)|一律|无论如何|仅(?=在|允许|限|用|对|支持)|都得(?!到|了)"
    r"|不变(?:$|[，。])|(?:任何|凡是|每次|所有)[^，。]{1,20}都(?:要|须)(?!是)"
    r"|(?:^|[，,；。])(?:请|要|注意|尽量)?(?:避免|确保)(?!了)|(?:始终|总是)(?=保持|保留|使用|用|以|返回|按|遵|在|把|先)"
)
_SHOUTS = pattern(rf"\b(?:NEVER|ALWAYS|MUST|DO NOT|DON{_APOSTROPHE}T|ONLY)\b")
_NO_RULE = pattern(
    r"[?\uff1f]\s*$|[吗呢么]\s*[。.]?$|^\s*(?://|[+$│├└⏺]|\w+\.\w+\(|return\b|\w{3} +\d+ \d\d:)|[{};]\s*$|:="
    r"|\((?:\"[^\"]*\"|'[^']*')\)\s*$"
    r"|^(?:他们?|她们?|对方|用户|客户|我们(?:公司|这边|组))[^，。]{0,10}(?:说|一定|必须|禁止|不|总)|^(?:当时"
    r"|当初|那时|以前|去年)|那边说|是什么意思|(?<![写讲说释明])(?:为什么|为何)|(?:(?<!不管)(?<!无论)怎么(?!办"
    r"|样))|^(?:要是|如果)不能"
    r"|(?i:\b(?:copyright|warrant(?:y|ies)|sublicen[cs]e|permission notice|in no event)\b)"
)
_BINDING_WORD = pattern(
    rf"(?i)\b(?:never|not|no|always|only|must|avoid\w*|without|forbid\w*|\w+n{_APOSTROPHE}t)\b|[不勿别禁只必须]"
    rf"|避免|一律"
)


def forbids(sentence: str) -> bool:
    """Does it say what must not be done?"""
    said = chinese.simplified(sentence)
    return bool(_FORBIDS.search(said)) and not _NO_RULE.search(said)


def constrains(sentence: str) -> bool:
    """Does it say what must never, or always, or only be done?"""
    said = chinese.simplified(sentence)
    return not _NO_RULE.search(said) and _binds(said)


def may_bind(sentence: str) -> bool:
    """Could it, by a word of it? What repeats a rule in other words holds one of these words."""
    said = chinese.simplified(sentence)
    return _BINDING_WORD.search(said) is not None or _binds(said)


def _binds(sentence: str) -> bool:
    if any(rule.search(sentence) for rule in (_FORBIDS, _DEMANDS, _SHOUTS)):
        return True
    return chinese.is_chinese(sentence) and chinese.demands(sentence)
