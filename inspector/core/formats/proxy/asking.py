"""What a body says of its purpose, taken out of it for `side`: texts at its two ends, tools, size."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from inspector.core.buffer import View
from inspector.core.formats.proxy.bodies import Body
from inspector.core.formats.proxy.keys import turn_metadata
from inspector.core.formats.proxy.side import Asked
from inspector.core.message import Message, Opaque, Text
from inspector.core.overlap import head

_HEAD = 6
"""Messages in which the first words of the user are looked for."""


def asked_of(body: Body, headers: Mapping[str, str]) -> Asked:
    """O(1): of a long buffer only its ends are looked at."""
    view = body.view
    last = next(view.backwards(), None)
    begun = head(view, _HEAD)
    first = next((message.text for message in begun if message.role == "user"), "")
    prompt = body.prompt
    return Asked(
        body=body.fields,
        headers=headers,
        system=prompt.system or _system(begun),
        tools=len(prompt.tools or ()),
        messages=view.length - body.start,
        first=first,
        last=_last(_spoken(view)),
        trigger=last is not None and any(_is_trigger(part) for part in last.parts),
    )


def _system(begun: tuple[Message, ...]) -> str:
    """A system prompt that stands among the messages."""
    return next((message.text for message in begun if message.role == "system"), "")


def _spoken(view: View) -> Message | None:
    """What the user said last: Claude Code lays system messages behind it. None after words of the model's."""
    found = None
    for message in islice(view.backwards(), _HEAD):
        if message.role not in ("user", "system"):
            break
        found = found or message
        if message.role == "user":
            return message
    return found


def _last(message: Message | None) -> str:
    """The text of the last part: reminders travel in front of it."""
    texts = [part.text for part in message.parts if isinstance(part, Text)] if message is not None else []
    return texts[-1] if texts else ""


def _is_trigger(part: object) -> bool:
    return isinstance(part, Opaque) and part.kind == "compaction_trigger"


def trigger_of(headers: Mapping[str, str], fields: Mapping[str, Any]) -> str:
    """Why the client compacts, in its own word (Codex tells); empty where it does not say."""
    told = turn_metadata(headers, fields).get("compaction")
    trigger = told.get("trigger") if isinstance(told, Mapping) else None
    return trigger if isinstance(trigger, str) else ""
