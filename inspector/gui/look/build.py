"""Widgets built in a line: rows and columns of widgets, buttons; and properties that the style sheet goes by."""

from collections.abc import Callable
from types import EllipsisType
from typing import TypeAlias, TypeVar

from PySide6.QtWidgets import (
    QAbstractButton,
    QBoxLayout,
    QHBoxLayout,
    QLayout,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from inspector.gui.look.labels import tip

Item: TypeAlias = "QWidget | QLayout | int | EllipsisType | tuple[QWidget | QLayout | EllipsisType, int]"
"""What a row or column holds: a widget, a layout, so many pixels of nothing, `...` for all the room that is left; the
first two and `...` also with a stretch factor: `(table, 1)`."""
Margins: TypeAlias = tuple[int, int, int, int] | None
"""Left, top, right, bottom, in pixels; None = as the style has it."""
_NONE: Margins = (0, 0, 0, 0)
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


def button(text: str, clicked: Callable[..., object] | None = None, *, about: str = "", role: str = "") -> QPushButton:
    """A button; `about` = its tooltip, `role` its look from the style sheet: primary, flat, chip, field."""
    return _dressed(QPushButton(text), clicked, about, role)


def small_button(text: str, clicked: Callable[..., object] | None = None, *, about: str = "") -> QToolButton:
    """A flat one, as in the heads and feet of panels."""
    made = QToolButton()
    made.setText(text)
    return _dressed(made, clicked, about, "flat")


def _dressed(made: _Button, clicked: Callable[..., object] | None, about: str, role: str) -> _Button:
    if about:
        made.setToolTip(tip(about))
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
