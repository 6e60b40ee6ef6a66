"""What a sentence forbids, and whether a tool call does it.

Only where both can be shown: an act on something that the sentence names (a path, a folder, a command, a tool), and a
call that does this to it. Sentences with a condition ("unless", "yet", "先") forbid nothing here.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, TypeAlias

from inspector.core.calls import command_of, patched, path_of, read_by, writes
from inspector.core.facts.chinese import simplified
from inspector.core.facts.constraints import FORBIDDING, forbids
from inspector.core.message import ToolCall

Act: TypeAlias = Literal["write", "delete", "read", "git", "run"]

_BAN = re.compile(f"(?i){FORBIDDING}")
_VERBS: Mapping[Act, str] = {
    "write": r"touch|chang(?:e|ing)|modify|edit|alter|update|rewrite|overwrite|refactor|writ(?:e|ing) (?:to|in|into)"
    r"|creat(?:e|ing)|add (?:to|in)|修改|改动|改|动|碰|编辑|写入|写|重写|覆盖|创建|新建",
    "delete": r"delet(?:e|ing)|remov(?:e|ing)|删除|删掉|删",
    "read": r"read|open|look (?:at|in|into)|读取|读|打开",
    "git": r"commit|push|提交|推送",
    "run": r"run|us(?:e|ing)|execut(?:e|ing)|call|invok(?:e|ing)|launch|start|运行|执行|使用|调用|跑|用",
}
_VERB = {
    act: re.compile(rf"(?i)(?:再|去|直接|随便|擅自|be |ever )?\s*(?:{verbs})(?:n?ing|ed|d)?(?![a-z])\s*")
    for act, verbs in _VERBS.items()
}
_WITHIN = re.compile(
    r"\s*(?:直接|随便|擅自)?(?:往|在|向|对|把|将)\s*([!-~]+)\s*(?:目录|文件夹|文件|分支)?(?:里面?|中|下面?|上面?|内)?\s*(?:做|进行|再)?\s*"
)
"""What Chinese names before the act."""
_CLAUSE_END = re.compile(
    r"[,;!?\uff0c\u3002\uff1b\uff01\uff1f]|\.(?:\s|$)|\s(?:but|because|since|so that|as)\s|\s[-\u2013\u2014]\s"
)
_CONDITION = re.compile(
    r"(?i)\b(?:unless|until|except|before|after|if|when|while|every time|each time|yet|again|for now|more than|first"
    r"|instead|directly|manually|too|without (?:asking|my|telling|approval|permission))\b"
    r"|除非|直到|之前|以前|如果|暂时|先|时候|太"
)
_QUOTED = re.compile(
    r"`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"|'([\w./@-]{2,80})'|\u201c([^\u201d\n]{2,80})\u201d|「([^」\n]{2,80})」"
)
_PATH = re.compile(r"(?<![\w/])(?:[\w.@~-]*/[\w./@-]*[\w/]|\.[a-z]\w+|[\w-]+\.[a-z]\w{0,5}|\w+_\w+)(?![\w/])")
_NAMED = re.compile(
    r"(?i)\b([\w.@-]{2,})\s+(?:folder|directory|dir|file|package|tool|command|script)s?\b"
    r"|\b(?:folder|directory|file|tool|command) ([\w.@/-]{2,})"
    r"|([a-z_.][\w./@-]+)\s*(?:目录|文件夹|文件|工具|命令|脚本)"
)
_LATIN = re.compile(r"[A-Za-z_.][\w./@-]+")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_NO_NAME = re.compile(
    r"(?i)(?:the|an?|any|this|that|these|those|other|my|your|our|its|their|each|every|all|new|existing|same|tests?|source"
    r"|config|such|more|of|in|and|or|to|for|files?|single|multiple|generated|whole|entire|wrong|right|local|remote|main)"
)
_FOLDER = re.compile(
    r"(?i)\b(tests?|source|config|local|remote|main)\s+(?:folder|director(?:y|ies))"
    r"|(?<![\w/])(tests?|source|config|local|remote|main)/?\s*(?:目录|文件夹)"
)
"""Everyday words, but the name of a folder here."""
_FILLER = re.compile(
    r"(?i)(?:the|an?|any|this|that|it|commands?|tools?|here|directly|ever|anything|to|changes|branch|代码)"
)
_AROUND = re.compile("到|至|分支|代码|改动|任何东西|上去?|吧|了")
"""What Chinese puts around the name of a branch."""
_SEGMENT = re.compile(r"&&|\|\|?|;|\n|\$\(")
_REDIRECT = re.compile(r"(?<![0-9&=-])>>?\s*([^\s;&|<>()'\"]+)")
_WRAPPERS = ("sudo", "env", "time", "nohup", "bash", "sh", "-lc", "-c")
_DELETERS, _PRINTERS = ("rm", "rmdir", "unlink"), ("cat", "head", "tail", "less", "more")
_CHANGERS = (*_DELETERS, "mv", "touch", "tee", "truncate", "chmod", "dd")


@dataclass(frozen=True, slots=True)
class Ban:
    """An act that is forbidden on each of these names. For `git` and `run` a name is the beginning of a command."""

    act: Act
    names: tuple[str, ...]

    @property
    def spoken(self) -> tuple[str, ...]:
        """What a person says who allows it after all."""
        if self.act != "git":
            return self.names
        return ("push", "推送") if self.names[0].startswith("git push") else ("commit", "提交")


def find_ban(sentence: str) -> Ban | None:
    """What the sentence forbids, as far as it can be said of a call."""
    sentence = simplified(sentence)
    found = _BAN.search(sentence)
    if found is None or not forbids(sentence) or _CONDITION.search(sentence):
        return None
    rest = sentence[found.end() :]
    end = _CLAUSE_END.search(rest)
    clause = rest[: end.start()] if end else rest
    within = _WITHIN.match(clause)
    clause = clause[within.end() :] if within else clause.lstrip()
    for act, verb in _VERB.items():
        if said := verb.match(clause):
            what = clause[said.end() :]
            if act == "git":
                return _git_ban(said.group(), within.group(1) if within else what)
            if within:
                return _ban(act, within.group(1), True)
            passive = said.group().lower().startswith("be ") or not what.strip(" `.")
            return _ban(act, sentence[: found.start()] if passive else what, bool(_CHINESE.search(said.group())))
    return None


def _git_ban(verb: str, what: str) -> Ban | None:
    """ "don't commit", "never push to main"; what it is that must not be committed no call tells."""
    push = re.search(r"(?i)push|推送", verb) is not None
    rest = [one for one in re.findall(r"[\w./-]+", _AROUND.sub(" ", what)) if not _FILLER.fullmatch(one)]
    if rest and not (push and len(rest) == 1):
        return None
    return Ban("git", (" ".join(("git", "push" if push else "commit", *rest)),))


def _ban(act: Act, what: str, chinese: bool) -> Ban | None:
    names = [one for pattern in (_QUOTED, _NAMED) for found in pattern.finditer(what) for one in found.groups() if one]
    names += [found.group().rstrip(".") for found in _PATH.finditer(what)]
    if act != "run":
        names += _LATIN.findall(what) if chinese else []
    else:
        words = [one for one in re.findall(r"[^\s`\"']+", what.strip(" .")) if not _FILLER.fullmatch(one)]
        if chinese:  # `npm install` 安装依赖
            words = list(takewhile(str.isascii, words))
        names += [" ".join(words)] if len(words) <= 4 else []
    kept = tuple(dict.fromkeys(one for one in names if len(one) > 1 and not _NO_NAME.fullmatch(one)))
    kept += tuple(one for found in _FOLDER.finditer(what) for one in found.groups() if one)
    return Ban(act, kept) if kept else None


def banned_by(ban: Ban, call: ToolCall) -> str:
    """The name to which this call does the act; empty where it does not."""
    return next((name for name in ban.names if _does(ban.act, name, call)), "")


def _does(act: Act, name: str, call: ToolCall) -> bool:
    command = command_of(call)
    commands = [words for part in _SEGMENT.split(command) if (words := _words(part))]
    if act in ("git", "run"):
        whole = [part.split() for part in _SEGMENT.split(command)]  # with `sudo`, which may be what is banned
        return call.name.lower() == name.lower() or any(_begins(words, name.split()) for words in (*commands, *whole))
    paths = []
    if act == "write":
        paths = [*patched(call), *([path_of(call)] if writes(call) else []), *_REDIRECT.findall(command)]
        paths += [one for words in commands if _changes(words) for one in words[1:]]
        paths += [words[-1] for words in commands if words[0] == "cp"]
    elif act == "delete":
        paths = [path_of(call)] if any(word in call.name.lower() for word in ("delete", "remove")) else []
        paths += [one for words in commands if words[0] in _DELETERS or words[:2] == ["git", "rm"] for one in words[1:]]
    elif act == "read":
        paths = [path_of(call)] if read_by(call) else []
        paths += [one for words in commands if words[0] in _PRINTERS for one in words[1:]]
    return any(_holds(path, name) for path in paths)


def _words(command: str) -> list[str]:
    words = [one.strip("'\"") for one in command.split()]
    while words and (words[0] in _WRAPPERS or re.match(r"\w+=", words[0])):
        words = words[1:]
    return words


def _changes(words: Sequence[str]) -> bool:
    in_place = words[0] in ("sed", "perl") and any(one.startswith(("-i", "--in-place")) for one in words[1:3])
    return in_place or words[0] in _CHANGERS or words[:2] in (["git", "rm"], ["git", "mv"], ["git", "restore"])


def _begins(words: Sequence[str], name: Sequence[str]) -> bool:
    """Does a command begin with these words, their options anywhere in it?"""
    mine, named = ([one for one in listed if not one.startswith("-")] for listed in (words, name))
    if named[:2] == ["git", "push"]:  # the remote comes before the branch, which may be `from:branch`
        begins = mine[:2] == named[:2] and set(named) <= {*mine, *(one.rpartition(":")[2] for one in mine)}
    else:
        begins = bool(named) and mine[: len(named)] == named
    return begins and {one for one in name if one.startswith("-")} <= set(words)


def _holds(path: str, name: str) -> bool:
    """Is the name one or several whole parts of the path?"""
    part = name.removeprefix("./").strip("/~")
    return bool(part) and f"/{part}/" in f"/{path.strip('/')}/"
