"""Find the facts that recorded compactions lost, and those that the session needed again.

The replay (`core.replay`) finds the facts, and `core.facts.wording` judges those that are no longer in context: gone,
carried in other words, or unsure. Facts that were finished before count as done, not as lost. `lost_rows` makes the
rows. `forgetting` computes the cost of getting facts back.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from inspector.core.calls import FILE_KEYS, used_last
from inspector.core.drops import Drop, silent_losses
from inspector.core.facts.fact import SENTENCES, Fact
from inspector.core.facts.index import FactIndex, lost
from inspector.core.facts.wording import Echo, Retelling
from inspector.core.findings.finished import FinishedWork, find_made_outside
from inspector.core.findings.forgetting import NOTHING_AGAIN, Forgetting, forgetting
from inspector.core.findings.inventions import Invention, inventions
from inspector.core.findings.lost_rows import (
    LostRow,
    LostVerdict,
    MessagePlace,
    NeededAgain,
    ShownLine,
    Verdicts,
    ranked,
    shown_lines,
)
from inspector.core.message import Message
from inspector.core.replay.driver import Ground
from inspector.core.replay.economics import UNKNOWN, Economics
from inspector.core.replay.recorded_report import recorded, recorded_facts_lost
from inspector.core.replay.regret import NOTHING_LOST, Loss, Losses
from inspector.core.replay.report import Compacted
from inspector.core.session import Session, Thread, first_place
from inspector.core.tokens.change_sizes import change_sizes


@dataclass(frozen=True, slots=True)
class CompactionLoss:
    """One recorded compaction, or one silent drop. Facts before = kept + paraphrased + lost."""

    index: int
    thread: str
    before_request: int
    kind: str
    """summary, micro, edit; drop if the file does not record a compaction there."""
    trigger: str
    """The harness's own word for a compaction; the kind of a silent drop."""
    tokens_before: int | None
    tokens_after: int | None
    kept: int = 0
    rows: tuple[LostRow, ...] = ()
    """The facts that were lost or paraphrased, the worst losses first."""
    forgetting: Forgetting = NOTHING_AGAIN
    """The calls and sentences that the loss made necessary again."""
    inventions: tuple[Invention, ...] = ()
    """Names and numbers of the summary that the earlier buffer does not support. Also empty if that buffer is not
    recorded."""
    is_whole: bool = True
    """False if the file begins in the middle and lacks a part of the messages that the summary replaced."""
    economics: Economics = UNKNOWN
    is_readable: bool = True
    """False if the summary cannot be read. It may hold facts that count as lost, and needs are unknown."""
    is_shown: bool = True
    """False if the provider counted fewer tokens, but no message shows what was removed. The loss is then unknown."""

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
        """Return how many facts were needed again, each counted once."""
        return sum(bool(row.needed) for row in self.rows)

    @property
    def shown(self) -> tuple[ShownLine, ...]:
        """Return the rows worth reading, paths of one folder on one line; empty for a good compaction."""
        return shown_lines(self.rows)

    def count(self, *verdicts: LostVerdict) -> int:
        """Return how many rows have one of these verdicts."""
        return sum(row.verdict in verdicts for row in self.rows)


@dataclass(frozen=True, slots=True)
class RecordedLosses:
    """The losses of the compactions and silent drops of a thread."""

    each: tuple[CompactionLoss, ...] = ()
    """The losses in order. A fact that came back and was lost again is in two of them."""
    together: Losses = NOTHING_LOST
    """The different facts of all losses. Each counts once, as in the first row of a comparison of policies."""


def lost_by_compactions(session: Session, thread: Thread) -> tuple[CompactionLoss, ...]:
    """Return the loss of each recorded compaction and silent drop of a thread of the session, in order. O(text)."""
    return recorded_losses(session, thread).each


def recorded_losses(session: Session, thread: Thread, wishes_only: bool = False) -> RecordedLosses:
    """Return the losses of the recorded compactions and silent drops, separately and together. O(text).

    Args:
        session: The session.
        thread: One of its threads.
        wishes_only: Find only instructions and constraints, and leave out sizes and economics. This is much faster.
            The cost of forgetting is the same.
    """
    silent = silent_losses(thread)
    announced = {
        at
        for compaction in thread.compactions
        if (at := compaction.before_request) >= first_place(thread)
    }
    if not silent and not announced:
        return RecordedLosses()
    ground = Ground(thread, pins=None, calls=session.side_calls, facts=FactIndex(wishes_only))
    return _Recorded(session, ground, silent, announced, wishes_only).losses()


class _Recorded:
    """Computes the losses of all compactions of a thread together."""

    def __init__(
        self,
        session: Session,
        ground: Ground,
        silent: Mapping[int, Drop],
        announced: set[int],
        wishes_only: bool,
    ) -> None:
        thread = ground.thread
        self._session = session
        self._thread = thread
        self._ground = ground
        self._silent = silent
        self._announced = announced
        self._places = _places(ground)
        took = {at for at, drop in silent.items() if drop.kind in _COMPACTING}
        self._compacted_at = announced | took
        self._again = forgetting(
            thread, ground.arrivals, ground.sizes, compacted_at=self._compacted_at
        )
        self._steps = dict[int, Compacted]()
        self._is_brief = wishes_only
        if wishes_only:
            self._together = recorded_facts_lost(ground, silent)
        else:
            report = recorded(ground, drops=silent)
            self._together = report.losses
            by_kind = sorted(report.compactions, key=lambda compacted: compacted.kind)
            self._steps = {compacted.at.before_request: compacted for compacted in by_kind}
        self._losses = defaultdict[int, dict[Fact, Loss]](dict)
        self._needed = defaultdict[int, dict[Fact, list[NeededAgain]]](dict)
        for loss in self._together.losses:
            self._losses[loss.at.before_request].setdefault(loss.fact, loss)
        for regret in self._together.regrets:
            use = NeededAgain(
                regret.needed_by,
                regret.how,
                regret.message,
                tokens=regret.price,
                result=regret.result,
            )
            self._needed[regret.at.before_request].setdefault(regret.fact, []).append(use)

    def losses(self) -> RecordedLosses:
        """Return the losses of each compaction and silent drop, in order."""
        places = sorted(self._announced | self._silent.keys())
        return RecordedLosses(
            tuple(self._loss(n, at) for n, at in enumerate(places)), self._together
        )

    def _loss(self, index: int, at: int) -> CompactionLoss:
        """Return the loss at the change before request `at`."""
        before = _messages_before(self._ground, at)
        rows, kept_count = self._rows(at, before)
        before_tokens, after_tokens = self._sizes(at)
        again = self._again.get(at, NOTHING_AGAIN)
        invented = self._inventions(at, before)
        loss = CompactionLoss(
            index,
            thread=self._thread.id,
            before_request=at,
            kind="drop",
            trigger="",
            tokens_before=before_tokens,
            tokens_after=after_tokens,
            kept=kept_count,
            rows=rows,
            forgetting=again,
            inventions=invented,
        )
        drop = self._silent.get(at)
        return self._announce(loss) if drop is None else _dropped(loss, drop)

    def _rows(self, at: int, before: Sequence[Message]) -> tuple[tuple[LostRow, ...], int]:
        """Return (rows of the facts lost at the change before request `at`, number of facts that were kept)."""
        gone = self._losses[at]
        needed = self._needed[at]
        # The name is still in context, but its content was removed.
        only_content = [fact for fact in needed if fact not in gone]
        unknown = _unknown(self._session, self._thread, at, before)
        echo = _or_content_went({fact: loss.echo for fact, loss in gone.items()})
        outside = find_made_outside(before)
        verdicts = Verdicts(
            echo,
            finished=FinishedWork(before).reason,
            unknown=unknown,
            places=self._places,
            outside=outside,
            until=min(filter(at.__lt__, self._compacted_at), default=None),
        )
        messages = {fact: loss.message for fact, loss in gone.items()} | dict.fromkeys(
            only_content, ""
        )
        rows = ranked(messages, verdicts, needed)
        if self._is_brief:
            return rows, 0
        return rows, len(_facts_of(self._ground, before) - messages.keys())

    def _inventions(self, at: int, before: Sequence[Message]) -> tuple[Invention, ...]:
        readable = [
            compaction for compaction in self._thread.compactions_at(at) if compaction.is_readable
        ]
        summaries = (compaction.summary for compaction in readable)
        summary = next((message for message in summaries if message is not None), None)
        if self._is_brief or summary is None or not before or self._begins_late(at):
            return ()
        return inventions(summary, (*before, *self._ground.arrivals[at].new))

    def _begins_late(self, at: int) -> bool:
        """Is it the first compaction of a file that begins in the middle?"""
        return self._thread.begins_late and at == min(self._announced)

    def _sizes(self, at: int) -> tuple[int | None, int | None]:
        if self._is_brief:
            return None, None
        return change_sizes(self._thread, self._ground.sizes.pressures, at).tokens

    def _announce(self, loss: CompactionLoss) -> CompactionLoss:
        at = loss.before_request
        step = self._steps.get(at)
        compactions = self._thread.compactions_at(at)
        # A summary is more informative than a clean-up.
        main = min(compactions, key=lambda compaction: compaction.kind != "summary")
        freed = (loss.tokens_before or 0) - (loss.tokens_after or 0)
        economics = step.economics if step is not None else UNKNOWN
        is_shown = bool(loss.rows) or main.kind != "micro" or freed <= 0
        return replace(
            loss,
            is_whole=not self._begins_late(at),
            kind=main.kind,
            trigger=main.trigger,
            economics=economics,
            is_readable=main.is_readable,
            is_shown=is_shown,
        )


def _dropped(loss: CompactionLoss, drop: Drop) -> CompactionLoss:
    return replace(loss, trigger=drop.kind, is_shown=bool(drop.lost or drop.changed))


_COMPACTING = ("compaction", "micro-compaction", "server-side clearing")
"""Kinds of silent drops whose content the agent may still need. A rewind removes only what the user did not want."""


def _or_content_went(echoes: Mapping[Fact, Echo]) -> Callable[[Fact], Echo]:
    """Return a function that returns the echo of a fact; *carried* for a fact that is not in `echoes`.

    Such a fact is a name that is still in context, but whose content was removed.
    """
    return lambda fact: echoes.get(fact) or Echo("carried")


def _messages_before(ground: Ground, at: int) -> Sequence[Message]:
    """Return the messages of the buffer of the request before `at`, and its answer."""
    requests = ground.thread.requests
    if at == 0:
        return tuple(requests[0].asked or ())
    return (*requests[at - 1].view.messages(), *ground.arrivals[at].answer)


def _facts_of(ground: Ground, messages: Sequence[Message]) -> set[Fact]:
    index = ground.facts
    return {
        index.facts[fact] for message in messages for fact in index.facts_of(index.number(message))
    }


def _places(ground: Ground) -> dict[str, MessagePlace]:
    """Return the request that added each message, and its line in the file, by id of the message."""
    summaries = [
        (compaction.before_request, compaction.summary) for compaction in ground.thread.compactions
    ]
    places = {
        summary.id: MessagePlace(at, summary.line)
        for at, summary in summaries
        if summary is not None
    }
    for request, arrival in enumerate(ground.arrivals):
        for message in arrival.answer:
            places.setdefault(message.id, MessagePlace(max(0, request - 1), message.line))
        for message in arrival.new:
            places.setdefault(message.id, MessagePlace(request, message.line))
    return places


def _unknown(
    session: Session, thread: Thread, at: int, before: Sequence[Message]
) -> Callable[[Fact, str], str]:
    """Return a function of (fact, message id) that returns why the fact's fate is unknown; empty if it is known."""
    compactions = thread.compactions_at(at)
    if any(not compaction.is_readable for compaction in compactions):
        return lambda fact, message: "The summary is not in the file, or is encrypted."
    has_summary = any(compaction.kind == "summary" for compaction in compactions)
    if session.format != "claude-code" or not has_summary:
        return lambda fact, message: ""
    if any(message.mark == "attachment" for message in thread.place(at).view.messages()):
        return lambda fact, message: ""
    newest = used_last(before, ("Read",), FILE_KEYS)
    calls = {call.id for _, call in islice(newest, _ATTACHED_AGAIN)}
    results = {
        message.id
        for message in before
        if message.result is not None and message.result.call_id in calls
    }
    why = "The client re-attaches the files that were read last, and the transcript does not record that."
    return lambda fact, message: why if message in results and fact.kind not in SENTENCES else ""


_ATTACHED_AGAIN = 5
"""Number of files that Claude Code attaches again after a compaction."""


def lost_between(before: Sequence[Message], after: Sequence[Message]) -> tuple[LostRow, ...]:
    """Return the facts lost between the two buffers of one step, without later requests that needed them. O(text)."""
    ids_before = set(map(id, before))
    retelling = Retelling(after, [message for message in after if id(message) not in ids_before])
    places = {message.id: MessagePlace(request=None, line=message.line) for message in before}
    outside = find_made_outside(before)
    verdicts = Verdicts(
        retelling.judge, FinishedWork(before).reason, places=places, outside=outside
    )
    return ranked(lost(before, after), verdicts)
