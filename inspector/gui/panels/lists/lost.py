"""What a step or a compaction lost: facts of the buffer before it that are not in the buffer after it, the most harmful
first. A row leads to the message that held the fact and, for a recorded loss, to the request that needed it again."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from PySide6.QtWidgets import QButtonGroup, QMenu, QToolButton

from inspector.core.calls import CallIndex
from inspector.core.facts.fact import KINDS, FactKind, by_kind
from inspector.core.findings.lost import CompactionLoss, lost_between, lost_by_compactions
from inspector.core.findings.lost_rows import VERDICT_WORDS, LostRow
from inspector.core.session import Session, Thread
from inspector.core.words import plural
from inspector.gui.bridge import Task
from inspector.gui.desk import Desk
from inspector.gui.look.build import delayed, holding, menu_button, row, small_button
from inspector.gui.look.number_formats import grouped, short
from inspector.gui.look.tokens import CHIP_GAP, CONTROL_GAP, LIST_HEAD
from inspector.gui.navigation import go_to
from inspector.gui.pacing import PacedJob
from inspector.gui.panels.panel import ListPanel
from inspector.gui.widgets.table import Column
from inspector.workbench.diff import Sides, sides
from inspector.workbench.message_rows import MessageRow, message_row
from inspector.workbench.state import State
from inspector.workbench.steps import ORIGIN, RECORDED

_NAMES: Mapping[FactKind, tuple[str, str]] = {
    "instruction": ("instruction", "instructions"),
    "constraint": ("constraint", "constraints"),
    "decision": ("decision", "decisions"),
    "error": ("error", "errors"),
    "path": ("path", "paths"),
    "url": ("URL", "URLs"),
    "identifier": ("identifier", "names"),
    "number": ("number", "numbers"),
}


BESIDE_CHIPS = 230
"""Width in pixels of the gaps and buttons in the line above the table, without the chips and the sentence."""


@dataclass(frozen=True, slots=True)
class LossRow:
    """A lost fact and the message that held it. `number` is the message's place in the buffer before; -1 for none."""

    lost: LostRow
    number: int = -1
    role: str = ""
    """The tool whose result the message is, else the role of the message."""
    subject: str = ""
    """What the message is about."""

    @property
    def again(self) -> str:
        """The requests that needed the fact again, in words."""
        words = [
            f"{use.request} {use.how}{f', {grouped(use.tokens)} tokens' if use.tokens else ''}"
            for use in self.lost.needed
        ]
        return "; ".join(words)


VERDICT = 5
AGAIN = 4
"""Index of the column in which a double click goes to the request that needed the fact again."""


class LostPanel(ListPanel[LossRow]):
    """A click selects the message that held a fact. Enter or a double click shows the message in the diff or, in the
    column "needed again", goes to the request that needed the fact."""

    TITLE: ClassVar[str] = "Lost"
    NAME = "What was lost"
    COLUMNS: ClassVar[Sequence[Column[LossRow]]] = (
        Column("kind", lambda loss: _NAMES[loss.lost.fact.kind][0], width=10, least=11),
        Column(
            "message",
            lambda loss: f"{loss.number}" if loss.number >= 0 else "",
            width=7,
            figures=True,
        ),
        Column("of", lambda loss: f"{loss.role} {loss.subject}".rstrip(), width=34, least=12),
        Column("lost text", lambda loss: loss.lost.fact.text, least=34),
        Column("needed again", lambda loss: loss.again, width=15, least=14),
        Column("verdict", lambda loss: VERDICT_WORDS[loss.lost.verdict], width=9, least=10),
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._session: Session | None = None
        self._thread: Thread | None = None
        self._known: tuple[Thread | None, Sequence[CompactionLoss]] = None, ()
        """A thread and what its compactions lost, which is computed once for all compactions."""
        self._wanted: Sides | None = None
        self._shown: Sides | None = None
        self._job = PacedJob(desk.bridge, self)
        self._comparison = 0
        """Number of different comparisons wanted so far, by which jobs of former comparisons are recognised."""
        self._losses: Sequence[LossRow] = ()
        self._kind: FactKind | None = None
        self._soon = delayed(self, milliseconds=150, call=self._find_losses)
        self._group = QButtonGroup(self)
        self.kinds: dict[FactKind | None, QToolButton] = {
            kind: self._chip(kind) for kind in (None, *KINDS)
        }
        self.setFocusProxy(self.table)
        self.say_at_length()
        self._chips = holding(row(*self.kinds.values(), gap=CHIP_GAP))
        self.whole = small_button(
            "all compactions ›", lambda: self.desk.show_panel("What was lost")
        )
        self.menu = menu_button("all", self._offer, name="Which kind of fact", anew=True)
        self.lay_out(
            self._chips,
            self.menu,
            (self.says, 1),
            self.whole,
            self.copy_button(),
            margins=LIST_HEAD,
            gap=CONTROL_GAP,
        )
        self._show_losses(())

    def _chip(self, kind: FactKind | None) -> QToolButton:
        chip = small_button("", lambda: self._show_kind(kind), checkable=True)
        chip.setChecked(kind is None)
        self._group.addButton(chip)
        return chip

    def fit(self) -> None:
        """Show a chip for each kind if all fit into one line beside the sentence, else a menu."""
        sentence = self.says.fontMetrics().horizontalAdvance(self.says.text())
        fits = self._chips.sizeHint().width() + sentence + BESIDE_CHIPS <= self.width()
        self._chips.setVisible(fits)
        self.menu.setVisible(not fits and bool(self._losses))

    def _offer(self, menu: QMenu) -> None:
        for chip in self.kinds.values():
            if not chip.isHidden():
                menu.addAction(chip.text(), chip.click)

    def receive(self, state: State) -> None:
        """Find the losses even while the panel is hidden, because its title shows their number."""
        self.attempt(state)

    def show_state(self, state: State) -> None:
        """Find the losses again if other buffers are compared."""
        chosen = sides(state)
        if chosen is None:
            self._soon.stop()
            if self._wanted is not None:
                self._wanted = self._shown = None
                self._show_losses(())
        elif not chosen.is_same(self._wanted) or state.thread is not self._thread:
            self._comparison += not chosen.is_same(self._wanted)
            self._wanted = chosen
            self._shown = None
            self._session = state.session
            self._thread = state.thread
            self._soon.start()

    def _find_losses(self) -> None:
        """Compute the rows that are wanted, in one job at a time; start again if the choice changed meanwhile."""
        choice = self._wanted
        session = self._session
        thread = self._thread
        cached = self._known
        if choice is None or session is None or self._job.busy or choice.is_same(self._shown):
            return

        def work(
            task: Task,
        ) -> tuple[Sequence[LossRow], tuple[Thread | None, Sequence[CompactionLoss]]]:
            by_thread = cached
            if thread is not None and _recorded_at(choice) is not None:
                by_thread = cached
                if cached[0] is not thread:
                    by_thread = (thread, lost_by_compactions(session, thread))
            return losses(choice, by_thread[1]), by_thread

        def done(
            worked: tuple[Sequence[LossRow], tuple[Thread | None, Sequence[CompactionLoss]]],
        ) -> None:
            rows, self._known = worked
            is_newest = choice.is_same(self._wanted)
            if is_newest:
                self._shown = choice if thread is self._thread else None
                self._show_losses(rows)
            if not is_newest or thread is not self._thread:
                self._find_losses()

        self._job.run(session, (self._comparison,), work, done)
        if not self._job.is_late:
            self.says.setText("looking …")

    def _show_losses(self, rows: Sequence[LossRow]) -> None:
        self._losses = rows
        self.table.leave_out(AGAIN, not any(loss.lost.needed for loss in rows))
        self.table.leave_out(VERDICT, len({loss.lost.verdict for loss in rows}) < 2)
        counts = by_kind(loss.lost.fact for loss in rows)
        for kind, chip in self.kinds.items():
            many = len(rows) if kind is None else counts[kind]
            chip.setText("all" if kind is None else plural(many, *_NAMES[kind]))
            chip.setVisible(bool(many))
        gone = sum(loss.lost.fate != "paraphrased" for loss in rows)
        # A short number leaves room for other tabs.
        count = grouped(gone) if gone < 1_000 else short(round(gone, -2))
        self.setWindowTitle(f"{self.TITLE} ({count})" if self._shown is not None else self.TITLE)
        kind = self._kind if self._kind is not None and counts[self._kind] else None
        self.kinds[kind].setChecked(True)
        self._show_kind(kind)

    def _show_kind(self, kind: FactKind | None) -> None:
        self._kind = kind
        self.menu.setText(f"{self.kinds[kind].text()} ▾")
        rows = [loss for loss in self._losses if kind is None or loss.lost.fact.kind == kind]
        self.show_rows(rows, self._says())
        self.fit()

    def _says(self) -> str:
        if self._wanted is None:
            return "Take a step, or preview a tier, to see which facts are lost."
        if self._shown is None:
            return "looking …"
        change = _recorded_losses(self._shown, self._known[1])
        if change is not None and not change.is_shown:
            return (
                "All messages are still in context, but the provider counted less: "
                "what was removed is not in the file."
            )
        if not self._losses:
            preview = " would be" if self._shown.preview else " was"
            return f"Nothing{preview} lost: every fact is still in context."
        counts = Counter(loss.lost.verdict for loss in self._losses)
        words = ", ".join(
            f"{grouped(counts[verdict])} {word}"
            for verdict, word in VERDICT_WORDS.items()
            if counts[verdict]
        )
        if change is None:
            return f"{words}."
        if not change.is_readable:
            return (
                f"{words}. The file holds no readable summary, so some of these facts may be in it."
            )
        return f"{change.forgetting.sentence} {words}."

    def choose(self, place: int, column: int = -1) -> None:
        self.desk.workbench.select(self.table.rows[place].lost.message)

    def open(self, place: int) -> None:
        needed = self.table.rows[place].lost.needed
        if self.table.currentIndex().column() == AGAIN and needed and self._thread is not None:
            go_to(self.desk.workbench, self._thread.id, needed[0].request, needed[0].message)
            self.desk.show_panel("Message")
        else:
            self.desk.show_panel("Diff")


def losses(chosen: Sides, recorded: Sequence[CompactionLoss] = ()) -> Sequence[LossRow]:
    """Return the facts that a step lost, each with the message that held it. O(text).

    Args:
        chosen: the buffers before and after the step.
        recorded: the losses of the recorded changes, used if a recorded change is shown.
    """
    if _recorded_at(chosen) is None:
        return _place_losses(lost_between(chosen.before.messages, chosen.after.messages), chosen)
    change = _recorded_losses(chosen, recorded)
    return _place_losses(change.rows if change is not None else (), chosen)


def _recorded_losses(chosen: Sides, recorded: Sequence[CompactionLoss]) -> CompactionLoss | None:
    """Return the losses of the recorded change that is shown; None if another step is shown or they are unknown."""
    place = _recorded_at(chosen)
    return next((change for change in recorded if change.before_request == place), None)


def _place_losses(rows: Sequence[LostRow], chosen: Sides) -> Sequence[LossRow]:
    """Return the facts, each with the message of the buffer before that held it."""
    before = chosen.before.messages
    index = CallIndex(before)
    places = {message.id: position for position, message in enumerate(before)}
    rows_by_id: dict[str, MessageRow] = {}
    placed = []
    for lost in rows:
        number = places.get(lost.message, -1)
        if number < 0:
            placed.append(LossRow(lost))
            continue
        if lost.message not in rows_by_id:
            rows_by_id[lost.message] = message_row(before[number], index)
        holder = rows_by_id[lost.message]
        role = holder.tool if holder.role == "result" and holder.tool else holder.role
        placed.append(LossRow(lost, number, role, holder.subject))
    return placed


def _recorded_at(chosen: Sides) -> int | None:
    """Return the request after the recorded change that is shown; None if another step is shown."""
    steps = chosen.steps
    if steps is None or steps.recorded is None or (steps.compared, steps.at) != (ORIGIN, RECORDED):
        return None
    return steps.recorded.request
