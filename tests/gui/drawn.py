"""What widgets paint by hand: the words, and the room that they take."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, cast

import pytest
from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPixmap
from PySide6.QtWidgets import QWidget

from inspector.gui.look.visible import visible
from inspector.gui.panels.breakdown.icicle import Icicle
from inspector.gui.panels.buffer.rows import BufferRow
from inspector.gui.panels.diff.rows import DiffLine
from inspector.gui.panels.timeline.canvas import PlotCanvas
from inspector.gui.panels.timeline.legend import Legend
from inspector.gui.panels.timeline.mark_rows import MarkRows
from inspector.gui.panels.timeline.overview_strip import OverviewStrip
from inspector.gui.panels.timeline.plot_legend import PlotLegend
from inspector.gui.panels.timeline.tank import Tank
from inspector.gui.widgets.overlay import Overlay
from inspector.gui.widgets.painted import PLAIN, PaintedHead, PaintedList, PaintedModel, PaintedRow

OWN = (Tank, Legend, PlotCanvas, MarkRows, OverviewStrip, PlotLegend, PaintedHead)
"""Widgets that say nothing but their own words."""
PAINTED = (*OWN, Icicle, Overlay)
LEAST = 10
"""Letters of a message that a row shows at least."""
_NUMBER = re.compile(r"[\d,.%k ]+…")
SLACK = 2
"""Pixels that rounding, and the leading between lines, may take."""


@dataclass(frozen=True)
class DrawnText:
    """Words, the pixels that they cover, and those that they were given."""

    words: str
    covers: QRectF
    given: QRectF


class RecordingPainter(QPainter):
    """Notes every text; paints it, too."""

    found: list[DrawnText]

    def drawText(self, *of: Any) -> Any:
        """A text at a point, or in a rectangle with flags."""
        where, words, metrics = of[0], str(of[-1]), QFontMetricsF(self.font())
        wide, high = metrics.horizontalAdvance(words), metrics.height()
        if isinstance(where, QRectF | QRect):
            given, flags = QRectF(where), int(of[1])
            left = given.left()
            if flags & int(Qt.AlignmentFlag.AlignRight):
                left = given.right() - wide
            elif flags & int(Qt.AlignmentFlag.AlignHCenter):
                left = given.center().x() - wide / 2
            covers = QRectF(left, given.center().y() - high / 2, wide, high)
        else:
            covers = given = QRectF(
                QPointF(where) - QPointF(0, metrics.ascent()), metrics.size(0, words)
            )
        if words:
            self.found.append(DrawnText(words, covers, given))
        return super().drawText(*of)


def drawn(widget: QWidget, patch: pytest.MonkeyPatch) -> list[DrawnText]:
    """All words of that widget, as it stands."""
    found = list[DrawnText]()
    recording = type("RecordingPainter", (RecordingPainter,), {"found": found})
    widget.update()  # what was painted before may be kept as a picture
    with patch.context() as patched:
        for kind in type(widget).__mro__:
            if kind.__module__.startswith("inspector."):
                patched.setattr(sys.modules[kind.__module__], "QPainter", recording, raising=False)
        if isinstance(widget, PlotCanvas):
            widget.redraw()  # it keeps what it painted
        elif isinstance(widget, MarkRows | OverviewStrip):
            widget.restyle()
        widget.grab()
    return found


def drawn_rows(view: PaintedList) -> Iterator[list[DrawnText]]:
    """All words of each row that can be seen."""
    delegate, model = cast(PaintedRow, view.itemDelegate()), view.model()
    colours = delegate._theme.colours
    for n in range(
        min(model.rowCount(), view.rowAt(view.viewport().height() - 1) + 1 or model.rowCount())
    ):
        found = list[DrawnText]()
        kind = cast(
            type[RecordingPainter], type("RecordingPainter", (RecordingPainter,), {"found": found})
        )
        rect = QRect(0, 0, view.viewport().width(), view.rowHeight(n))
        canvas = QPixmap(rect.size())
        with kind(canvas) as painter:
            painter.setFont(view.font())
            delegate.paint_row(
                painter, rect, model.index(n, 0).data(PaintedModel.ROW), PLAIN, colours
            )
        yield found


def painted_over(window: QWidget, patch: pytest.MonkeyPatch) -> Iterator[str]:
    """A line for each word that is cut, that leaves its widget, or lies on another one."""
    for widget in (one for kind in (*PAINTED, PaintedList) for one in window.findChildren(kind)):
        if not widget.isVisible() or widget.visibleRegion().isEmpty():
            continue
        if isinstance(widget, PaintedList):
            name = widget.accessibleName()
            for n, found in enumerate(drawn_rows(widget)):
                room = QRectF(0, 0, widget.viewport().width(), widget.rowHeight(0))
                yield from (f"{name}: {line}" for line in _faults(found, room))
                said = "\n".join(_said(widget, n))
                cut = [
                    one.words
                    for one in found
                    if _NUMBER.fullmatch(one.words) and one.words[:-1] not in said
                ]
                yield from (f"{name}: number {words!r} is cut" for words in cut)
                yield from (
                    f"{name}: of {text!r} nothing is seen" for text in _unseen(found, widget, n)
                )
        else:
            found, name = drawn(widget, patch), type(widget).__name__
            yield from (f"{name}: {line}" for line in _faults(found, widget.rect()))
            yield from (
                f"{name}: number {one.words!r} is cut"
                for one in found
                if _NUMBER.fullmatch(one.words)
            )
            if isinstance(widget, OWN):
                yield from (
                    f"{name}: {one.words!r} is cut" for one in found if one.words.endswith("…")
                )


def _said(view: PaintedList, place: int) -> list[str]:
    """What the messages that a row stands for are about, else their first lines."""
    row = view.model().index(place, 0).data(PaintedModel.ROW)
    sides = (
        [row]
        if isinstance(row, BufferRow)
        else [row.after, row.before]
        if isinstance(row, DiffLine)
        else []
    )
    return [visible(side.row.subject or side.row.line).text for side in sides if side is not None]


def _unseen(found: list[DrawnText], view: PaintedList, place: int) -> Iterator[str]:
    """What a message of that row says: enough of it to tell it from others must be painted."""
    for text in _said(view, place)[:1]:
        shown = [
            one.words.strip("…")
            for one in found
            if len(one.words.strip("…")) >= min(LEAST, len(text))
        ]
        # Of a path its end.
        if text and not any(text.startswith(words) or text.endswith(words) for words in shown):
            yield text


def _faults(found: list[DrawnText], room: QRect | QRectF) -> Iterator[str]:
    inside = QRectF(room).adjusted(-SLACK, -SLACK, SLACK, SLACK)
    for one in found:
        if one.covers.width() > one.given.width() + SLACK or not inside.contains(one.covers):
            yield f"{one.words!r} {one.covers} of {one.given} in {inside}"
    for one, other in combinations(found, 2):
        common = one.covers & other.covers
        if common.width() > SLACK and common.height() > 2 * SLACK:
            yield f"{one.words!r} on {other.words!r}"
