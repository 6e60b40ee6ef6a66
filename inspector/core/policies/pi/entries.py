"""Pi's session entries: messages and what lies between them; and how a buffer looks as entries (spec 3.5).

A buffer shows what the model sees: the summary first, then what the compaction kept, then what came after. In the
session the compaction's entry stands behind what it kept, because a session is only appended to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.message import Message
from inspector.core.policies.pi.placement import summary_of
from inspector.core.policies.pi.usage import characters, estimate

EntryKind: TypeAlias = Literal[
    "message", "bashExecution", "custom", "branch_summary", "custom_message", "compaction",
    "model_change", "thinking_level_change", "label", "session_info",
]  # fmt: skip
_MESSAGES = ("message", "bashExecution", "custom")
_BETWEEN = ("branch_summary", "custom_message")
BRANCH = "The following is a summary of a branch that this conversation came back from:"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the session. bashExecution and custom are messages of that role; custom_message is not (a quirk)."""

    kind: EntryKind
    id: str = ""
    message: Message | None = None
    """What the model reads of it; None for metadata."""
    counted: str | None = None
    """What is counted, where that is not the message: a bash entry's command and output."""
    first_kept: str = ""
    """compaction: firstKeptEntryId."""

    @property
    def is_message(self) -> bool:
        return self.kind in _MESSAGES

    @property
    def may_open(self) -> bool:
        """May the kept part begin here? Anything the model reads but a tool's result and a compaction."""
        if self.kind in _BETWEEN:
            return True
        return self.is_message and self.message is not None and self.message.role != "tool"

    @property
    def is_user(self) -> bool:
        """A prompt of the user."""
        return self.kind == "message" and self.message is not None and self.message.role == "user"

    @property
    def starts_turn(self) -> bool:
        return self.is_user or self.kind == "bashExecution" or self.kind in _BETWEEN

    @property
    def tokens(self) -> int:
        """What the walk to the cut point adds for it: nothing for what is no message."""
        return self.size if self.is_message else 0

    @property
    def size(self) -> int:
        """estimateTokens of what the model reads of it."""
        if self.counted is not None:
            return characters(self.counted)
        return estimate(self.message) if self.message else 0


def entries_of(messages: Sequence[Message], border: str) -> list[Entry]:
    """The entries that would show the model these messages. `border`: the last one that the compaction had before it.

    Where no border is known (another harness compacted), everything counts as newer than the compaction.
    """
    if not messages or not messages[0].summary:
        return [_entry(message) for message in messages]
    rest = [_entry(message) for message in messages[1:]]
    older = next((n + 1 for n, entry in enumerate(rest) if entry.id == border), 0)
    compaction = Entry("compaction", messages[0].id, messages[0], first_kept=rest[0].id if rest else "")
    return [*rest[:older], compaction, *rest[older:]]


def _entry(message: Message) -> Entry:
    return Entry(_kind(message), message.id, message)


def _kind(message: Message) -> EntryKind:
    if message.role == "system":
        return "custom"
    if message.role == "user" and message.mark == "meta":
        return "branch_summary" if message.text.startswith(BRANCH) else "custom_message"
    return "message"


def leading_system(messages: Sequence[Message]) -> int:
    """How many system messages stand in front: they are the prompt's, no tier touches them."""
    return next((n for n, message in enumerate(messages) if message.role != "system"), len(messages))


def summary_text(entry: Entry) -> str:
    """The summary of a compaction entry."""
    return summary_of(entry.message) if entry.message else ""
