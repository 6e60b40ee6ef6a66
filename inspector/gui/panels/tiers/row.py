"""One tier: its name and title, why it is due or not, what it would do, what it did, and the button that runs it."""

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QEnterEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel

from inspector.core.needs import Failure
from inspector.core.outcome import Outcome
from inspector.core.policies.verdict import TierName, Verdict
from inspector.core.words import plural
from inspector.gui.guard import Guarded
from inspector.gui.look.build import button, mark, row
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import dollars, grouped
from inspector.gui.look.visible import line
from inspector.workbench.previews import Preview, Previews
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
        self.preview.setText(preview_words(previews.by_tier.get(self.tier.name), previews.sizer.kind))
        self.last.setText(last_outcome(state, self.tier.name))
        self.last.setVisible(bool(self.last.text()))
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

    # -- Qt ------------------------------------------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The button has the focus: its tier is looked at."""
        if event.type() == QEvent.Type.FocusIn:
            self.pointed.emit(self.tier.name)
        elif event.type() == QEvent.Type.FocusOut:
            self.pointed.emit("")
        return False

    def enterEvent(self, event: QEnterEvent) -> None:
        """The mouse came."""
        self.pointed.emit(self.tier.name)

    def leaveEvent(self, event: QEvent) -> None:
        """The mouse went."""
        self.pointed.emit("")

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click keeps the preview."""
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
        _call(preview) if preview.calls else "no call",
        f"cache breaks at message {grouped(preview.break_at)}, {grouped(preview.rewritten)} rewritten",
    ]
    return " · ".join(words)


def _call(preview: Preview) -> str:
    price = f" {dollars(preview.call_cost)}" if preview.call_cost is not None else ""
    return f"{plural(preview.calls, 'call')}{price}"


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
