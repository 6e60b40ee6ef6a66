"""The circuit breaker: its state, and a reset by hand that the harness itself does not have."""

from collections.abc import Callable

from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from inspector.core.policies.policy import BreakerState
from inspector.gui.look.labels import label, tip


class BreakerBlock(QWidget):
    """Hidden for a policy without one."""

    def __init__(self, reset: Callable[[], None]) -> None:
        super().__init__()
        self.dot = label("●", role="dot")
        self.words = label()
        self.button = QPushButton("Reset (ours)")
        self.button.clicked.connect(lambda _: reset())
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(7)
        row.addWidget(self.dot)
        row.addWidget(self.words, 1)
        row.addWidget(self.button)

    def show_breaker(self, breaker: BreakerState | None, policy_title: str) -> None:
        """`closed · 0 of 3 failures`."""
        self.setVisible(breaker is not None)
        if breaker is None:
            return
        word = "open: no more model calls" if breaker.open else "closed"
        self.words.setText(f"{word} · {breaker.failures} of {breaker.limit} failures")
        self.words.setWordWrap(True)
        if self.dot.property("open") != breaker.open:
            self.dot.setProperty("open", breaker.open)
            self.dot.style().polish(self.dot)
        self.button.setVisible(breaker.open or breaker.failures > 0)
        said = f"Ours, not {policy_title}'s: the harness never closes an open breaker by hand."
        self.button.setToolTip(tip(said))
        self.button.setAccessibleDescription(said)
