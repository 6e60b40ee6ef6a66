"""A row of the stepper: a tier's name, its verdict, what the tier would do, and the button that runs it.

The row keeps its height and the button its position regardless of the content, so that clicking the same spot twice
never presses another button.
"""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QFocusEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QPushButton

from inspector.core.policies.verdict import TierName
from inspector.gui.guard import Guarded
from inspector.gui.look.build import button, mark, row
from inspector.gui.look.labels import label, tip
from inspector.gui.widgets.small import Elided
from inspector.workbench.previews import Previews
from inspector.workbench.words.tier_words import badge_words, effect_words, verdict_words

BESIDE = 32
"""Pixels added to the height of the row's three lines."""
EDGE, GAP = 12, 8
"""Pixels beside the row's content, and between its parts."""
RUN, FORCE = "Run", "Force"


def fix_width(button: QPushButton, texts: Sequence[str]) -> None:
    """Set the width of a button to that of the widest of its texts."""
    current = button.text()
    widths = list[int]()
    for text in texts:
        button.setText(text)
        button.ensurePolished()
        widths.append(button.sizeHint().width())
    button.setText(current)
    button.setFixedWidth(max(widths))


class TierRow(Guarded, QFrame):
    """The row of a tier."""

    run = Signal(str)
    """Emitted with the tier's name when its button is pressed."""
    picked = Signal(str)
    """Emitted with the tier's name when the row is clicked or a key moves the focus to its button."""

    def __init__(self, tier: TierName) -> None:
        super().__init__()
        self.setObjectName("TierRow")
        self.tier = tier
        self.name = label(tier.name, role="tier")
        self.title = label(tier.title, role="strong")
        self.badge = label("", role="due")
        self.why = Elided("quiet")
        self.effect = Elided("small")
        self.button = button(FORCE, lambda: self.run.emit(tier.name))
        self.button.installEventFilter(self)
        self.name.setToolTip(tip(tier.what))
        self.title.setToolTip(tip(tier.what))
        self.title.setMinimumWidth(1)  # `_fit` cuts the title
        self.badge.setMinimumWidth(1)
        self._lay_out()

    def _lay_out(self) -> None:
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
        """Fix the height of the row and the width of its button for the current font."""
        self.ensurePolished()
        lines = (self.title, self.why, self.effect)
        height = sum(line.fontMetrics().height() for line in lines)
        self.setFixedHeight(height + BESIDE)
        fix_width(self.button, (RUN, FORCE))
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Hide the badge in a narrow panel, and cut the title if there is still not enough room."""
        margins = self.contentsMargins()
        edges = margins.left() + margins.right() + 2 * EDGE + 2 * GAP
        room = self.width() - edges - self.name.width() - self.button.width()
        title = self.tier.title
        metrics = self.title.fontMetrics()
        with_badge = metrics.horizontalAdvance(title) + self.badge.sizeHint().width() + GAP
        self.badge.setVisible(bool(self.badge.text()) and with_badge <= room)
        self.title.setText(metrics.elidedText(title, Qt.TextElideMode.ElideRight, room))

    def show_previews(self, previews: Previews | None, window: int | None) -> None:
        """Show verdict and preview of the tier; None: grey out the current content."""
        self._mark("stale", previews is None)
        if previews is None:
            return
        name = self.tier.name
        verdict = next((verdict for verdict in previews.verdicts if verdict.tier == name), None)
        is_due = verdict is not None and verdict.due
        why = verdict_words(previews, verdict, window) if verdict is not None else ("",)
        self.why.show_text(*why)
        self.effect.show_text(*effect_words(previews.by_tier.get(name)))
        self.badge.setText(badge_words(previews, name))
        self._fit()
        mark(self.badge, "role", "due" if is_due else "not due")
        mark(self.name, "due", is_due)
        self._show_button(is_due, why[0])

    def _show_button(self, is_due: bool, why: str) -> None:
        words = FORCE
        about = f"Not due. {self.tier.what}"
        if is_due:
            words = RUN
            about = self.tier.what
        self.button.setText(words)
        mark(self.button, "role", "outline" if is_due else "")
        self.button.setAccessibleName(f"{words} {self.tier.name}, {self.tier.title}")
        self.button.setAccessibleDescription(why)
        self.button.setToolTip(tip(about))

    def pick(self, is_on: bool) -> None:
        """Mark the row as the one whose preview is shown, or remove the mark."""
        self._mark("picked", is_on)

    def _mark(self, name: str, is_on: bool) -> None:
        if self.property(name) != is_on:
            # The style of the labels depends on that of the row.
            for part in (self, *self.findChildren(QLabel)):
                mark(part, name, is_on)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Select the tier when a key moves the focus to its button. A click on the button only runs it."""
        keys = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        if isinstance(event, QFocusEvent) and event.gotFocus() and event.reason() in keys:
            self.picked.emit(self.tier.name)
        return False

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.picked.emit(self.tier.name)
