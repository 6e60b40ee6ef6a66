"""How a compaction's summary stands in the buffer: one user message, before what was kept (spec 3.7)."""

from collections.abc import Sequence
from hashlib import sha1

from inspector.core.message import Message, Text

_BEFORE = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
_AFTER = "\n</summary>"


def summary_message(summary: str, removed: Sequence[Message]) -> Message:
    """The user message. Its id depends on what it replaces only."""
    key = sha1("\n".join(message.id for message in removed).encode("utf-8", "replace"), usedforsecurity=False)
    return Message(f"pi-{key.hexdigest()[:16]}", "user", (Text(f"{_BEFORE}{summary}{_AFTER}"),), summary=True)


def summary_of(message: Message) -> str:
    """The summary that such a message holds; of another harness's summary all of its text."""
    text = message.text
    if text.startswith(_BEFORE) and text.endswith(_AFTER):
        return text[len(_BEFORE) : len(text) - len(_AFTER)]
    return text
