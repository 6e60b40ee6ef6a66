"""Functions that build widgets and layouts: rows, columns, buttons, fields; and properties for the style sheet."""

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
from inspector.gui.look.tokens import GAP, INSET

Item: TypeAlias = (
    "QWidget | QLayout | int | EllipsisType | tuple[QWidget | QLayout | EllipsisType, int]"
)
"""An item of a row or column: a widget, a layout, a number of empty pixels, or `...` for the remaining room.

Widgets, layouts and `...` may have a stretch factor: `(table, 1)`.
"""
Margins: TypeAlias = tuple[int, int, int, int] | None
"""Left, top, right and bottom in pixels; None for the margins of the style."""
_NONE: Margins = (0, 0, 0, 0)
BESIDE = 28
"""Pixels of a field that are not available for its text."""
_Box = TypeVar("_Box", bound=QBoxLayout)
_Button = TypeVar("_Button", bound=QAbstractButton)


def row(
    *items: Item, of: QWidget | None = None, margins: Margins = _NONE, gap: int | None = None
) -> QHBoxLayout:
    """Lay out items side by side; `of`: the widget that gets the layout; `gap`: pixels between two items."""
    return _fill_box(QHBoxLayout() if of is None else QHBoxLayout(of), items, margins, gap)


def column(
    *items: Item, of: QWidget | None = None, margins: Margins = _NONE, gap: int | None = None
) -> QVBoxLayout:
    """Lay out items below each other; the arguments are as in `row`."""
    return _fill_box(QVBoxLayout() if of is None else QVBoxLayout(of), items, margins, gap)


def _fill_box(box: _Box, items: tuple[Item, ...], margins: Margins, gap: int | None) -> _Box:
    if margins is not None:
        box.setContentsMargins(*margins)
    if gap is not None:
        box.setSpacing(gap)
    for item in items:
        part, stretch = item if isinstance(item, tuple) else (item, 0)
        if isinstance(part, QWidget):
            box.addWidget(part, stretch)
        elif isinstance(part, QLayout):
            box.addLayout(part, stretch)
        elif isinstance(part, int):
            box.addSpacing(part)
        else:
            box.addStretch(stretch)
    return box


def holding(layout: QLayout) -> QWidget:
    """Return a widget that has the given layout."""
    widget = QWidget()
    widget.setLayout(layout)
    return widget


def keep_hidden(owner: QWidget, *widgets: QWidget) -> None:
    """Give widgets an owner, which deletes them with itself, and hide them until a layout or a tab takes them."""
    for widget in widgets:
        widget.setParent(owner)
        widget.hide()


def splitter(*parts: QWidget, down: bool = False, shares: Sequence[int] = ()) -> QSplitter:
    """Return a splitter whose parts the user can resize but not collapse.

    Args:
        parts: The widgets, in order.
        down: Place them below each other, not side by side.
        shares: Stretch factor of each part.
    """
    divided = QSplitter(Qt.Orientation.Vertical if down else Qt.Orientation.Horizontal)
    divided.setChildrenCollapsible(False)
    for part in parts:
        divided.addWidget(part)
    for index, share in enumerate(shares):
        divided.setStretchFactor(index, share)
    return divided


def pages(of: QWidget, *widgets: QWidget) -> QStackedLayout:
    """Make a layout for widget `of` that shows one of the widgets at a time, initially the first."""
    stack = QStackedLayout(of)
    for widget in widgets:
        stack.addWidget(widget)
    return stack


def scrolled(inner: QWidget, name: str = "") -> QScrollArea:
    """Return a scroll area for a widget, which gets the full width and is scrolled vertically."""
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setAccessibleName(name)
    area.setWidget(inner)
    return area


def button(
    text: str,
    clicked: Callable[..., object] | None = None,
    *,
    about: str = "",
    role: str = "",
    checkable: bool = False,
) -> QPushButton:
    """Return a button; `about` is its tooltip, `role` its look in the style sheet: primary, flat, chip, field."""
    push_button = QPushButton(text)
    push_button.setCheckable(checkable)
    return _describe_button(push_button, clicked, about, role)


def small_button(
    text: str,
    clicked: Callable[..., object] | None = None,
    *,
    about: str = "",
    name: str = "",
    role: str = "flat",
    checkable: bool = False,
) -> QToolButton:
    """Return a flat button for the heads and feet of panels; `name` is read out in place of the text."""
    tool_button = QToolButton()
    tool_button.setText(text)
    tool_button.setAccessibleName(name)
    tool_button.setCheckable(checkable)
    return _describe_button(tool_button, clicked, about, role)


def menu_button(
    text: str,
    fill: Callable[[QMenu], object] = lambda menu: None,
    *,
    about: str = "",
    name: str = "",
    role: str = "flat",
    anew: bool = False,
) -> QToolButton:
    """Return a button with a menu; `fill` adds the actions, once, or each time the menu is opened."""
    opener = small_button(text, about=about, name=name, role=role)
    opener.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    menu = QMenu(opener)
    opener.setMenu(menu)

    def refill() -> None:
        menu.clear()
        fill(menu)

    if anew:
        menu.aboutToShow.connect(refill)
    else:
        fill(menu)
    return opener


def checked_action(menu: QMenu, words: str, checked: bool = False) -> QAction:
    """Add a checkable action to a menu. An `&` in its text is shown as such."""
    action = menu.addAction(words.replace("&", "&&"))
    action.setCheckable(True)
    action.setChecked(checked)
    return action


def choice(
    name: str, entries: Iterable[str | tuple[str, object]] = (), *, about: str = ""
) -> QComboBox:
    """Return a combo box. An entry is a text, or a text with its value."""
    box = QComboBox()
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
    box.setAccessibleName(name)
    box.setToolTip(tip(about))
    for entry in entries:
        words, value = (entry, None) if isinstance(entry, str) else entry
        box.addItem(words, value)
    return box


class HintedField(Guarded, QLineEdit):
    """A field for a line of text, with the longest hint that fits as its placeholder."""

    def __init__(self, *hints: str) -> None:
        """Create the field; the hints are given from the longest to the shortest."""
        super().__init__()
        self._hints = hints
        self.setClearButtonEnabled(True)
        self.setPlaceholderText(hints[0])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        fits = (
            hint
            for hint in self._hints
            if self.fontMetrics().horizontalAdvance(hint) <= self.width() - BESIDE
        )
        self.setPlaceholderText(next(fits, self._hints[-1]))


def field(*hints: str, name: str = "") -> QLineEdit:
    """Return a line edit with a clear button; `name` is read out in place of the first hint."""
    hinted = HintedField(*hints)
    hinted.setAccessibleName(name or hints[0])
    return hinted


def line_field(name: str, text: str = "", hint: str = "", *, about: str = "") -> QLineEdit:
    """Return a field for a single line of text."""
    edit = QLineEdit(text)
    edit.setAccessibleName(name)
    edit.setPlaceholderText(hint)
    edit.setToolTip(tip(about))
    return edit


def empty_page(what: str, *begin: QPushButton) -> QWidget:
    """Return the page of a panel that is still empty: what the panel is for, and the buttons with which to begin."""
    return holding(
        column(
            label(what, role="quiet", wrap=True),
            row(*begin, ...),
            ...,
            margins=(INSET, GAP, GAP, GAP),
        )
    )


def delayed(owner: QObject, milliseconds: int, call: Callable[[], object]) -> QTimer:
    """Return a timer that calls `call` once, that many milliseconds after it was last started."""
    timer = QTimer(owner, singleShot=True, interval=milliseconds)
    timer.timeout.connect(call)
    return timer


def _describe_button(
    widget: _Button, clicked: Callable[..., object] | None, about: str, role: str
) -> _Button:
    if about:
        widget.setToolTip(tip(about))
        widget.setAccessibleDescription(about)
    if role:
        widget.setProperty("role", role)
    if clicked is not None:
        widget.clicked.connect(clicked)
    return widget


def mark(widget: QWidget, name: str, value: object) -> None:
    """Set a property that the style sheet uses, and restyle the widget."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
