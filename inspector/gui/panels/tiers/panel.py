"""The stepper: a row for each tier with its verdict and preview, the cost of a tier or step, and the options of a step.

The tier that is due (otherwise the one that would free most) is selected until the user selects another or takes a
step. Previews are computed a moment after the last change, so that moving through requests costs nothing. Nothing in
the panel moves when its content changes.
"""

from typing import ClassVar

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from inspector.gui.bridge import LatestJob
from inspector.gui.desk import Desk
from inspector.gui.look.build import (
    button,
    column,
    delayed,
    holding,
    mark,
    menu_button,
    row,
    scrolled,
)
from inspector.gui.look.labels import label, tip
from inspector.gui.look.tokens import (
    BLOCK_INSETS,
    BOX_GAP,
    CHIP_GAP,
    CONTROL_GAP,
    LINE_GAP,
    PAGE_HEAD,
)
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.tiers.blocks import AnswerBlock, BreakerBlock, MemoryBlock
from inspector.gui.panels.tiers.cost_block import CostBlock
from inspector.gui.panels.tiers.tier_row import TierRow, fix_width
from inspector.gui.widgets.chips import flow
from inspector.gui.widgets.small import Elided
from inspector.workbench.policy_input import policy_of
from inspector.workbench.preview_worker import looked_at, step_cost
from inspector.workbench.previews import Previews
from inspector.workbench.state import State
from inspector.workbench.words.tier_words import due_words, shown_words

RUN_DUE, NOTHING_DUE = "Run due tiers", "Nothing is due"
LOW = 2.5
"""Minimum number of tier rows above the cost block. In a lower panel the block scrolls with the rows."""
STATUS_LINES = 2
MOST = 16_777_215
"""Qt's value for an unlimited height, in pixels."""
BESIDE = 36
"""Pixels of the panel's width that are not available for the chips."""


class TierPanel(Panel):
    """The panel of the tiers of any policy. Verdicts, breaker and settings come from the policy."""

    TITLE: ClassVar[str] = "Tiers"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._previews: Previews | None = None
        self._ran = ""
        """Name of the tier whose button had the focus when it was pressed; empty if there is none."""
        self.rows: dict[str, TierRow] = {}
        stepping = desk.workbench.stepping
        self.status = Elided("quiet", lines=STATUS_LINES)
        order = "Run every due tier, in the policy's own order (D)"
        self.due = button(RUN_DUE, lambda: stepping.step(), about=order, role="primary")
        self.more = menu_button("⋯", self._fill_more, name="More ways to run", role="primary")
        self.breaker = BreakerBlock(stepping.reset_breaker)
        self.answers = AnswerBlock(desk)
        self.memory = MemoryBlock(desk)
        self._answerer = label("Model calls by", role="quiet")
        self._chips = self.answers.chips.buttons.values()
        self.cost = CostBlock(holding(flow(self._answerer, *self._chips, gap=BOX_GAP)))
        self._cost_job = LatestJob(desk.bridge)
        self._soon = delayed(self, milliseconds=60, call=desk.workbench.previews.look)
        self._lay_out()

    def _fill_more(self, menu: QMenu) -> None:
        stepping = self.desk.workbench.stepping
        menu.addAction("Run due tiers\tD", lambda: stepping.step())
        turn = menu.addAction("Run to the end of the turn\tE", stepping.step_turn)
        turn.setToolTip(
            "Run the tiers due before the call, add the recorded answer and tool results, run the tiers due after it"
        )
        menu.setToolTipsVisible(True)

    def _lay_out(self) -> None:
        self._tiers = column(gap=0)
        self._breaker_caption = label("BREAKER", role="caption")
        answers, memory = (
            label(words, role="caption") for words in ("MODEL CALLS", "SESSION MEMORY")
        )
        captioned = (
            answers,
            self.answers,
            8,
            memory,
            self.memory,
            8,
            self._breaker_caption,
            self.breaker,
        )
        self._options = holding(column(*captioned, margins=BLOCK_INSETS, gap=CHIP_GAP))
        self._scrolled = column(self._tiers, self._options, ..., gap=0)
        self.area = scrolled(holding(self._scrolled))
        self.area.setAccessibleName("Tiers, and who answers their model calls")
        head = row(
            (self.status, 1),
            row(self.due, self.more, gap=LINE_GAP),
            margins=PAGE_HEAD,
            gap=CONTROL_GAP,
        )
        self._whole = column(head, (self.area, 1_000), ..., self.cost, of=self, gap=0)
        self._measure()

    def _measure(self) -> None:
        """Reserve room for the largest content of each widget, in the current font."""
        metrics = self.status.fontMetrics()
        self.status.setFixedHeight(STATUS_LINES * metrics.lineSpacing() + 2)
        fix_width(self.due, (RUN_DUE, NOTHING_DUE))
        self._measure_rows()

    def _measure_rows(self) -> None:
        tier_rows = self.rows.values()
        for tier_row in tier_rows:
            tier_row.measure()
        name_widths = [tier_row.name.sizeHint().width() for tier_row in tier_rows]
        for tier_row in tier_rows:
            tier_row.name.setMinimumWidth(max(name_widths))

    def changeEvent(self, event: QEvent) -> None:
        """Measure again when the font changes."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._measure()

    def fit(self) -> None:
        """Keep the cost visible below the tiers, or scroll it with them in a low panel. Show only whole rows."""
        row_height = max((tier_row.height() for tier_row in self.rows.values()), default=0)
        room = self.height() - self.area.y()
        room_above_cost = room - self.cost.sizeHint().height()
        is_low = room_above_cost < LOW * row_height
        rest = room if is_low else room_above_cost
        whole_rows = rest // max(1, row_height) * row_height
        shows_part = 0 < whole_rows < len(self.rows) * row_height
        self.area.setMaximumHeight(whole_rows if shows_part else MOST)
        is_below = self.cost.parentWidget() is self
        if is_low and is_below:
            self._scrolled.insertWidget(1, self.cost)
        elif not is_low and not is_below:
            self._whole.insertWidget(self._whole.count(), self.cost)
        chips = sum(chip.sizeHint().width() + 4 for chip in self._chips)
        self._answerer.setVisible(
            self.width() - BESIDE >= chips + self._answerer.sizeHint().width()
        )

    # -- State ---------------------------------------------------------------------------------------------------------

    def show_state(self, state: State) -> None:
        """Show the rows if the previews changed, and the options in any case."""
        self._name_policy(state)
        previews = state.previews
        if previews is None or not previews.is_complete:
            self._soon.start()
        window = state.window.tokens if state.window else None
        if previews is not self._previews or previews is None:
            self._previews = previews
            for tier_row in self.rows.values():
                tier_row.setEnabled(state.thread is not None)
                tier_row.show_previews(previews, window)
            self._show_breaker(previews)
        if previews is not None:
            self._pick(looked_at(state, previews))
        self._show_status(state)
        self._enable(state)
        self.answers.show_state(state)
        self.memory.show_state(state)
        self._show_cost(state)

    def _pick(self, tier: str) -> None:
        for name, tier_row in self.rows.items():
            tier_row.pick(name == tier)

    def _name_policy(self, state: State) -> None:
        if not self.is_new("policy", state.choices.policy):
            return
        policy = policy_of(state)
        for old in self.rows.values():
            self._tiers.removeWidget(old)
            old.hide()
            old.deleteLater()
        self.rows = {tier.name: TierRow(tier) for tier in policy.tiers}
        for tier_row in self.rows.values():
            tier_row.run.connect(self.desk.workbench.stepping.step)
            tier_row.picked.connect(self._select)
            self._tiers.addWidget(tier_row)
            tier_row.name.ensurePolished()
        self._measure_rows()
        self.fit()

    def _show_breaker(self, previews: Previews | None) -> None:
        if previews is not None:
            breaker = previews.policy.breaker(previews.context)
            self._breaker_caption.setVisible(breaker is not None)
            self.breaker.show_breaker(breaker, previews.policy.title)

    def _show_status(self, state: State) -> None:
        """Show what the last step did, or what is due. Until that is known, keep the previous text."""
        words = shown_words(state)
        if words:
            step = state.shown_step
            self.status.show_text(words)
            mark(self.status, "role", "bad" if step is not None and not step.succeeded else "quiet")

    def _enable(self, state: State) -> None:
        """Enable the buttons, unless a step waits for the answer to a model call."""
        is_free = state.thread is not None and state.asking is None
        previews = state.previews
        if previews is not None:
            about = due_words(previews)
            self.due.setText(RUN_DUE if previews.due else NOTHING_DUE)
            self.due.setToolTip(tip(about))
            self.due.setAccessibleDescription(about)
        self.due.setEnabled(is_free and self.due.text() == RUN_DUE)
        self.more.setEnabled(is_free)
        focus = QApplication.focusWidget()
        for name, tier_row in self.rows.items():
            if not is_free and tier_row.button is focus:
                self._ran = name
                self.area.setFocus()  # otherwise Qt would focus another button and scroll to it
            tier_row.button.setEnabled(is_free)
        if is_free:
            self._restore_focus(focus)

    def _restore_focus(self, focus: QWidget | None) -> None:
        """Return the focus to the button that was pressed, unless the user moved the focus out of the panel."""
        if self._ran in self.rows and (focus is None or self.isAncestorOf(focus)):
            self.rows[self._ran].button.setFocus()
        self._ran = ""

    def _show_cost(self, state: State) -> None:
        """Show the cost of the selected tier or, without one, of the current step or recorded compaction."""
        economics = state.branch.economics if state.branch is not None else None
        if not self.is_new("cost", state.preview, state.steps, state.asking, economics):
            return
        self._cost_job.cancel()
        if state.preview is not None or state.asking is not None:
            self.cost.show_cost(state.preview, is_step=False)
        elif state.shown_step is not None:
            self._cost_job.run(
                lambda task: step_cost(state), lambda cost: self.cost.show_cost(cost, is_step=True)
            )
        elif state.steps is not None and state.steps.step is not None and economics is not None:
            self.cost.show_recorded(economics)
        else:
            self.cost.show_cost(None, is_step=False)

    # -- intents -------------------------------------------------------------------------------------------------------

    def _select(self, tier: str) -> None:
        """Show the preview of a tier. Selecting the same tier again removes the selection."""
        previews = self.desk.workbench.previews
        previews.point(None if self.desk.workbench.state.pointed == tier else tier)
