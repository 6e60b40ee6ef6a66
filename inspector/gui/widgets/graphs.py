"""pyqtgraph, with all that Qt calls of it guarded as our own is: what it cannot draw must not end the program.

The only file that imports it.
"""

import sys
from collections.abc import Iterator

import pyqtgraph as pg
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QGraphicsItem

from inspector.gui.guard import guarded, is_guarded, overrides

__all__ = ["pg"]

_CALLED = ("paint", "event", "eventFilter", "boundingRect", "shape")
"""Beside the event handlers: pyqtgraph also gives names of Qt's methods to others, which only Python calls."""


def classes() -> Iterator[type]:
    """Those of pyqtgraph that Qt knows."""
    for name, module in tuple(sys.modules.items()):
        if name.startswith("pyqtgraph"):
            for kind in tuple(vars(module).values()):
                if isinstance(kind, type) and kind.__module__ == name and issubclass(kind, QObject | QGraphicsItem):
                    yield kind


def called(kind: type) -> Iterator[str]:
    """Names of the methods of a class of pyqtgraph that Qt calls."""
    for name, method in tuple(vars(kind).items()):
        if callable(method) and (name in _CALLED or name.endswith("Event")) and overrides(kind, name):
            yield name


for _kind in classes():
    for _name in called(_kind):
        if not is_guarded(vars(_kind)[_name]):
            setattr(_kind, _name, guarded(_name, vars(_kind)[_name]))
