"""The Breakdown panel: a map and tables of the parts of the buffer, one tab each.

A click on a part limits the buffer list to its messages, a double click goes to a message of the part.
"""

from typing import ClassVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHeaderView,
    QStackedWidget,
    QTabBar,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from inspector.core.findings.breakdown import BreakdownNode, OfferedTool, ToolCalls, forget
from inspector.core.findings.breakdown_views import keep_matching
from inspector.core.findings.repeats import LEAST, Repeat
from inspector.core.identity import SameObject
from inspector.core.session import Thread
from inspector.core.words import per_cent
from inspector.gui.bridge import LatestJob, Task
from inspector.gui.desk import Desk
from inspector.gui.guard import Guarded
from inspector.gui.look.build import column, delayed, field, holding, row, small_button
from inspector.gui.look.labels import tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.tokens import BOX_GAP, CONTROL_GAP, GAP, INSET, LINE_GAP, LIST_HEAD
from inspector.gui.look.visible import line
from inspector.gui.pacing import PacedJob
from inspector.gui.panels.breakdown.changes import ChangesTable
from inspector.gui.panels.breakdown.icicle import Icicle, PartPath, about, shown_name
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.small import Elided
from inspector.gui.widgets.table import TOP, Column, Rows, sorted_title
from inspector.workbench.pressure.filling import Filling, calls_of, filling, filling_key
from inspector.workbench.state import BufferFilter, State

COLUMNS = ("Part", "Tokens", "Share", "Calls", "Messages")
_LEAST = (54, 65)
"""Widths of the tree, in digits, from which the columns Calls and Messages are shown."""
SORT_SIGN = 16
"""Width in pixels of the sign in a column head that shows the sort order."""
MOST = 1_000
"""Most rows below one part; a further row gives the number and tokens of the parts left out."""
_NODE = Qt.ItemDataRole.UserRole
_PART = Qt.ItemDataRole.UserRole + 1


class BreakdownTree(Guarded, QTreeWidget):
    """A tree of the parts of the buffer. Rows are made when their parent is expanded, as there may be thousands."""

    chosen = Signal(tuple)
    opened = Signal(tuple)

    def __init__(self) -> None:
        super().__init__()
        self._tree: BreakdownNode | None = None
        self._order = 1
        self._down = True
        self.setAccessibleName("Parts of the buffer")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUniformRowHeights(True)
        self.setExpandsOnDoubleClick(False)
        self._size_columns()
        self.itemExpanded.connect(self._fill)
        self.itemClicked.connect(lambda item, _: self.chosen.emit(item.data(0, _PART)))
        self.itemDoubleClicked.connect(lambda item, _: self.opened.emit(item.data(0, _PART)))

    def _size_columns(self) -> None:
        header = self.header()
        figure = self.fontMetrics().horizontalAdvance("0")
        header.setStretchLastSection(False)
        header.setSectionsClickable(True)
        self._head()
        header.sectionClicked.connect(self._sort_by)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for index, width in zip(range(1, len(COLUMNS)), (9, 7, 6, 9), strict=True):
            header.setSectionResizeMode(index, QHeaderView.ResizeMode.Fixed)
            header.resizeSection(
                index, max(width * figure + 14, header.sectionSizeHint(index) + SORT_SIGN)
            )
            self.headerItem().setTextAlignment(
                index, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            )

    def _head(self) -> None:
        names = enumerate(COLUMNS)
        self.setHeaderLabels(
            [
                sorted_title(name, self._down) if number == self._order else name
                for number, name in names
            ]
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the counts of calls and messages in a narrow tree, so that the names have room."""
        super().resizeEvent(event)
        for index, least in zip((3, 4), _LEAST, strict=True):
            self.setColumnHidden(
                index, self.width() < least * self.fontMetrics().horizontalAdvance("0")
            )

    def show_tree(self, tree: BreakdownNode | None, part: PartPath) -> None:
        """Show the breakdown of a buffer with the same rows expanded as before, and select `part`."""
        open_ = self._open() if self._tree is not None else set()
        if tree is not self._tree:
            self._tree = tree
            self._build(open_)
        self._stand_at(part)

    def _build(self, open_: set[PartPath]) -> None:
        self.clear()
        for node in self._sort_nodes(self._tree.children if self._tree is not None else ()):
            self.addTopLevelItem(self._item(node, ()))
        for part in sorted(open_, key=len):
            if (item := self._find(part)) is not None:
                item.setExpanded(True)

    def _item(self, node: BreakdownNode, above: PartPath) -> QTreeWidgetItem:
        total = self._tree.tokens if self._tree is not None else 0
        calls = grouped(node.calls) if node.calls else ""
        message_count = grouped(len(node.messages)) if node.messages else ""
        share = per_cent(node.tokens / total, places=1) if total else ""
        item = QTreeWidgetItem(
            [shown_name(node), grouped(node.tokens), share, calls, message_count]
        )
        item.setData(0, _NODE, node)
        item.setData(0, _PART, (*above, node.name))
        item.setToolTip(0, tip(line(node.name, 1_000)))
        for index in range(1, len(COLUMNS)):
            item.setTextAlignment(
                index, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            )
        if node.children:
            item.setChildIndicatorPolicy(QTreeWidgetItem.ChildIndicatorPolicy.ShowIndicator)
        return item

    def _fill(self, item: QTreeWidgetItem) -> None:
        if not item.childCount():
            node = item.data(0, _NODE)
            part = item.data(0, _PART)
            children = self._sort_nodes(node.children)
            item.addChildren([self._item(child, part) for child in children[:MOST]])
            if rest := children[MOST:]:
                tokens = sum(child.tokens for child in rest)
                left = self._item(BreakdownNode(f"{grouped(len(rest))} more", "text", tokens), part)
                left.setData(0, _PART, part)
                item.addChild(left)

    def _sort_nodes(self, nodes: tuple[BreakdownNode, ...]) -> list[BreakdownNode]:
        keys = (
            lambda node: shown_name(node).casefold(),
            lambda node: node.tokens,
            lambda node: node.tokens,
            lambda node: node.calls or 0,
            lambda node: len(node.messages),
        )
        return sorted(nodes, key=keys[self._order], reverse=self._down)

    def _sort_by(self, at: int) -> None:
        self._down = not self._down if at == self._order else at > 0
        self._order = at
        self._head()
        current = self.currentItem()
        part = current.data(0, _PART) if current is not None else ()
        self._build(self._open())
        self._stand_at(part)

    def _open(self) -> set[PartPath]:
        parts: set[PartPath] = set()
        left = self._rows(None)
        while left:
            item = left.pop()
            if item.isExpanded():
                parts.add(item.data(0, _PART))
                left += self._rows(item)
        return parts

    def _find(self, part: PartPath) -> QTreeWidgetItem | None:
        """Return the row of a part after expanding the rows above it; None if the part has no row."""
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
        above = self.invisibleRootItem() if item is None else item
        return [
            row for index in range(above.childCount()) if (row := above.child(index)) is not None
        ]

    def _stand_at(self, part: PartPath) -> None:
        item = self._find(part) if part else None
        if item is None:
            self.setCurrentIndex(TOP)
        elif item is not self.currentItem():
            self.setCurrentItem(item)
            self.scrollToItem(item)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        before = self.currentItem()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and before is not None:
            self.opened.emit(before.data(0, _PART))
            return
        super().keyPressEvent(event)
        now = self.currentItem()
        if now is not None and now is not before:
            self.chosen.emit(now.data(0, _PART))


SEARCH_FIGURES = 18
"""Largest width of the search field, in digits."""
SEARCH_MS = 150
"""Milliseconds between the last key press and the start of a search."""
LATE_MS = 120
"""Milliseconds for which the breakdown of the previous buffer is shown without a remark beside the new gauge. Computing
the new breakdown usually takes less; while a key is held down, it is not computed."""
_REPEATED, _OFFERED = 2, 3
"""Indices of the tabs whose names contain a number."""
_REPEATS: tuple[Column[Repeat], ...] = (
    Column("duplicate tokens", lambda row: grouped(row.free), width=9, figures=True),
    Column("tokens each", lambda row: grouped(row.tokens_each), width=8, figures=True),
    Column("times", lambda row: grouped(row.times), width=5, figures=True),
    Column("content", lambda row: row.what),
)
_TOOLS: tuple[Column[OfferedTool], ...] = (
    Column(
        "tool", lambda row: row.name if row.server in row.name else f"{row.server} · {row.name}"
    ),
    Column("tokens", lambda row: grouped(row.tokens), width=6, figures=True),
    Column(
        "calls",
        lambda row: f"{grouped(row.calls_in_buffer)} of {grouped(row.calls)}",
        width=8,
        figures=True,
    ),
    Column(
        "schema",
        lambda row: "–" if row.schema_tokens is None else grouped(row.schema_tokens),
        width=6,
        figures=True,
    ),
)


class BreakdownPanel(Panel):
    """Shows the breakdown of the State's buffer. The chosen part is also kept in the State."""

    TITLE: ClassVar[str] = "Breakdown"
    HEADED: ClassVar[bool] = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._key: tuple[object, ...] | None = None
        self._job = PacedJob(desk.bridge, self)
        self._calls: tuple[Thread, ToolCalls] | None = None
        self.filling: Filling | None = None
        self._at = 0
        """Index of the request that `filling` describes; after the last request, the number of requests."""
        self._late = delayed(self, LATE_MS, self._say_late)
        self.says = Elided("quiet")
        self.all = small_button(
            "all", lambda: self.look_into(()), about="Show the whole buffer again (Esc)"
        )
        self.icicle = Icicle(desk.theme)
        self.tree = BreakdownTree()
        self.repeats: Rows[Repeat] = Rows("Duplicates", _REPEATS)
        self.tools: Rows[OfferedTool] = Rows("Tools", _TOOLS)
        self.changes = ChangesTable(desk)
        self._shown_tree: BreakdownNode | None = None
        """The tree of the buffer, reduced to the parts that match the search."""
        self._matching = LatestJob(desk.bridge)
        self._match_soon = delayed(self, SEARCH_MS, self._match)
        self.search = field("Search parts", "Search", name="Search the parts of the buffer")
        self.search.setMaximumWidth(SEARCH_FIGURES * self.fontMetrics().horizontalAdvance("0"))
        self.search.textChanged.connect(self._match_soon.start)
        self.tabs = QTabBar()
        self._lay_out()
        self.setFocusProxy(self.icicle)

    def _lay_out(self) -> None:
        stack = QStackedWidget()
        self.tabs.currentChanged.connect(stack.setCurrentIndex)
        for name, part in (
            ("Map", self.icicle), ("Parts", self.tree), ("Duplicates", self.repeats), ("Tools", self.tools),
            ("Changes", self.changes),
        ):  # fmt: skip
            widget: QWidget = part
            if part is self.icicle:
                widget = holding(row(part, margins=(INSET, LINE_GAP, INSET, BOX_GAP)))
            stack.addWidget(widget)
            self.tabs.addTab(name)
        self.tabs.setAccessibleName("What fills the buffer")
        self.tabs.setExpanding(False)
        self.tabs.setUsesScrollButtons(False)
        # The chosen tab has wider letters.
        self.tabs.currentChanged.connect(self.tabs.updateGeometry)
        self.tabs.currentChanged.connect(
            lambda _: self.changes.show_state(self.desk.workbench.state)
        )
        head = row(self.tabs, ..., self.search, margins=(0, 0, CONTROL_GAP, 0), gap=GAP)
        chosen = row((self.says, 1), self.all, margins=LIST_HEAD, gap=GAP)
        column(head, chosen, (stack, 1), of=self, gap=0)
        self.changes.chosen.connect(self.look_into)
        for part in (self.icicle, self.tree):
            part.chosen.connect(self.look_into)
            part.opened.connect(self.open)
        self.repeats.chosen.connect(lambda place, _: self._show_repeat(place))
        self.repeats.opened.connect(
            lambda place: self._go_to(self.repeats.rows[place].messages[-1])
        )
        self.tools.chosen.connect(lambda place, _: self._show_tool(place))

    def show_state(self, state: State) -> None:
        """Compute the breakdown if the buffer has changed; show the chosen part in any case.

        A session that is still being read is broken down once all of it is read: the breakdown of its beginning would
        be shown only for a moment.
        """
        self.changes.show_state(state)
        key = filling_key(state)
        if key != self._key and state.is_being_read:
            key = None
        if key != self._key:
            self._key = key
            self._work_out(state)
        else:
            self._show_part(state)

    def _work_out(self, state: State) -> None:
        if self._key is None:
            self._job.cancel()
            self.filling, self._calls = None, None
            self._show_filling()
            return
        session = state.session
        thread = state.thread
        cached = self._calls
        place = state.place
        assert session is not None
        assert thread is not None
        cached = cached if cached is not None and cached[0] is thread else None
        if not self._late.isActive():
            self._late.start()

        def job(task: Task) -> tuple[ToolCalls, Filling]:
            calls = cached[1] if cached is not None else calls_of(state)
            return calls, filling(state, calls, task.cancelled)

        def done(result: tuple[ToolCalls, Filling]) -> None:
            trees = [self.filling.tree] if self.filling is not None else []
            self._calls = (thread, result[0])
            self.filling = result[1]
            self._at = place
            self._show_filling()
            self.desk.bridge.work(lambda: forget(trees), lambda _: None)

        self._job.run(session, (thread.id, SameObject(state.stepped_buffer)), job, done)

    def _say_late(self) -> None:
        if self._job.is_late:
            self._show_part(self.desk.workbench.state)
        elif self._job.busy:
            self.says.show_text("computing …")
            self.icicle.fade(out=True)

    def _show_filling(self) -> None:
        self._late.stop()
        self.icicle.fade(out=False)
        filling = self.filling
        self.repeats.empty = "This buffer holds no duplicates." if filling else ""
        self.tools.empty = "The model was offered no tool and called none." if filling else ""
        free = sum(repeat.free for repeat in filling.repeats) if filling else 0
        self.tabs.setTabText(_REPEATED, f"Duplicates {grouped(free)}" if free else "Duplicates")
        self.tabs.setTabToolTip(
            _REPEATED, f"Texts of {LEAST} characters or more that are in the buffer more than once"
        )
        self.tabs.setTabText(
            _OFFERED, f"Tools ({len(filling.tools)})" if filling and filling.tools else "Tools"
        )
        self._match()

    def _match(self) -> None:
        """Reduce the map and the tables to the parts that match the search."""
        filling = self.filling
        text = self.search.text().strip()
        if filling is None or not text:
            self._matching.cancel()
            self._show_matching(filling.tree if filling is not None else None)
            return
        self._matching.run(
            lambda task: keep_matching(filling.tree, text), self._show_matching, lane="answer"
        )

    def _show_matching(self, tree: BreakdownNode | None) -> None:
        self._shown_tree, filling = tree, self.filling
        text = self.search.text().strip().casefold()
        repeats = filling.repeats if filling is not None else ()
        tools = filling.tools if filling is not None else ()
        self.repeats.show_rows([repeat for repeat in repeats if text in repeat.what.casefold()])
        self.tools.show_rows(
            [tool for tool in tools if text in f"{tool.server} {tool.name}".casefold()]
        )
        self._show_part(self.desk.workbench.state)

    def _show_part(self, state: State) -> None:
        """Show the chosen part in map, table and caption, and limit the buffer's list to its messages."""
        tree = self._shown_tree
        self.icicle.show_tree(tree, state.part)
        self.tree.show_tree(tree, state.part)
        self.all.setVisible(bool(state.part))
        if tree is None:
            self._say_empty(state)
            return
        nodes = tree.along(state.part)
        found = state.part[: len(nodes) - 1]
        is_here = found == state.part
        words = about(nodes[-1], found, tree.tokens).replace("\n", ": ")
        if not is_here:
            words = f"not in this buffer: {words}"
        if self._job.is_late and not self._late.isActive():
            words = f"Request {self._at:,}: {words}"
        self.says.show_text(words)
        if state.part and is_here:
            messages = self._filter(state.part)
            if messages != state.among:
                self.desk.workbench.look_into(state.part, messages)

    def _say_empty(self, state: State) -> None:
        """Say why no part is shown."""
        if self.filling is not None:
            self.says.show_text("No part matches the search.")
        elif self._key is None:
            self.says.show_text(
                "" if state.is_being_read else "Open a transcript to see what fills its window."
            )

    def _filter(self, part: PartPath) -> BufferFilter | None:
        """Return a filter for the messages of a part; None for the whole buffer and for parts without messages."""
        if self.filling is None or not part:
            return None
        node = self.filling.tree.along(part)[-1]
        if node.messages:
            return BufferFilter(" › ".join(part), self.filling.ids(node.messages))
        return None

    def look_into(self, part: PartPath) -> None:
        """Choose a part, so that the buffer list shows only its messages."""
        self.desk.workbench.look_into(part, self._filter(part))

    def open(self, part: PartPath) -> None:
        """Show the last message of the largest leaf of a part in the Message panel."""
        node = self.filling.tree.along(part)[-1] if self.filling is not None else None
        while node is not None and node.children:
            node = node.children[0]
        if node is not None and node.messages:
            self._go_to(node.messages[-1])

    def _go_to(self, at: int) -> None:
        if self.filling is not None:
            self.desk.workbench.select(self.filling.messages[at].id)
            self.desk.show_panel("Message")

    def _show_repeat(self, place: int) -> None:
        if self.filling is not None:
            repeat = self.repeats.rows[place]
            among = BufferFilter(f"copies of {repeat.what}", self.filling.ids(repeat.messages))
            self.desk.workbench.look_into((), among)

    def _show_tool(self, place: int) -> None:
        """Choose the part with the results of a tool, else the one with its calls, else the one with its schema."""
        tool = self.tools.rows[place]
        filling = self.filling
        path = (tool.server, tool.name) if tool.server else (tool.name,)
        for category in ("tool results", "tool calls", "tools"):
            if filling is not None and len(filling.tree.along((category, *path))) == len(path) + 2:
                self.look_into((category, *path))
                return
