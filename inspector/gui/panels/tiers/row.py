"""One tier: its name and title, why it is due or not, what it would do, and the button that runs it."""

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QEnterEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QPushButton, QWidget

from inspector.core.policies.policy import TierName, Verdict
from inspector.gui.guard import Guarded
from inspector.gui.look.labels import label, tip
from inspector.gui.panels.tiers.words import last_outcome, preview_words
from inspector.workbench.state.outlook import Outlook
from inspector.workbench.state.state import State


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
        self.why, self.preview, self.last = label(role="quiet"), label(role="small"), label(role="small")
        self.button = QPushButton("Force")
        self.button.clicked.connect(lambda: self.run.emit(tier.name))
        self.button.installEventFilter(self)
        self.title.setToolTip(tip(tier.what))
        self.name.setToolTip(tip(tier.what))
        self.badge.hide()
        for text in (self.why, self.preview, self.last):
            text.setWordWrap(True)
        self._lay_out()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(7)
        head.addWidget(self.title)
        head.addWidget(self.badge, 0, Qt.AlignmentFlag.AlignVCenter)
        head.addStretch()
        grid = QGridLayout(self)
        grid.setContentsMargins(13, 7, 10, 7)
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(1)
        grid.setColumnMinimumWidth(0, self.fontMetrics().horizontalAdvance("L3a") + 8)
        grid.setColumnStretch(1, 1)
        grid.addWidget(self.name, 0, 0)
        grid.addLayout(head, 0, 1)
        grid.addWidget(self.button, 0, 2)
        for row, text in enumerate((self.why, self.preview, self.last), 1):
            grid.addWidget(text, row, 1, 1, 2)

    def show_outlook(self, outlook: Outlook | None, state: State) -> None:
        """The verdict and the preview; without an outlook what was shown stays, greyed."""
        self.setEnabled(state.thread is not None)
        _mark(self, "stale", outlook is None)
        if outlook is None:
            return
        verdict = next((one for one in outlook.verdicts if one.tier == self.tier.name), None)
        self._show_verdict(verdict, outlook.next == self.tier.name)
        self.preview.setText(preview_words(outlook.previews.get(self.tier.name), outlook.sizer.kind))
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
        _mark(self.name, "due", due)

    def pick(self, on: bool) -> None:
        """Is its preview the one that is looked at?"""
        _mark(self, "picked", on)

    def texts(self) -> tuple[QLabel, ...]:
        """What is written in the row, for those who copy or test it."""
        return (self.name, self.title, self.why, self.preview, self.last)

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


def _mark(widget: QWidget, name: str, on: bool) -> None:
    """A property that the style sheet looks at."""
    if widget.property(name) != on:
        widget.setProperty(name, on)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
        for child in widget.findChildren(QLabel):
            child.style().unpolish(child)
            child.style().polish(child)
