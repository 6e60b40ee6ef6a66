"""The facts of a message, and the text in which facts stand."""

import re
from collections.abc import Iterator, Mapping

from inspector.core.facts.fact import Fact
from inspector.core.facts.names import names
from inspector.core.facts.rules import rule
from inspector.core.facts.sentences import LONGEST, TYPED, decided, failed, find_wishes, sentences
from inspector.core.facts.user_words import SCANNED, user_words
from inspector.core.jsontext import dumps
from inspector.core.message import Json, Message, Opaque, Text, Thinking, ToolCall, ToolResult

_LOGGED = re.compile(r"^[^\n]*\d\d:\d\d:\d\d[^\n]*$", re.MULTILINE)
_FEW = 4
"""Characters of a sentence that says something."""
_OPTION = re.compile(r"(?:^|_)(?:status|state|mode|action|type|kind|level|priority|format)$")
_BOILERPLATE = rule("steps.boilerplate")
_RETOLD = rule("steps.retold")
_CITED = re.compile(r'["\u201c]([^"\u201c\u201d\n]{8,400})["\u201d]')
_LONG_RULE = 240
"""Characters of a sentence of a summary that tells of more than a rule."""
_QUOTES = "\"'`\u201c\u201d "
_QUOTED = ("old_string", "old_str", "oldText", "old_text", "old", "search")


def facts(message: Message) -> dict[Fact, None]:
    """Return the facts of one message, each once, in the order of reading; of a client's text only the user's words.

    O(text).
    """
    found = dict.fromkeys(retold_rules(message) if message.summary else wishes(message))
    if message.mark:
        return found
    for part in message.parts:
        match part:
            case Text(text=text):
                if message.role == "assistant":
                    found.update(dict.fromkeys(decided(text[:SCANNED])))
            case Thinking(text=text):
                pass
            case ToolCall(arguments=arguments):
                text = "\n".join(_strings(arguments, ()))
            case Opaque(text=text) if text:
                pass
            case ToolResult(content=content, is_error=is_error):
                text = _distinct_lines(content[:SCANNED])
                errors = dict.fromkeys(failed(text, is_error))
                found.update(errors)
                for error in errors:  # its numbers and names say nothing without it
                    paths = (fact.text for fact in names(error.text) if fact.kind in ("path", "url"))
                    text = text.replace(error.text, " ".join(paths))
            case _:
                continue
        printed = isinstance(part, ToolCall | ToolResult)
        found.update(dict.fromkeys(names(text[:SCANNED], printed)))
    return found


def _distinct_lines(text: str) -> str:
    """The text with each line once: tools print the same lines again and again."""
    return "\n".join(dict.fromkeys(text.split("\n")))


def wishes(message: Message) -> Iterator[Fact]:
    """Yield the instructions and constraints of the user in a message, wherever a client put them."""
    for words in user_words(message):
        yield from find_wishes(words.text)


def retold_rules(message: Message) -> Iterator[Fact]:
    """Yield the constraints that a summary tells of: what the next one leaves out is lost, though the user is gone.

    What it quotes stands by itself; what its client says in it is left out.
    """
    for part in message.parts:
        if not isinstance(part, Text):
            continue
        text = part.text[:SCANNED]
        cited = [wish.text for one in _CITED.findall(text) for wish in find_wishes(one) if wish.kind == "constraint"]
        told = [wish.text for wish in find_wishes(_CITED.sub(" ", text)) if wish.kind == "constraint"]
        for rule_text in (*cited, *filter(_RETOLD.search, told)):
            if len(rule_text) <= _LONG_RULE and not _BOILERPLATE.search(rule_text):
                yield Fact("constraint", rule_text.strip(_QUOTES))


def instructions(message: Message) -> Iterator[Fact]:
    """Every sentence of the user's own, whatever it says; nothing of what travels in the user's name."""
    for words in user_words(message):
        yield from (Fact("instruction", one[:LONGEST]) for one in sentences(words.text) if len(one) >= _FEW)


def texts(message: Message) -> Iterator[str]:
    """Where facts stand: text, thinking, the arguments of calls, and results, the beginning of each."""
    for part in message.parts:
        match part:
            case Text(text=text) | Thinking(text=text) | ToolResult(content=text):
                yield text[:SCANNED]
            case Opaque(text=text) if text:
                yield text[:SCANNED]
            case ToolCall(arguments=arguments):
                yield "\n".join(_strings(arguments, (), True))[:SCANNED]
            case _:
                pass


def used(message: Message) -> str:
    """What somebody said of his own in a message: an answer, or what the user typed. Of an edit only what is new: what
    it replaces was just looked at."""
    if message.role == "user":
        said = [words.text for words in user_words(message) if len(words.text) <= TYPED]
        return _LOGGED.sub("", "\n".join(said))
    if message.role != "assistant":
        return ""
    said = [part.text for part in message.parts if isinstance(part, Text | Thinking)]
    return "\n".join([*said, *map(call_text, message.calls)])


def call_text(call: ToolCall) -> str:
    """What the arguments of a call say, without what they quote."""
    text = "\n".join(_strings(call.arguments, _QUOTED))
    if "*** Begin Patch" in text:  # lines that stay or go stood before the agent
        text = "\n".join(line for line in text.split("\n") if line.startswith(("+", "***")))
    return text


def _is_option(key: str, value: Json) -> bool:
    """One of the words that a tool's schema lists: `in_progress` as a status, `files_with_matches` as a mode."""
    return _OPTION.search(key) is not None and isinstance(value, str) and value.isidentifier()


def _strings(arguments: Json, without: tuple[str, ...], numbers: bool = False) -> Iterator[str]:
    """Arguments as text a person would write: strings unescaped, one value a line. Limits and times are no strings."""
    stack: list[Json] = [arguments]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            stack.extend(
                value[key]
                for key in reversed(list(value))
                if key not in without and (numbers or not _is_option(key, value[key]))
            )
        elif isinstance(value, list | tuple):
            stack.extend(reversed(value))
        elif numbers:
            yield dumps(value)
