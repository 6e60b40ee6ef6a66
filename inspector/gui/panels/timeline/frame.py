"""What the parts of the timeline share: the visible requests, the playhead, and the gutters left and right of the data.

No label covers the data: the left gutter holds names and axis numbers, the right one labels of lines and counts.
"""

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QWheelEvent

from inspector.gui.look.fonts import ui_font
from inspector.gui.look.theme import Theme
from inspector.gui.widgets.chart import LinearScale
from inspector.gui.widgets.request_range import RequestRange, end_place

ROW_NAMES = ("Over 60%, 75%", "User message", "Whole session", "200,000")
"""The widest words of the left gutter."""
GUTTER_INSET = 12
"""Pixels between the data and the words beside it."""
ROOMY, NARROW = 760, 420
"""Pixels of a timeline from which on the labels of lines have their tokens; from which on there are gutters at all."""
SMALLEST_GUTTER = 10
SPACE_ABOVE = 10
"""Pixels above the plot, for the arrow of the playhead and half a label."""
SPACE = 6
"""Pixels above and below the overview."""
TICK = 4
"""Pixels of the stroke above a number of the ruler."""
ZOOM = 1.25
"""How much more or less one turn of the wheel, or one key, shows."""
STEP = 0.15
"""Share of the visible requests by which a turn of the wheel, or a key, moves the view."""
ROWS = 5
"""Rows of marks that there must be room for, even if there are fewer: they do not come and go with their number."""
ROW_HEIGHT, OVERVIEW_HEIGHT = 18, 30
"""Least pixels of a row of marks, and of the overview."""


class TimelineFrame(QObject):
    """The state shared by all parts of a timeline."""

    moved = Signal(object)
    """The user pointed at this request; None: the buffer after the last record."""
    hovered = Signal(object)
    """The request under the mouse; None: the mouse is elsewhere."""
    gutters_changed = Signal()

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self.theme = theme
        self.range = RequestRange(self)
        self.at: int | None = None
        """The request of the playhead; None: after the last record."""
        self.chosen: range | None = None
        """The selected requests."""
        self.left, self.right = SMALLEST_GUTTER, SMALLEST_GUTTER
        """Pixels of the gutters."""

    @property
    def font(self) -> QFont:
        """The font of everything that is written in a timeline."""
        return ui_font(self.theme.small)

    @property
    def metrics(self) -> QFontMetricsF:
        """Text measures of the timeline's font."""
        return QFontMetricsF(self.font)

    def fit_gutters(self, width: int, labels_width: float) -> None:
        """Leave room for the words beside the data.

        Args:
            width: pixels of the whole timeline.
            labels_width: pixels of the widest label of a line.
        """
        left = right = SMALLEST_GUTTER
        if width >= NARROW:
            metrics = self.metrics
            left = (
                round(max(metrics.horizontalAdvance(name) for name in ROW_NAMES)) + 2 * GUTTER_INSET
            )
            right = round(labels_width) + 2 * GUTTER_INSET
        if (left, right) != (self.left, self.right):
            self.left, self.right = left, right
            self.gutters_changed.emit()

    def across(self, width: int) -> LinearScale:
        """Return the scale of the requests, for a part of `width` pixels."""
        end = max(self.left + 1, width - self.right)
        return LinearScale(self.range.first, self.range.last, self.left, end)

    def turn_wheel(self, event: QWheelEvent, width: int) -> None:
        """Zoom at the mouse; with Shift, or sideways, move.

        Args:
            width: pixels of the part under the mouse.
        """
        turned, sideways = event.angleDelta().y(), event.angleDelta().x()
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            turned, sideways = 0, turned or sideways
        if sideways:
            self.range.move(-sideways / 120 * STEP * self.range.width)
        if turned:
            across = self.across(width)
            place = max(across.start, min(event.position().x(), across.end))
            self.range.zoom(ZOOM ** (-turned / 120), across.value(place))
        event.accept()

    def place(self, at: int | None) -> float:
        """Return where a request lies along the scale."""
        return end_place(self.range.count) if at is None else float(at)


def measure_ruler(metrics: QFontMetricsF) -> int:
    """Return the pixels of the ruler: ticks, and two rows of words."""
    return round(2 * metrics.height()) + TICK + 2


def measure_row(metrics: QFontMetricsF) -> int:
    """Return the pixels of a row of marks."""
    return max(ROW_HEIGHT, round(metrics.height()) + 2)


def measure_overview(metrics: QFontMetricsF) -> int:
    """Return the pixels of the overview with the space above and below it."""
    return max(OVERVIEW_HEIGHT, round(metrics.height()) + 8) + 2 * SPACE
