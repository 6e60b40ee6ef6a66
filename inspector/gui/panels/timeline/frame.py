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
"""The widest texts of the left gutter."""
GUTTER_INSET = 12
"""Pixels between the data and the texts beside it."""
ROOMY, NARROW = 760, 420
"""Minimum width of a timeline in pixels for labels with tokens (ROOMY), and for any labels in gutters (NARROW)."""
SMALLEST_GUTTER = 10
SPACE_ABOVE = 10
"""Pixels above the plot, for the arrow of the playhead and half a label."""
SPACE = 6
"""Pixels above and below the overview."""
TICK = 4
"""Pixels of the tick above a number of the ruler."""
ZOOM = 1.25
"""Factor by which one wheel step or one key press zooms."""
STEP = 0.15
"""Share of the visible requests by which one wheel step or one key press moves the view."""
ROWS = 5
"""Number of rows of marks for which there must be room, even if there are fewer rows."""
ROW_HEIGHT, OVERVIEW_HEIGHT = 18, 30
"""Minimum pixels of a row of marks, and of the overview."""


class TimelineFrame(QObject):
    """The state shared by all parts of a timeline."""

    moved = Signal(object)
    """Emitted with the request that the user selected; None: the buffer after the last record."""
    hovered = Signal(object)
    """Emitted with the request under the mouse; None if the mouse is elsewhere."""
    gutters_changed = Signal()

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self.theme = theme
        self.range = RequestRange(self)
        self.at: int | None = None
        """The request of the playhead; None: after the last record."""
        self.chosen: range | None = None
        """The selected requests; None if none are."""
        self.left, self.right = SMALLEST_GUTTER, SMALLEST_GUTTER
        """Widths of the gutters in pixels."""

    @property
    def font(self) -> QFont:
        """The font of all text in a timeline."""
        return ui_font(self.theme.small)

    @property
    def metrics(self) -> QFontMetricsF:
        """Metrics of the timeline's font."""
        return QFontMetricsF(self.font)

    def fit_gutters(self, width: int, labels_width: float) -> None:
        """Set the widths of the gutters to the texts beside the data.

        Args:
            width: Width of the whole timeline in pixels.
            labels_width: Width of the widest label of a line in pixels.
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
        """Return the horizontal scale of the requests, for a part of `width` pixels."""
        end = max(self.left + 1, width - self.right)
        return LinearScale(self.range.first, high=self.range.last, start=self.left, end=end)

    def turn_wheel(self, event: QWheelEvent, width: int) -> None:
        """Zoom at the mouse position; with Shift or a horizontal wheel, move.

        Args:
            event: The wheel event.
            width: Width of the part under the mouse in pixels.
        """
        turned = event.angleDelta().y()
        sideways = event.angleDelta().x()
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
        """Return the axis position of a request; None: of the buffer after the last record."""
        return end_place(self.range.count) if at is None else float(at)


def measure_ruler(metrics: QFontMetricsF) -> int:
    """Return the height of the ruler in pixels: ticks, and two lines of text."""
    return round(2 * metrics.height()) + TICK + 2


def measure_row(metrics: QFontMetricsF) -> int:
    """Return the height of a row of marks in pixels."""
    return max(ROW_HEIGHT, round(metrics.height()) + 2)


def measure_overview(metrics: QFontMetricsF) -> int:
    """Return the height of the overview in pixels, including the space above and below it."""
    return max(OVERVIEW_HEIGHT, round(metrics.height()) + 8) + 2 * SPACE
