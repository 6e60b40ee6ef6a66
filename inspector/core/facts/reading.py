"""Read the facts of a message, and the text in which facts are searched."""

import re
from collections.abc import Iterator, Mapping

from inspector.core.facts.fact import Fact
from inspector.core.facts.names import names
from inspector.core.facts.rules import rule
from inspector.core.facts.sentences import (
    LONGEST,
    TYPED,
    find_decisions,
    find_errors,
    find_wishes,
    sentences,
)
from inspector.core.facts.user_words import SCANNED, user_words
from inspector.core.jsontext import dumps
from inspector.core.message import Json, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

_LOGGED = re.compile(r"^[^\n]*\d\d:\d\d:\d\d[^\n]*$", re.MULTILINE)
_FEW = 4
"""Fewest characters of a sentence that counts as an instruction."""
_OPTION = re.compile(r"(?:^|_)(?:status|state|mode|action|type|kind|level|priority|format)$")
_BOILERPLATE = rule("steps.boilerplate")
_RETOLD = rule("steps.retold")
_TOLD_WISH = rule("steps.told_wish")
_ABOUT_FILE = rule("steps.about_file")
_CITED = re.compile(r'["\u201c]([^"\u201c\u201d\n]{8,400})["\u201d]')
_USERS = re.compile(
    r"(?i)\b(?:user|asked|feedback|request\w*|message|verbatim"
    r"|(?:he|she|they|who) (?:\w+ )?(?:said|says))\b|用户|[说要]"
)
"""Words before a quotation that show that the user said it."""
_INSIDE = re.compile(r"\s*[^\W\d_]")
"""Matches after a quotation if the sentence around it continues."""
_LONG_RULE = 240
"""Longest sentence of a summary, in characters, that counts as a rule."""
_MARKS = "\"'`\u201c\u201d *-\u2022"
_QUOTED = ("old_string", "old_str", "oldText", "old_text", "old", "search")


def facts(message: Message) -> dict[Fact, None]:
    """Return the facts of one message, each once, in reading order. O(text).

    In text that a client added, only the user's own words are read.
    """
    read = dict.fromkeys(retold_rules(message) if message.summary else wishes(message))
    if not message.mark:
        for part in message.parts:
            read.update(dict.fromkeys(_read_part(part, message.role)))
    return read


def _read_part(part: Part, role: str) -> Iterator[Fact]:
    """Yield the decisions, errors and names in a part, in reading order."""
    match part:
        case Text(text=text):
            if role == "assistant":
                yield from find_decisions(text[:SCANNED])
            yield from names(text[:SCANNED])
        case Thinking(text=text):
            yield from names(text[:SCANNED])
        case Opaque(text=text) if text:
            yield from names(text[:SCANNED])
        case ToolCall(arguments=arguments):
            yield from names("\n".join(_strings(arguments, ()))[:SCANNED], printed=True)
        case ToolResult(content=content, is_error=is_error):
            yield from _read_result(content[:SCANNED], is_error)
        case _:
            pass


def _read_result(content: str, is_error: bool) -> Iterator[Fact]:
    """Yield the errors of a tool result, then its names. Within an error, only paths and URLs count as names."""
    text = "\n".join(dict.fromkeys(content.split("\n")))  # tools often repeat lines
    errors = dict.fromkeys(find_errors(text, is_error))
    yield from errors
    for error in errors:
        paths = (fact.text for fact in names(error.text) if fact.kind in ("path", "url"))
        text = text.replace(error.text, " ".join(paths))
    yield from names(text[:SCANNED], printed=True)


def wishes(message: Message) -> Iterator[Fact]:
    """Yield the instructions and constraints of the user in a message, wherever a client put them."""
    for words in user_words(message):
        yield from find_wishes(words.text)


def retold_rules(message: Message) -> Iterator[Fact]:
    """Yield the constraints that a summary repeats, which are lost if the next summary leaves them out.

    A quotation in the summary counts as a sentence. Instructions that the client adds to the summary are left out.
    """
    for part in message.parts:
        if not isinstance(part, Text):
            continue
        text = part.text[:SCANNED]
        quotations = filter(_quotes_wish, _CITED.finditer(text))
        cited = [rule_text for quoted in quotations for rule_text in _constraints(quoted[1])]
        retold = filter(_is_rule_retold, _constraints(_CITED.sub(" ", text)))
        described = filter(_tells_wish, sentences(text))
        for rule_text in dict.fromkeys((*cited, *retold, *described)):
            if len(rule_text) <= _LONG_RULE and not _BOILERPLATE.search(rule_text):
                yield Fact("constraint", rule_text.strip(_MARKS))


def _quotes_wish(quoted: re.Match[str]) -> bool:
    """Is a quotation in a summary a whole item, or attributed to the user? If not, it is part of an explanation."""
    text = quoted.string
    line_start = text.rfind("\n", 0, quoted.start()) + 1
    before = text[line_start : quoted.start()]
    if _USERS.search(before):
        return True
    return not _INSIDE.match(text, quoted.end()) and not re.search(r"\w[\w'’]*\s*$", before)


def _tells_wish(sentence: str) -> bool:
    return _TOLD_WISH.search(sentence) is not None and not _CITED.search(sentence)


def _is_rule_retold(sentence: str) -> bool:
    return _RETOLD.search(sentence) is not None and not _ABOUT_FILE.match(sentence)


def _constraints(text: str) -> list[str]:
    return [wish.text for wish in find_wishes(text) if wish.kind == "constraint"]


def instructions(message: Message) -> Iterator[Fact]:
    """Yield an instruction fact for every sentence that the user wrote, without client text and pasted text."""
    for words in user_words(message):
        yield from (
            Fact("instruction", sentence[:LONGEST])
            for sentence in sentences(words.text)
            if len(sentence) >= _FEW
        )


def texts(message: Message) -> Iterator[str]:
    """Yield the texts in which facts are searched: texts, thinking, call arguments and results, cut at `SCANNED`."""
    for part in message.parts:
        match part:
            case Text(text=text) | Thinking(text=text) | ToolResult(content=text):
                yield text[:SCANNED]
            case Opaque(text=text) if text:
                yield text[:SCANNED]
            case ToolCall(arguments=arguments):
                strings = _strings(arguments, without=(), numbers=True)
                yield "\n".join(strings)[:SCANNED]
            case _:
                pass


def used(message: Message) -> str:
    """Return the text that the author of a message wrote: the model's answer and calls, or what the user typed.

    Of an edit only the new text counts, because the agent had just read the text that it replaces.
    """
    if message.role in ("user", "tool"):
        typed = [words.text for words in user_words(message) if len(words.text) <= TYPED]
        return _LOGGED.sub("", "\n".join(typed)) if typed else ""
    if message.role != "assistant":
        return ""
    written = [part.text for part in message.parts if isinstance(part, Text | Thinking)]
    return "\n".join([*written, *map(call_text, message.calls)])


def call_text(call: ToolCall) -> str:
    """Return the arguments of a call as text, without the old text that an edit quotes."""
    text = "\n".join(_strings(call.arguments, _QUOTED))
    if "*** Begin Patch" in text:  # the agent had just read the unchanged and removed lines
        text = "\n".join(line for line in text.split("\n") if line.startswith(("+", "***")))
    return text


def _is_option(key: str, value: Json) -> bool:
    """Is the value a fixed option of the tool's schema, such as the status `in_progress`?"""
    return _OPTION.search(key) is not None and isinstance(value, str) and value.isidentifier()


def _strings(arguments: Json, without: tuple[str, ...], numbers: bool = False) -> Iterator[str]:
    """Yield the strings in the arguments of a call, in order.

    Args:
        arguments: The arguments of a call.
        without: Keys that are left out.
        numbers: Yield also numbers, such as limits and times, and fixed options of the tool's schema.
    """
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
