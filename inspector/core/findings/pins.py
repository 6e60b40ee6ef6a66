"""Does a constraint survive? Every pin over all requests, and the calls that did what one of them forbids.

A sentence forbids something here only where it can be shown: an act on something that it names (a path, a folder, a
command, a tool), and a call that does this to it. Sentences with a condition ("unless", "yet", "先"), about a way of
doing it ("by hand"), a purpose ("to read files") or a part of a file ("the version in setup.cfg") forbid nothing.

A call that failed is no violation, and what the user named again afterwards, without forbidding it, may have been
allowed, as may be what he was asked about and said yes to: from then on nothing is held against it. No violation is
claimed without the text of the call.
"""

import re
import shlex
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Literal, TypeAlias, get_args

from inspector.core.arrivals import Arrival, arrivals
from inspector.core.calls import command_of, patched, path_of, read_by, writes
from inspector.core.facts.reading import call_text
from inspector.core.facts.rules import forbids, rule, simplified
from inspector.core.facts.sentences import typed
from inspector.core.facts.wording import plain
from inspector.core.heavy import checkpoint
from inspector.core.message import Message, ToolCall
from inspector.core.replay.pins import Pin, PinHistory, PinIndex, PinSpan, PinState, recorded_pins
from inspector.core.session import Thread

Act: TypeAlias = Literal["write", "delete", "read", "git", "run"]

_BAN = rule("bans.ban")
_VERB: Mapping[Act, re.Pattern[str]] = {act: rule(f"bans.{act}") for act in get_args(Act)}
_WITHIN = rule("bans.within")
_CLAUSE_END = rule("bans.clause_end")
_CONDITION = rule("bans.condition")
_PURPOSE = rule("bans.purpose")
_PART = rule("bans.part")
_ABOUT = rule("bans.about")
_WHOLE = rule("bans.whole")
_CHINESE_PART = rule("bans.chinese_part")
_CHINESE_WHOLE = rule("bans.chinese_whole")
_QUOTED = re.compile(
    r"`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"|'([\w./@-]{2,80})'|\u201c([^\u201d\n]{2,80})\u201d|「([^」\n]{2,80})」"
)
_PATH = re.compile(
    r"(?<![\w/*])(?:[\w.@~-]*/[\w./@-]*[\w/]|[\w.@~-]{2,}/(?!\*)|\.[a-z]\w+|[\w-]+\.[a-z]\w{0,5}|\w+_\w+)(?![\w/])"
)
_NAMED = rule("bans.named")
_LATIN = re.compile(r"[A-Za-z_.][\w./@-]+")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_NO_NAME = rule("bans.no_name")
_FOLDER = rule("bans.folder")
_FILLER = rule("bans.filler")
_AROUND = rule("bans.around")
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1([^\n]*)\n(?:.*?\n)??[ \t]*\2[ \t]*(?=\n|$)", re.DOTALL)
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_OPERATORS = "();<>|&\n"
_SHELLS = ("bash", "sh", "zsh")
_WRAPPERS = ("sudo", "env", "time", "nohup", "then", "do", "else", "if", "!", "{")
_HARMLESS = frozenset(["--dry-run", "--help", "--version"])
_GIT_VALUES = ("-C", "-c", "--git-dir", "--work-tree")
_DELETERS, _PRINTERS = ("rm", "rmdir", "unlink"), ("cat", "head", "tail", "less", "more")
_IN_PLACE, _EDITS = ("sed", "perl"), re.compile("-i|--in-place")
_GIT_CHANGERS = (("git", "rm"), ("git", "mv"), ("git", "restore"))
_CHANGERS = (*_DELETERS, "mv", "touch", "tee", "truncate", "chmod", "dd")


@dataclass(frozen=True, slots=True)
class Ban:
    """An act that is forbidden on each of these names. For `git` and `run` a name is the beginning of a command."""

    act: Act
    names: tuple[str, ...]

    def named_in(self, text: str) -> bool:
        """Does somebody speak of it, by the name of the file alone maybe, or of one of many?"""
        files = [one.strip("/~").rpartition("/")[2] for one in self.names]
        stems = [one.partition(".")[0].rstrip("s") for one in files]
        spoken = [stem if len(stem) > 3 else file for stem, file in zip(stems, files, strict=True)]
        if self.act == "git":
            spoken = ["push", "推送"] if self.names[0].startswith("git push") else ["commit", "提交"]
        return any(one.lower() in text.lower() for one in spoken)


def find_ban(sentence: str) -> Ban | None:
    """What the sentence forbids, as far as it can be said of a call."""
    sentence = simplified(sentence)
    found = _BAN.search(sentence)
    if found is None or not forbids(sentence) or _CONDITION.search(sentence):
        return None
    if sentence[: found.end()].count('"') % 2:  # somebody's words
        return None
    rest = sentence[found.end() :]
    end = _CLAUSE_END.search(rest)
    clause = rest[: end.start()] if end else rest
    within = _WITHIN.match(clause)
    clause = clause[within.end() :] if within else clause.lstrip().removeprefix("you to ")
    for act, verb in _VERB.items():
        if said := verb.match(clause):
            what = clause[said.end() :]
            if act == "git":
                return _git_ban(said.group(), within.group(1) if within else what)
            if within:
                return _ban(act, within.group(1), True) if _CHINESE_WHOLE.fullmatch(what) else None
            passive = said.group().lower().startswith("be ") or not what.strip(" `.")
            before = re.split("[，,；;]", sentence[: found.start()])
            return _ban(act, before[-1] if passive else what, bool(_CHINESE.search(said.group())))
    return None


def _git_ban(verb: str, what: str) -> Ban | None:
    """ "don't commit", "never push to main"; what it is that must not be committed no call tells."""
    push = re.search(r"(?i)push|推送", verb) is not None
    rest = [one for one in re.findall(r"[\w./-]+", _AROUND.sub(" ", what)) if not _FILLER.fullmatch(one)]
    if rest and not (push and len(rest) == 1):
        return None
    return Ban("git", (" ".join(("git", "push" if push else "commit", *rest)),))


def _ban(act: Act, what: str, chinese: bool) -> Ban | None:
    part = _PART.match(what)
    if _PURPOSE.search(what) if act == "run" else (_ABOUT.search(what) or (part and not _WHOLE.fullmatch(part[1]))):
        return None
    if chinese and _CHINESE_PART.search(what):
        return None
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
    if act in ("git", "run"):
        commands = _commands(command) if name.partition(" ")[0] in command else ()
        return call.name.lower() == name.lower() or any(
            _begins(words, name.split()) for whole, _ in commands for words in (whole, _words(whole))
        )
    named = name.strip("/~").rpartition("/")[2] in command
    run = [(words, targets) for whole, targets in (_commands(command) if named else ()) if (words := _words(whole))]
    paths = []
    if act == "write":
        paths = [*patched(call), *([path_of(call)] if writes(call) else [])]
        paths += [one for _, targets in run for one in targets]
        in_place = [words for words, _ in run if words[0] in _IN_PLACE and any(map(_EDITS.match, words[1:3]))]
        changing = [words for words, _ in run if words[0] in _CHANGERS or tuple(words[:2]) in _GIT_CHANGERS]
        paths += [one for words in (*in_place, *changing) for one in words[1:]]
        paths += [words[-1] for words, _ in run if words[0] == "cp"]
    elif act == "delete":
        paths = [path_of(call)] if any(word in call.name.lower() for word in ("delete", "remove")) else []
        paths += [one for words, _ in run if words[0] in _DELETERS or words[:2] == ["git", "rm"] for one in words[1:]]
    elif act == "read":
        paths = [path_of(call)] if read_by(call) else []
        paths += [one for words, _ in run if words[0] in _PRINTERS for one in words[1:]]
    return any(_holds(path, name) for path in paths)


@lru_cache(maxsize=256)
def _commands(text: str) -> tuple[tuple[list[str], list[str]], ...]:
    """(words, files that it writes its output to) of each simple command, as a shell would see them: what is quoted is
    a word. Empty where the quotes do not close."""
    lexer = shlex.shlex(_COMMENT.sub("", _HEREDOC.sub(r"\3", text)), posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.whitespace_split = " \t\r", True
    found: list[tuple[list[str], list[str]]] = [([], [])]
    try:
        tokens = iter(list(lexer))
    except ValueError:
        return ()
    for token in tokens:
        words, targets = found[-1]
        if not token or token.strip(_OPERATORS):
            words.append(token)
        elif "<" in token or token.endswith(">&"):
            next(tokens, None)
        elif ">" in token:
            targets.append(next(tokens, ""))
        else:
            found.append(([], []))
    inner = [
        one for words, _ in found if len(words) > 2 and words[0] in _SHELLS and "c" in words[1] for one in words[2:3]
    ]
    return (*found, *(one for script in inner for one in _commands(script)))


def _words(words: Sequence[str]) -> list[str]:
    """Without what is put in front of a command, and what stands between `git` and what it is to do."""
    listed = list(words)
    while listed and (listed[0] in _WRAPPERS or re.match(r"\w+=", listed[0])):
        del listed[0]
    if len(listed) > 1 and listed[0] in _SHELLS and not listed[1].startswith("-"):
        del listed[0]
    while len(listed) > 1 and listed[0] == "git" and listed[1].startswith("-"):
        del listed[1 : 3 if listed[1] in _GIT_VALUES else 2]
    return listed


def _begins(words: Sequence[str], name: Sequence[str]) -> bool:
    """Does a command begin with these words, their options anywhere in it?"""
    if not _HARMLESS.isdisjoint(words) and _HARMLESS.isdisjoint(name):
        return False
    mine, named = ([one for one in listed if not one.startswith("-")] for listed in (words, name))
    if named[:2] == ["git", "push"]:  # the remote comes before the branch, which may be `from:branch`
        begins = mine[:2] == named[:2] and set(named) <= {*mine, *(one.rpartition(":")[2] for one in mine)}
    else:
        begins = bool(named) and [*(one.rpartition("/")[2] for one in mine[:1]), *mine[1 : len(named)]] == named
    return begins and {one for one in name if one.startswith("-")} <= set(words)


def _holds(path: str, name: str) -> bool:
    """Is the name one or several whole parts of the path?"""
    part = name.removeprefix("./").strip("/~")
    return bool(part) and f"/{part}/" in f"/{path.strip('/')}/"


_CONSENT, _ASKING = rule("bans.consent"), rule("bans.asking")
LONGEST_CALL = 200
"""Characters of a call that are shown."""


@dataclass(frozen=True, slots=True)
class PinViolation:
    """A call that does what a pin forbids. `request`: index of the one whose answer holds it."""

    request: int
    message: str
    state: PinState
    """How the pin stood when the model was asked."""
    why: str
    """The call, what of the pin it touches, and how the pin stood, in a sentence."""


@dataclass(frozen=True, slots=True)
class PinFinding:
    """A pin as it was recorded, and the calls against it."""

    history: PinHistory
    violations: tuple[PinViolation, ...] = ()

    @property
    def pin(self) -> Pin:
        return self.history.pin


def pin_findings(thread: Thread, pins: Sequence[Pin]) -> tuple[PinFinding, ...]:
    """Each of these pins over the thread as it was recorded. O(messages)."""
    histories = recorded_pins(thread, PinIndex(pins))
    bans = {n: ban for n, pin in enumerate(pins) if (ban := ban_of(pin))}
    against = _violations(thread, histories, bans) if bans else {}
    return tuple(PinFinding(history, tuple(against.get(n, ()))) for n, history in enumerate(histories))


def ban_of(pin: Pin) -> Ban | None:
    """What calls must not do by this pin; None where it forbids none."""
    return find_ban(plain(pin.text)) if pin.found != "instruction" else None


def _violations(
    thread: Thread, histories: Sequence[PinHistory], bans: Mapping[int, Ban]
) -> dict[int, list[PinViolation]]:
    """The calls against the bans, by number of the pin."""
    failed = {result.call_id for one in thread.messages if (result := one.result) is not None and result.is_error}
    found: dict[int, list[PinViolation]] = {}
    standing = dict(bans)
    for index, arrival in enumerate(arrivals(thread)):
        checkpoint()
        calls = [(one, call) for one in arrival.answer for call in one.calls if call.id not in failed]
        for message, call in calls:
            for n, ban in standing.items():
                span, name = histories[n].at(index - 1), banned_by(ban, call)
                if span is not None and name:
                    found.setdefault(n, []).append(_violation(index - 1, message, call, name, span))
        allowed = [n for n, ban in standing.items() if _allowed(histories[n].pin, ban, arrival, failed)]
        for n in allowed:
            del standing[n]
    return found


def _allowed(pin: Pin, ban: Ban, arrival: Arrival, failed: Container[str]) -> bool:
    """Does the user name it again here, without forbidding it? Or say yes, asked about it?"""
    said = [one.text for one in arrival.new if one.from_user and one.id != pin.message]
    if any(not forbids(one) and ban.named_in(one) for text in said for one in typed(text)):
        return True
    asked = [
        call_text(call)
        for one in arrival.answer
        for call in one.calls
        if call.id not in failed and _ASKING.search(call.name)
    ]
    if any(_CONSENT.match(text) for text in said):
        asked += [one.text for one in arrival.answer if one.role == "assistant" and re.search("[?\uff1f]", one.text)]
    return any(ban.named_in(text) for text in asked)


def _violation(request: int, message: Message, call: ToolCall, name: str, span: PinSpan) -> PinViolation:
    shown = plain(f"{call.name} {command_of(call) or path_of(call) or ', '.join(patched(call))}")[:LONGEST_CALL]
    stood = f"the pin stood {span.state}"
    if span.state == "gone":
        stood = f"the pin had been gone since request {span.first}" + (f", by {span.evidence}" if span.evidence else "")
    return PinViolation(request, message.id, span.state, f"{shown}: this touches {name!r}; {stood}")
