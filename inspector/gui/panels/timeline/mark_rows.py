"""The rows of marks below the plot: one row for each kind, with its name at the left and its count at the right.

Marks of the same kind that would overlap are drawn as one mark with their number. A click on the name of a row hides
its marks.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from inspector.core.words import plural
from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours, ink
from inspector.gui.look.labels import tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.visible import line
from inspector.gui.panels.timeline.frame import GUTTER_INSET, TimelineFrame, measure_row
from inspector.gui.widgets.chart import LinearScale, paint_band
from inspector.workbench.pressure.timeline import Mark, MarkKind

SIZE = 9
"""Pixels of a mark."""
APART = 3
"""Minimum pixels between two marks."""
BAND = 5
"""Height of a band in pixels."""
MOST_NAMED = 12
"""Maximum number of marks of a fold that its tooltip lists."""
_SHAPES: Mapping[MarkKind, Sequence[tuple[float, float]]] = {
    "compaction": ((0, 0.1), (1, 0.1), (0.5, 0.95)),
    "drop": ((0, 0.9), (1, 0.9), (0.5, 0.05)),
    "cache miss": (),
    "user message": (),
    "pin removed": ((0, 0), (1, 0), (1, 1), (0, 1)),
    "step": ((0.5, 0), (1, 0.5), (0.5, 1), (0, 0.5)),
    "search hit": ((0.35, 0), (0.65, 0), (0.65, 1), (0.35, 1)),
}
"""Corners of each shape, as shares of its square. Kinds without corners are painted as a cross or a disc."""
KINDS: tuple[MarkKind, ...] = tuple(_SHAPES)
"""The kinds of marks in the order of their rows."""
_MANY = {"cache miss": "cache misses", "pin removed": "pins removed"}
ROW_TITLES: Mapping[MarkKind, str] = {
    "compaction": "Compaction",
    "drop": "Drop",
    "cache miss": "Cache miss",
    "user message": "User message",
    "pin removed": "Pin removed",
    "step": "Step",
    "search hit": "Search hit",
}
BETWEEN: frozenset[MarkKind] = frozenset(("compaction", "drop", "pin removed"))
"""Kinds whose events happen between the previous request and the request of the mark."""


@dataclass(slots=True)
class Fold:
    """Marks of one kind that overlap and are drawn as one mark."""

    kind: MarkKind
    marks: list[Mark]
    room: QRectF = field(default_factory=QRectF)

    @property
    def words(self) -> str:
        """The marks as text, one per line."""
        lines = [
            f"Request {grouped(mark.at)}: {line(mark.label, 110)}"
            for mark in self.marks[:MOST_NAMED]
        ]
        more = len(self.marks) - MOST_NAMED
        if more > 0:
            lines.append(f"… and {more:,} more")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Band:
    """Consecutive requests that exceed a line; `first` and `last` are both included."""

    first: int
    last: int
    colour: str


@dataclass(frozen=True, slots=True)
class BandRow:
    """A row of bands, such as the requests over 60% and 75%."""

    title: str
    requests: tuple[int, ...]
    """The requests in any of the bands, in order."""
    bands: tuple[Band, ...]
    """The bands. Later ones are painted over earlier ones."""
    words: str
    """The tooltip of the row."""

    @property
    def count(self) -> int:
        """Number of requests in any of the bands."""
        return len(self.requests)

    def count_between(self, first: int, last: int) -> int:
        """Return the number of requests in any band among the requests `first` to `last`."""
        return bisect_right(self.requests, last) - bisect_left(self.requests, first)


@dataclass(slots=True)
class _MarkRow:
    kind: MarkKind
    marks: list[Mark]
    places: list[int]


class MarkRows(Guarded, QWidget):
    """Rows of marks and bands below the timeline."""

    picked = Signal(object)
    """Emitted with the request of a mark that was clicked."""
    named = Signal(str)
    """Emitted with the text about the mark under the mouse; empty if there is none."""
    rows_changed = Signal()
    hidden_changed = Signal()
    """Emitted when a row was hidden or shown again."""

    def __init__(self, frame: TimelineFrame) -> None:
        super().__init__()
        self._frame = frame
        self.marks: tuple[Mark, ...] = ()
        """All marks in the order of their requests."""
        self.folds: list[Fold] = []
        """The folds that were painted last."""
        self.bands: tuple[BandRow, ...] = ()
        self.hidden: set[str] = set()
        """Titles of the rows whose marks are hidden."""
        self._given: tuple[Mark, ...] = ()
        self._rows: list[_MarkRow] = []
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Marks of the timeline")
        self._picture: QPixmap | None = None
        """The cached picture of everything except the playhead; None if it is outdated."""
        frame.range.changed.connect(self.restyle)
        frame.gutters_changed.connect(self.restyle)

    # -- what is shown -------------------------------------------------------------------------------------------------

    def show_marks(self, marks: Sequence[Mark]) -> None:
        """Replace the marks."""
        unsorted = tuple(marks)
        if unsorted == self._given:
            return
        self._given = unsorted
        self.marks = tuple(sorted(unsorted, key=lambda mark: (mark.at, KINDS.index(mark.kind))))
        self._rows = []
        for kind in KINDS:
            own = [mark for mark in self.marks if mark.kind == kind]
            if own:
                self._rows.append(_MarkRow(kind, own, [mark.at for mark in own]))
        self._describe()

    def show_bands(self, bands: tuple[BandRow, ...]) -> None:
        """Replace the rows of bands, which are below the marks."""
        if bands != self.bands:
            self.bands = bands
            self._describe()

    def _describe(self) -> None:
        words = [plural(len(row.marks), row.kind, _MANY.get(row.kind, "")) for row in self._rows]
        words += [f"{row.title}: {plural(row.count, 'request')}" for row in self.bands]
        self.setAccessibleDescription(", ".join(words) or "none")
        self.updateGeometry()
        self.rows_changed.emit()
        self.restyle()

    def restyle(self) -> None:
        """Discard the cached picture and repaint."""
        self._picture = None
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._picture = None

    @property
    def titles(self) -> list[str]:
        """The names of the rows, from the top."""
        return [ROW_TITLES[row.kind] for row in self._rows] + [row.title for row in self.bands]

    @property
    def counts(self) -> list[str]:
        """The texts at the right of the rows: `9`, or `4 of 9` if not all of them are visible."""
        visible = self._frame.range
        rows = [(self._visible_marks(row), len(row.marks), "") for row in self._rows]
        rows += [(row.count_between(*visible.requests), row.count, "request") for row in self.bands]
        return [_count_words(in_sight, count, noun) for in_sight, count, noun in rows]

    def _visible_marks(self, row: "_MarkRow") -> int:
        visible = self._frame.range
        shift = 0.5 if row.kind in BETWEEN else 0.0
        return bisect_right(row.places, visible.last + shift) - bisect_left(
            row.places, visible.first + shift
        )

    @property
    def row_height(self) -> int:
        """Height of a row in pixels."""
        return measure_row(self._frame.metrics)

    def sizeHint(self) -> QSize:
        return QSize(200, self.row_height * len(self.titles))

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self.row_height * len(self.titles))

    # -- painting ------------------------------------------------------------------------------------------------------

    def place_of(self, mark: Mark) -> float:
        """Return the axis position of a mark, in requests."""
        if mark.kind in BETWEEN:
            return mark.at - 0.5
        return min(float(mark.at), self._frame.place(None))

    def _folds_of(self, row: _MarkRow, top: float, across: LinearScale) -> list[Fold]:
        """Return the visible marks of a row; marks that would overlap form one fold. O(visible marks)."""
        y = top + (self.row_height - SIZE) / 2
        first = bisect_left(row.places, across.low - 1)
        last = bisect_right(row.places, across.high + 1)
        folds = list[Fold]()
        for mark in row.marks[first:last]:
            x = across.pixel(self.place_of(mark))
            if not across.start - 1 <= x <= across.end + 1:
                continue
            if folds and x - SIZE / 2 < folds[-1].room.right() + APART:
                folds[-1].marks.append(mark)
                if len(folds[-1].marks) in (2, 10, 100, 1_000):
                    self._fit_number(folds[-1])
            else:
                folds.append(Fold(row.kind, [mark], QRectF(x - SIZE / 2, y, SIZE, SIZE)))
        while len(folds) > 1 and folds[-1].room.right() > across.end + GUTTER_INSET - APART:
            former = folds[-2]  # the number of the last fold would lie on the count of the row
            former.marks += folds.pop().marks
            self._fit_number(former)
        return folds

    def _fit_number(self, fold: Fold) -> None:
        """Make room for the number beside a mark that represents several."""
        number = self._frame.metrics.horizontalAdvance(str(len(fold.marks)))
        fold.room.setWidth(SIZE + 3 + number)

    def paintEvent(self, event: QPaintEvent) -> None:
        frame = self._frame
        across = self._frame.across(self.width())
        if self._picture is None:
            self._picture = self._draw()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.drawPixmap(0, 0, self._picture)
            x = across.pixel(frame.place(frame.at))
            if across.start - 1 <= x <= across.end + 1:
                painter.setPen(QPen(ink(frame.theme.colours.playhead), 1.5))
                painter.drawLine(QPointF(x, 0), QPointF(x, self.height()))

    def _draw(self) -> QPixmap:
        """Return a picture of everything except the playhead."""
        frame = self._frame
        high = self.row_height
        ratio = self.devicePixelRatioF()
        across = frame.across(self.width())
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(ink(frame.theme.colours.window))
        self.folds = []
        with QPainter(picture) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(frame.font)
            for index, (title, count) in enumerate(zip(self.titles, self.counts, strict=True)):
                self._paint_words(painter, index * high, title, count)
            for index, row in enumerate(self._rows):
                if ROW_TITLES[row.kind] not in self.hidden:
                    folds = self._folds_of(row, top=index * high, across=across)
                    self.folds += folds
                    self._paint_folds(painter, folds)
            for index, bands in enumerate(self.bands, len(self._rows)):
                if bands.title not in self.hidden:
                    self._paint_bands(painter, row=bands, top=index * high, across=across)
        return picture

    def _paint_words(self, painter: QPainter, top: int, title: str, count: str) -> None:
        frame = self._frame
        colours = self._frame.theme.colours
        middle = Qt.AlignmentFlag.AlignVCenter
        right = self.width() - frame.right
        painter.setPen(QPen(ink(colours.faint), 1))
        painter.drawLine(QPointF(frame.left, top + 0.5), QPointF(right, top + 0.5))
        if frame.left <= 2 * GUTTER_INSET:
            return
        font = QFont(frame.font)
        font.setStrikeOut(title in self.hidden)
        painter.setFont(font)
        painter.setPen(ink(colours.quiet))
        room = QRectF(0, top, frame.left - GUTTER_INSET + 2, self.row_height)
        painter.drawText(room, middle | Qt.AlignmentFlag.AlignRight, title)
        painter.setFont(frame.font)
        painter.drawText(
            QRectF(right + GUTTER_INSET, top, frame.right - GUTTER_INSET, self.row_height),
            middle,
            count,
        )

    def _paint_folds(self, painter: QPainter, folds: Sequence[Fold]) -> None:
        """Paint the marks of a row, with a number beside a mark that represents several."""
        colours = self._frame.theme.colours
        metrics = self._frame.metrics
        if folds:
            paint_marks(
                painter,
                corners=[fold.room.topLeft() for fold in folds],
                kind=folds[0].kind,
                colours=colours,
            )
        painter.setPen(ink(colours.quiet))
        middle = (metrics.ascent() - metrics.descent()) / 2
        for fold in folds:
            if len(fold.marks) > 1:
                foot = fold.room.center().y() + middle
                painter.drawText(QPointF(fold.room.left() + SIZE + 3, foot), str(len(fold.marks)))

    def _paint_bands(self, painter: QPainter, row: BandRow, top: int, across: LinearScale) -> None:
        """Paint the bands of a row. Bands of one colour that share a pixel are painted once."""
        y = top + (self.row_height - BAND) / 2
        painted = -1.0
        colour = ""
        for band in row.bands:
            left = max(across.start, across.pixel(band.first - 0.5))
            right = min(across.end, across.pixel(band.last + 0.5))
            if band.colour != colour:
                colour = band.colour
                painted = -1.0
            if right < across.start or left > across.end or right <= painted:
                continue
            painted = max(left + 1, right)
            paint_band(painter, QRectF(left, y, right - left, BAND), band.colour)

    # -- mouse ---------------------------------------------------------------------------------------------------------

    def fold_at(self, place: QPointF) -> Fold | None:
        """Return the fold that is drawn at a position of this widget; None if there is none."""
        reach = 2
        rooms = ((fold.room.adjusted(-reach, -reach, reach, reach), fold) for fold in self.folds)
        return next((fold for room, fold in rooms if room.contains(place)), None)

    def title_at(self, place: QPointF) -> str:
        """Return the title of the row whose name is at a position; empty if there is none."""
        row = int(place.y()) // self.row_height
        is_name = place.x() < self._frame.left and 0 <= row < len(self.titles)
        return self.titles[row] if is_name else ""

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go to the next mark of a fold, and after its last mark to the first.

        A click on a name hides the row's marks.
        """
        if event.button() != Qt.MouseButton.LeftButton:
            return
        title = self.title_at(event.position())
        fold = self.fold_at(event.position())
        if title:
            self.hidden ^= {title}
            self.restyle()
            self.hidden_changed.emit()
        elif fold is not None:
            places = [mark.at for mark in fold.marks]
            request = self._frame.at
            current = request if request is not None else -1
            is_inside = places[0] <= current <= places[-1]
            self.picked.emit(
                next((place for place in places if is_inside and place > current), places[0])
            )

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        fold = self.fold_at(event.position())
        is_active = fold is not None or self.title_at(event.position())
        self.setCursor(
            Qt.CursorShape.PointingHandCursor if is_active else Qt.CursorShape.ArrowCursor
        )
        self.named.emit(fold.words.replace("\n", "; ") if fold is not None else "")

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.named.emit("")

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._frame.turn_wheel(event, self.width())

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), tip(self.about(QPointF(event.pos()))), self)
            return True
        return super().event(event)

    def about(self, place: QPointF) -> str:
        """Return the tooltip at a position; empty if there is none."""
        if title := self.title_at(place):
            act = "show" if title in self.hidden else "hide"
            return f"{title}: click to {act}"
        if (fold := self.fold_at(place)) is not None:
            return fold.words
        row = int(place.y()) // self.row_height - len(self._rows)
        return self.bands[row].words if 0 <= row < len(self.bands) else ""


def _count_words(visible: int, count: int, noun: str) -> str:
    """Return a count: `9` or `20 requests` if all are visible, otherwise `4 of 9` or `1 of 20 requests`."""
    words = plural(count, noun) if noun else f"{count:,}"
    return words if visible == count else f"{visible:,} of {words}"


def mark_colour(colours: Colours, kind: MarkKind) -> str:
    """Return the colour of a kind. Each kind also has a shape."""
    return {
        "compaction": colours.good,
        "drop": colours.high,
        "cache miss": colours.high,
        "user message": colours.categories["user"],
        "pin removed": colours.categories["thinking"],
        "step": colours.accent,
        "search hit": colours.low,
    }[kind]


def paint_marks(
    painter: QPainter, corners: Sequence[QPointF], kind: MarkKind, colours: Colours
) -> None:
    """Paint the shape of a kind in squares with these top left corners."""
    colour = ink(mark_colour(colours, kind))
    if kind == "cache miss":
        painter.setPen(QPen(colour, 1.8))
        inner = QRectF(1, 1, SIZE - 2, SIZE - 2)
        for corner in corners:
            square = inner.translated(corner)
            painter.drawLine(square.topLeft(), square.bottomRight())
            painter.drawLine(square.bottomLeft(), square.topRight())
        return
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    if kind == "user message":
        disc = QRectF(0.5, 0.5, SIZE - 1, SIZE - 1)
        for corner in corners:
            painter.drawEllipse(disc.translated(corner))
        return
    shape = QPolygonF([QPointF(x * SIZE, y * SIZE) for x, y in _SHAPES[kind]])
    for corner in corners:
        painter.drawPolygon(shape.translated(corner))
