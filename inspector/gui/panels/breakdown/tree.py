"""The breakdown as a tree of rows: sorted by any column, opened level by level."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHeaderView, QTreeWidget, QTreeWidgetItem

from inspector.core.findings.breakdown import BreakdownNode
from inspector.core.words import per_cent
from inspector.gui.guard import Guarded
from inspector.gui.look.labels import tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.visible import line
from inspector.gui.panels.breakdown.icicle import PartPath, shown_name
from inspector.gui.widgets.table import TOP, sorted_title

COLUMNS = ("part", "tokens", "share", "calls", "messages")
_LEAST = (54, 65)
"""Figures of width from which on there are counts of calls, and of messages."""
SORT_SIGN = 16
"""Pixels of the sign of the order."""
MOST = 1_000
"""Rows below one part; one more says what is left."""
_NODE = Qt.ItemDataRole.UserRole
_PART = Qt.ItemDataRole.UserRole + 1


class BreakdownTree(Guarded, QTreeWidget):
    """Rows are made when their parent is opened: a buffer may have thousands of messages."""

    chosen = Signal(tuple)
    opened = Signal(tuple)

    def __init__(self) -> None:
        super().__init__()
        self._tree: BreakdownNode | None = None
        self._order, self._down = 1, True
        self.setAccessibleName("Parts of the buffer")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUniformRowHeights(True)
        self.setExpandsOnDoubleClick(False)
        self._size_columns()
        self.itemExpanded.connect(self._fill)
        self.itemClicked.connect(lambda item, _: self.chosen.emit(item.data(0, _PART)))
        self.itemDoubleClicked.connect(lambda item, _: self.opened.emit(item.data(0, _PART)))

    def _size_columns(self) -> None:
        header, figure = self.header(), self.fontMetrics().horizontalAdvance("0")
        header.setStretchLastSection(False)
        header.setSectionsClickable(True)
        self._head()
        header.sectionClicked.connect(self._sort_by)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column, width in zip(range(1, len(COLUMNS)), (9, 7, 6, 9), strict=True):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
            header.resizeSection(column, max(width * figure + 14, header.sectionSizeHint(column) + SORT_SIGN))
            self.headerItem().setTextAlignment(column, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def _head(self) -> None:
        names = enumerate(COLUMNS)
        self.setHeaderLabels([sorted_title(name, self._down) if n == self._order else name for n, name in names])

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Where there is little room, names go before counts."""
        super().resizeEvent(event)
        for column, least in zip((3, 4), _LEAST, strict=True):
            self.setColumnHidden(column, self.width() < least * self.fontMetrics().horizontalAdvance("0"))

    def show_tree(self, tree: BreakdownNode | None, part: PartPath) -> None:
        """This buffer; what was open stays open, and that part can be seen."""
        open_ = self._open() if self._tree is not None else set()
        if tree is not self._tree:
            self._tree = tree
            self._build(open_)
        self._stand_at(part)

    def _build(self, open_: set[PartPath]) -> None:
        self.clear()
        for node in self._sorted(self._tree.children if self._tree is not None else ()):
            self.addTopLevelItem(self._item(node, ()))
        for part in sorted(open_, key=len):
            if (item := self._find(part)) is not None:
                item.setExpanded(True)

    def _item(self, node: BreakdownNode, above: PartPath) -> QTreeWidgetItem:
        total = self._tree.tokens if self._tree is not None else 0
        calls = grouped(node.calls) if node.calls else ""
        said = grouped(len(node.messages)) if node.messages else ""
        share = per_cent(node.tokens / total, 1) if total else ""
        item = QTreeWidgetItem([shown_name(node), grouped(node.tokens), share, calls, said])
        item.setData(0, _NODE, node)
        item.setData(0, _PART, (*above, node.name))
        item.setToolTip(0, tip(line(node.name, 1_000)))
        for column in range(1, len(COLUMNS)):
            item.setTextAlignment(column, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        if node.children:
            item.setChildIndicatorPolicy(QTreeWidgetItem.ChildIndicatorPolicy.ShowIndicator)
        return item

    def _fill(self, item: QTreeWidgetItem) -> None:
        if not item.childCount():
            node, part = item.data(0, _NODE), item.data(0, _PART)
            children = self._sorted(node.children)
            item.addChildren([self._item(child, part) for child in children[:MOST]])
            if rest := children[MOST:]:
                tokens = sum(one.tokens for one in rest)
                left = self._item(BreakdownNode(f"{grouped(len(rest))} more", "text", tokens), part)
                left.setData(0, _PART, part)
                item.addChild(left)

    def _sorted(self, nodes: tuple[BreakdownNode, ...]) -> list[BreakdownNode]:
        keys = (
            lambda node: shown_name(node).casefold(),
            lambda node: node.tokens,
            lambda node: node.tokens,
            lambda node: node.calls or 0,
            lambda node: len(node.messages),
        )
        return sorted(nodes, key=keys[self._order], reverse=self._down)

    def _sort_by(self, column: int) -> None:
        self._down = not self._down if column == self._order else column > 0
        self._order = column
        self._head()
        current = self.currentItem()
        part = current.data(0, _PART) if current is not None else ()
        self._build(self._open())
        self._stand_at(part)

    def _open(self) -> set[PartPath]:
        found: set[PartPath] = set()
        left = self._rows(None)
        while left:
            item = left.pop()
            if item.isExpanded():
                found.add(item.data(0, _PART))
                left += self._rows(item)
        return found

    def _find(self, part: PartPath) -> QTreeWidgetItem | None:
        """The row of a part; the rows above it are opened."""
        item: QTreeWidgetItem | None = None
        for depth in range(len(part)):
            if item is not None:
                item.setExpanded(True)
                self._fill(item)
            rows = self._rows(item)
            item = next((row for row in rows if row.data(0, _PART) == part[: depth + 1]), None)
            if item is None:
                return None
        return item

    def _rows(self, item: QTreeWidgetItem | None) -> list[QTreeWidgetItem]:
        if item is None:
            return [row for n in range(self.topLevelItemCount()) if (row := self.topLevelItem(n)) is not None]
        return [row for n in range(item.childCount()) if (row := item.child(n)) is not None]

    def _stand_at(self, part: PartPath) -> None:
        item = self._find(part) if part else None
        if item is None:
            self.setCurrentIndex(TOP)
        elif item is not self.currentItem():
            self.setCurrentItem(item)
            self.scrollToItem(item)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter opens; walking chooses."""
        before = self.currentItem()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and before is not None:
            self.opened.emit(before.data(0, _PART))
            return
        super().keyPressEvent(event)
        now = self.currentItem()
        if now is not None and now is not before:
            self.chosen.emit(now.data(0, _PART))
