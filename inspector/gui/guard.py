"""One guard for everything that Qt calls: no exception leaves a method that overrides one of Qt's.

Qt does not handle exceptions: one that leaves a paint event or an event handler ends the program sooner or later. Every
class of the window that overrides a method of Qt inherits `Guarded`; pyqtgraph's are guarded in `widgets/plot.py`. An
exception is passed to `sys.excepthook`, a sentence replaces what could not be painted, and the program continues.
`Trouble` is that hook: it logs a bug with its trace, and reports it once with a button that copies a report.
"""

import logging
import platform
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import wraps
from types import FunctionType, TracebackType
from typing import Any

from PySide6.QtCore import QMimeData, QRectF, QSize, Qt, QTimer, qVersion
from PySide6.QtGui import QPainter, QPainterPath
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

LOG = logging.getLogger("inspector")
SENTENCE = "This panel cannot be drawn: something went wrong inside the program."
GROUND, INK = Qt.GlobalColor.white, Qt.GlobalColor.darkRed


def _false() -> bool:
    return False


def _return_zero() -> int:
    return 0


_DEFAULTS: Mapping[str, Callable[[], object]] = {
    "event": _false,
    "eventFilter": _false,
    "setData": _false,
    "hasHeightForWidth": _false,
    "rowCount": _return_zero,
    "columnCount": _return_zero,
    "count": _return_zero,
    "heightForWidth": _return_zero,
    "sizeHint": QSize,
    "minimumSizeHint": QSize,
    "minimumSize": QSize,
    "boundingRect": QRectF,
    "shape": QPainterPath,
    "flags": lambda: Qt.ItemFlag.NoItemFlags,
    "expandingDirections": lambda: Qt.Orientation(0),
    "createMimeDataFromSelection": QMimeData,
}
"""Make the value that Qt gets if a method fails, by the method's name. Other methods return None."""


_CALLED = ("mouseClickEvent", "mouseDragEvent", "hoverEvent")
"""Methods that pyqtgraph calls while Qt waits; it prints their exceptions to the console."""


class Guarded:
    """Base class that catches exceptions in overridden Qt methods. It must precede the Qt class among the bases.

    The methods of the class and of its subclasses are guarded.
    """

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        guard(cls)


def guard(kind: type) -> None:
    """Guard the methods of Qt that `kind` itself overrides."""
    for name, method in tuple(vars(kind).items()):
        if isinstance(method, FunctionType) and overrides(kind, name) and not is_guarded(method):
            setattr(kind, name, guarded(name, method))


def overrides(kind: type, name: str) -> bool:
    """Return True if Qt has a method of that name for `kind`, or if pyqtgraph calls it on Qt's behalf."""
    if name in _CALLED:
        return True
    if name.startswith("__"):
        return False
    qt_bases = (base for base in kind.__mro__ if base.__module__.startswith("PySide6."))
    return any(name in vars(base) for base in qt_bases)


def is_guarded(method: object) -> bool:
    """Return True if `guarded` made the method."""
    return getattr(method, "_guarded", False) is True


def guarded(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method so that no exception leaves it."""
    instead = _DEFAULTS.get(name, lambda: None)

    @wraps(method)
    def answers(*arguments: Any, **more: Any) -> Any:
        try:
            return method(*arguments, **more)
        except BaseException:  # noqa: BLE001  # SystemExit, too, must not pass through Qt's frames
            call_hook()
        return instead()  # the trace, which may hold a painter, is released here

    def paints(self: Any, painter: QPainter, *arguments: Any) -> None:
        painter.save()
        if attempt(lambda: method(self, painter, *arguments)):
            attempt(lambda: _say_on(painter, self, arguments[0]))
        painter.restore()

    def covers(self: Any, *arguments: Any) -> None:
        if attempt(lambda: method(self, *arguments)):
            attempt(lambda: _say_in(self))

    guarding = wraps(method)({"paint": paints, "paintEvent": covers}.get(name, answers))
    guarding._guarded = True  # type: ignore[attr-defined]
    return guarding


def attempt(call: Callable[[], object]) -> BaseException | None:
    """Call `call`, report an exception that it raises to the hook, and return the exception without its trace."""
    try:
        call()
    except BaseException as error:  # noqa: BLE001
        call_hook()
        return error.with_traceback(None)
    return None


def call_hook() -> None:
    """Pass the current exception to the hook, and ignore an exception of the hook."""
    try:
        sys.excepthook(*sys.exc_info())
    except Exception:  # noqa: BLE001  # nothing else handles it
        sys.__excepthook__(*sys.exc_info())


def _say_in(widget: QWidget) -> None:
    """Paint SENTENCE over a whole widget."""
    ground = widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget
    with QPainter(ground) as painter:
        if painter.isActive():
            _say(painter, QRectF(ground.rect()))


def _say_on(painter: QPainter, item: Any, option: Any) -> None:
    """Paint SENTENCE over a row, or over an item of a picture, which has a separate coordinate system."""
    if hasattr(item, "boundingRect"):
        place = painter.worldTransform().mapRect(item.boundingRect())
        painter.resetTransform()
    else:
        place = QRectF(option.rect)
    _say(painter, place)


def _say(painter: QPainter, place: QRectF) -> None:
    painter.setOpacity(1)
    painter.fillRect(place, GROUND)
    painter.setPen(INK)
    painter.drawText(place.adjusted(4, 2, -4, -2), int(Qt.TextFlag.TextWordWrap), SENTENCE)


class Trouble:
    """The exception hook.

    Calls `tell(sentence, report)` on the GUI thread, between events, once for each different bug.
    """

    def __init__(self, tell: Callable[[str, str], None]) -> None:
        self._tell = tell
        self._told: set[str] = set()

    def install(self) -> None:
        """Install this object as `sys.excepthook`, so that exceptions of slots, timers and event handlers arrive
        here.
        """
        sys.excepthook = self.meet

    def meet(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        """Log an exception and report it, unless one of the same place was reported before.

        A KeyboardInterrupt ends the program as usual.
        """
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        frames = traceback.extract_tb(trace)
        place = kind.__name__
        if frames:
            place = f"{kind.__name__} {frames[-1].filename}:{frames[-1].lineno}"
        # An error in every row or every frame would fill the log and take time.
        if place not in self._told:
            self._told.add(place)
            text = "".join(traceback.format_exception(kind, error, trace))
            LOG.error("unexpected: %s", text)
            usual = f"Something went wrong inside the program ({kind.__name__}). You can continue."
            # An earlier handler may have added a note about what the error concerns.
            sentence = next(iter(getattr(error, "__notes__", ())), usual)
            # Not during a paint event.
            QTimer.singleShot(0, lambda: self._tell(sentence, bug_report(text)))


def bug_report(text: str) -> str:
    """Return a text to paste into a bug report: versions and the trace, nothing of a transcript."""
    from importlib import metadata  # slow to import, and seldom needed

    try:
        own = metadata.version("context-inspector")
    except metadata.PackageNotFoundError:
        own = "from a checkout"
    lines = (
        f"Context Inspector {own}",
        f"Python {platform.python_version()}, Qt {qVersion()}, {platform.platform()}",
        "",
        text,
    )
    return "\n".join(lines)
