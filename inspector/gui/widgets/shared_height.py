"""The height that a table and its neighbour share: the table gets what its rows need, the neighbour the rest."""

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QSplitter

from inspector.gui.look.build import delayed
from inspector.gui.widgets.table import WholeRows


class SharedHeight(QObject):
    """Divides a vertical splitter with two parts until the user moves its handle. The table is one of the parts, or a
    child of the lower part."""

    def __init__(self, split: QSplitter, table: WholeRows, most: float) -> None:
        """Divide `split` from now on; the part with `table` gets at most the share `most` of the height."""
        super().__init__(split)
        self._split = split
        self._table = table
        self._most = most
        self._is_moved = False
        self._soon = delayed(self, milliseconds=0, call=self._divide)
        split.splitterMoved.connect(self._note_move)
        table.model().modelReset.connect(self._soon.start)
        self.fit_soon = self._soon.start

    def _note_move(self) -> None:
        self._is_moved = True

    def _divide(self) -> None:
        split = self._split
        table = self._table
        if self._is_moved or split.orientation() != Qt.Orientation.Vertical or split.count() != 2:
            return
        is_below = table.parentWidget() is not split or split.indexOf(table) == 1
        whole = sum(split.sizes())
        beside = split.sizes()[is_below] - table.height()
        height = min(round(self._most * whole), table.content_height + beside)
        split.setSizes([whole - height, height] if is_below else [height, whole - height])
