"""What is too small for what it shows, in a window as it is drawn: texts, headers and numbers cut, widgets over each
other, lists that must be scrolled sideways."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from PySide6.QtCore import QAbstractItemModel, QRect, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QComboBox,
    QGraphicsView,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMainWindow,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QStyle,
    QStyleOptionComboBox,
    QTabBar,
    QTableView,
    QTextEdit,
    QToolButton,
    QWidget,
)

from inspector.gui.panels.glance.panel import AnswerCard
from inspector.gui.panels.panel import Cover
from inspector.gui.widgets.painted import PaintedList
from inspector.gui.widgets.plot import Axis
from inspector.gui.widgets.small import Elided, LinkButton
from inspector.gui.widgets.table import TableModel

SLACK = 1
LEAST = 6
"""Letters that a text which is cut shows at least."""
WORD = 12
"""Letters of a word that a cell shows whole."""
CELL_PADDING = 12
"""Pixels of a cell that its text does not have."""
_RIGHT = int(Qt.AlignmentFlag.AlignRight)
_WRAPS = int(Qt.TextFlag.TextWordWrap)
"""Pixels that rounding may take."""
_FREE = (QMainWindow, QStackedWidget, QAbstractScrollArea)
"""They lay out their children by themselves: tabs over separators, pages over pages, viewports."""


def crowded(window: QWidget) -> list[str]:
    """A line for each thing that is too small; none: all can be read."""
    found: list[str] = []
    seen = [
        one
        for one in [window, *window.findChildren(QWidget)]
        if one.isVisible() and _visible_blocks(one)
    ]
    for one in seen:
        found += (
            f"{_path(one, window)}: {what}"
            for what in (*_cut(one), *_overlapping(one), *_half_hidden(one))
        )
    return [*found, *_covered(seen, window)]


def layout_of(window: QWidget) -> list[tuple[int, QRect, str]]:
    """Return the visible widgets of a window with their places and texts."""
    seen = [one for one in window.findChildren(QWidget) if one.isVisible()]
    return [
        (id(one), one.geometry(), one.text() if isinstance(one, QLabel | QAbstractButton) else "")
        for one in seen
    ]


def _visible_blocks(one: QWidget) -> bool:
    return not one.visibleRegion().isEmpty()


def _half_hidden(one: QWidget) -> Iterator[str]:
    """What cannot be scrolled to: a part of it lies beyond what it stands in."""
    if not isinstance(
        one, QLabel | QAbstractButton | QComboBox | AnswerCard | PaintedList
    ) or _is_scrolled(one):
        return
    seen = one.visibleRegion().boundingRect()
    if seen.width() + SLACK < one.width() or seen.height() + SLACK < one.height():
        yield f"{_name(one)} {one.size()} of which {seen.size()} is seen"


def _is_scrolled(one: QWidget) -> bool:
    above = one.parentWidget()
    while above is not None and not isinstance(above, QScrollArea):
        above = above.parentWidget()
    return above is not None


def _covered(seen: Sequence[QWidget], window: QWidget) -> Iterator[str]:
    """Words that lie on others, wherever these belong."""
    placed = [
        (one, QRect(one.mapTo(window, room.topLeft()), room.size()))
        for one in seen
        if isinstance(one, QLabel | QAbstractButton | QComboBox | QLineEdit)
        and (room := _words(one)).isValid()
    ]
    for (one, room), (other, its) in combinations(placed, 2):
        common = room & its
        related = one.isAncestorOf(other) or other.isAncestorOf(one)
        if common.width() > SLACK and common.height() > 2 * SLACK and not related:
            yield f"{_path(one, window)}: {_name(one)} on {_name(other)}"


def _words(one: QWidget) -> QRect:
    """Where its words stand, as far as they are in sight; of a field and a button all of it."""
    room = one.visibleRegion().boundingRect()
    if not isinstance(one, QLabel):
        return room
    return (
        one.style().itemTextRect(
            one.fontMetrics(),
            one.contentsRect(),
            int(one.alignment()) | _WRAPS * one.wordWrap(),
            True,
            one.text(),
        )
        & room
        if one.text()
        else QRect()
    )


def _cut(one: QWidget) -> Iterator[str]:
    if isinstance(one, Elided):
        yield from _elided(one)
        return
    if isinstance(one, LinkButton | Cover):
        return
    if isinstance(one, QLabel):
        yield from _label(one)
    elif isinstance(one, QPushButton | QToolButton):
        if one.text() and one.width() + SLACK < one.minimumSizeHint().width():
            yield f"button {one.text()!r} {one.width()} < {one.minimumSizeHint().width()}"
        if one.text() and one.height() + SLACK < one.fontMetrics().height():
            yield f"button {one.text()!r} is too low"
    elif isinstance(one, QAbstractButton):
        if one.width() + SLACK < one.sizeHint().width():
            yield f"button {one.text()!r} {one.width()} < {one.sizeHint().width()}"
    elif isinstance(one, QLineEdit):
        if (
            not one.text()
            and one.width() < one.fontMetrics().horizontalAdvance(one.placeholderText()) + 16
        ):
            yield f"hint {one.placeholderText()!r} in {one.width()}"
    elif isinstance(one, QComboBox):
        yield from _choice(one)
    elif isinstance(one, QTabBar):
        for at in range(one.count()):
            room = one.tabRect(at)
            if room.width() + SLACK < one.tabSizeHint(at).width() or not one.rect().contains(
                room.adjusted(1, 1, -1, -1)
            ):
                yield f"tab {one.tabText(at)!r} {room} in {one.rect()}"
    elif isinstance(one, QHeaderView):
        yield from _header(one)
    elif isinstance(one, QTextEdit | QPlainTextEdit):
        return
    if isinstance(one, QGraphicsView):
        yield from _axes(one)
    elif isinstance(one, QAbstractScrollArea) and one.horizontalScrollBar().isVisible():
        yield f"is scrolled sideways by {one.horizontalScrollBar().maximum()}"
    if isinstance(one, QTableView):
        yield from _figures(one)
        yield from _words_of_cells(one)


def _choice(one: QComboBox) -> Iterator[str]:
    """Every entry can be read when it is the chosen one."""
    option = QStyleOptionComboBox()
    one.initStyleOption(option)
    edit = QStyle.SubControl.SC_ComboBoxEditField
    room = one.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, edit, one).width()
    longest = max(
        (one.itemText(n) for n in range(one.count())),
        key=one.fontMetrics().horizontalAdvance,
        default="",
    )
    if room + SLACK < one.fontMetrics().horizontalAdvance(longest):
        yield f"choice {longest!r} in {room}"


def _words_of_cells(view: QTableView) -> Iterator[str]:
    """A single word in a cell, as of a kind or a fate, is never cut."""
    model, metrics = view.model(), view.fontMetrics()
    if not isinstance(model, TableModel):
        return
    for column in range(model.columnCount()):
        if view.isColumnHidden(column):
            continue
        words = {model.columns[column].text(row) for row in model.rows[:200]}
        short = [text for text in words if text.isalpha() and len(text) <= WORD]
        longest = max(short, key=metrics.horizontalAdvance, default="")
        room = view.columnWidth(column) - CELL_PADDING
        if room + SLACK < metrics.horizontalAdvance(longest):
            yield f"word {longest!r} in {room}"


def _elided(one: Elided) -> Iterator[str]:
    """It may be cut, but between its parts: no number that is half a number, no more than dots."""
    shown, whole = one.text(), one.whole
    if not shown.endswith("…") or shown in (whole, *one.shorts):
        return
    begun = shown.removesuffix("…")
    if len(begun.strip()) < LEAST:
        yield f"of {whole!r} only {shown!r} is seen"
    for text in (whole, *one.shorts):
        if (
            text.startswith(begun)
            and re.search(r"\d[.,]?$", begun)
            and re.match(r"[.,]?\d|\s?%", text[len(begun) :])
        ):
            yield f"number in {shown!r} of {whole!r}"


def _axes(view: QGraphicsView) -> Iterator[str]:
    """Numbers beside a plot, which are painted by hand: none is cut, none lies on another."""
    for axis in view.scene().items() if view.scene() is not None else ():
        if isinstance(axis, Axis) and axis.isVisible():
            room = axis.mapRectFromParent(axis.geometry()).adjusted(
                -SLACK, -2 * SLACK, SLACK, SLACK
            )
            drawn = axis.numbers
            yield from (
                f"number {text!r} of an axis is cut"
                for rect, text in drawn
                if not room.contains(rect)
            )
            for (one, text), (other, below) in combinations(drawn, 2):
                if (common := one & other).height() > SLACK and common.width() > SLACK:
                    yield f"number {text!r} of an axis on {below!r}"


def _label(one: QLabel) -> Iterator[str]:
    room, text = one.contentsRect(), one.text()
    if not text:
        return
    metrics = one.fontMetrics()
    if one.wordWrap():
        needed = one.heightForWidth(one.width())
        if one.height() + SLACK < needed:
            yield f"label {text!r} {one.height()} < {needed} high"
    else:
        needed = max(metrics.horizontalAdvance(line) for line in text.split("\n"))
        if room.width() + SLACK < needed:
            yield f"label {text!r} {room.width()} < {needed}"
        if room.height() + SLACK < metrics.height() * (text.count("\n") + 1):
            yield f"label {text!r} {room.height()} high"


def _header(one: QHeaderView) -> Iterator[str]:
    if one.orientation() != Qt.Orientation.Horizontal:
        return
    model = one.model()
    for at in range(one.count() if model is not None else 0):
        needed = one.sectionSizeHint(at)
        if not one.isSectionHidden(at) and one.sectionSize(at) + SLACK < needed:
            title = model.headerData(at, Qt.Orientation.Horizontal)
            yield f"heading {title!r} {one.sectionSize(at)} < {needed}"


def _figures(view: QTableView) -> Iterator[str]:
    """Numbers, which stand to the right, are never elided."""
    model, metrics, columns = view.model(), view.fontMetrics(), view.horizontalHeader()
    for column in range(model.columnCount() if columns.isVisible() else 0):
        if view.isColumnHidden(column):
            continue
        longest = max(_figures_of_column(model, column), key=metrics.horizontalAdvance, default="")
        needed = metrics.horizontalAdvance(longest) + 12
        if longest and view.columnWidth(column) + SLACK < needed:
            yield f"number {longest!r} {view.columnWidth(column)} < {needed}"


def _figures_of_column(model: QAbstractItemModel, column: int) -> set[str]:
    """Return the lines of the first cells of a column; none if its cells are not numbers."""
    rows = range(min(model.rowCount(), 200))
    if isinstance(model, TableModel):  # which may have several lines in a cell
        if not model.columns[column].figures:
            return set()
        cells = (model.columns[column].text(model.rows[row]) for row in rows)
        return {line for cell in cells for line in cell.split("\n")}
    indexes = (model.index(row, column) for row in rows)
    figures = (
        one.data()
        for one in indexes
        if int(one.data(Qt.ItemDataRole.TextAlignmentRole) or 0) & _RIGHT
    )
    return {text for text in figures if isinstance(text, str)}


def _overlapping(parent: QWidget) -> Iterator[str]:
    if isinstance(parent, _FREE) or isinstance(parent.parentWidget(), QAbstractScrollArea):
        return
    layout = parent.layout()
    if layout is None:
        return
    items = (layout.itemAt(n) for n in range(layout.count()))
    kids = [
        one
        for item in items
        if item is not None and (one := item.widget()) is not None and one.isVisible()
    ]
    for one, other in combinations(kids, 2):
        common = one.geometry() & other.geometry()
        if common.width() > SLACK and common.height() > SLACK:
            yield f"{_name(one)} over {_name(other)}"


def _name(one: QWidget) -> str:
    text = one.text() if isinstance(one, QLabel | QAbstractButton) else ""
    return f"{type(one).__name__}({text or one.objectName() or one.accessibleName()})"


def _path(one: QWidget, top: QWidget) -> str:
    names, at = list[str](), one
    while at is not top and (above := at.parentWidget()) is not None:
        names.append(at.objectName() or type(at).__name__)
        at = above
    return "/".join(reversed(names[:4]))
