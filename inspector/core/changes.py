"""The fates of the messages after the first difference of two buffers: lost, changed, or only rewritten.

Messages are aligned by id, then by the call they make or answer, then by their order. A change without a loss (a
reminder that moved, thinking of old turns, other formatting of JSON, an image's placeholder) is reported as such.
"""

import re
from collections import Counter, deque
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from inspector.core.jsontext import NotJson, dumps, loads
from inspector.core.message import (
    Image,
    Json,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

Change: TypeAlias = Literal[
    "reminders", "rewritten", "thinking", "images", "cleared", "shortened", "edited"
]
"""The first four remove no content of the conversation. cleared: a placeholder replaced a result; shortened: text was
removed; edited: text was changed."""
HARMLESS: tuple[Change, ...] = ("reminders", "rewritten", "thinking", "images")


@dataclass(frozen=True, slots=True)
class MessageChanges:
    """The fates of the messages that follow the first difference of two buffers."""

    lost: tuple[Message, ...]
    """Removed messages."""
    faded: tuple[tuple[Message, Change], ...]
    """Removed messages that held no content of the conversation, only reminders or thinking; each with the kind."""
    changed: tuple[tuple[Message, Message, Change], ...]
    """(message before, message after, kind of change)."""
    kept: int
    """Number of messages that are still in the buffer word for word, in whatever place."""
    fresh: tuple[Message, ...]
    """Messages that are new."""

    @property
    def counts(self) -> Counter[Change]:
        """Return how often each kind of change occurs."""
        return Counter([how for _, _, how in self.changed] + [how for _, how in self.faded])

    @property
    def taken(self) -> tuple[tuple[Message, Message, Change], ...]:
        """Return the changes that removed or altered content of the conversation."""
        return tuple(entry for entry in self.changed if entry[2] not in HARMLESS)


def compare_messages(before: Sequence[Message], after: Sequence[Message]) -> MessageChanges:
    """Return which of the messages `before` are lost, changed or unchanged in `after`. O(both)."""
    lost: list[Message] = []
    faded: list[tuple[Message, Change]] = []
    changed: list[tuple[Message, Message, Change]] = []
    unchanged = 0
    places = align_messages(before, after)
    for message, place in zip(before, places, strict=True):
        if place < 0:
            fading = _classify_fading(message)
            if fading is None:
                lost.append(message)
            else:
                faded.append((message, fading))
            continue
        change = classify_change(message, after[place])
        if change is None:
            unchanged += 1
        else:
            changed.append((message, after[place], change))
    known_places = set(places)
    fresh = tuple(message for place, message in enumerate(after) if place not in known_places)
    return MessageChanges(
        tuple(lost), faded=tuple(faded), changed=tuple(changed), kept=unchanged, fresh=fresh
    )


def align_messages(before: Sequence[Message], after: Sequence[Message]) -> list[int]:
    """Return the index in `after` of each message of `before`, even if its id changed; -1 for a removed message.

    O(both).
    """
    place_of_id = {message.id: place for place, message in enumerate(after)}
    places = [place_of_id.get(message.id, -1) for message in before]
    matched = set(places)
    places_of_anchor: dict[Hashable, deque[int]] = {}
    for place, message in enumerate(after):
        if place not in matched:
            places_of_anchor.setdefault(_anchor(message), deque()).append(place)
    for n, message in enumerate(before):
        if places[n] >= 0:
            continue
        anchor = _anchor(message)
        candidates = places_of_anchor.get(anchor)
        if candidates and anchor is not None:
            places[n] = candidates.popleft()
            matched.add(places[n])
    _align_by_order(before, after, places, matched)
    return places


def _anchor(message: Message) -> Hashable:
    """Return what identifies a message regardless of its text: the calls it makes, or the call it answers."""
    if message.result is not None and message.result.call_id:
        return "result", message.result.call_id
    calls = tuple(call.id for call in message.calls if call.id)
    return ("calls", *calls) if calls else None


def _align_by_order(
    before: Sequence[Message], after: Sequence[Message], places: list[int], matched: set[int]
) -> None:
    """Match messages of one role and similar text that are between the same two matched messages."""
    start = 0
    for n, message in enumerate(before):
        if places[n] >= 0:
            start = max(start, places[n] + 1)
            continue
        for place in range(start, min(start + 3, len(after))):
            if (
                place not in matched
                and after[place].role == message.role
                and _is_alike(message, after[place])
            ):
                places[n] = place
                matched.add(place)
                start = place + 1
                break


def _is_alike(message: Message, later: Message) -> bool:
    """Can `later` be an edited `message`?

    Compares their beginnings and ends without reminders. A placeholder can be an edit of any message.
    """
    old = _wording(message)
    new = _wording(later)
    if old == new:
        return True
    if not old or not new or message.summary != later.summary:
        return False
    beginning = old[:80]
    end = old[-80:]
    return new.startswith(beginning[: len(new)]) or new.endswith(end) or is_placeholder(new)


def _classify_fading(message: Message) -> Change | None:
    """Return the kind of a message whose removal loses nothing: a client's reminder, or only thinking. Else None."""
    if message.mark in ("attachment", "meta"):
        return "reminders"
    if all(isinstance(part, Thinking) for part in message.parts):
        return "thinking"
    is_reminder = message.role in ("user", "system") and not _wording(message) and message.text
    return "reminders" if is_reminder else None


def classify_change(before: Message, after: Message) -> Change | None:
    """Return the kind of change between two versions of a message; None if the model reads the same in both."""
    if before is after or (before.role == after.role and before.parts == after.parts):
        return None
    if after.mark == "placeholder" and before.mark != "placeholder":
        return "cleared"
    old = tuple(map(_normalise, before.parts))
    new = tuple(map(_normalise, after.parts))
    if old == new:
        return "rewritten" if _uncounted(before) != _uncounted(after) else None
    if _without(old, "thinking") == _without(new, "thinking"):
        return "thinking"
    if _words(old, before) == _words(new, after):
        return "reminders"
    has_fewer_images = _count_images(before) > _count_images(after)
    if has_fewer_images and _without(old, "image") == _without(new, "image")[: len(old)]:
        return "images"
    return _classify_text_change(before, after)


def _classify_text_change(before: Message, after: Message) -> Change:
    """Return the kind of change, judged only by the texts and the number of images."""
    old = _wording(before)
    new = _wording(after)
    is_shorter = len(new) < len(old)
    if before.result is not None and is_shorter and (is_placeholder(new) or _stands_for(new, old)):
        return "cleared"
    if _count_images(before) > _count_images(after) and old and new.startswith(old):
        return "images"
    return "shortened" if is_shorter else "edited"


def _uncounted(message: Message) -> list[Part]:
    """Return the parts without the token counts that the provider reported for them."""
    return [
        replace(part, tokens=None) if isinstance(part, Thinking | Opaque) else part
        for part in message.parts
    ]


_TAKEN = r"(?:\b|_)(?:clear|remov|omit|prun|truncat|trimm|delet|compact|elid|drop|cut)"
_PLACEHOLDER = re.compile(rf"(?is)\s*[\[(<].{{0,80}}{_TAKEN}\w*.{{0,120}}[\])>]\s*")
_SENTENCE = re.compile(
    rf"(?i)(?=.*\b(?:tool|output|result|content|response|message)s?\b)(?=.*{_TAKEN}).{{1,120}}"
)


def is_placeholder(text: str) -> bool:
    """Is a text what clients leave in place of removed content: `[Old tool result content cleared]`, `[cleared]`, or
    nothing?"""
    text = text.strip()
    if len(text) > 400:
        return False
    return not text or bool(_PLACEHOLDER.fullmatch(text) or _SENTENCE.fullmatch(text))


_BRACKETED = re.compile(r"[\[(<].{1,200}[\])>]")


def _stands_for(text: str, content: str) -> bool:
    """Is a text a note in brackets, such as `[Previous: used Bash]`, that replaces a longer content?"""
    if 2 * len(text) > len(content) or _BRACKETED.fullmatch(text) is None:
        return False
    note = text[1:-1]
    return note not in content


REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


def _wording(message: Message) -> str:
    """Return the text of a message without reminders, thinking and white space at its ends."""
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


def _words(parts: Sequence[Hashable], message: Message) -> tuple[str, int]:
    """Return the text of a message, and how many calls, images and opaque parts it has."""
    others = [
        part for part in parts if isinstance(part, tuple) and part[0] in ("call", "image", "opaque")
    ]
    return _wording(message), len(others)


def _count_images(message: Message) -> int:
    return sum(isinstance(part, Image) for part in message.parts)


def _without(parts: Sequence[Hashable], kind: str) -> list[Hashable]:
    return [part for part in parts if not (isinstance(part, tuple) and part[0] == kind)]


def _normalise(part: Part) -> Hashable:
    """Return a key that is equal for two parts with the same content, even if they are formatted differently."""
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
    """Return a text that is equal for equal JSON values. A string that holds JSON is parsed first."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        with suppress(NotJson):
            value = loads(value.encode("utf-8", "replace"))
    return "".join(sorted(_leaves(value)))


def _leaves(value: Json) -> Iterator[str]:
    """Yield `path=value` for every value that is neither a list nor an object, in no order; without recursion."""
    stack: list[tuple[str, Json]] = [("", value)]
    while stack:
        path, inner = stack.pop()
        if isinstance(inner, dict):
            stack += [(f"{path}.{key}", child) for key, child in inner.items()]
        elif isinstance(inner, list):
            stack += [(f"{path}.{n}", child) for n, child in enumerate(inner)]
        else:
            yield f"{path}={dumps(inner)}\n"
