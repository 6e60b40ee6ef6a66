"""The list of steps. A click goes to a step, F2 or a double click renames it, Enter goes to the one that is chosen."""

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QMenu, QTableView

from inspector.gui.guard import Guarded
from inspector.gui.look.theme import Theme
from inspector.gui.panels.steps.delegate import StepsDelegate, step_height
from inspector.gui.panels.steps.model import StepsModel
from inspector.workbench.steps import ORIGIN


class StepsView(Guarded, QTableView):
    """`gone` and `compared` carry the index of a step."""

    gone = Signal(int)
    compared = Signal(int)

    def __init__(self, theme: Theme, model: StepsModel) -> None:
        super().__init__()
        self._steps = model
        self.delegate = StepsDelegate(theme, model, self)
        self.setModel(model)
        self.setItemDelegate(self.delegate)
        self.setAccessibleName("Steps")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        triggers = QAbstractItemView.EditTrigger
        self.setEditTriggers(triggers.EditKeyPressed | triggers.DoubleClicked)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.horizontalHeader().hide()
        self.horizontalHeader().setStretchLastSection(True)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(step_height(self.fontMetrics()))

    @property
    def chosen(self) -> int | None:
        """The step whose row is chosen; None for none."""
        return self._at(self.currentIndex())

    def _at(self, index: QModelIndex) -> int | None:
        return self._steps.rows[index.row()].at if index.isValid() else None

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click goes to the step, or compares with it where that is what stands there."""
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        at = self._at(index)
        if at is None or event.button() != Qt.MouseButton.LeftButton or at == self._steps.here:
            return
        room = self.delegate.compare_room(self.visualRect(index), self.fontMetrics())
        (self.compared if room.contains(event.position().toPoint()) else self.gone).emit(at)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter goes; the arrows choose."""
        at = self.chosen
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and at is not None:
            if self.state() != QAbstractItemView.State.EditingState:
                self.gone.emit(at)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """What can be done with the step under the mouse, or with the chosen one."""
        index = self.indexAt(event.pos()) if event.reason() == event.Reason.Mouse else self.currentIndex()
        at = self._at(index)
        if at is not None:
            self.menu_of(at).popup(self.viewport().mapToGlobal(QPoint(event.pos())))

    def menu_of(self, at: int) -> QMenu:
        """Go, compare, rename."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        index = self._steps.index(self._steps.place_of(at), 0)
        go = menu.addAction("Go to this step", lambda: self.gone.emit(at))
        compare = menu.addAction("Compare with this step", lambda: self.compared.emit(at))
        go.setEnabled(at != self._steps.here)
        compare.setEnabled(at != self._steps.here)
        rename = menu.addAction("Rename (F2)", lambda: self.edit(index))
        rename.setEnabled(at != ORIGIN)
        return menu
