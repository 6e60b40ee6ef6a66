"""What the compactions that really happened lost, and what of it the session needed again.

One engine with the replay (`core.replay`), and one rule: lost is what stands nowhere afterwards, neither in the same
words nor in others. Rows are ranked, the kinds whose loss hurts most first, and of each kind those that were needed
again first; the same fact under two names (a path from the root and one from the project's folder) is one row.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.drops import Drop, thread_drops
from inspector.core.facts.fact import Fact, distinct
from inspector.core.facts.index import lost
from inspector.core.facts.wording import Retelling
from inspector.core.message import Message
from inspector.core.replay.driver import Ground
from inspector.core.replay.economics import UNKNOWN, Economics
from inspector.core.replay.regret import How, Loss, Regret
from inspector.core.replay.report import ReplayReport, recorded
from inspector.core.session import Compaction, Session, Thread, first_place

LostFate: TypeAlias = Literal["lost", "paraphrased"]
"""paraphrased: it stands nowhere, but what came in its place says it in other words, or names the file."""


@dataclass(frozen=True, slots=True)
class NeededAgain:
    """A later request that used the fact while it was gone."""

    request: int
    how: How
    message: str
    """Id of the message that did."""
    tokens: int
    """Of what came back for it: the answer to the call. 0 where nothing was called."""


@dataclass(frozen=True, slots=True)
class LostRow:
    """One fact."""

    fact: Fact
    message: str
    """Id of the message in which it stood."""
    fate: LostFate = "lost"
    needed: tuple[NeededAgain, ...] = ()


@dataclass(frozen=True, slots=True)
class CompactionLoss:
    """One recorded compaction, or one silent drop. Facts before = kept + paraphrased + lost."""

    index: int
    thread: str
    before_request: int
    kind: str
    """summary, micro, edit; drop where nobody announced it."""
    trigger: str
    """In the harness's own word; of a drop what it was."""
    tokens_before: int | None
    tokens_after: int | None
    kept: int
    rows: tuple[LostRow, ...]
    """What is lost or paraphrased, by rank."""
    economics: Economics = UNKNOWN
    is_readable: bool = True
    """False: its summary cannot be read here. What counts as lost may stand in it, and what was needed is unknown."""
    is_shown: bool = True
    """False: the provider counted less, and no message shows what went. Nobody knows what was lost."""

    @property
    def paraphrased(self) -> int:
        return sum(row.fate == "paraphrased" for row in self.rows)

    @property
    def lost(self) -> int:
        return len(self.rows) - self.paraphrased

    @property
    def before(self) -> int:
        return self.kept + len(self.rows)

    @property
    def needed_again(self) -> int:
        """Facts, not uses."""
        return sum(bool(row.needed) for row in self.rows)


def lost_by_compactions(session: Session, thread: Thread) -> tuple[CompactionLoss, ...]:
    """Of each recorded compaction and silent drop of one of its threads, in order. O(text)."""
    silent = {one.request: one for one in thread_drops(thread).found if one.loss and one.compaction is None}
    announced = {at for one in thread.compactions if (at := one.before_request) >= first_place(thread)}
    if not silent and not announced:
        return ()
    ground = Ground(thread, pins=None)
    report = recorded(ground, calls=session.side_calls, drops={at: one.kind for at, one in silent.items()})
    found = _LossReport(ground, report)
    places = sorted(announced | silent.keys())
    return tuple(found.loss(n, at, silent.get(at)) for n, at in enumerate(places))


class _LossReport:
    """What the report of a session says, by the request after each compaction."""

    def __init__(self, ground: Ground, report: ReplayReport) -> None:
        self._ground = ground
        self._steps = {one.at.before_request: one for one in sorted(report.compactions, key=lambda one: one.kind)}
        self._lost = defaultdict[int, dict[Fact, Loss]](dict)
        self._needed = defaultdict[int, dict[Fact, list[Regret]]](dict)
        for one in report.losses.losses:
            self._lost[one.at.before_request].setdefault(one.fact, one)
        for regret in report.losses.regrets:
            self._needed[regret.at.before_request].setdefault(regret.fact, []).append(regret)

    def loss(self, number: int, at: int, drop: Drop | None) -> CompactionLoss:
        """Of the compaction or drop before request `at`."""
        thread = self._ground.thread
        gone, needed = self._lost[at], {fact: _uses(uses) for fact, uses in self._needed[at].items()}
        again = {fact: "" for fact in needed if fact not in gone}  # named still, but its content had gone
        stood = {fact: one.message for fact, one in gone.items()}
        listed = ranked({**stood, **again}, lambda fact: fact in again or gone[fact].paraphrased, needed)
        kept = len(self._standing(self._before(at)) - gone.keys() - again.keys())
        if drop is not None:
            sizes = drop.tokens_before, drop.tokens_after
            is_shown = bool(drop.lost or drop.changed)
            return CompactionLoss(number, thread.id, at, "drop", drop.kind, *sizes, kept, listed, is_shown=is_shown)
        step, made = self._steps[at], _made(thread, at)
        sizes = step.tokens_before, step.tokens_after
        return CompactionLoss(
            number, thread.id, at, made.kind, made.trigger, *sizes, kept, listed, step.economics, made.is_readable
        )

    def _before(self, at: int) -> tuple[Message, ...]:
        """The buffer before, with the last answer."""
        if not at:
            return tuple(self._ground.thread.requests[0].asked or ())
        return (*self._ground.thread.requests[at - 1].view.messages(), *self._ground.arrivals[at].answer)

    def _standing(self, messages: Iterable[Message]) -> set[Fact]:
        index = self._ground.facts
        return {index.facts[fact] for message in messages for fact in index.facts_of(index.number(message))}


def lost_between(before: Sequence[Message], after: Sequence[Message]) -> tuple[LostRow, ...]:
    """What a step lost that took the first buffer to the second; nobody can have needed it yet. O(text)."""
    gone = {one.fact: one.message for one in lost(before, after)}
    known = set(map(id, before))
    told = Retelling(after, [message for message in after if id(message) not in known])
    return ranked(gone, told.says)


def ranked(
    gone: Mapping[Fact, str],
    carries: Callable[[Fact], bool],
    needed: Mapping[Fact, tuple[NeededAgain, ...]] | None = None,
) -> tuple[LostRow, ...]:
    """Rows by rank, needed ones first, else in the order of the buffer. `gone`: facts and where they stood; `carries`:
    does the buffer after say it in other words, or by its name?"""
    rows = []
    for fact, names in distinct(gone):
        uses = [use for one in names for use in (needed or {}).get(one, ())]
        once = tuple({(use.request, use.message): use for use in reversed(uses)}.values())[::-1]
        message = next((gone[one] for one in names if gone[one]), uses[0].message if uses else "")
        rows.append(LostRow(fact, message, "paraphrased" if any(map(carries, names)) else "lost", once))
    rows.sort(key=lambda row: (row.fact.rank, not row.needed, row.fate != "lost"))
    return tuple(rows)


def _uses(regrets: Iterable[Regret]) -> tuple[NeededAgain, ...]:
    return tuple(NeededAgain(one.needed_by, one.how, one.message, one.price) for one in regrets)


def _made(thread: Thread, at: int) -> Compaction:
    """The one before the request; of several a summary says more than a clean-up."""
    return min((one for one in thread.compactions if one.before_request == at), key=lambda one: one.kind != "summary")
