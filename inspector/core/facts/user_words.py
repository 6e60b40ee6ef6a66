"""Find the user's own words in a message, wherever a client puts them. All modules use this one definition.

In a user message, the client mixes them with additions: a head in brackets, the sender, reminders, the state of the
editor. The user's words may also be the arguments of a slash command, the reason for rejecting a tool call, or a
message that was typed while the agent worked and sent in a reminder. Pasted text (`pasted`) is left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.facts.pasted import own_words
from inspector.core.facts.rules import rule
from inspector.core.jsontext import NotJson, loads
from inspector.core.message import Message, Text, ToolResult

UserPlace: TypeAlias = Literal["message", "command", "rejection", "queue"]
"""message: a prompt; command: arguments of a slash command; rejection: the reason for rejecting a tool call; queue: a
message that was typed while the agent worked, which the client sent in a reminder."""
SCANNED = 200_000
"""Characters of one part that are searched: more than any tool result that an agent admits to its context."""

_ELEMENT = rule("user_words.element")
_WRAPPED = rule("user_words.wrapped")
_QUEUED = rule("user_words.queued")
_REJECTION = rule("user_words.rejection")
_ANSWER = rule("user_words.answer")
_SENDER = rule("user_words.sender")
_EDITOR = rule("user_words.editor")
_TAG = rule("user_words.tag")
_HEAD = rule("user_words.head")
_CHANNEL = rule("user_words.channel")
_TAIL = rule("user_words.tail")
_MACHINE = rule("user_words.machine")
_REJECTION_HEAD = 1_000
"""Characters at the beginning of a tool result that are searched for the statement that the user rejected the call."""


@dataclass(frozen=True, slots=True)
class UserWords:
    """The user's words in one part of a message. Pasted lines are replaced by empty lines."""

    text: str
    place: UserPlace
    part: int
    """Index of the part of the message that contains the text."""


def user_words(message: Message) -> tuple[UserWords, ...]:
    """Return the user's own words in a message, in order, without text of the client, of tools or pasted. O(text)."""
    if message.summary or message.role not in ("user", "tool"):
        return ()
    return tuple(words for words in _words(message) if words.text.strip())


def _words(message: Message) -> Iterator[UserWords]:
    is_typed = message.from_user
    for part, content in enumerate(message.parts):
        if isinstance(content, ToolResult):
            text = content.content[:SCANNED]
            if reason := _rejection(text):
                yield UserWords(reason, "rejection", part)
        elif isinstance(content, Text):
            text = content.text[:SCANNED]
            if is_typed:
                yield from _typed(text, part)
            else:
                yield UserWords(
                    "\n".join(match[2] for match in _ANSWER.finditer(text)), "rejection", part
                )
        else:
            continue
        if "The user sent" in text:
            yield from (
                UserWords(match[1].strip(), "queue", part) for match in _QUEUED.finditer(text)
            )


def _rejection(text: str) -> str:
    """Return the user's reason for rejecting a tool call, which is in the result of the call; empty if none."""
    match = _REJECTION.match(text, 0, _REJECTION_HEAD)
    return _TAIL.sub("", text[match.end() :]).strip() if match else ""


def _typed(text: str, part: int) -> Iterator[UserWords]:
    wrapped = list(_WRAPPED.finditer(text)) if "</" in text else []
    if not wrapped:
        yield UserWords(_own(text), "message", part)
        return
    for match in wrapped:
        element, content = match[1], match[2]
        is_command = element == "command-args"
        yield UserWords(_own(content), "command" if is_command else "message", part)


def _own(text: str) -> str:
    """Return the text without the client's additions and pasted text."""
    text = _without_heads(_without_elements(text))
    if _MACHINE.match(text) or _is_json(text):
        return ""
    return own_words(text)


def _without_elements(text: str) -> str:
    """Return the text without the markup that clients add, as <system-reminder>...</system-reminder>. O(text)."""
    if "</" not in text:
        return text
    pieces = list[str]()
    at = 0
    unclosed = set[str]()
    for opening in _ELEMENT.finditer(text):
        name = opening[1]
        if opening.start() < at or name in unclosed:
            continue
        closing = f"</{name}>"
        end = text.find(closing, opening.end())
        if end < 0:
            unclosed.add(name)
            continue
        pieces.append(text[at : opening.start()])
        at = end + len(closing)
    return "".join([*pieces, text[at:]])


def _without_heads(text: str) -> str:
    """Return the text without the sender, the editor's state, `[Image #1]` and `<task>` in front of it."""
    editor = _EDITOR.search(text)
    text = text[editor.end() :] if editor else text
    text = _SENDER.sub("", text)
    at = 0
    while head := _TAG.match(text, at) or _HEAD.match(text, at):
        at = head.end()
    return _TAIL.sub("", _CHANNEL.sub("", text[at:]))


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        loads(text.encode("utf-8", "replace"))
    except NotJson:
        return False
    return True
