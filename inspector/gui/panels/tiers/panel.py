"""The stepper: a row a tier with its verdict and its preview, what the step that is looked at would cost, and what
every step depends on besides the buffer. Previews are asked for a moment after the last change, so that walking
through requests costs nothing."""

from functools import partial
from typing import ClassVar

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QEnterEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QFrame, QGridLayout, QLabel, QMenu, QWidget

from inspector.core.needs import Failure
from inspector.core.outcome import Outcome
from inspector.core.policies.catalogue import TITLES
from inspector.core.policies.verdict import TierName, Verdict
from inspector.core.words import plural, priced_words
from inspector.gui.desk import Desk
from inspector.gui.guard import Guarded
from inspector.gui.look.build import button, column, delayed, holding, mark, menu_button, row, scrolled
from inspector.gui.look.labels import label, say, tip
from inspector.gui.look.number_formats import dollars, error_words, grouped, lifetime
from inspector.gui.look.visible import line
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.tiers.blocks import AnswerBlock, BreakerBlock, MemoryBlock
from inspector.workbench.policy_input import policy_of
from inspector.workbench.previews import Preview, Previews, payback
from inspector.workbench.state import State
from inspector.workbench.steps import Step


class TierRow(Guarded, QFrame):
    """`run`: the button was pressed; `pointed`: the mouse or the focus came (the name) or went (empty); `picked`: a
    click on the row."""

    run = Signal(str)
    pointed = Signal(str)
    picked = Signal(str)

    def __init__(self, tier: TierName) -> None:
        super().__init__()
        self.setObjectName("TierRow")
        self.tier = tier
        self.name = label(tier.name, role="tier")
        self.title = label(tier.title)
        self.badge = label("next", role="next")
        self.why, self.preview, self.last = (label(role=one, wrap=True) for one in ("quiet", "small", "small"))
        self.button = button("Force", lambda: self.run.emit(tier.name))
        self.button.installEventFilter(self)
        self.title.setToolTip(tip(tier.what))
        self.name.setToolTip(tip(tier.what))
        self.badge.hide()
        head = row(self.title, self.badge, ..., gap=7)
        head.setAlignment(self.badge, Qt.AlignmentFlag.AlignVCenter)
        grid = QGridLayout(self)
        grid.setContentsMargins(13, 7, 10, 7)
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(1)
        grid.setColumnMinimumWidth(0, self.fontMetrics().horizontalAdvance("L3a") + 8)
        grid.setColumnStretch(1, 1)
        grid.addWidget(self.name, 0, 0)
        grid.addLayout(head, 0, 1)
        grid.addWidget(self.button, 0, 2)
        for at, text in enumerate((self.why, self.preview, self.last), 1):
            grid.addWidget(text, at, 1, 1, 2)

    def show_previews(self, previews: Previews | None, state: State) -> None:
        """The verdict and the preview; without an previews what was shown stays, greyed."""
        self.setEnabled(state.thread is not None)
        self._mark("stale", previews is None)
        if previews is None:
            return
        verdict = next((one for one in previews.verdicts if one.tier == self.tier.name), None)
        self._show_verdict(verdict, previews.next == self.tier.name)
        self.preview.setText(preview_words(previews.by_tier.get(self.tier.name), previews.place.size.kind))
        say(self.last, last_outcome(state, self.tier.name))
        self.updateGeometry()  # texts that wrap are as high as they are wide: the row must be asked again

    def _show_verdict(self, verdict: Verdict | None, first: bool) -> None:
        due = verdict is not None and verdict.due
        self.why.setText(verdict.why if verdict else "")
        self.badge.setVisible(first)
        self.button.setText("Step" if due else "Force")
        said = f"{'Step' if due else 'Force'} {self.tier.name}, {self.tier.title}"
        self.button.setAccessibleName(said)
        self.button.setAccessibleDescription(f"{'due' if due else 'not due'}: {verdict.why if verdict else ''}")
        self.button.setToolTip(tip(self.tier.what if due else f"Not due. {self.tier.what}"))
        mark(self.name, "due", due)

    def pick(self, on: bool) -> None:
        """Is its preview the one that is looked at?"""
        self._mark("picked", on)

    def _mark(self, name: str, on: bool) -> None:
        if self.property(name) != on:
            for part in (self, *self.findChildren(QLabel)):  # the style sheet looks at the row for its labels, too
                mark(part, name, on)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The button has the focus: its tier is looked at."""
        if event.type() == QEvent.Type.FocusIn:
            self.pointed.emit(self.tier.name)
        elif event.type() == QEvent.Type.FocusOut:
            self.pointed.emit("")
        return False

    def enterEvent(self, event: QEnterEvent) -> None:
        self.pointed.emit(self.tier.name)

    def leaveEvent(self, event: QEvent) -> None:
        self.pointed.emit("")

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.picked.emit(self.tier.name)


def preview_words(preview: Preview | None, kind: str) -> str:
    """One line a tier: what it would free and touch, what it would call, what it would do to the cache.

    `kind` of the tokens: predicted, or counted or estimated as long as nothing was reported.
    """
    if preview is None:
        return "…"
    if preview.failure:
        return f"cannot run here: {preview.failure}"
    if preview.break_at is None:
        return "would change nothing"
    words = [
        f"{'frees' if preview.freed >= 0 else 'adds'} {grouped(abs(preview.freed))} {kind}",
        f"touches {grouped(preview.touched)}",
        _call(preview) if preview.calls.together.count else "no model call",
        f"cache breaks at message {grouped(preview.break_at)}, {grouped(preview.rewritten)} rewritten",
    ]
    return " · ".join(words)


def _call(preview: Preview) -> str:
    price = f", {_call_price(preview)}" if preview.calls.cost is not None else ""
    return f"{plural(preview.calls.together.count, 'model call')}{price}"


def _call_price(preview: Preview) -> str:
    calls = preview.calls
    if calls.cost is None:
        return "price unknown"
    return priced_words(calls.cost, calls.most_cost)


def last_outcome(state: State, tier: str) -> str:
    """What the newest run of this tier on the way to where we stand came to; empty where it was not run."""
    steps = state.steps
    if steps is None:
        return ""
    for n in reversed(steps.path()):
        for outcome in reversed(steps.taken[n].outcomes):
            if outcome.tier == tier:
                return f"last: {_outcome_words(outcome)}{_cause(steps.taken[n])}"
    return ""


def _cause(step: Step) -> str:
    """Why its last call failed, in the provider's words; empty where the step succeeded."""
    failures = [asked.reply for asked in step.asked if isinstance(asked.reply, Failure)]
    return f" · {line(str(failures[-1]), 90)}" if failures and not step.succeeded else ""


def _outcome_words(outcome: Outcome[object]) -> str:
    changed = f"{plural(len(outcome.changed), 'message')} changed" if outcome.changed else "nothing changed"
    if outcome.error:
        return f"{outcome.error.replace('_', ' ')} · {changed}"
    return changed if outcome.succeeded else f"did not succeed · {changed}"


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

    def show_preview(self, preview: Preview | None) -> None:
        """None: nothing to say."""
        self.setVisible(preview is not None and not preview.failure)
        if preview is None or preview.failure:
            return
        self.caption.setText(f"WHAT {preview.tier} WOULD COST")
        rows = cost_rows(preview)
        self.setToolTip(tip(f"{_TIP}\n{call_words(preview)}".rstrip()))
        while len(self._rows) < len(rows):
            self._add_row()
        for n, (what, much) in enumerate(self._rows):
            for text, words in zip((what, much), rows[n] if n < len(rows) else ("", ""), strict=True):
                say(text, words)

    def _add_row(self) -> None:
        what, much = label(role="quiet"), label(role="strong", wrap=True)
        much.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._grid.addWidget(what, len(self._rows), 0)
        self._grid.addWidget(much, len(self._rows), 1)
        self._rows.append((what, much))

    def texts(self) -> dict[str, str]:
        """What is shown, by what it is."""
        return {what.text(): much.text() for what, much in self._rows if what.text()}


def cost_rows(preview: Preview) -> tuple[tuple[str, str], ...]:
    """(what, how much) for the block under the tiers."""
    back, model = payback(preview), preview.model
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
    """`152,300 in, 151,900 of them cached · about 2,600 out (at most 20,000) · about $0.12 (at most $0.55)`."""
    calls = preview.calls.together
    if not calls.count:
        return "none"
    words = f"{grouped(calls.usage.prompt)} in"
    words += f", {grouped(calls.usage.cache_read)} of them cached" if calls.usage.cache_read else ""
    most = "no limit" if calls.most_output is None else f"at most {grouped(calls.most_output)}"
    return f"{words} · about {grouped(calls.usage.output)} out ({most}) · {_call_price(preview)}"


def call_words(preview: Preview) -> str:
    """Say where the expected output comes from; empty without a model call."""
    if not preview.calls.together.count:
        return ""
    return (
        "What was sent before is read from the cache. Expected output of a model call: "
        f"{grouped(preview.expected.tokens)} tokens, {preview.expected.source}."
    )


class TierPanel(Panel):
    """Generic over policies: tiers, verdicts, breaker and settings are the policy's."""

    TITLE: ClassVar[str] = "Tiers"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._previews: Previews | None = None
        self._picked: str | None = None
        self._hovered = ""
        self._ran = ""
        """The tier whose button had the focus when it was pressed."""
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
        self._soon = delayed(self, 60, desk.workbench.previews.look)
        self._linger = delayed(self, 140, self._point)  # the mouse rests on a row
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

    def show_state(self, state: State) -> None:
        """Rows where the previews is another; the choices always."""
        self._name_policy(state)
        if state.previews is None or state.previews.missing:
            self._soon.start()
        if self.is_new("step", state.steps and state.steps.step):  # its own diff is what counts now
            self._picked = None
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
        preview = _costed(state)
        if self.is_new("cost", preview):
            self.cost.show_preview(preview)

    def _name_policy(self, state: State) -> None:
        if not self.is_new("policy", state.choices.policy):
            return
        by = policy_of(state)
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
        known = previews.place.size.kind == "predicted" and previews.shown  # an estimate is no truth to be wrong about
        error = error_words(previews.tokens / previews.shown - 1 if known else None)
        self.here.setText(f"{title} believes {grouped(previews.tokens)} tokens{error}")
        breaker = previews.policy.breaker(previews.context)
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
