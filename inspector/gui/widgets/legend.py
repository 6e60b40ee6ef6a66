"""The legend of the gauge: every part of the buffer with its colour, its name and its tokens. Painted as one widget."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.workbench.gauge import GaugeReading


class Legend(Guarded, QWidget):
    """Rows in the order of the tank, top down."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._rows: tuple[tuple[str, str, str], ...] = ()
        self._reading: GaugeReading | None = None
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("What fills the buffer")

    def show_reading(self, reading: GaugeReading | None) -> None:
        """Show this one from now on."""
        self._reading = reading
        count = len(self._rows)
        self._rows = self._made(reading) if reading else ()
        self.setAccessibleDescription(", ".join(f"{name} {number}" for _, name, number in self._rows))
        if len(self._rows) != count:
            self.updateGeometry()
        self.update()

    def restyle(self) -> None:
        """The colours have changed."""
        self.show_reading(self._reading)

    def _made(self, reading: GaugeReading) -> tuple[tuple[str, str, str], ...]:
        """(colour, name, number)."""
        colours = self._theme.colours
        rows = [(colours.categories[name], str(name), grouped(tokens)) for name, tokens in reversed(reading.parts)]
        if reading.unseen:
            rows.append((colours.missing, "not in this file", grouped(reading.unseen)))
        return tuple(rows)

    def _height(self) -> int:
        return self.fontMetrics().height() + 4

    def sizeHint(self) -> QSize:
        """All rows."""
        return QSize(200, self._height() * len(self._rows))

    def minimumSizeHint(self) -> QSize:
        """No less than all rows."""
        return QSize(120, self._height() * len(self._rows))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Square, name, number."""
        with QPainter(self) as painter:
            self._paint(painter)

    def _paint(self, painter: QPainter) -> None:
        colours, high = self._theme.colours, self._height()
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.DemiBold)
        middle = Qt.AlignmentFlag.AlignVCenter
        for n, (colour, name, number) in enumerate(self._rows):
            top = n * high
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            if colour:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(ink(colour))
                painter.drawRoundedRect(QRectF(0, top + (high - 9) / 2, 9, 9), 2.5, 2.5)
            painter.setPen(ink(colours.quiet))
            painter.setFont(self.font())
            painter.drawText(QRectF(17, top, self.width() - 17, high), middle, name)
            painter.setPen(ink(colours.text))
            painter.setFont(bold)
            painter.drawText(QRectF(17, top, self.width() - 17, high), middle | Qt.AlignmentFlag.AlignRight, number)
