"""Pi's session entries: messages and what lies between them, how a buffer looks as entries, and where Pi cuts them.

A buffer shows what the model sees: the summary first, then what the compaction kept, then what came after. In the
session the compaction's entry stands after what it kept, because a session is only appended to. What else Pi's own
file holds (metadata, commands that the user ran, answers that failed) comes with `Filed`. The newest Pi (1.5) looks at
what an entry shows the model; the older ones at its type. `newest` says which.

The kept part never begins with a tool's result, so that calls and results stay together (spec 3.5). Where something
else came between a call and its result (the user ran a command meanwhile), Pi may cut there, and the result is left
without its call; safe mode never does. A call that is still to be answered always stays with what follows it, since its
result is appended later.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from inspector.core.calls import first_text
from inspector.core.message import Message, ToolResult
from inspector.core.policies.pi.settings import PiContext
from inspector.core.policies.pi.usage import estimate, is_made_up, summary_of
from inspector.core.session import NOTHING_FILED, Filed, Record

EntryKind: TypeAlias = Literal[
    "message", "bashExecution", "custom", "branch_summary", "custom_message", "compaction",
    "model_change", "thinking_level_change", "label", "session_info", "state", "system",
]  # fmt: skip
_MESSAGES = ("message", "bashExecution", "custom")
_BETWEEN = ("branch_summary", "custom_message")
_TURNS = ("bashExecution", *_BETWEEN)
_KINDS: Mapping[str, EntryKind] = {kind: kind for kind in get_args(EntryKind)}
BRANCH = "The following is a summary of a branch that this conversation came back from:"
_READS, _WRITES = ("read",), ("edit", "write", "multiedit")
_PATHS = ("path", "file_path")


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
    def may_open(self) -> bool:
        """May the kept part begin here? Anything the model reads but a tool's result and a compaction."""
        if self.kind in _TURNS:
            return True
        return self.is_message and self.message is not None and self.message.role != "tool"

    def is_start(self, newest: bool = False) -> bool:
        """Does a cut here split no turn? A prompt of the user; for the newest Pi anything that starts a turn."""
        if newest:
            return self.starts_turn(newest)
        return self.kind == "message" and self.message is not None and self.message.role == "user"

    def starts_turn(self, newest: bool = False) -> bool:
        """Does a turn begin here?"""
        return self.is_start() or self.kind in _TURNS or (newest and self.kind == "custom")

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
    trailing = [_unsent(one) for one in filed.trailing]
    if not messages or not messages[0].summary:
        return [*_entries(messages, filed), *trailing]
    summary, rest = messages[0], messages[1:]
    older = next((n + 1 for n, message in enumerate(rest) if message.id == border), 0)
    records = filed.records.get(summary.id, ())
    first_kept = next((one.first_kept for one in records if one.first_kept), first_kept)
    kept = [*_entries(rest[:older], filed), *map(_unsent, records[:-1])]
    kept = kept[next((n for n, entry in enumerate(kept) if entry.id == first_kept), 0) :]
    compaction = Entry("compaction", summary.id, summary, first_kept=kept[0].id if kept else "")
    later = [*_entries(rest[older:], filed), *trailing]
    return [compaction, *kept, *later] if newest and later else [*kept, compaction, *later]


def _entries(messages: Sequence[Message], filed: Filed) -> Iterator[Entry]:
    for message in messages:
        records = filed.records.get(message.id, ())
        yield from map(_unsent, records[:-1])
        yield _entry(message, records[-1]) if records else _entry(message)


def _entry(message: Message, record: Record | None = None) -> Entry:
    if record is not None:
        return Entry(_KINDS.get(record.kind, "label"), message.id, message, record.counted, whole=record.message)
    kind: EntryKind = "custom" if message.role == "system" else "message"
    if message.role == "user" and message.mark == "meta":
        kind = "branch_summary" if message.text.startswith(BRANCH) else "custom_message"
    return Entry(kind, message.id, message, 0 if is_made_up(message) else None)


def _unsent(record: Record) -> Entry:
    """An entry of which the buffer holds nothing."""
    kind = _KINDS.get(record.kind, "label")
    return Entry(kind, record.id, record.message, record.counted, sent=False)


def leading_system(messages: Sequence[Message]) -> int:
    """How many system messages stand in front: they are the prompt's, no tier touches them."""
    return next((n for n, message in enumerate(messages) if message.role != "system"), len(messages))


def border_of(context: PiContext) -> str:
    """Id of the last message that is older than the compaction whose summary begins the buffer: recorded, or our own;
    empty where nobody knows."""
    messages = context.messages
    lead = leading_system(messages)
    kept = context.moment.filed.kept.get(messages[lead].id) if lead < len(messages) else None
    if kept is None:
        return context.running.border
    return messages[min(lead + kept, len(messages) - 1)].id


def entries_at(context: PiContext) -> list[Entry]:
    """The buffer as entries of a session of Pi's."""
    rest = context.messages[leading_system(context.messages) :]
    first_kept, newest = context.running.first_kept, context.settings.is_newest
    return entries_of(rest, border_of(context), first_kept, context.moment.filed, newest)


@dataclass(frozen=True, slots=True)
class Rules:
    """How Pi cuts."""

    newest: bool = False
    """As Pi 1.5: by what an entry shows the model; where results at the end are too large, before their answer."""
    together: bool = False
    """Never between a call and its result."""


RULES = Rules()


@dataclass(frozen=True, slots=True)
class CutPoint:
    """Indices into the entries; `turn_start` is -1 where the cut does not split a turn, or no start was found."""

    first_kept: int
    turn_start: int = -1
    split: bool = False


def find_cut_point(
    entries: Sequence[Entry],
    start: int,
    end: int,
    keep: int,
    owed: Collection[str] = frozenset(),
    rules: Rules = RULES,
) -> CutPoint:
    """findCutPoint over entries[start:end]. `owed`: ids of calls whose results are still to come. O(end - start)."""
    change = _held_together(entries, start, end, owed, rules.together)
    held, valid = 0, list[int]()  # positions where the kept part may begin
    for at in range(start, end):
        held += change.get(at, 0)
        if not held and entries[at].may_open:
            valid.append(at)
    if not valid:
        return CutPoint(start)
    at = _reach(entries, start, end, keep, valid, rules.newest)
    while at > start and not entries[at - 1].is_shown(rules.newest) and entries[at - 1].kind != "compaction":
        at -= 1  # metadata travels with what follows it
    if entries[at].is_start(rules.newest):
        return CutPoint(at)
    turn_start = next((n for n in range(at, start - 1, -1) if entries[n].starts_turn(rules.newest)), -1)
    return CutPoint(at, turn_start, turn_start != -1)


def _reach(entries: Sequence[Entry], start: int, end: int, keep: int, valid: Sequence[int], newest: bool) -> int:
    """The first valid position at or after the message with which the newest reach `keep`; else the first of all.

    Where the results at the end are that large by themselves, there is none after them: the newest Pi then takes the
    last, the older ones the first, which keeps everything.
    """
    total = 0
    for at in range(end - 1, start - 1, -1):
        tokens = entries[at].tokens(newest)
        if not (tokens or (entries[at].is_message and not newest)):
            continue
        total += tokens
        if total >= keep:
            return next((n for n in valid if n >= at), valid[-1 if newest else 0])
    return valid[0]


def _held_together(
    entries: Sequence[Entry], start: int, end: int, owed: Collection[str], together: bool
) -> dict[int, int]:
    """From which position on one more (or one less) call waits for its result. Those that were answered count only
    `together`."""
    change: dict[int, int] = defaultdict(int)
    waiting: dict[str, deque[int]] = defaultdict(deque)
    for at in range(start, end):
        message = entries[at].message if entries[at].sent else None  # nobody answers an answer that failed
        for part in message.parts if message else ():
            if isinstance(part, ToolResult) and waiting.get(part.call_id):
                asked = waiting[part.call_id].popleft()
                if together:
                    change[asked + 1] += 1
                    change[at + 1] -= 1
        for call in message.calls if message else ():
            waiting[call.id].append(at)
    newest = end  # where the answer at the very end begins: its calls are still to be answered
    while newest > start and ((said := entries[newest - 1].message) is None or said.role == "assistant"):
        newest -= 1
    for call_id, calls in waiting.items():
        for at in calls:
            if call_id in owed or at >= newest:
                change[at + 1] += 1
    return change


@dataclass(frozen=True, slots=True)
class Files:
    """What a compaction's `details` hold. `read`: never edited or written."""

    read: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()

    def text(self) -> str:
        """As it follows the summary: an empty list is left out."""
        blocks = (("read-files", self.read), ("modified-files", self.modified))
        return "".join("\n".join((f"\n\n<{tag}>", *paths, f"</{tag}>")) for tag, paths in blocks if paths)


NO_FILES = Files()


def files_of(messages: Iterable[Message], before: Files) -> Files:
    """The files of the tool calls `read`, `edit` and `write`, with those of the compaction before.

    Calls of other harnesses (Read, file_path) are taken as what Pi's tools would have been.
    """
    read, modified = set(before.read), set(before.modified)
    for message in messages:
        for call in message.calls:
            path = first_text(call.arguments, _PATHS)
            name = call.name.lower()
            if path and name in _READS:
                read.add(path)
            elif path and name in _WRITES:
                modified.add(path)
    return Files(_sorted(read - modified), _sorted(modified))


def _sorted(paths: Iterable[str]) -> tuple[str, ...]:
    """By UTF-16 units, as JavaScript sorts."""
    return tuple(sorted(paths, key=lambda path: path.encode("utf-16-be", "surrogatepass")))


def files_in(summary: str) -> Files:
    """The lists that an earlier compaction wrote after its summary: a buffer holds no other trace of its details."""
    rest, modified = _last_block(summary, "modified-files")
    _, read = _last_block(rest, "read-files")
    return Files(read, modified)


def _last_block(text: str, tag: str) -> tuple[str, tuple[str, ...]]:
    """(the text before it, its lines) of the block that ends the text."""
    head, opening, paths = text.removesuffix(f"\n</{tag}>").rpartition(f"\n\n<{tag}>\n")
    if not opening or not text.endswith(f"\n</{tag}>"):
        return text, ()
    return head, tuple(paths.split("\n"))


@dataclass(frozen=True, slots=True)
class Preparation:
    """prepareCompaction's result. `kept` are the messages from the first kept entry on, in the buffer's order."""

    first_kept: str
    to_summarise: tuple[Message, ...]
    turn_prefix: tuple[Message, ...]
    counts: tuple[int, int]
    """How many both were for Pi: with commands that the user kept to himself, of which the summariser reads nothing."""
    kept: tuple[Message, ...]
    split: bool
    tokens_before: int
    previous_summary: str | None = None
    files: Files = NO_FILES
    lost: tuple[Message, ...] = ()
    """What is neither summarised nor kept (only with `legacy_start`)."""


def prepare(
    entries: Sequence[Entry],
    keep: int,
    tokens_before: int = 0,
    legacy_start: bool = False,
    owed: Collection[str] = frozenset(),
    rules: Rules = RULES,
) -> Preparation | None:
    """None where there is nothing to compact: no entries, the last one a compaction, or nothing to summarise.

    `owed`: ids of calls whose results are still to come. O(entries).
    """
    if not entries or entries[-1].kind == "compaction":
        return None
    start, previous = _start(entries, legacy_start)
    cut = find_cut_point(entries, start, len(entries), keep, owed, rules)
    if not entries[cut.first_kept].id:
        return None
    end = cut.turn_start if cut.split else cut.first_kept
    history, turn, gone = entries[start:end], entries[end : cut.first_kept], entries[start : cut.first_kept]
    to_summarise, prefix = _messages(history), _messages(turn)
    if not (legacy_start or any(entry.is_message or entry.kind in _BETWEEN for entry in gone)):
        return None
    before = None if previous is None or previous.message is None else summary_of(previous.message)
    return Preparation(
        entries[cut.first_kept].id,
        to_summarise,
        prefix,
        (len(to_summarise) + _private(history), len(prefix) + _private(turn)),
        _standing(entries[cut.first_kept :]),
        cut.split,
        tokens_before,
        before,
        files_of((*to_summarise, *prefix), files_in(before or "")),
        _standing(entries[:start]),
    )


def _start(entries: Sequence[Entry], legacy: bool) -> tuple[int, Entry | None]:
    """Where the range begins, and the latest compaction."""
    at = next((n for n in range(len(entries) - 1, -1, -1) if entries[n].kind == "compaction"), -1)
    if at < 0:
        return 0, None
    first = entries[at].first_kept
    if legacy or not first:
        return at + 1, entries[at]
    return next((n for n, entry in enumerate(entries) if entry.id == first), at + 1), entries[at]


def _messages(entries: Sequence[Entry]) -> tuple[Message, ...]:
    """What the summariser reads of them: answers that failed, too. An earlier summary goes its own way."""
    said = (entry.said for entry in entries if entry.kind != "compaction")
    return tuple(message for message in said if message is not None and not is_made_up(message))


def _private(entries: Sequence[Entry]) -> int:
    """How many commands the user kept to himself."""
    return sum(entry.kind == "bashExecution" and entry.said is None for entry in entries)


def _standing(entries: Sequence[Entry]) -> tuple[Message, ...]:
    """What the buffer holds of them."""
    held = (entry for entry in entries if entry.sent and entry.kind != "compaction")
    return tuple(entry.message for entry in held if entry.message is not None)
