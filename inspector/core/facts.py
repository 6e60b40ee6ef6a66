"""Facts: what a text says that cannot be guessed. Used to tell what a compaction lost.

A fact is a file path, a URL, an identifier, a number, an error text or a sentence the user typed. They are found by
patterns, so the list is neither complete nor free of chance finds; it is the same for every policy, which is what makes
policies comparable. A fact is lost where its text stands nowhere in the buffer after, as whole words.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.jsontext import dumps
from inspector.core.message import Message, Text, Thinking, ToolCall, ToolResult

FactKind: TypeAlias = Literal["path", "url", "identifier", "number", "error", "instruction"]
KINDS: tuple[FactKind, ...] = ("instruction", "error", "path", "url", "identifier", "number")

LONGEST_ERROR, LONGEST_INSTRUCTION = 240, 400
SCANNED = 200_000
"""Characters of one part that are searched: more than any tool result an agent lets in."""

_URL = r"(?P<url>https?://[^\s<>\"'`\])}，。、；]{3,200}[^\s<>\"'`\])}.,;:!?，。、；])"
_PATH = (
    r"(?P<path>(?<![\w/])(?:~|\.{1,2})?/?(?:[\w@+.-]{1,80}/){1,12}[\w@+.-]{1,80}"
    r"|(?<![\w./-])[\w-]{1,80}\.(?:py|pyi|js|jsx|ts|tsx|go|rs|java|kt|c|cc|cpp|h|hpp|cs|rb|php|swift|sh|sql|css|html|vue"
    r"|json|jsonl|toml|yaml|yml|md|rst|txt|ini|cfg|lock|csv|xml|proto|ipynb)(?![\w/]))"
)
_IDENTIFIER = (
    r"(?P<identifier>(?<![\w])(?:_*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+"
    r"|(?:[A-Z][a-z0-9]+){2,}|(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40})(?![\w]))"
)
_NUMBER = (
    r"(?P<number>(?<![\w.,/-])\d{1,3}(?:,\d{3})+(?:\.\d+)?%?|(?<![\w.,/-])(?:\d+\.\d+(?:\.\d+)*|\d{3,})%?(?![\w/]))"
)
_FACT = re.compile("|".join((_URL, _PATH, _IDENTIFIER, _NUMBER)))
_ERROR = re.compile(
    r"^(?=[^\n]{8,})[^\n]{0,160}?(?:\b\w*(?:Error|Exception)\b\s*:|\b(?:error|fatal|panic)\b\s*:|\bFAILED\b|\berror\[)[^\n]*",
    re.MULTILINE,
)
_SENTENCE_END = re.compile(r"(?<=[。！？])|(?<=[.!?])(?=\s)|\n+")
_WORD = re.compile(r"\w+")
_MACHINE = re.compile(r"^\s*[<\[{]")


@dataclass(frozen=True, slots=True)
class Fact:
    """Equal facts have the same kind and text."""

    kind: FactKind
    text: str


@dataclass(frozen=True, slots=True)
class LostFact:
    """A fact that stands nowhere any more, and the message where it stood last."""

    fact: Fact
    message: str


def facts(message: Message) -> dict[Fact, None]:
    """The facts of one message, each once, in the order of reading. O(text)."""
    found: dict[Fact, None] = {}
    for text in texts(message):
        found.update(dict.fromkeys(_in_text(text)))
    found.update(dict.fromkeys(instructions(message)))
    return found


def instructions(message: Message) -> Iterator[Fact]:
    """The sentences that the user typed; none of what travels in the user's name."""
    text = message.text if message.role == "user" and not message.summary and not message.mark else ""
    if text and not _MACHINE.match(text):  # reminders and pasted data begin like markup or JSON
        for sentence in sentences(text):
            if len(sentence) >= 4:
                yield Fact("instruction", sentence[:LONGEST_INSTRUCTION])


def sentences(text: str) -> Iterator[str]:
    """The sentences and lines of a text."""
    return filter(None, map(str.strip, _SENTENCE_END.split(text)))


def lost(before: Sequence[Message], after: Sequence[Message]) -> tuple[LostFact, ...]:
    """Facts of messages that were changed or are gone, whose text stands nowhere in `after`. By kind, then place."""
    kept = {id(message) for message in after}
    standing: dict[Fact, str] = {}
    for message in before:
        if id(message) not in kept:
            standing.update(dict.fromkeys(facts(message), message.id))
    if not standing:
        return ()
    there = _TextSearch(after)
    gone = [LostFact(fact, message) for fact, message in standing.items() if not there(fact)]
    return tuple(sorted(gone, key=lambda one: KINDS.index(one.fact.kind)))


class _TextSearch:
    """Does a fact stand in these messages? Which of them are worth a look is told by their words: a fact's first and
    last word may be part of a longer one only where the fact itself was cut."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._facts: set[Fact] = set()
        self._texts: list[str] = []
        self._places: dict[str, list[int]] = {}
        for message in messages:
            self._facts.update(facts(message))
            text = "\n".join(texts(message))
            for word in set(_WORD.findall(text)):
                self._places.setdefault(word, []).append(len(self._texts))
            self._texts.append(text)

    def __call__(self, fact: Fact) -> bool:
        if fact in self._facts:
            return True
        words = _WORD.findall(fact.text)
        if len(fact.text) in (LONGEST_ERROR, LONGEST_INSTRUCTION) and len(words) > 1:
            words.pop()
        places = min((self._places.get(word, []) for word in words), key=len, default=range(len(self._texts)))
        return any(fact.text in self._texts[at] for at in places)


def by_kind(found: Iterable[Fact]) -> Mapping[FactKind, int]:
    """How many of each kind."""
    counts: dict[FactKind, int] = dict.fromkeys(KINDS, 0)
    for fact in found:
        counts[fact.kind] += 1
    return counts


def texts(message: Message) -> Iterator[str]:
    """What facts are looked for in: text, thinking, calls and results, the beginning of each."""
    for part in message.parts:
        match part:
            case Text(text=text) | Thinking(text=text) | ToolResult(content=text):
                yield text[:SCANNED]
            case ToolCall(name=name, arguments=arguments):
                yield f"{name} {arguments if isinstance(arguments, str) else _plain(arguments)}"[:SCANNED]
            case _:
                pass


def _plain(arguments: object) -> str:
    """Arguments as text a person would write: strings unescaped, one value a line."""
    out: list[str] = []
    stack = [arguments]
    while stack:
        value = stack.pop()
        if isinstance(value, Mapping):
            stack.extend(reversed(list(value.values())))
        elif isinstance(value, list | tuple):
            stack.extend(reversed(value))
        else:
            out.append(value if isinstance(value, str) else dumps(value))
    return "\n".join(out)


def _in_text(text: str) -> Iterator[Fact]:
    for match in _ERROR.finditer(text):
        yield Fact("error", match.group().strip()[:LONGEST_ERROR])
    for match in _FACT.finditer(text):
        kind = match.lastgroup
        if kind == "path" and "/" not in match.group().strip("./") and "." not in match.group():
            continue
        yield Fact(kind, match.group().rstrip("."))  # type: ignore[arg-type]
