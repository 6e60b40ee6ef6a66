"""A watermark in the user's hand, on the gauge or in the timeline: its setting follows, Escape brings it back."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication

from inspector.core.policies.settings import SettingPairs
from inspector.core.policies.verdict import Watermark
from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours
from inspector.workbench.gauge import value_for
from inspector.workbench.workbench import Workbench

REACH = 5
"""Pixels from a line at which it can be taken."""


class LineDrag(Guarded, QObject):
    """`held` is the line in the hand, None for none."""

    def __init__(self, workbench: Workbench, parent: QObject) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self._before: SettingPairs = ()
        self.held: Watermark | None = None
        application = QApplication.instance()
        assert application is not None
        self._application = application

    def take(self, line: Watermark) -> None:
        self.drop()
        self.held = line
        self._before = self._workbench.state.choices.settings
        self._application.installEventFilter(self)

    def move(self, tokens: float) -> None:
        """To so many tokens, as near as its setting allows. Without a line in the hand nothing happens."""
        if self.held is None:
            return
        value = value_for(self._workbench.state, self.held.setting, round(tokens))
        if value is not None:
            self._workbench.stepping.set(self.held.setting, value)

    def drop(self) -> None:
        """It stays where it is."""
        if self.held is not None:
            self.held = None
            self._application.removeEventFilter(self)

    def cancel(self) -> None:
        """It is back where it was taken."""
        if self.held is not None:
            self.drop()
            self._workbench.stepping.choose(settings=self._before)

    def give_back(self, line: Watermark) -> None:
        """Where the policy itself has it."""
        self.drop()
        self._workbench.stepping.set(line.setting, None)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Escape, wherever the focus is, as long as a line is held."""
        kinds = (QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride)
        if event.type() in kinds and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            event.accept()
            self.cancel()
            return True
        return False


def line_colour(colours: Colours, index: int) -> str:
    """Of the policy's n-th line: lower, higher, and for those who have more, on."""
    return (colours.low, colours.high, colours.categories["thinking"])[index % 3]
