"""The stepper: a row a tier with its verdict and its preview, what the step that is looked at would cost, and what
every step depends on besides the buffer.

What the rows say comes from the State's previews. It is asked for a moment after the last change, so that walking
through requests costs nothing, and worked out off the GUI thread. A preview changes nothing.
"""

from functools import partial
from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QGridLayout, QLabel, QMenu, QWidget

from inspector.core.policies.catalogue import TITLES, policy
from inspector.core.tokens.windows import model_at
from inspector.core.words import plural
from inspector.gui.desk import Desk
from inspector.gui.look.build import button, column, delayed, holding, menu_button, row, scrolled
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import dollars, error_words, grouped, lifetime
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.tiers.blocks import AnswerBlock, BreakerBlock, MemoryBlock
from inspector.gui.panels.tiers.row import TierRow
from inspector.workbench.previews import Preview, Previews, payback
from inspector.workbench.state import State

_TIP = (
    "For a provider that caches prompts: what stands before the first change is still read from its cache, the rest is "
    "written anew. Each later request then reads less. Prices are the model's."
)


class CostBlock(QWidget):
    """Two columns: what, how much."""

    def __init__(self) -> None:
        super().__init__()
        self.caption = label(role="caption")
        self._rows: list[tuple[QLabel, QLabel]] = []
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(3)
        self._grid.setColumnStretch(1, 1)
        column(self.caption, self._grid, of=self, gap=5)
        self.setToolTip(tip(_TIP))
        self._shown: tuple[Preview | None, str] | None = None

    def show_preview(self, preview: Preview | None, model: str) -> None:
        """None: nothing to say."""
        if self._shown is not None and self._shown[0] is preview and self._shown[1] == model:
            return
        self._shown = (preview, model)
        self.setVisible(preview is not None and not preview.failure)
        if preview is None or preview.failure:
            return
        self.caption.setText(f"WHAT {preview.tier} WOULD COST")
        rows = cost_rows(preview, model)
        while len(self._rows) < len(rows):
            self._add_row()
        for n, (what, much) in enumerate(self._rows):
            for text, words in zip((what, much), rows[n] if n < len(rows) else ("", ""), strict=True):
                text.setText(words)
                text.setVisible(bool(words))

    def _add_row(self) -> None:
        what, much = label(role="quiet"), label(role="strong", wrap=True)
        much.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._grid.addWidget(what, len(self._rows), 0)
        self._grid.addWidget(much, len(self._rows), 1)
        self._rows.append((what, much))

    def texts(self) -> dict[str, str]:
        """What is shown, by what it is."""
        return {what.text(): much.text() for what, much in self._rows if what.text()}


def cost_rows(preview: Preview, model: str) -> tuple[tuple[str, str], ...]:
    """(what, how much) for the block under the tiers."""
    back = payback(preview, model)
    rows = [("model call", _call_row(preview))]
    if preview.break_at is None:
        return (*rows, ("cached prefix", "stays whole"))
    rewrite = f" · {dollars(preview.rewrite_cost)}" if preview.rewrite_cost is not None else ""
    rows += [
        ("cached prefix broken at", f"message {grouped(preview.break_at)}"),
        (f"cache written anew for {lifetime(preview.cache_ttl_s)}", f"{grouped(preview.rewritten)}{rewrite}"),
    ]
    match back.verdict:
        case "pays":
            assert back.requests is not None
            rows.append(("pays for itself after", plural(back.requests, "request") if back.requests else "no time"))
        case "never":
            rows.append(("pays for itself", "never: frees nothing"))
        case "unknown":
            rows.append(("pays for itself", f"unknown: no price for {model}" if model else "unknown: no model named"))
    if back.saved is not None:
        rows.append(("saved by each later request", dollars(back.saved)))
    return tuple(rows)


def _call_row(preview: Preview) -> str:
    if not preview.calls:
        return "none"
    words = f"{grouped(preview.call_input)} in"
    if preview.call_output:
        words += f", up to {grouped(preview.call_output)} out"
    price = "price unknown" if preview.call_cost is None else dollars(preview.call_cost)
    return f"{words} · {price}"


SOON = 60
"""Milliseconds of quiet before the previews is worked out."""
LINGER = 140
"""Milliseconds the mouse rests on a row before its preview is shown."""


class TierPanel(Panel):
    """Generic over policies: tiers, verdicts, breaker and settings are the policy's."""

    TITLE: ClassVar[str] = "Tiers"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._policy = ""
        self._previews: Previews | None = None
        self._picked: str | None = None
        self._hovered = ""
        self._ran = ""
        """The tier whose button had the focus when it was pressed."""
        self._taken: object = None
        self.rows: dict[str, TierRow] = {}
        stepping = desk.workbench.stepping
        self.caption = menu_button("", self._fill_policies, name="Which policy")
        self.here = label(role="small", wrap=True)
        order = "Every tier that is due, in the policy's own order (D)"
        self.due = button("Step what is due", lambda: stepping.step(), about=order, role="primary")
        turn = "What is due before the call, the recorded answer and its tools, what is due after it (E)"
        self.turn = button("To the end of the turn", stepping.step_turn, about=turn)
        self.breaker = BreakerBlock(stepping.reset_breaker)
        self.answers = AnswerBlock(desk)
        self.memory = MemoryBlock(desk)
        self.cost = CostBlock()
        self._soon = delayed(self, SOON, desk.workbench.previews.look)
        self._linger = delayed(self, LINGER, self._point)
        self._lay_out()

    def _fill_policies(self, menu: QMenu) -> None:
        for name, title in TITLES.items():
            menu.addAction(title).triggered.connect(partial(self._choose_policy, name))

    def _lay_out(self) -> None:
        self._tiers = column(gap=0)
        self._breaker_caption = label("BREAKER", role="caption")
        answers, memory = (label(words, role="caption") for words in ("ANSWER MODEL CALLS WITH", "SESSION MEMORY"))
        captioned = (8, self._breaker_caption, self.breaker, 8, answers, self.answers, 8, memory, self.memory)
        blocks = column(self.cost, *captioned, margins=(13, 12, 12, 12), gap=6)
        scroll = scrolled(holding(column(self._tiers, blocks, ..., gap=0)))
        scroll.setAccessibleName("Tiers, and who answers them")
        head = row(self.caption, ..., self.due, margins=(7, 8, 10, 4))
        below = row((self.here, 1), self.turn, margins=(13, 0, 10, 8), gap=8)
        column(head, below, (scroll, 1), of=self, gap=0)

    # -- State ---------------------------------------------------------------------------------------------------------

    def show_state(self, state: State) -> None:
        """Rows where the previews is another; the choices always."""
        self._name_policy(state)
        if state.previews is None or state.previews.missing:
            self._soon.start()
        standing = state.steps.step if state.steps else None
        if standing is not self._taken:  # a step was taken or left: its own diff is what counts now
            self._taken, self._picked = standing, None
        if state.previews is not self._previews or state.previews is None:
            self._previews = state.previews
            for row in self.rows.values():
                row.show_previews(state.previews, state)
            self._show_here(state)
        for name, row in self.rows.items():
            row.pick(state.preview is not None and state.preview.tier == name)
        self._enable(state)
        self.answers.show_state(state)
        self.memory.show_state(state)
        thread = state.thread
        self.cost.show_preview(_costed(state), (model_at(thread, state.at) or thread.model) if thread else "")

    def _name_policy(self, state: State) -> None:
        if state.choices.policy == self._policy:
            return
        self._policy = state.choices.policy
        by = policy(self._policy)
        self.caption.setText(f"{by.title} ▾")
        for old in self.rows.values():
            self._tiers.removeWidget(old)
            old.hide()
            old.deleteLater()
        self.rows = {tier.name: TierRow(tier) for tier in by.tiers}
        for one in self.rows.values():
            one.run.connect(self._run)
            one.pointed.connect(self._hover)
            one.picked.connect(self._pick)
            self._tiers.addWidget(one)
            one.name.ensurePolished()
        for one in self.rows.values():
            one.name.setMinimumWidth(max(other.name.sizeHint().width() for other in self.rows.values()))

    def _show_here(self, state: State) -> None:
        previews = state.previews
        if previews is None:
            return
        title = previews.policy.title
        known = previews.sizer.kind == "predicted" and previews.shown  # an estimate is no truth to be wrong about
        error = error_words(previews.tokens / previews.shown - 1 if known else None)
        self.here.setText(f"{title} believes {grouped(previews.tokens)} tokens{error}")
        breaker = previews.policy.breaker(previews.settings, previews.running)
        self._breaker_caption.setVisible(breaker is not None)
        self.breaker.show_breaker(breaker, title)

    def _enable(self, state: State) -> None:
        free = state.thread is not None and state.asking is None
        self.due.setEnabled(free)
        self.turn.setEnabled(free)
        focus = QApplication.focusWidget()
        for name, one in self.rows.items():
            if not free and one.button is focus:
                self._ran = name  # a button that rests hands the focus on
            one.button.setEnabled(free)
        if free and self._ran:
            if self._ran in self.rows and (focus is None or self.isAncestorOf(focus)):
                self.rows[self._ran].button.setFocus()
            self._ran = ""

    # -- intents -------------------------------------------------------------------------------------------------------

    def _choose_policy(self, name: str, checked: bool = False) -> None:
        self.desk.workbench.stepping.choose(policy=name)

    def _run(self, tier: str) -> None:
        self._linger.stop()
        self.desk.workbench.stepping.step(tier)

    def _hover(self, tier: str) -> None:
        self._hovered = tier
        self._linger.start()

    def _pick(self, tier: str) -> None:
        self._picked = "" if self._picked == tier else tier
        self._point()

    def _point(self) -> None:
        self.desk.workbench.previews.point(self._hovered or self._picked)


def _costed(state: State) -> Preview | None:
    """The preview that is looked at (of a tier that waits: its own), else that of the tier that would fire."""
    if state.preview is not None or state.previews is None or state.asking is not None:
        return state.preview
    return state.previews.by_tier.get(state.previews.next)
