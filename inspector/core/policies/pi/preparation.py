"""What a compaction would do, before anybody is asked (spec 3.6)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from inspector.core.message import Message
from inspector.core.policies.pi.cut import RULES, Rules, find_cut_point
from inspector.core.policies.pi.entries import Entry, summary_text
from inspector.core.policies.pi.files import NO_FILES, Files, files_in, files_of
from inspector.core.policies.pi.usage import is_made_up


@dataclass(frozen=True, slots=True)
class Preparation:
    """prepareCompaction's result. `kept` are the messages from the first kept entry on, in the buffer's order."""

    first_kept: str
    to_summarise: tuple[Message, ...]
    turn_prefix: tuple[Message, ...]
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
    to_summarise = _messages(entries[start:end])
    prefix = _messages(entries[end : cut.first_kept])
    if not (legacy_start or any(entry.is_said for entry in entries[start : cut.first_kept])):
        return None
    before = summary_text(previous) if previous else None
    return Preparation(
        entries[cut.first_kept].id,
        to_summarise,
        prefix,
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
    """What the summariser is told of them: answers that failed, too. An earlier summary goes its own way."""
    told = (entry.said for entry in entries if entry.kind != "compaction")
    return tuple(message for message in told if message is not None and not is_made_up(message))


def _standing(entries: Sequence[Entry]) -> tuple[Message, ...]:
    """What the buffer holds of them."""
    held = (entry for entry in entries if entry.sent and entry.kind != "compaction")
    return tuple(entry.message for entry in held if entry.message is not None)
