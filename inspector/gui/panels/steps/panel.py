"""The steps taken from the selected request, as a tree: go to a step, rename it, compare two, save, replay, export."""

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
from inspector.gui.look.tokens import BOX_GAP, CHIP_GAP, INSET, LIST_HEAD
from inspector.gui.look.visible import line
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.steps.files import StepsFiles
from inspector.gui.widgets.chart import paint_horizontal, paint_vertical, solid_pen
from inspector.gui.widgets.chips import flow
from inspector.gui.widgets.painted import (
    CENTRE,
    RIGHT,
    PaintedList,
    PaintedModel,
    PaintedRow,
    paint_bold,
    paint_text,
)
from inspector.gui.widgets.table import Index
from inspector.transcripts.saving import NATIVE, SHAPES, can_be_native
from inspector.workbench.policy_input import step_rows_of
from inspector.workbench.state import State
from inspector.workbench.step_rows import Branches, StepRow, branches
from inspector.workbench.stepping import DROP_STEPS
from inspector.workbench.steps import ORIGIN, Step, Steps

INDENT = 16
DEEPEST = 8
"""Depth from which the indent no longer grows."""
COMPARE = "compare"


class StepsModel(PaintedModel):
    """The rows of the steps. `here` is the current step; `against` is the step that it is compared with, or None."""

    def __init__(self, rename: Callable[[int, str], None]) -> None:
        super().__init__()
        self._rename = rename
        self.rows: Sequence[StepRow] = ()
        self.branches: Sequence[Branches] = ()
        self.here = ORIGIN
        self.against: int | None = None

    def show(self, rows: Sequence[StepRow], current: int, against: int | None) -> None:
        """Show these rows. If the steps are the same, the view is not reset, so that a name being edited stays open."""
        if [row.at for row in rows] == [row.at for row in self.rows]:
            self.rows = rows
            self.here = current
            self.against = against
            if rows:
                self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, 0))
            return
        self.beginResetModel()
        self.rows = rows
        self.here = current
        self.against = against
        self.branches = branches(rows)
        self.endResetModel()

    def place_of(self, at: int) -> int:
        """Return the row of a step; -1 if it has none."""
        return next((index for index, row in enumerate(self.rows) if row.at == at), -1)

    def size(self) -> int:
        return len(self.rows)

    def row_at(self, place: int) -> StepRow:
        """Return the step of a row."""
        return self.rows[place]

    def words_at(self, place: int) -> str:
        return step_text(self.rows[place], self.rows[place].at == self.here)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Make the name editable, except that of the recorded buffer and of recorded compactions."""
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
        """Rename a step, unless the name is empty or unchanged."""
        name = str(value).strip()
        row = self.rows[index.row()]
        if not name or name == row.name:
            return False
        self._rename(row.at, name)
        return True


def _can_be_named(row: StepRow) -> bool:
    """Return True for a step of the user, and False for the root of the tree and recorded compactions."""
    return row.at != ORIGIN and not row.is_recorded


def step_text(row: StepRow, is_current: bool) -> str:
    """Return the text of a row for screen readers."""
    place = " You are here." if is_current else ""
    if row.before is None:
        return f"{row.name}, {grouped(row.tokens)} tokens.{place}"
    sizes = f"{grouped(row.before)} to {grouped(row.tokens)} tokens"
    return f"step {row.at + 1}, {row.name}, {sizes}. {row.words}{place}"


class StepsDelegate(PaintedRow):
    """Paints a step of the list in two lines."""

    def __init__(self, theme: Theme, model: StepsModel) -> None:
        super().__init__(theme)
        self._model = model

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> None:
        """Place the editor over the name of the step."""
        row: StepRow = index.data(PaintedModel.ROW)
        first, _ = _lines(option.rect, row)
        editor.setGeometry(first.adjusted(-10, 1, 0, 3))

    def compare_room(self, rect: QRect, metrics: QFontMetrics) -> QRect:
        """Return the part of a row in which a click compares the current step with that of the row."""
        width = metrics.horizontalAdvance(COMPARE) + 14
        left = rect.right() - width - 4
        return QRect(left, rect.center().y(), width, rect.height() // 2)

    def height(self, metrics: QFontMetrics) -> int:
        return 2 * (metrics.height() + 2) + 10

    def key(self, row: StepRow) -> tuple[object, ...]:
        model = self._model
        branches = model.branches[model.place_of(row.at)]
        return id(row), row.at == model.here, row.at == model.against, branches

    def ground(self, row: StepRow, marked: int) -> str:
        colours = self._theme.colours
        if row.at == self._model.here:
            return colours.selected
        return colours.faint if marked else colours.window

    def paint_row(
        self, painter: QPainter, rect: QRect, row: StepRow, marked: int, colours: Colours
    ) -> None:
        is_current = row.at == self._model.here
        first, second = _lines(rect, row)
        middle = first.center().y() + 0.5
        self._paint_branches(painter, rect, middle, row, colours)
        dot = QPointF(_column(rect, row.depth), middle)
        self._paint_mark(painter, centre=dot, row=row, is_current=is_current, colours=colours)
        self._paint_first(painter, room=first, row=row, is_current=is_current, colours=colours)
        offers_compare = bool(marked) and not is_current
        self._paint_second(
            painter, room=second, rect=rect, row=row, offers_compare=offers_compare, colours=colours
        )

    def _paint_branches(
        self, painter: QPainter, rect: QRect, middle: float, row: StepRow, colours: Colours
    ) -> None:
        """Paint the lines that lead from a step to the steps that start from it."""
        lines = self._model.branches[self._model.place_of(row.at)]
        pen = solid_pen(colours.missing)
        own = _column(rect, row.depth)
        for depth in lines.through:
            paint_vertical(
                painter, x=_column(rect, depth), top=rect.top(), bottom=rect.bottom(), pen=pen
            )
        if lines.above is not None:
            x = _column(rect, lines.above)
            paint_vertical(painter, x, rect.top(), bottom=middle, pen=pen)
            paint_horizontal(painter, y=middle, left=x, right=own, pen=pen)
        if lines.below:
            paint_vertical(painter, x=own, top=middle, bottom=rect.bottom(), pen=pen)

    def _paint_mark(
        self, painter: QPainter, centre: QPointF, row: StepRow, is_current: bool, colours: Colours
    ) -> None:
        """Paint the dot of a step: filled for the current step, in the colour of errors for a failed step."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        after = colours.quiet if row.succeeded else colours.high
        colour = ink(colours.accent if is_current else after)
        painter.setPen(colour)
        painter.setBrush(colour if is_current else ink(colours.window))
        painter.drawEllipse(centre, 4, 4)

    def _paint_first(
        self, painter: QPainter, room: QRect, row: StepRow, is_current: bool, colours: Colours
    ) -> None:
        """Paint the number and the name of a step, and the tokens that it freed."""
        name = line(row.name)
        freed = ""
        if row.before is not None:
            name = f"{row.at + 1}  {name}"
            freed = signed(row.tokens - row.before)
        width = painter.fontMetrics().horizontalAdvance(freed)
        painter.setPen(ink(colours.good if freed.startswith("−") else colours.quiet))
        painter.drawText(room, RIGHT, freed)
        paint = paint_bold if is_current else paint_text
        paint(painter, room.adjusted(0, 0, -width - 10, 0), name, colours.text)

    def _paint_second(
        self,
        painter: QPainter,
        room: QRect,
        rect: QRect,
        row: StepRow,
        offers_compare: bool,
        colours: Colours,
    ) -> None:
        """Paint a step's sizes before and after and its outcome, and the link that compares with it."""
        if row.at == self._model.against or offers_compare:
            link = self.compare_room(rect, painter.fontMetrics())
            painter.setPen(ink(colours.accent))
            painter.drawText(link, CENTRE, COMPARE if offers_compare else "compared")
            right_edge = link.left() - 6
            room = room.adjusted(0, 0, right_edge - room.right(), 0)
        text = f"{grouped(row.tokens)} tokens"
        if row.before is not None:
            text = f"{grouped(row.before)} → {grouped(row.tokens)} · {line(row.words)}"
        paint_text(painter, room, text, colour=colours.quiet if row.succeeded else colours.high)


def _column(rect: QRect, depth: int) -> float:
    """Return the x coordinate of the dots of a depth, in pixels."""
    return rect.left() + 17.5 + INDENT * min(depth, DEEPEST)


def _lines(rect: QRect, row: StepRow) -> tuple[QRect, QRect]:
    """Return the rectangles of both lines of a row."""
    inner = rect.adjusted(30 + INDENT * min(row.depth, DEEPEST), 4, -12, -4)
    half = inner.height() // 2
    return inner.adjusted(0, 0, 0, half - inner.height()), inner.adjusted(0, half, 0, 0)


class StepsView(PaintedList):
    """The list of steps. A click or Enter goes to a step, F2 or a double click renames it."""

    go_wanted = Signal(int)
    """Emitted with the step to go to."""
    compare_wanted = Signal(int)
    """Emitted with the step to compare with."""

    def __init__(self, theme: Theme, model: StepsModel) -> None:
        self._steps = model
        self.delegate = StepsDelegate(theme, model)
        super().__init__("Steps", model, self.delegate)
        triggers = QAbstractItemView.EditTrigger
        self.opened.connect(lambda place: self.go_wanted.emit(model.rows[place].at))
        self.setEditTriggers(triggers.EditKeyPressed | triggers.DoubleClicked)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    @property
    def chosen(self) -> int | None:
        """The step whose row is selected; None if none is."""
        return self._step_at(self.currentIndex())

    def _step_at(self, index: QModelIndex) -> int | None:
        return self._steps.rows[index.row()].at if index.isValid() else None

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Go to the step that was clicked, or compare with it if its link was clicked."""
        super().mouseReleaseEvent(event)
        place = event.position().toPoint()
        index = self.indexAt(place)
        step = self._step_at(index)
        if step is None or event.button() != Qt.MouseButton.LeftButton or step == self._steps.here:
            return
        link = self.delegate.compare_room(self.visualRect(index), self.fontMetrics())
        if link.contains(place):
            self.compare_wanted.emit(step)
        else:
            self.go_wanted.emit(step)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == event.Reason.Mouse:
            index = self.indexAt(event.pos())
        else:
            index = self.currentIndex()
        step = self._step_at(index)
        if step is not None:
            self.menu_of(step).popup(self.viewport().mapToGlobal(QPoint(event.pos())))

    def menu_of(self, at: int) -> QMenu:
        """Return the context menu of a step: go to, compare, rename."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        index = self._steps.index(self._steps.place_of(at), 0)
        is_other = at != self._steps.here
        menu.addAction("Go to this step", lambda: self.go_wanted.emit(at)).setEnabled(is_other)
        menu.addAction("Compare with this step", lambda: self.compare_wanted.emit(at)).setEnabled(
            is_other
        )
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
    """The panel of steps: the recorded buffer and, below it, a row for each step."""

    TITLE: ClassVar[str] = "Steps"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._taken: tuple[Step, ...] | None = None
        self._steps: Steps | None = None
        stepping = desk.workbench.stepping
        self.model = StepsModel(stepping.rename)
        self.view = StepsView(desk.theme, self.model)
        self.view.go_wanted.connect(stepping.go)
        self.view.compare_wanted.connect(self.compare)
        self.undo = _button("Undo", "Go back one step (Ctrl+Z)", stepping.undo)
        self.redo = _button(
            "Redo", "Go forward one step, along the newest branch (Ctrl+Shift+Z)", stepping.redo
        )
        about_compare = "Compare the current buffer with the chosen step, in the diff"
        self.compared = _button("Compare", about_compare, self._compare)
        self.files = StepsFiles(desk, self, self._say)
        about = "Save, replay and export steps"
        self.actions_of: dict[str, QAction] = {}
        self.more = menu_button("Files ▾", self._fill_menu, about=about, name=about, role="")
        self.says = label(role="quiet", wrap=True)
        self.says.setContentsMargins(INSET, BOX_GAP, INSET, CHIP_GAP)
        self.setFocusProxy(self.view)
        self.view.selectionModel().currentChanged.connect(lambda _: self._enable())
        head = flow(self.undo, self.redo, self.compared, self.more, margins=LIST_HEAD)
        column(head, self.says, (self.view, 1), of=self, gap=0)

    def _fill_menu(self, menu: QMenu) -> None:
        """Fill the menu with entries to save, replay, export and drop the steps."""
        entries = {
            "Save steps…": self.files.save_steps,
            "Replay saved steps…": self.files.replay,
            "Export as pytest…": self.files.export_pytest,
        }
        self.actions_of = {words: menu.addAction(words, run) for words, run in entries.items()}
        export = menu.addMenu("Export the buffer")
        for shape in SHAPES:
            self.actions_of[shape] = export.addAction(
                _SHAPES[shape], partial(self.files.export_buffer, shape)
            )
        menu.addSeparator()
        self.actions_of["forget"] = menu.addAction(DROP_STEPS, self.desk.workbench.stepping.forget)

    def counted(self, state: State) -> int:
        return state.steps.own if state.steps else 0

    def show_state(self, state: State) -> None:
        """Show the current step immediately; compute the rows of new steps in a job."""
        steps = state.steps
        self.actions_of[NATIVE].setEnabled(
            state.session is not None and can_be_native(state.session.format)
        )
        if steps is self._steps and steps is not None:
            return
        self._steps = steps
        if steps is None:
            self._taken = None
            self.model.show((), ORIGIN, None)
            self._say(
                "Nothing compacted here yet." if state.session else "Open a transcript first."
            )
        elif steps.taken is self._taken:
            self._show_rows(self.model.rows)
        else:
            self._say("")
            self.desk.bridge.run(
                lambda task: step_rows_of(state), lambda rows: self._receive_rows(steps, rows)
            )
        self._enable()

    def _receive_rows(self, steps: Steps, rows: Sequence[StepRow]) -> None:
        """Show computed rows, unless other steps were taken meanwhile."""
        current = self._steps
        if current is not None and steps.taken is current.taken:
            self._taken = steps.taken
            self._show_rows(rows)

    def _show_rows(self, rows: Sequence[StepRow]) -> None:
        """Show the rows, and select the row of the current step."""
        steps = self._steps
        if steps is None:
            return
        has_moved = self.model.here != steps.at or len(rows) != len(self.model.rows)
        with QSignalBlocker(self.view.selectionModel()):
            self.model.show(rows, steps.at, steps.against)
        if has_moved and rows:
            self.view.stand_at(self.model.place_of(steps.at))
        self._enable()
        self.view.viewport().update()

    def _say(self, text: str) -> None:
        say(self.says, text)

    def _enable(self) -> None:
        """Enable the buttons and menu entries that have an effect in the current state."""
        can_undo = can_redo = can_compare = has_own = has_path = False
        steps = self._steps
        chosen = self.view.chosen
        if steps is not None:
            can_undo = steps.step is not None
            can_redo = bool(steps.children(steps.at))
            can_compare = chosen is not None and chosen != steps.at
            has_own = bool(steps.own)
            has_path = bool(steps.own_path)
        self.undo.setEnabled(can_undo)
        self.redo.setEnabled(can_redo)
        self.compared.setEnabled(can_compare)
        self.actions_of["Save steps…"].setEnabled(has_own)
        self.actions_of["forget"].setEnabled(has_own)
        self.actions_of["Export as pytest…"].setEnabled(has_path)

    def _compare(self) -> None:
        chosen = self.view.chosen
        if chosen is not None:
            self.compare(chosen)

    def compare(self, at: int) -> None:
        """Show the difference between the current buffer and that of a step in the diff."""
        self.desk.workbench.stepping.compare(at)
        self.desk.show_panel("Diff")


def _button(words: str, about: str, run: Callable[[], None]) -> QToolButton:
    button = small_button(words, run, about=about, name=words, role="")
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button
