"""What a body says of its purpose, taken out of it for `side`: texts at its two ends, tools, size."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from inspector.core.buffer import head
from inspector.core.formats.proxy.bodies import Body
from inspector.core.formats.proxy.keys import turn_metadata
from inspector.core.formats.proxy.side import Asked
from inspector.core.message import Message, Opaque, Text

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
        last=last_words(view.backwards()),
        trigger=last is not None and any(_is_trigger(part) for part in last.parts),
    )


def _system(begun: tuple[Message, ...]) -> str:
    """A system prompt that stands among the messages."""
    return next((message.text for message in begun if message.role == "system"), "")


def last_words(backwards: Iterable[Message]) -> str:
    """What the user said last, of the messages from the last one back; empty behind words of the model's.

    The last part of it: reminders travel in front. Claude Code lays system messages behind it.
    """
    found = None
    for message in islice(backwards, _HEAD):
        if message.role not in ("user", "system"):
            break
        found = message if found is None or message.role == "user" else found
        if message.role == "user":
            break
    texts = [part.text for part in found.parts if isinstance(part, Text)] if found is not None else []
    return texts[-1] if texts else ""


def _is_trigger(part: object) -> bool:
    return isinstance(part, Opaque) and part.kind == "compaction_trigger"


def trigger_of(headers: Mapping[str, str], fields: Mapping[str, Any]) -> str:
    """Why the client compacts, in its own word (Codex tells); empty where it does not say."""
    told = turn_metadata(headers, fields).get("compaction")
    trigger = told.get("trigger") if isinstance(told, Mapping) else None
    return trigger if isinstance(trigger, str) else ""
