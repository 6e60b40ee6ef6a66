"""A file dropped on the window is opened."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget

from inspector.gui.guard import Guarded


class Dropping(Guarded, QObject):
    """Hears the window's drag events; `over` tells that a file is held above it."""

    def __init__(self, window: QWidget, open_path: Callable[[str], None], over: Callable[[bool], None]) -> None:
        super().__init__(window)
        self._open_path, self._over = open_path, over
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Only local files, and of several the first."""
        match event:
            case QDragEnterEvent():
                if any(url.isLocalFile() for url in event.mimeData().urls()):
                    event.acceptProposedAction()
                    self._over(True)
                return True
            case QDropEvent() if event.type() == QEvent.Type.Drop:
                self._over(False)
                paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
                if paths:
                    event.acceptProposedAction()
                    self._open_path(paths[0])
                return True
            case _:
                if event.type() == QEvent.Type.DragLeave:
                    self._over(False)
                return False
