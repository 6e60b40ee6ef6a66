"""The bar above the panels while a run, proxy or receiver is active: its status in colour and words, and its
buttons.
"""

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QPushButton

from inspector.gui.live.status import LiveStatus
from inspector.gui.look.build import button, mark, row
from inspector.gui.look.tokens import BAND, CONTROL_GAP
from inspector.gui.widgets.small import Elided


class LiveBar(QFrame):
    """The bar, which is hidden until a status is shown.

    Args:
        show: Called when the chip with the state is pressed.
        about: Tooltip of the chip.
        buttons: The buttons, from left to right.
    """

    def __init__(self, show: Callable[[], None], about: str, *buttons: QPushButton) -> None:
        super().__init__()
        self.setObjectName("LiveBar")
        self.chip = button("", show, about=about, role="run")
        self.says = Elided()
        row(self.chip, (self.says, 1), *buttons, of=self, margins=BAND, gap=CONTROL_GAP)
        self.hide()

    def show_status(self, status: LiveStatus | None) -> None:
        """Show a status; None hides the bar."""
        self.setVisible(status is not None)
        if status is None:
            return
        for widget in (self, self.chip):
            mark(widget, "kind", status.kind)
        self.chip.setText(status.state)
        self.chip.setAccessibleName(f"{status.name}: {status.state}")
        self.says.show_text(status.sentence)
