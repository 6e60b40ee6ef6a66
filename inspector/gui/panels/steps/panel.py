"""The steps that were taken where we stand, as a tree: go to one, rename it, compare two, save, replay, export."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from PySide6.QtCore import QModelIndex, QPoint, QPointF, QRect, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction, QContextMenuEvent, QFontMetrics, QMouseEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QMenu, QStyleOptionViewItem, QToolButton, QWidget

from inspector.gui.desk import Desk
from inspector.gui.look.build import column, menu_button, small_button
from inspector.gui.look.colours import Colours, ink
from inspector.gui.look.labels import label, say, tip
from inspector.gui.look.number_formats import grouped, signed
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import line
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.steps.files import StepsFiles
from inspector.gui.widgets.chips import flow
from inspector.gui.widgets.painted import CENTRE, RIGHT, PaintedList, PaintedModel, PaintedRow, paint_bold, paint_text
from inspector.gui.widgets.table import Index
from inspector.transcripts.saving import NATIVE, SHAPES, can_be_native
from inspector.workbench.policy_input import step_rows_of
from inspector.workbench.state import State
from inspector.workbench.step_rows import Branches, StepRow, branches
from inspector.workbench.steps import ORIGIN, Step, Steps

INDENT = 16
DEEPEST = 8
"""Depths that differ in their indent."""
COMPARE = "compare"


class StepsModel(PaintedModel):
    """`here`: the step we stand at; `against`: the one that we compare with, where it was chosen."""

    def __init__(self, rename: Callable[[int, str], None]) -> None:
        super().__init__()
        self._rename = rename
        self.rows: Sequence[StepRow] = ()
        self.branches: Sequence[Branches] = ()
        self.here = ORIGIN
        self.against: int | None = None

    def show(self, rows: Sequence[StepRow], current: int, against: int | None) -> None:
        """The view hears only of what is new: a name that is being edited stays open."""
        if [row.at for row in rows] == [row.at for row in self.rows]:
            self.rows, self.here, self.against = rows, current, against
            if rows:
                self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, 0))
            return
        self.beginResetModel()
        self.rows, self.here, self.against = rows, current, against
        self.branches = branches(rows)
        self.endResetModel()

    def place_of(self, at: int) -> int:
        """The row of a step, -1 for none."""
        return next((n for n, row in enumerate(self.rows) if row.at == at), -1)

    def size(self) -> int:
        return len(self.rows)

    def row_at(self, place: int) -> StepRow:
        return self.rows[place]

    def words_at(self, place: int) -> str:
        return words(self.rows[place], self.rows[place].at == self.here)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """The recorded buffer has no name of its own."""
        flags = super().flags(index)
        if index.isValid() and _can_be_named(self.rows[index.row()]):
            flags |= Qt.ItemFlag.ItemIsEditable
        return flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.EditRole and index.isValid():
            return self.rows[index.row()].name
        if role == Qt.ItemDataRole.ToolTipRole and index.isValid():
            return tip(self.rows[index.row()].words)
        return super().data(index, role)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """A new name, if it is one."""
        name = str(value).strip()
        row = self.rows[index.row()]
        if not name or name == row.name:
            return False
        self._rename(row.at, name)
        return True


def _can_be_named(row: StepRow) -> bool:
    """A step of the user's own, neither where the tree starts nor what was recorded."""
    return row.at != ORIGIN and not row.is_recorded


def words(row: StepRow, is_current: bool) -> str:
    """Return the text of a row for screen readers."""
    place = " You are here." if is_current else ""
    if row.before is None:
        return f"{row.name}, {grouped(row.tokens)} tokens.{place}"
    sizes = f"{grouped(row.before)} to {grouped(row.tokens)} tokens"
    return f"step {row.at + 1}, {row.name}, {sizes}. {row.words}{place}"


class StepsDelegate(PaintedRow):
    """Paints a step of the list."""

    def __init__(self, theme: Theme, model: StepsModel) -> None:
        super().__init__(theme)
        self._model = model

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        """The name is edited where it stands."""
        row: StepRow = index.data(PaintedModel.ROW)
        first, _ = _lines(option.rect, row)
        editor.setGeometry(first.adjusted(-10, 1, 0, 3))

    def compare_room(self, rect: QRect, metrics: QFontMetrics) -> QRect:
        """Where a click means: compare with this one."""
        width = metrics.horizontalAdvance(COMPARE) + 14
        return QRect(rect.right() - width - 4, rect.center().y(), width, rect.height() // 2)

    def height(self, metrics: QFontMetrics) -> int:
        return 2 * (metrics.height() + 2) + 10

    def key(self, row: StepRow) -> tuple[object, ...]:
        model = self._model
        return id(row), row.at == model.here, row.at == model.against, model.branches[model.place_of(row.at)]

    def ground(self, row: StepRow, marked: int) -> str:
        c = self._theme.colours
        if row.at == self._model.here:
            return c.selected
        return c.faint if marked else c.window

    def paint_row(self, painter: QPainter, rect: QRect, row: StepRow, marked: int, c: Colours) -> None:
        is_current = row.at == self._model.here
        first, second = _lines(rect, row)
        middle = first.center().y() + 0.5
        self._paint_branches(painter, rect, middle, row, c)
        self._paint_mark(painter, QPointF(_column(rect, row.depth), middle), row, is_current, c)
        self._paint_first(painter, first, row, is_current, c)
        self._paint_second(painter, second, rect, row, bool(marked) and not is_current, c)

    def _paint_branches(self, painter: QPainter, rect: QRect, middle: float, row: StepRow, c: Colours) -> None:
        """From which step this one starts."""
        lines = self._model.branches[self._model.place_of(row.at)]
        painter.setPen(ink(c.missing))
        own = _column(rect, row.depth)
        for depth in lines.through:
            x = _column(rect, depth)
            painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom()))
        if lines.above is not None:
            x = _column(rect, lines.above)
            painter.drawLine(QPointF(x, rect.top()), QPointF(x, middle))
            painter.drawLine(QPointF(x, middle), QPointF(own, middle))
        if lines.below:
            painter.drawLine(QPointF(own, middle), QPointF(own, rect.bottom()))

    def _paint_mark(self, painter: QPainter, at: QPointF, row: StepRow, is_current: bool, c: Colours) -> None:
        """A dot: full where we stand; in the colour of trouble where it failed."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        after = c.quiet if row.succeeded else c.high
        colour = ink(c.accent if is_current else after)
        painter.setPen(colour)
        painter.setBrush(colour if is_current else ink(c.window))
        painter.drawEllipse(at, 4, 4)

    def _paint_first(self, painter: QPainter, room: QRect, row: StepRow, is_current: bool, c: Colours) -> None:
        freed = "" if row.before is None else signed(row.tokens - row.before)
        width = painter.fontMetrics().horizontalAdvance(freed)
        painter.setPen(ink(c.good if freed.startswith("−") else c.quiet))
        painter.drawText(room, RIGHT, freed)
        number = "" if row.before is None else f"{row.at + 1}  "
        paint = paint_bold if is_current else paint_text
        paint(painter, room.adjusted(0, 0, -width - 10, 0), number + line(row.name), c.text)

    def _paint_second(
        self, painter: QPainter, room: QRect, rect: QRect, row: StepRow, offered: bool, c: Colours
    ) -> None:
        if row.at == self._model.against or offered:
            button = self.compare_room(rect, painter.fontMetrics())
            painter.setPen(ink(c.accent))
            painter.drawText(button, CENTRE, "compared" if not offered else COMPARE)
            room = room.adjusted(0, 0, button.left() - room.right() - 6, 0)
        if row.before is None:
            text = f"{grouped(row.tokens)} tokens"
        else:
            text = f"{grouped(row.before)} → {grouped(row.tokens)} · {line(row.words)}"
        paint_text(painter, room, text, c.quiet if row.succeeded else c.high)


def _column(rect: QRect, depth: int) -> float:
    return rect.left() + 17.5 + INDENT * min(depth, DEEPEST)


def _lines(rect: QRect, row: StepRow) -> tuple[QRect, QRect]:
    inner = rect.adjusted(30 + INDENT * min(row.depth, DEEPEST), 4, -12, -4)
    half = inner.height() // 2
    return inner.adjusted(0, 0, 0, half - inner.height()), inner.adjusted(0, half, 0, 0)


class StepsView(PaintedList):
    """A click goes to a step, F2 or a double click renames it, Enter goes to the chosen one.

    `gone` and `compared` carry the index of a step.
    """

    gone = Signal(int)
    compared = Signal(int)

    def __init__(self, theme: Theme, model: StepsModel) -> None:
        self._steps = model
        self.delegate = StepsDelegate(theme, model)
        super().__init__("Steps", model, self.delegate)
        triggers = QAbstractItemView.EditTrigger
        self.opened.connect(lambda place: self.gone.emit(model.rows[place].at))
        self.setEditTriggers(triggers.EditKeyPressed | triggers.DoubleClicked)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

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

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        index = self.indexAt(event.pos()) if event.reason() == event.Reason.Mouse else self.currentIndex()
        at = self._at(index)
        if at is not None:
            self.menu_of(at).popup(self.viewport().mapToGlobal(QPoint(event.pos())))

    def menu_of(self, at: int) -> QMenu:
        """Return the menu of a step: go to, compare, rename."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        index = self._steps.index(self._steps.place_of(at), 0)
        go = menu.addAction("Go to this step", lambda: self.gone.emit(at))
        compare = menu.addAction("Compare with this step", lambda: self.compared.emit(at))
        go.setEnabled(at != self._steps.here)
        compare.setEnabled(at != self._steps.here)
        rename = menu.addAction("Rename (F2)", lambda: self.edit(index))
        rename.setEnabled(_can_be_named(self._steps.rows[index.row()]))
        return menu


_SHAPES = {
    "anthropic": "As an Anthropic request body…",
    "openai-chat": "As an OpenAI chat request body…",
    "openai-responses": "As an OpenAI responses request body…",
    NATIVE: "As a transcript the agent can resume…",
}


class StepsPanel(Panel):
    """One row a step, the recorded buffer above them."""

    TITLE: ClassVar[str] = "Steps"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._taken: tuple[Step, ...] | None = None
        self._steps: Steps | None = None
        stepping = desk.workbench.stepping
        self.model = StepsModel(stepping.rename)
        self.view = StepsView(desk.theme, self.model)
        self.view.gone.connect(stepping.go)
        self.view.compared.connect(self.compare)
        self.undo = _button("Undo", "Up one step (Ctrl+Z)", stepping.undo)
        self.redo = _button("Redo", "Down again, to the newest branch (Ctrl+Shift+Z)", stepping.redo)
        self.compared = _button("Compare", "Compare where we stand with the chosen step, in the diff", self._compare)
        self.files = StepsFiles(desk, self, self._say)
        about = "Save, replay and export steps"
        self.actions_of: dict[str, QAction] = {}
        self.more = menu_button("Files ▾", self._fill_menu, about=about, name=about, role="")
        self.says = label(role="quiet", wrap=True)
        self.says.setContentsMargins(13, 4, 13, 6)
        self.setFocusProxy(self.view)
        self.view.selectionModel().currentChanged.connect(lambda _: self._enable())
        head = flow(self.undo, self.redo, self.compared, self.more, margins=(10, 6, 8, 4))
        column(head, self.says, (self.view, 1), of=self, gap=0)

    def _fill_menu(self, menu: QMenu) -> None:
        entries = {
            "Save steps…": self.files.save_steps,
            "Replay saved steps…": self.files.replay,
            "Export as pytest…": self.files.export_pytest,
        }
        self.actions_of = {words: menu.addAction(words, run) for words, run in entries.items()}
        export = menu.addMenu("Export the buffer")
        for shape in SHAPES:
            self.actions_of[shape] = export.addAction(_SHAPES[shape], partial(self.files.export_buffer, shape))
        menu.addSeparator()
        self.actions_of["forget"] = menu.addAction("Drop all steps here", self.desk.workbench.stepping.forget)

    def counted(self, state: State) -> int:
        return state.steps.own if state.steps else 0

    def show_state(self, state: State) -> None:
        """Rows are worked out off this thread where a step is new; where we stand is shown at once."""
        steps = state.steps
        self.actions_of[NATIVE].setEnabled(state.session is not None and can_be_native(state.session.format))
        if steps is self._steps and steps is not None:
            return
        self._steps = steps
        if steps is None:
            self._taken = None
            self.model.show((), ORIGIN, None)
            self._say("Nothing compacted here yet." if state.session else "Open a transcript first.")
        elif steps.taken is self._taken:
            self._stand(self.model.rows)
        else:
            self._say("")
            self.desk.bridge.run(lambda task: step_rows_of(state), lambda rows: self._arrived(steps, rows))
        self._enable()

    def _arrived(self, steps: Steps, rows: Sequence[StepRow]) -> None:
        now = self._steps
        if now is not None and steps.taken is now.taken:
            self._taken = steps.taken
            self._stand(rows)

    def _stand(self, rows: Sequence[StepRow]) -> None:
        """Show the rows, the one where we stand chosen."""
        steps = self._steps
        if steps is None:
            return
        moved = self.model.here != steps.at or len(rows) != len(self.model.rows)
        with QSignalBlocker(self.view.selectionModel()):
            self.model.show(rows, steps.at, steps.against)
        if moved and rows:
            self.view.stand_at(self.model.place_of(steps.at))
        self._enable()
        self.view.viewport().update()

    def _say(self, text: str) -> None:
        say(self.says, text)

    def _enable(self) -> None:
        steps = self._steps
        self.undo.setEnabled(steps is not None and steps.step is not None)
        self.redo.setEnabled(steps is not None and bool(steps.children(steps.at)))
        chosen = self.view.chosen
        self.compared.setEnabled(steps is not None and chosen is not None and chosen != steps.at)
        for words in ("Save steps…", "forget"):
            self.actions_of[words].setEnabled(steps is not None and bool(steps.own))
        self.actions_of["Export as pytest…"].setEnabled(steps is not None and bool(steps.own_path))

    def _compare(self) -> None:
        chosen = self.view.chosen
        if chosen is not None:
            self.compare(chosen)

    def compare(self, at: int) -> None:
        """Show where we stand beside that step."""
        self.desk.workbench.stepping.compare(at)
        self.desk.show_panel("Diff")


def _button(words: str, about: str, run: Callable[[], None]) -> QToolButton:
    button = small_button(words, run, about=about, name=words, role="")
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button
