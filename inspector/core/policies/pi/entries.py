"""Pi's session entries: messages and what lies between them; and how a buffer looks as entries (spec 3.5).

A buffer shows what the model sees: the summary first, then what the compaction kept, then what came after. In the
session the compaction's entry stands after what it kept, because a session is only appended to. What else Pi's own
file holds (metadata, commands that the user ran, answers that failed) comes with `Filed`.

The newest Pi (1.5) looks at what an entry shows the model; the older ones at its type. `newest` says which.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from inspector.core.message import Message
from inspector.core.policies.pi.placement import summary_of
from inspector.core.policies.pi.usage import estimate, is_made_up
from inspector.core.session import NOTHING_FILED, Filed, Record

EntryKind: TypeAlias = Literal[
    "message", "bashExecution", "custom", "branch_summary", "custom_message", "compaction",
    "model_change", "thinking_level_change", "label", "session_info", "state", "system",
]  # fmt: skip
_MESSAGES = ("message", "bashExecution", "custom")
_BETWEEN = ("branch_summary", "custom_message")
_KINDS: Mapping[str, EntryKind] = {kind: kind for kind in get_args(EntryKind)}
BRANCH = "The following is a summary of a branch that this conversation came back from:"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the session. bashExecution and custom are messages of that role; custom_message is not (a quirk)."""

    kind: EntryKind
    id: str = ""
    message: Message | None = None
    """What the model reads of it; None for metadata."""
    counted: int | None = None
    """UTF-16 units that are counted, where these are not the message's: of a bash entry's command and output."""
    first_kept: str = ""
    """compaction: firstKeptEntryId."""
    whole: Message | None = None
    """What the file says, where the model reads less of it: an answer that failed, with its calls."""
    sent: bool = True
    """The buffer holds it: no answer that failed, no command that the user kept to himself."""

    @property
    def is_message(self) -> bool:
        return self.kind in _MESSAGES

    def is_shown(self, newest: bool = False) -> bool:
        """Is it more than metadata?"""
        return self.is_message or (newest and self.kind in _BETWEEN) or self.kind == "system"

    @property
    def is_said(self) -> bool:
        """Is it part of the conversation, though the model may not be told?"""
        return self.is_message or self.kind in _BETWEEN

    @property
    def may_open(self) -> bool:
        """May the kept part begin here? Anything the model reads but a tool's result and a compaction."""
        if self.kind in _BETWEEN or self.kind == "bashExecution":
            return True
        return self.is_message and self.message is not None and self.message.role != "tool"

    def is_start(self, newest: bool = False) -> bool:
        """Does a cut here split no turn? A prompt of the user; for the newest Pi anything that starts a turn."""
        if newest:
            return self.starts_turn(newest)
        return self.kind == "message" and self.message is not None and self.message.role == "user"

    def starts_turn(self, newest: bool = False) -> bool:
        """Does a turn begin here?"""
        return (
            self.is_start()
            or self.kind == "bashExecution"
            or self.kind in _BETWEEN
            or (newest and self.kind == "custom")
        )

    def tokens(self, newest: bool = False) -> int:
        """What the walk to the cut point adds for it: nothing for what is not shown."""
        return self.size(newest) if self.is_shown(newest) else 0

    def size(self, newest: bool = False) -> int:
        """estimateTokens of what the model reads of it."""
        if self.counted is not None:
            return -(-self.counted // 4)
        said = self.said
        return estimate(said, newest) if said else 0

    @property
    def said(self) -> Message | None:
        """What Pi's own compaction reads of it."""
        return self.whole or self.message


def entries_of(
    messages: Sequence[Message],
    border: str,
    first_kept: str = "",
    filed: Filed = NOTHING_FILED,
    newest: bool = False,
) -> list[Entry]:
    """The entries that would show the model these messages.

    `border`: the last message that the compaction had before it; `first_kept`: the first entry that it kept. Where no
    border is known (another harness compacted), everything counts as newer than the compaction. The newest Pi looks at
    them in the buffer's order, once there is something after the compaction.
    """
    trailing = [_told(one) for one in filed.trailing]
    if not messages or not messages[0].summary:
        return [*_entries(messages, filed), *trailing]
    summary, rest = messages[0], messages[1:]
    older = next((n + 1 for n, message in enumerate(rest) if message.id == border), 0)
    told = filed.records.get(summary.id, ())
    first_kept = next((one.first_kept for one in told if one.first_kept), first_kept)
    kept = [*_entries(rest[:older], filed), *map(_told, told[:-1])]
    kept = kept[next((n for n, entry in enumerate(kept) if entry.id == first_kept), 0) :]
    compaction = Entry("compaction", summary.id, summary, first_kept=kept[0].id if kept else "")
    later = [*_entries(rest[older:], filed), *trailing]
    return [compaction, *kept, *later] if newest and later else [*kept, compaction, *later]


def _entries(messages: Sequence[Message], filed: Filed) -> Iterator[Entry]:
    for message in messages:
        told = filed.records.get(message.id, ())
        yield from map(_told, told[:-1])
        yield _entry(message, told[-1]) if told else _entry(message)


def _entry(message: Message, record: Record | None = None) -> Entry:
    if record is not None:
        return Entry(_KINDS.get(record.kind, "label"), message.id, message, record.counted, whole=record.message)
    return Entry(_kind(message), message.id, message, 0 if is_made_up(message) else None)


def _told(record: Record) -> Entry:
    """An entry of which the buffer holds nothing."""
    kind = _KINDS.get(record.kind, "label")
    return Entry(kind, record.id, record.message, record.counted, sent=False)


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
