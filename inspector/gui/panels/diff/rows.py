"""The list of the diff: whole rows, all of one height, everything by keyboard."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView

from inspector.gui.guard import Guarded
from inspector.gui.look.theme import Theme
from inspector.gui.panels.buffer.delegate import row_height
from inspector.gui.panels.diff.delegate import DiffDelegate
from inspector.gui.panels.diff.model import DiffModel


class DiffRows(Guarded, QTableView):
    """`entered`: Enter was pressed on a row."""

    entered = Signal()

    def __init__(self, theme: Theme, model: DiffModel) -> None:
        super().__init__()
        self.delegate = DiffDelegate(theme, self)
        self.setModel(model)
        self.setItemDelegate(self.delegate)
        self.setAccessibleName("Messages before and after")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.horizontalHeader().hide()
        self.horizontalHeader().setStretchLastSection(True)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setMinimumSectionSize(12)
        self.verticalHeader().setDefaultSectionSize(row_height(self.fontMetrics()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter; the arrows walk as ever."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.entered.emit()
        else:
            super().keyPressEvent(event)
