"""Represent a buffer as entries of a Pi session (messages and records between them), and find where Pi cuts them.

A buffer has the order in which the model reads: the summary, the messages that the compaction kept, later messages. In
a session file, the compaction's entry follows the entries that it kept, because the file is only appended to. `Filed`
has the other records of Pi's file (metadata, commands that the user ran, failed answers).

The kept part never begins with a tool result, so calls and results stay together. If another entry is between a call
and its result (the user ran a command in the meantime), Pi may cut there, and the result loses its call; safe mode
never does so. A call without a result so far always stays with the entries after it, because its result is appended
later.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from inspector.core.message import Message, ToolResult
from inspector.core.policies.pi.context_size import estimate_message, is_made_up, read_summary
from inspector.core.policies.pi.files import NO_FILES, Files, files_in, files_of
from inspector.core.policies.pi.rules import SEED, PiRules
from inspector.core.policies.pi.settings import PiContext
from inspector.core.rounding import divide_up
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


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the session. Entries bashExecution and custom are messages; custom_message is not (a quirk)."""

    kind: EntryKind
    id: str = ""
    message: Message | None = None
    """The message that the model reads; None for metadata."""
    counted: int | None = None
    """UTF-16 units that count instead of those of the message: a bash entry's command and output."""
    first_kept: str = ""
    """firstKeptEntryId of a compaction; empty for other entries."""
    whole: Message | None = None
    """The message in the file if the model reads less of it, such as a failed answer with its calls."""
    sent: bool = True
    """True if the entry is in the buffer. False for a failed answer, and for a command that the user kept private."""

    @property
    def is_message(self) -> bool:
        return self.kind in _MESSAGES

    @property
    def is_prompt(self) -> bool:
        """Is the entry a user message?"""
        return self.kind == "message" and self.message is not None and self.message.role == "user"

    @property
    def may_open(self) -> bool:
        """May the kept part begin with this entry? Yes for all that the model reads, except results and compactions."""
        if self.kind in _TURNS:
            return True
        return self.is_message and self.message is not None and self.message.role != "tool"

    @property
    def summarised(self) -> Message | None:
        """Return the message as Pi's summariser reads it; None for metadata."""
        return self.whole or self.message

    def is_shown(self, rules: PiRules = SEED) -> bool:
        """Does the entry count as visible to the model, rather than as metadata?"""
        if self.is_message or self.kind == "system":
            return True
        return rules.cuts_by_visibility and self.kind in _BETWEEN

    def starts_turn(self, rules: PiRules = SEED) -> bool:
        """Does a turn of the conversation begin with this entry?"""
        if self.is_prompt or self.kind in _TURNS:
            return True
        return rules.cuts_by_visibility and self.kind == "custom"

    def splits_no_turn(self, rules: PiRules = SEED) -> bool:
        """Does a cut before this entry split no turn? Under rules that cut by type, only if the entry is a prompt."""
        return self.starts_turn(rules) if rules.cuts_by_visibility else self.is_prompt

    def walk_tokens(self, rules: PiRules = SEED) -> int:
        """Return the tokens that count in the search of the cut point: 0 if the entry is not shown."""
        return self.tokens(rules) if self.is_shown(rules) else 0

    def tokens(self, rules: PiRules = SEED) -> int:
        """Return estimateTokens of the entry."""
        if self.counted is not None:
            return divide_up(self.counted, 4)
        return estimate_message(self.summarised, rules) if self.summarised else 0


def entries_of(
    messages: Sequence[Message],
    border: str,
    first_kept: str = "",
    filed: Filed = NOTHING_FILED,
    rules: PiRules = SEED,
) -> list[Entry]:
    """Return the entries of a session whose buffer is these messages.

    Under rules that cut by visibility, the compaction comes first, as in the buffer, if there are later entries.

    Args:
        border: Id of the last message before the compaction. If it is unknown (another harness compacted), all
            messages count as newer than the compaction.
        first_kept: Id of the first entry that the compaction kept.
    """
    trailing = [_unsent_entry(record) for record in filed.trailing]
    if not messages or not messages[0].summary:
        return [*_sent_entries(messages, filed), *trailing]
    summary = messages[0]
    rest = messages[1:]
    older_count = _count_through(rest, border)
    records = filed.records.get(summary.id, ())
    filed_first_kept = [record.first_kept for record in records if record.first_kept]
    if filed_first_kept:
        first_kept = filed_first_kept[0]
    older = [*_sent_entries(rest[:older_count], filed), *map(_unsent_entry, records[:-1])]
    kept_entries = _entries_from(older, first_kept)
    kept_id = kept_entries[0].id if kept_entries else ""
    compaction = Entry("compaction", summary.id, summary, first_kept=kept_id)
    later = [*_sent_entries(rest[older_count:], filed), *trailing]
    if rules.cuts_by_visibility and later:
        return [compaction, *kept_entries, *later]
    return [*kept_entries, compaction, *later]


def _count_through(messages: Sequence[Message], border: str) -> int:
    """Return the number of messages up to and including the one with this id; 0 if there is none."""
    for count, message in enumerate(messages, start=1):
        if message.id == border:
            return count
    return 0


def _entries_from(entries: Sequence[Entry], first: str) -> Sequence[Entry]:
    """Return the entries from the one with this id on; all of them if there is none."""
    for at, entry in enumerate(entries):
        if entry.id == first:
            return entries[at:]
    return entries


def _sent_entries(messages: Sequence[Message], filed: Filed) -> Iterator[Entry]:
    """Yield the messages as entries, each after the unsent records that precede it in the file."""
    for message in messages:
        records = filed.records.get(message.id, ())
        yield from map(_unsent_entry, records[:-1])
        yield _sent_entry(message, records[-1] if records else None)


def _sent_entry(message: Message, record: Record | None) -> Entry:
    if record is not None:
        return Entry(
            _KINDS.get(record.kind, "label"),
            message.id,
            message,
            record.counted,
            whole=record.message,
        )
    kind: EntryKind = "custom" if message.role == "system" else "message"
    if message.role == "user" and message.mark == "meta":
        kind = "branch_summary" if message.text.startswith(BRANCH) else "custom_message"
    return Entry(kind, message.id, message, counted=0 if is_made_up(message) else None)


def _unsent_entry(record: Record) -> Entry:
    kind = _KINDS.get(record.kind, "label")
    return Entry(kind, record.id, record.message, record.counted, sent=False)


def count_leading_system(messages: Sequence[Message]) -> int:
    """Return the number of leading system messages, which belong to the prompt and are never compacted."""
    for count, message in enumerate(messages):
        if message.role != "system":
            return count
    return len(messages)


def find_border(context: PiContext) -> str:
    """Return the id of the last message that is older than the compaction whose summary begins the buffer.

    The file records it or, after a step in this program, the running state. Empty if unknown.
    """
    messages = context.messages
    summary_at = count_leading_system(messages)
    if summary_at == len(messages):
        return context.running.border
    kept_count = context.moment.filed.kept.get(messages[summary_at].id)
    if kept_count is None:
        return context.running.border
    last_kept = min(summary_at + kept_count, len(messages) - 1)
    return messages[last_kept].id


def entries_at(context: PiContext) -> list[Entry]:
    """Return the buffer as entries of a Pi session."""
    rest = context.messages[count_leading_system(context.messages) :]
    first_kept, rules = context.running.first_kept, context.settings.rules
    return entries_of(rest, find_border(context), first_kept, context.moment.filed, rules)


@dataclass(frozen=True, slots=True)
class CutPoint:
    """A cut as indices into the entries. `turn_start` is -1 if no turn is split, or its start was not found."""

    first_kept: int
    turn_start: int = -1
    split: bool = False


def find_cut_point(
    entries: Sequence[Entry],
    start: int,
    end: int,
    keep: int,
    owed: Collection[str] = frozenset(),
    rules: PiRules = SEED,
) -> CutPoint:
    """findCutPoint: return the cut in entries[start:end]. O(end - start).

    Args:
        keep: Tokens of the newest entries to keep.
        owed: Ids of calls whose results are still to come.
    """
    openings = _find_openings(entries, start, end, owed, rules)
    if not openings:
        return CutPoint(start)
    first_kept = _find_reach(entries, start, end, keep, openings, rules)
    while first_kept > start and _is_metadata(entries[first_kept - 1], rules):
        first_kept -= 1  # metadata stays with the next entry
    if entries[first_kept].splits_no_turn(rules):
        return CutPoint(first_kept)
    for turn_start in range(first_kept, start - 1, -1):
        if entries[turn_start].starts_turn(rules):
            return CutPoint(first_kept, turn_start, split=True)
    return CutPoint(first_kept)


def _is_metadata(entry: Entry, rules: PiRules) -> bool:
    return not entry.is_shown(rules) and entry.kind != "compaction"


def _find_openings(
    entries: Sequence[Entry], start: int, end: int, owed: Collection[str], rules: PiRules
) -> list[int]:
    """Return the positions at which the kept part may begin without separating a call from its result."""
    change = _count_waiting(
        entries, start, end, owed, includes_answered=rules.keeps_results_with_calls
    )
    waiting = 0
    openings = list[int]()
    for at in range(start, end):
        waiting += change.get(at, 0)
        if not waiting and entries[at].may_open:
            openings.append(at)
    return openings


def _find_reach(
    entries: Sequence[Entry],
    start: int,
    end: int,
    keep: int,
    openings: Sequence[int],
    rules: PiRules,
) -> int:
    """Return the first opening at or after the entry from which on the newest entries have `keep` tokens.

    If all entries together have fewer tokens, return the first opening. If no opening follows, because the results at
    the end are too large, the newest Pi uses the last opening, and older versions the first, which keeps everything.
    """
    total = 0
    for at in range(end - 1, start - 1, -1):
        tokens = entries[at].walk_tokens(rules)
        if not tokens and (rules.cuts_by_visibility or not entries[at].is_message):
            continue
        total += tokens
        if total >= keep:
            return _choose_opening(openings, at, rules)
    return openings[0]


def _choose_opening(openings: Sequence[int], reach: int, rules: PiRules) -> int:
    """Return the first opening at or after `reach`; if there is none, the last or the first, as the version does."""
    for opening in openings:
        if opening >= reach:
            return opening
    return openings[-1] if rules.cuts_by_visibility else openings[0]


def _count_waiting(
    entries: Sequence[Entry], start: int, end: int, owed: Collection[str], includes_answered: bool
) -> dict[int, int]:
    """Return, by position, the change in the number of calls that wait for their result.

    `includes_answered`: count also calls with a result, as waiting up to the result.
    """
    change: dict[int, int] = defaultdict(int)
    answered, open_calls = _match_calls(entries, start, end)
    if includes_answered:
        for called_at, answered_at in answered:
            change[called_at + 1] += 1
            change[answered_at + 1] -= 1
    newest = _start_of_last_answer(entries, start, end)
    for call_id, called_at in open_calls:
        if call_id in owed or called_at >= newest:
            change[called_at + 1] += 1
    return change


def _match_calls(
    entries: Sequence[Entry], start: int, end: int
) -> tuple[list[tuple[int, int]], list[tuple[str, int]]]:
    """Return ((call position, result position) of answered calls, (id, position) of calls without a result)."""
    answered: list[tuple[int, int]] = []
    open_calls: dict[str, deque[int]] = defaultdict(deque)
    for at in range(start, end):
        # Calls of a failed answer get no results.
        message = entries[at].message if entries[at].sent else None
        if message is None:
            continue
        results = (part for part in message.parts if isinstance(part, ToolResult))
        answered += [
            (open_calls[part.call_id].popleft(), at)
            for part in results
            if open_calls.get(part.call_id)
        ]
        for call in message.calls:
            open_calls[call.id].append(at)
    return answered, [(call_id, at) for call_id, places in open_calls.items() for at in places]


def _start_of_last_answer(entries: Sequence[Entry], start: int, end: int) -> int:
    """Return the position at which the final answer begins, whose calls still get their results."""
    at = end
    while at > start:
        message = entries[at - 1].message
        if message is not None and message.role != "assistant":
            break
        at -= 1
    return at


@dataclass(frozen=True, slots=True)
class Preparation:
    """The result of prepareCompaction. `kept`: the messages from the first kept entry on, in buffer order."""

    first_kept: str
    to_summarise: tuple[Message, ...]
    turn_prefix: tuple[Message, ...]
    counts: tuple[int, int]
    """Pi's counts of both, which include the user's private commands that the summariser does not read."""
    kept: tuple[Message, ...]
    split: bool
    tokens_before: int
    previous_summary: str | None = None
    files: Files = NO_FILES
    lost: tuple[Message, ...] = ()
    """Messages that are neither summarised nor kept (only with `legacy_start`)."""


def prepare(
    entries: Sequence[Entry],
    keep: int,
    tokens_before: int = 0,
    legacy_start: bool = False,
    owed: Collection[str] = frozenset(),
    rules: PiRules = SEED,
) -> Preparation | None:
    """prepareCompaction: choose the messages to summarise and to keep. O(entries).

    Args:
        keep: Tokens of the newest entries to keep.
        owed: Ids of calls whose results are still to come.

    Returns:
        None if there is nothing to compact: no entries, the last one a compaction, or nothing to summarise.
    """
    if not entries or entries[-1].kind == "compaction":
        return None
    start, previous = _find_start(entries, legacy_start)
    cut = find_cut_point(entries, start, end=len(entries), keep=keep, owed=owed, rules=rules)
    if not entries[cut.first_kept].id:
        return None
    removed = entries[start : cut.first_kept]
    if not legacy_start and not _holds_messages(removed):
        return None
    end = cut.turn_start if cut.split else cut.first_kept
    history, turn = entries[start:end], entries[end : cut.first_kept]
    to_summarise, prefix = _summarised_messages(history), _summarised_messages(turn)
    history_count = len(to_summarise) + _count_private(history)
    prefix_count = len(prefix) + _count_private(turn)
    summary = _read_entry_summary(previous)
    files = files_of((*to_summarise, *prefix), files_in(summary or ""))
    kept = _sent_messages(entries[cut.first_kept :])
    return Preparation(
        entries[cut.first_kept].id,
        to_summarise,
        prefix,
        counts=(history_count, prefix_count),
        kept=kept,
        split=cut.split,
        tokens_before=tokens_before,
        previous_summary=summary,
        files=files,
        lost=_sent_messages(entries[:start]),
    )


def _read_entry_summary(compaction: Entry | None) -> str | None:
    if compaction is None or compaction.message is None:
        return None
    return read_summary(compaction.message)


def _holds_messages(entries: Sequence[Entry]) -> bool:
    return any(entry.is_message or entry.kind in _BETWEEN for entry in entries)


def _find_start(entries: Sequence[Entry], legacy: bool) -> tuple[int, Entry | None]:
    """Return (position at which the range to compact begins, the latest compaction or None)."""
    compaction_places = [at for at, entry in enumerate(entries) if entry.kind == "compaction"]
    if not compaction_places:
        return 0, None
    after_compaction = compaction_places[-1] + 1
    compaction = entries[compaction_places[-1]]
    if legacy or not compaction.first_kept:
        return after_compaction, compaction
    for at, entry in enumerate(entries):
        if entry.id == compaction.first_kept:
            return at, compaction
    return after_compaction, compaction


def _summarised_messages(entries: Sequence[Entry]) -> tuple[Message, ...]:
    """Return the messages that the summariser reads: with failed answers, without an earlier summary."""
    messages = (entry.summarised for entry in entries if entry.kind != "compaction")
    return tuple(message for message in messages if message is not None and not is_made_up(message))


def _count_private(entries: Sequence[Entry]) -> int:
    """Count the commands that the user kept private."""
    return sum(entry.kind == "bashExecution" and entry.summarised is None for entry in entries)


def _sent_messages(entries: Sequence[Entry]) -> tuple[Message, ...]:
    """Return the messages of these entries that are in the buffer."""
    in_buffer = (entry for entry in entries if entry.sent and entry.kind != "compaction")
    return tuple(entry.message for entry in in_buffer if entry.message is not None)
