"""One held request: who waits, how large it is, how long it may last, and what can be done with it."""

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QProgressBar, QPushButton, QVBoxLayout, QWidget

from inspector.gui.look.labels import label, tip
from inspector.gui.look.visible import line
from inspector.gui.panels.proxy.words import countdown, headline, instead, left, patience, proposed, size
from inspector.gui.proxies.hold_prospects import Prospect
from inspector.gui.widgets.chips import Flow
from inspector.proxy.holds.hold import HoldInfo

LOOK, STEPPED, COMPACT = "Look", "Forward as stepped", "Compact and forward"
AS_IT_WAS, DROP = "Forward as it was", "Drop"


class HoldBox(QFrame):
    """`look`, `forward(stepped)`, `compact` and `drop` are called with the hold as it is then."""

    def __init__(
        self,
        hold: HoldInfo,
        look: Callable[[HoldInfo], None],
        forward: Callable[[HoldInfo, bool], None],
        compact: Callable[[HoldInfo], None],
        drop: Callable[[HoldInfo], None],
    ) -> None:
        super().__init__()
        self.setObjectName("HoldBox")
        self.hold = hold
        self._prospect = Prospect()
        self.who = label(role="strong")
        self.size_ = label(role="quiet")
        self.left = label()
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setRange(0, 1000)
        self.bar.setAccessibleName("Time that is left")
        self.would = label(role="quiet")
        self.made = label(role="good")
        self.look = _button(LOOK, "Stand at this request: its buffer, the tiers, what each would free")
        self.stepped = _button(STEPPED, "Send it with what the steps made of it; the same cut is made on later turns")
        self.compact = _button(COMPACT, "Send it with what the policy makes of it; summaries are made offline")
        self.as_it_was = _button(AS_IT_WAS, "Send it as it stands, without your steps")
        self.drop = _button(DROP, "Answer it with an error; the provider never sees it")
        self.look.clicked.connect(lambda: look(self.hold))
        self.stepped.clicked.connect(lambda: forward(self.hold, True))
        self.compact.clicked.connect(lambda: compact(self.hold))
        self.as_it_was.clicked.connect(lambda: forward(self.hold, False))
        self.drop.clicked.connect(lambda: drop(self.hold))
        self._lay_out()
        self.show_hold(hold, Prospect())

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 8, 10, 8)
        column.setSpacing(4)
        for widget in (self.who, self.size_, self.would, self.left, self.made):
            widget.setWordWrap(True)
        for shown in (self.who, self.size_, self.would, self.bar, self.left, self.made):
            column.addWidget(shown)
        buttons = QWidget()
        flow = Flow()
        buttons.setLayout(flow)
        for button in (self.look, self.stepped, self.compact, self.as_it_was, self.drop):
            flow.addWidget(button)
        column.addWidget(buttons)

    def show_hold(self, hold: HoldInfo, prospect: Prospect) -> None:
        """It has changed, or what was made of it, or what is known of that."""
        steps, proposal = prospect.steps, prospect.proposal
        new = hold is not self.hold or prospect != self._prospect or not self.who.text()
        self.hold = hold
        if new:
            self._prospect = prospect
            self.who.setText(line(headline(hold), 160))
            self.size_.setText(size(hold))
            would = proposed(hold, proposal, prospect.policy)
            self.would.setText(would)
            self.would.setVisible(bool(would))
            told = hold.cannot or instead(hold, steps, prospect.left)
            self.made.setText(told)
            self.made.setVisible(bool(told))
            bad = bool(hold.cannot) or "would refuse" in told
            self.made.setProperty("role", "bad" if bad else "good")
            self.made.style().polish(self.made)
            self.stepped.setEnabled(steps is not None and not hold.cannot)
            self.stepped.setProperty("role", "primary" if self.stepped.isEnabled() else "")
            self.stepped.style().polish(self.stepped)
            self.compact.setEnabled(proposal is not None and proposal.after is not None)
            self.setToolTip(tip(patience(hold)))
        self.tick()

    def tick(self) -> None:
        """A second has passed."""
        self.left.setText(countdown(self.hold))
        self.bar.setValue(int(1000 * min(1.0, left(self.hold) / max(1.0, self.hold.patience.limit_s))))
        self.bar.setVisible(not self.hold.is_gone)


def _button(words: str, what: str) -> QPushButton:
    made = QPushButton(words)
    made.setToolTip(tip(what))
    made.setAccessibleDescription(what)
    return made
