"""Dragging a watermark on the gauge or in the timeline: its setting follows the mouse, Escape restores it."""

from collections.abc import Sequence
from itertools import cycle

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours
from inspector.workbench.pressure.scale import GaugeLine, value_for
from inspector.workbench.state import Choices
from inspector.workbench.workbench import Workbench

REACH = 5
"""Pixels from a line within which it can be grabbed."""


class LineDrag(Guarded, QObject):
    """The drag of a watermark. `held` is the line that is being dragged; None if there is none."""

    def __init__(self, workbench: Workbench, parent: QObject) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self._before = Choices()
        self.held: GaugeLine | None = None
        application = QApplication.instance()
        assert application is not None
        self._application = application

    def take(self, line: GaugeLine) -> None:
        self.drop()
        self.held = line
        self._before = self._workbench.state.choices
        self._application.installEventFilter(self)

    def move(self, tokens: float) -> None:
        """Move the dragged line as near to `tokens` as its setting allows."""
        if self.held is None:
            return
        value = value_for(self._workbench.state, self.held, round(tokens))
        if value is not None:
            self._set_line(self.held, value)

    def _set_line(self, line: GaugeLine, value: str | None) -> None:
        stepping = self._workbench.stepping
        (stepping.set_scale if line.is_scale else stepping.set)(line.watermark.setting, value)

    def drop(self) -> None:
        """End the drag and keep the line at its current value."""
        if self.held is not None:
            self.held = None
            self._application.removeEventFilter(self)

    def cancel(self) -> None:
        """End the drag and restore the settings from before it."""
        if self.held is not None:
            self.drop()
            self._workbench.stepping.choose(
                settings=self._before.settings, scale=self._before.scale
            )

    def give_back(self, line: GaugeLine) -> None:
        """Restore the policy's own value of a line."""
        self.drop()
        self._set_line(line, value=None)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Cancel the drag on Escape, regardless of the focus."""
        kinds = (QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride)
        if (
            event.type() in kinds
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
        ):
            event.accept()
            self.cancel()
            return True
        return False


def line_colours(colours: Colours, lines: Sequence[GaugeLine]) -> list[str]:
    """Return the colour of each line: low and high for the scale's lines, the text colour for other lines."""
    scale = cycle((colours.low, colours.high))
    return [next(scale) if line.is_scale else colours.text for line in lines]
