"""One tier of the policy: its name, why it is due or not, what it would do, and the button that runs it.

A row keeps its height whatever it says, and its button its place: pressing the same spot twice never presses another.
"""

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QFocusEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel

from inspector.core.policies.verdict import TierName
from inspector.gui.guard import Guarded
from inspector.gui.look.build import button, mark, row
from inspector.gui.look.labels import label, tip
from inspector.gui.widgets.small import Elided
from inspector.workbench.previews import Previews
from inspector.workbench.words.tier_words import badge_words, effect_words, verdict_words

BESIDE = 32
"""Pixels of a row's height besides its three lines: 76 with letters of the usual size."""
EDGE, GAP = 12, 8
"""Pixels beside the row's content, and between its parts."""
RUN, FORCE = "Run", "Force"


class TierRow(Guarded, QFrame):
    """`run`: the button was pressed; `picked`: the row was clicked, or its button got the focus by a key."""

    run = Signal(str)
    picked = Signal(str)

    def __init__(self, tier: TierName) -> None:
        super().__init__()
        self.setObjectName("TierRow")
        self.tier = tier
        self.name = label(tier.name, role="tier")
        self.title = label(tier.title, role="strong")
        self.badge = label("", role="due")
        self.why, self.effect = Elided("quiet"), Elided("small")
        self.button = button(FORCE, lambda: self.run.emit(tier.name))
        self.button.installEventFilter(self)
        for text in (self.name, self.title):
            text.setToolTip(tip(tier.what))
        for text in (self.title, self.badge):
            text.setMinimumWidth(1)  # `_fit` gives them what room there is
        head = row(self.title, self.badge, ..., gap=GAP)
        head.setAlignment(self.badge, Qt.AlignmentFlag.AlignVCenter)
        grid = QGridLayout(self)
        grid.setContentsMargins(EDGE, 8, EDGE, 8)
        grid.setHorizontalSpacing(GAP)
        grid.setVerticalSpacing(1)
        grid.setColumnStretch(1, 1)
        grid.addWidget(self.name, 0, 0)
        grid.addLayout(head, 0, 1)
        grid.addWidget(self.button, 0, 2)
        grid.addWidget(self.why, 1, 1, 1, 2)
        grid.addWidget(self.effect, 2, 1, 1, 2)

    def measure(self) -> None:
        """Fix height and button for the letters of now."""
        self.ensurePolished()
        lines = (self.title, self.why, self.effect)
        self.setFixedHeight(sum(line.fontMetrics().height() for line in lines) + BESIDE)
        original, widths = self.button.text(), []
        for words in (RUN, FORCE):
            self.button.setText(words)
            widths.append(self.button.sizeHint().width())
        self.button.setText(original)
        self.button.setFixedWidth(max(widths))
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """In a narrow panel the badge gives way, then the end of the title."""
        edges = self.contentsMargins().left() + self.contentsMargins().right() + 2 * EDGE + 2 * GAP
        room = self.width() - edges - self.name.width() - self.button.width()
        metrics = self.title.fontMetrics()
        badge = self.badge.sizeHint().width() + GAP
        self.badge.setVisible(bool(self.badge.text()) and metrics.horizontalAdvance(self.tier.title) + badge <= room)
        self.title.setText(metrics.elidedText(self.tier.title, Qt.TextElideMode.ElideRight, room))

    def show_previews(self, previews: Previews | None, window: int | None) -> None:
        """Show verdict and preview. Without previews the row keeps what it shows, greyed."""
        self._mark("stale", previews is None)
        if previews is None:
            return
        verdict = next((verdict for verdict in previews.verdicts if verdict.tier == self.tier.name), None)
        is_due = verdict is not None and verdict.due
        why = ("",) if verdict is None else verdict_words(previews, verdict, window)
        self.why.show_text(*why)
        self.effect.show_text(*effect_words(previews.by_tier.get(self.tier.name)))
        self.badge.setText(badge_words(previews, self.tier.name))
        self._fit()
        mark(self.badge, "role", "due" if is_due else "not due")
        mark(self.name, "due", is_due)
        self._show_button(is_due, why[0])

    def _show_button(self, is_due: bool, why: str) -> None:
        words = RUN if is_due else FORCE
        self.button.setText(words)
        mark(self.button, "role", "outline" if is_due else "")
        self.button.setAccessibleName(f"{words} {self.tier.name}, {self.tier.title}")
        self.button.setAccessibleDescription(why)
        self.button.setToolTip(tip(self.tier.what if is_due else f"Not due. {self.tier.what}"))

    def pick(self, on: bool) -> None:
        """Mark the row whose preview is shown."""
        self._mark("picked", on)

    def _mark(self, name: str, on: bool) -> None:
        if self.property(name) != on:
            for part in (self, *self.findChildren(QLabel)):  # the style sheet looks at the row for its labels, too
                mark(part, name, on)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Select the tier when a key leads to its button. A click on the button only runs it."""
        keys = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        if isinstance(event, QFocusEvent) and event.gotFocus() and event.reason() in keys:
            self.picked.emit(self.tier.name)
        return False

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.picked.emit(self.tier.name)
