"""What the compactions that really happened lost, and what of it the session needed again.

One engine with the replay (`core.replay`), and one rule: lost is what stands nowhere afterwards, neither in the same
words nor in others. Rows are ranked, the kinds whose loss hurts most first, and of each kind those that were needed
again first; the same fact under two names (a path from the root and one from the project's folder) is one row.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from inspector.core.drops import silent_losses
from inspector.core.facts.fact import Fact, distinct
from inspector.core.facts.index import lost
from inspector.core.facts.wording import Retelling
from inspector.core.message import Message
from inspector.core.replay.driver import Ground
from inspector.core.replay.economics import UNKNOWN, Economics
from inspector.core.replay.regret import NOTHING_LOST, How, Loss, Losses
from inspector.core.replay.report import recorded
from inspector.core.session import Session, Thread, first_place
from inspector.core.tokens.change_sizes import change_sizes

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
    result: str = ""
    """Id of the message with that answer; empty where nothing came back."""


@dataclass(frozen=True, slots=True)
class LostRow:
    """One fact."""

    fact: Fact
    message: str
    """Id of the message in which it stood."""
    fate: LostFate = "lost"
    needed: tuple[NeededAgain, ...] = ()


class BroughtBack(NamedTuple):
    """The tool results that brought back what a compaction had removed, each counted once."""

    results: int
    tokens: int


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

    @property
    def brought_back(self) -> BroughtBack:
        """What later calls fetched again, because a fact was no longer in context."""
        fetched = {use.result: use.tokens for row in self.rows for use in row.needed if use.tokens}
        return BroughtBack(len(fetched), sum(fetched.values()))


@dataclass(frozen=True, slots=True)
class RecordedLosses:
    """What the compactions and silent drops of a thread lost."""

    each: tuple[CompactionLoss, ...] = ()
    """In order. A fact that came back and was lost again is in two of them."""
    together: Losses = NOTHING_LOST
    """Different facts over all of them: each counts once, as in the first row of a comparison of policies."""


def lost_by_compactions(session: Session, thread: Thread) -> tuple[CompactionLoss, ...]:
    """Return what each recorded compaction and silent drop of one of the session's threads lost, in order. O(text)."""
    return recorded_losses(session, thread).each


def recorded_losses(session: Session, thread: Thread) -> RecordedLosses:
    """Return what the recorded compactions and silent drops lost, each and together. O(text)."""
    silent = silent_losses(thread)
    announced = {at for one in thread.compactions if (at := one.before_request) >= first_place(thread)}
    if not silent and not announced:
        return RecordedLosses()
    ground = Ground(thread, pins=None, calls=session.side_calls)
    report = recorded(ground)
    steps = {one.at.before_request: one for one in sorted(report.compactions, key=lambda one: one.kind)}
    losses = defaultdict[int, dict[Fact, Loss]](dict)
    needed = defaultdict[int, dict[Fact, list[NeededAgain]]](dict)
    for loss in report.losses.losses:
        losses[loss.at.before_request].setdefault(loss.fact, loss)
    for one in report.losses.regrets:
        use = NeededAgain(one.needed_by, one.how, one.message, one.price, one.result)
        needed[one.at.before_request].setdefault(one.fact, []).append(use)
    found = []
    for index, at in enumerate(sorted(announced | silent.keys())):
        gone = losses[at]
        again = {fact: "" for fact in needed[at] if fact not in gone}  # named still, but its content had gone
        told = again.keys() | {fact for fact, loss in gone.items() if loss.paraphrased}
        stood = {fact: loss.message for fact, loss in gone.items()}
        rows = ranked({**stood, **again}, told.__contains__, needed[at])
        kept = len(_standing_before(ground, at) - gone.keys() - again.keys())
        if (drop := silent.get(at)) is not None:
            sizes = change_sizes(thread, ground.sizes.pressures, at).tokens
            is_shown = bool(drop.lost or drop.changed)
            found.append(CompactionLoss(index, thread.id, at, "drop", drop.kind, *sizes, kept, rows, is_shown=is_shown))
            continue
        step, sizes = steps[at], change_sizes(thread, ground.sizes.pressures, at).tokens
        made = [one for one in thread.compactions if one.before_request == at]
        of = min(made, key=lambda one: one.kind != "summary")  # it says more than a clean-up
        made_by, paid = (of.kind, of.trigger), (step.economics, of.is_readable)
        found.append(CompactionLoss(index, thread.id, at, *made_by, *sizes, kept, rows, *paid))
    return RecordedLosses(tuple(found), report.losses)


def _standing_before(ground: Ground, at: int) -> set[Fact]:
    """The facts of the buffer before request `at`, with the last answer."""
    requests, index = ground.thread.requests, ground.facts
    before = (*requests[at - 1].view.messages(), *ground.arrivals[at].answer) if at else requests[0].asked or ()
    return {index.facts[fact] for message in before for fact in index.facts_of(index.number(message))}


def lost_between(before: Sequence[Message], after: Sequence[Message]) -> tuple[LostRow, ...]:
    """What a step lost that took the first buffer to the second; nobody can have needed it yet. O(text)."""
    known = set(map(id, before))
    told = Retelling(after, [message for message in after if id(message) not in known])
    return ranked(lost(before, after), lambda fact: told.judge(fact).verdict == "carried")


def ranked(
    gone: Mapping[Fact, str],
    carries: Callable[[Fact], bool],
    needed: Mapping[Fact, Sequence[NeededAgain]] | None = None,
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
