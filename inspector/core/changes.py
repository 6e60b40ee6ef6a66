"""What became of the messages after the place where two buffers part: lost, changed, or only rewritten.

Messages are aligned by id, then by the call they make or answer, then by their order. A change that takes nothing that
was said (a reminder that moved, thinking of old turns, JSON written otherwise, an image's placeholder) is reported so.
"""

import re
from collections import Counter, deque
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from inspector.core.jsontext import NotJson, dumps, loads
from inspector.core.message import Image, Json, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

Change: TypeAlias = Literal["reminders", "rewritten", "thinking", "images", "cleared", "shortened", "edited"]
"""The first four take nothing that was said; cleared: a result became a placeholder; shortened: text was taken away."""
HARMLESS: tuple[Change, ...] = ("reminders", "rewritten", "thinking", "images")


@dataclass(frozen=True, slots=True)
class MessageChanges:
    """Of the messages that a buffer had after a place."""

    lost: tuple[Message, ...]
    """Those of which nothing is left."""
    faded: tuple[tuple[Message, Change], ...]
    """Those of which nothing is left that anybody said: reminders, bare thinking."""
    changed: tuple[tuple[Message, Message, Change], ...]
    """(before, after, how)."""
    kept: int
    """Those that stand there word for word, wherever."""
    fresh: tuple[Message, ...]
    """Messages that are new."""

    @property
    def counts(self) -> Counter[Change]:
        """How often each kind of change occurs."""
        return Counter([how for _, _, how in self.changed] + [how for _, how in self.faded])

    @property
    def taken(self) -> tuple[tuple[Message, Message, Change], ...]:
        """The changes that took something."""
        return tuple(one for one in self.changed if one[2] not in HARMLESS)


def compare(before: Sequence[Message], after: Sequence[Message]) -> MessageChanges:
    """What became of `before`, where `after` stands now. O(both)."""
    lost: list[Message] = []
    faded: list[tuple[Message, Change]] = []
    changed: list[tuple[Message, Message, Change]] = []
    kept, places = 0, aligned(before, after)
    for message, place in zip(before, places, strict=True):
        if place < 0:
            if fading := _fading(message):
                faded.append((message, fading))
            else:
                lost.append(message)
        elif (how := change(message, after[place])) is None:
            kept += 1
        else:
            changed.append((message, after[place], how))
    taken = set(places)
    fresh = tuple(message for n, message in enumerate(after) if n not in taken)
    return MessageChanges(tuple(lost), tuple(faded), tuple(changed), kept, fresh)


def aligned(before: Sequence[Message], after: Sequence[Message]) -> list[int]:
    """Where each message of `before` stands in `after`, whatever its id is now; -1 where it does not. O(both)."""
    there = {message.id: n for n, message in enumerate(after)}
    places = [there.get(message.id, -1) for message in before]
    anchors: dict[Hashable, deque[int]] = {}
    taken = set(places)
    for n, message in enumerate(after):
        if n not in taken:
            anchors.setdefault(_anchor(message), deque()).append(n)
    for n, message in enumerate(before):
        found = anchors.get(_anchor(message)) if places[n] < 0 else None
        if found and _anchor(message) is not None:
            places[n] = found.popleft()
            taken.add(places[n])
    _by_order(before, after, places, taken)
    return places


def _anchor(message: Message) -> Hashable:
    """What a message is known by, however it is told: the calls it makes, the call it answers."""
    if message.result is not None and message.result.call_id:
        return "result", message.result.call_id
    calls = tuple(call.id for call in message.calls if call.id)
    return ("calls", *calls) if calls else None


def _by_order(before: Sequence[Message], after: Sequence[Message], places: list[int], taken: set[int]) -> None:
    """Between two that are known, those left of one role that say something alike belong together."""
    at = 0
    for n, message in enumerate(before):
        if places[n] >= 0:
            at = max(at, places[n] + 1)
            continue
        for m in range(at, min(at + 3, len(after))):
            if m not in taken and after[m].role == message.role and _alike(message, after[m]):
                places[n] = m
                taken.add(m)
                at = m + 1
                break


def _alike(one: Message, other: Message) -> bool:
    """Can the one be the other, edited? By its beginning or its end, reminders aside; bare placeholders count."""
    mine, theirs = _said(one), _said(other)
    if mine == theirs:
        return True
    if not mine or not theirs or one.summary != other.summary:
        return False
    head, tail = mine[:80], mine[-80:]
    return theirs.startswith(head[: len(theirs)]) or theirs.endswith(tail) or is_placeholder(theirs)


def _fading(message: Message) -> Change | None:
    """A message that nobody wrote to be kept: a reminder of the client's, thinking alone."""
    if message.mark in ("attachment", "meta"):
        return "reminders"
    if all(isinstance(part, Thinking) for part in message.parts):
        return "thinking"
    return "reminders" if message.role in ("user", "system") and not _said(message) and message.text else None


def change(before: Message, after: Message) -> Change | None:
    """What the difference is; None where the model reads the same."""
    if before is after or (before.role == after.role and before.parts == after.parts):
        return None
    if after.mark == "placeholder" and before.mark != "placeholder":
        return "cleared"
    mine, theirs = tuple(map(_plain, before.parts)), tuple(map(_plain, after.parts))
    if mine == theirs:
        return "rewritten" if _uncounted(before) != _uncounted(after) else None
    if _without(mine, "thinking") == _without(theirs, "thinking"):
        return "thinking"
    if _words(mine, before) == _words(theirs, after):
        return "reminders"
    if _pictures(before) > _pictures(after) and _without(mine, "image") == _without(theirs, "image")[: len(mine)]:
        return "images"
    said, says = _said(before), _said(after)
    if before.result is not None and len(says) < len(said) and (is_placeholder(says) or _stands_for(says, said)):
        return "cleared"
    if _pictures(before) > _pictures(after) and said and says.startswith(said):
        return "images"
    return "shortened" if len(says) < len(said) else "edited"


def _uncounted(message: Message) -> list[Part]:
    """The parts without what the provider said that they cost."""
    return [replace(part, tokens=None) if isinstance(part, Thinking | Opaque) else part for part in message.parts]


_TAKEN = r"(?:\b|_)(?:clear|remov|omit|prun|truncat|trimm|delet|compact|elid|drop|cut)"
_PLACEHOLDER = re.compile(rf"(?is)\s*[\[(<].{{0,80}}{_TAKEN}\w*.{{0,120}}[\])>]\s*")
_SENTENCE = re.compile(rf"(?i)(?=.*\b(?:tool|output|result|content|response|message)s?\b)(?=.*{_TAKEN}).{{1,120}}")


def is_placeholder(text: str) -> bool:
    """Is it what a client leaves where a content stood: `[Old tool result content cleared]`, `[cleared]`, nothing?"""
    told = text.strip()
    if len(told) > 400:
        return False
    return not told or bool(_PLACEHOLDER.fullmatch(told) or _SENTENCE.fullmatch(told))


_BRACKETED = re.compile(r"[\[(<].{1,200}[\])>]")


def _stands_for(text: str, content: str) -> bool:
    """Is it a word in brackets, whatever it says (`[Previous: used Bash]`), where a longer content stood?"""
    return _BRACKETED.fullmatch(text) is not None and 2 * len(text) <= len(content) and text[1:-1] not in content


REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


def _said(message: Message) -> str:
    """What stands in a message but for reminders, thinking and white space at its ends."""
    texts = []
    for part in message.parts:
        match part:
            case Text(text) | ToolResult(_, text):
                texts.append(REMINDER.sub("", text) if "<system-reminder>" in text else text)
            case ToolCall(_, name, arguments):
                texts.append(f"{name} {dumps(arguments)}")
            case _:
                pass
    return "\n".join(text for text in texts if text.strip()).strip()


def _words(plain: Sequence[Hashable], message: Message) -> tuple[str, int]:
    return _said(message), sum(1 for one in plain if isinstance(one, tuple) and one[0] in ("call", "image", "opaque"))


def _pictures(message: Message) -> int:
    return sum(isinstance(part, Image) for part in message.parts)


def _without(plain: Sequence[Hashable], kind: str) -> list[Hashable]:
    return [one for one in plain if not (isinstance(one, tuple) and one[0] == kind)]


def _plain(part: Part) -> Hashable:
    """A part so that two ways to write the same are equal."""
    match part:
        case Text(text):
            return "text", text.strip()
        case Thinking(text):
            return "thinking", text
        case ToolCall(id_, name, arguments):
            return "call", id_, name, _canonical(arguments)
        case ToolResult(call_id, content, is_error):
            return "result", call_id, content.strip(), is_error
        case Image(_, data, url):
            return "image", data or url
        case Opaque(kind, value):
            return "opaque", kind, dumps(value)


def _canonical(value: Json) -> str:
    """The same text for the same JSON: a text that holds some is taken as it."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        with suppress(NotJson):
            value = loads(value.encode("utf-8", "replace"))
    return "".join(sorted(_leaves(value)))


def _leaves(value: Json) -> Iterator[str]:
    """Every value with the way to it, in no order: however deep, nothing calls itself."""
    stack: list[tuple[str, Json]] = [("", value)]
    while stack:
        way, one = stack.pop()
        if isinstance(one, dict):
            stack += [(f"{way}.{key}", inner) for key, inner in one.items()]
        elif isinstance(one, list):
            stack += [(f"{way}.{n}", inner) for n, inner in enumerate(one)]
        else:
            yield f"{way}={dumps(one)}\n"
