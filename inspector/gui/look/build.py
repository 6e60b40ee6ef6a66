"""Widgets built in a line: rows, columns, buttons, fields; and properties that the style sheet goes by."""

from collections.abc import Callable, Iterable, Sequence
from types import EllipsisType
from typing import TypeAlias, TypeVar

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QBoxLayout,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLayout,
    QLineEdit,
    QMenu,
    QPushButton,
    QScrollArea,
    QSplitter,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from inspector.gui.guard import Guarded
from inspector.gui.look.labels import label, tip

Item: TypeAlias = "QWidget | QLayout | int | EllipsisType | tuple[QWidget | QLayout | EllipsisType, int]"
"""What a row or column holds: a widget, a layout, so many pixels of nothing, `...` for all the room that is left; the
first two and `...` also with a stretch factor: `(table, 1)`."""
Margins: TypeAlias = tuple[int, int, int, int] | None
"""Left, top, right, bottom, in pixels; None = as the style has it."""
_NONE: Margins = (0, 0, 0, 0)
BESIDE = 28
"""Pixels of a field that are not for its words."""
_Box = TypeVar("_Box", bound=QBoxLayout)
_Button = TypeVar("_Button", bound=QAbstractButton)


def row(*items: Item, of: QWidget | None = None, margins: Margins = _NONE, gap: int | None = None) -> QHBoxLayout:
    """Side by side; `of` = as the layout of that widget; `gap` = pixels between two."""
    return _filled(QHBoxLayout() if of is None else QHBoxLayout(of), items, margins, gap)


def column(*items: Item, of: QWidget | None = None, margins: Margins = _NONE, gap: int | None = None) -> QVBoxLayout:
    """One below the other, like `row`."""
    return _filled(QVBoxLayout() if of is None else QVBoxLayout(of), items, margins, gap)


def _filled(box: _Box, items: tuple[Item, ...], margins: Margins, gap: int | None) -> _Box:
    if margins is not None:
        box.setContentsMargins(*margins)
    if gap is not None:
        box.setSpacing(gap)
    for item in items:
        one, stretch = item if isinstance(item, tuple) else (item, 0)
        if isinstance(one, QWidget):
            box.addWidget(one, stretch)
        elif isinstance(one, QLayout):
            box.addLayout(one, stretch)
        elif isinstance(one, int):
            box.addSpacing(one)
        else:
            box.addStretch(stretch)
    return box


def holding(layout: QLayout) -> QWidget:
    """A widget with that layout."""
    made = QWidget()
    made.setLayout(layout)
    return made


def keep(owner: QWidget, *widgets: QWidget) -> None:
    """They end with their owner, and are not seen until a layout or a tab takes them."""
    for widget in widgets:
        widget.setParent(owner)
        widget.hide()


def splitter(*parts: QWidget, down: bool = False, shares: Sequence[int] = ()) -> QSplitter:
    """Parts that the user gives room to, side by side or one below the other; none can be dragged to nothing.

    `shares`: by which they grow.
    """
    made = QSplitter(Qt.Orientation.Vertical if down else Qt.Orientation.Horizontal)
    made.setChildrenCollapsible(False)
    for part in parts:
        made.addWidget(part)
    for n, share in enumerate(shares):
        made.setStretchFactor(n, share)
    return made


def pages(of: QWidget, *widgets: QWidget) -> QStackedLayout:
    """One of these at a time, the first one now, as the layout of a widget."""
    made = QStackedLayout(of)
    for widget in widgets:
        made.addWidget(widget)
    return made


def scrolled(inner: QWidget, name: str = "") -> QScrollArea:
    """As wide as there is room; what is too high is scrolled."""
    made = QScrollArea()
    made.setWidgetResizable(True)
    made.setFrameShape(QFrame.Shape.NoFrame)
    made.setAccessibleName(name)
    made.setWidget(inner)
    return made


def button(
    text: str,
    clicked: Callable[..., object] | None = None,
    *,
    about: str = "",
    role: str = "",
    checkable: bool = False,
) -> QPushButton:
    """A button; `about` = its tooltip, `role` its look from the style sheet: primary, flat, chip, field."""
    made = QPushButton(text)
    made.setCheckable(checkable)
    return _dressed(made, clicked, about, role)


def small_button(
    text: str,
    clicked: Callable[..., object] | None = None,
    *,
    about: str = "",
    name: str = "",
    role: str = "flat",
    checkable: bool = False,
) -> QToolButton:
    """A flat one, as in the heads and feet of panels; `name` = what is read out instead of the text."""
    made = QToolButton()
    made.setText(text)
    made.setAccessibleName(name)
    made.setCheckable(checkable)
    return _dressed(made, clicked, about, role)


def menu_button(
    text: str,
    fill: Callable[[QMenu], object] = lambda menu: None,
    *,
    about: str = "",
    name: str = "",
    role: str = "flat",
    anew: bool = False,
) -> QToolButton:
    """It drops down a menu, which `fill` puts the actions into: now, or `anew` each time it is opened."""
    made = small_button(text, about=about, name=name, role=role)
    made.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    menu = QMenu(made)
    made.setMenu(menu)

    def refill() -> None:
        menu.clear()
        fill(menu)

    if anew:
        menu.aboutToShow.connect(refill)
    else:
        fill(menu)
    return made


def checked_action(menu: QMenu, words: str, checked: bool = False) -> QAction:
    """One that is on or off, named by any text."""
    action = menu.addAction(words.replace("&", "&&"))
    action.setCheckable(True)
    action.setChecked(checked)
    return action


def choice(name: str, entries: Iterable[str | tuple[str, object]] = (), *, about: str = "") -> QComboBox:
    """One of these: words, or words with what they stand for."""
    made = QComboBox()
    made.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
    made.setAccessibleName(name)
    made.setToolTip(tip(about))
    for entry in entries:
        words, value = (entry, None) if isinstance(entry, str) else entry
        made.addItem(words, value)
    return made


class HintedField(Guarded, QLineEdit):
    """A line to type in; what it is for stands in it, in as many words as there is room for."""

    def __init__(self, *hints: str) -> None:
        """Take the hints, the longest first."""
        super().__init__()
        self._hints = hints
        self.setClearButtonEnabled(True)
        self.setPlaceholderText(hints[0])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        fits = (hint for hint in self._hints if self.fontMetrics().horizontalAdvance(hint) <= self.width() - BESIDE)
        self.setPlaceholderText(next(fits, self._hints[-1]))


def field(*hints: str, name: str = "") -> QLineEdit:
    """A line to type in, with a button that clears it; `name` = what is read out instead of the first hint."""
    made = HintedField(*hints)
    made.setAccessibleName(name or hints[0])
    return made


def line_field(name: str, text: str = "", hint: str = "", *, about: str = "") -> QLineEdit:
    """Return a field for a single line of text."""
    made = QLineEdit(text)
    made.setAccessibleName(name)
    made.setPlaceholderText(hint)
    made.setToolTip(tip(about))
    return made


def empty_page(what: str, *begin: QPushButton) -> QWidget:
    """The page of a panel that has nothing to show yet: what it is for, and the buttons with which it begins."""
    return holding(column(label(what, role="quiet", wrap=True), row(*begin, ...), ..., margins=(13, 12, 12, 12)))


def delayed(owner: QObject, milliseconds: int, call: Callable[[], object]) -> QTimer:
    """A timer that calls once, so long after it was last started."""
    timer = QTimer(owner, singleShot=True, interval=milliseconds)
    timer.timeout.connect(call)
    return timer


def _dressed(made: _Button, clicked: Callable[..., object] | None, about: str, role: str) -> _Button:
    if about:
        made.setToolTip(tip(about))
        made.setAccessibleDescription(about)
    if role:
        made.setProperty("role", role)
    if clicked is not None:
        made.clicked.connect(clicked)
    return made


def mark(widget: QWidget, name: str, value: object) -> None:
    """Set a property that the style sheet goes by, and let the widget look like it."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
