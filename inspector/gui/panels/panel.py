"""The base classes of panels: parts of the window that show a State and pass on what the user wants to do.

To add a panel, write a file with a `Panel` subclass and add the class to the list in
`gui/panels/catalogue.py`. The rules:

- `__init__(self, desk)` calls `super().__init__(desk)` and builds the widgets. Nothing is open yet.
- `show_state(state)` is the only input. It is called on the GUI thread after every change while the panel is visible
  (for a hidden panel, once it is shown). It must cost nothing if nothing that the panel shows has changed: ask
  `self.is_new("rows", state.session, state.at)`.
- Actions of the user are passed on: `self.desk.workbench.select(...)`, `.move(...)`, `self.desk.open_path(...)`.
- Work of more than 50 ms is a job: `self.desk.bridge.run(job, done)`, or a `LatestJob` if only the newest result is
  needed. Work on a whole session uses the lane `pass`, so that nothing waits for it. A panel creates no threads.
- Colours are read from `self.desk.theme.colours` while painting. A widget that keeps colours has a `restyle()`, which
  is called when they change.
- A widget paints in `with QPainter(self) as painter:`. A painter kept alive by a traceback crashes the program.
- Text of a transcript is shown by widgets that never interpret it: labels by `look.labels.label`, tooltips by
  `look.labels.tip`.
"""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, ClassVar, Generic, Literal, TypeAlias

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QLayout, QToolButton, QWidget

from inspector.core.heavy import load_module
from inspector.gui.desk import Desk
from inspector.gui.guard import Guarded, attempt
from inspector.gui.look.build import Item, Margins, button, column, row, small_button
from inspector.gui.look.labels import label
from inspector.gui.look.tokens import LIST_HEAD
from inspector.gui.widgets.table import Column, Rows, T
from inspector.workbench.state import State

Place: TypeAlias = Literal["left", "top", "centre", "right", "bottom"]
"""The initial place of a panel in its workspace; the user may move all panels but the one in the centre."""
SMALLEST = QSize(240, 110)
"""Pixels to which every panel can be shrunk."""


class Cover(QFrame):
    """A sentence that covers a panel which could not show the state, so that its former content is not mistaken for the
    current one."""

    def __init__(self, under: QWidget) -> None:
        super().__init__(under)
        self.setAutoFillBackground(True)
        self.words = label(role="quiet", wrap=True, centred=True)
        self.again = button("Work it out")
        self.again.hide()
        column(..., self.words, row(..., self.again, ...), ..., of=self, margins=None)


class Panel(Guarded, QWidget):
    """A part of the window. Besides the State, a panel keeps only view settings, such as scroll position and filter."""

    TITLE: ClassVar[str]
    HEADED: ClassVar[bool] = False
    """Does the panel have its own headline, so that it needs no caption?"""
    LIVE: ClassVar[bool] = False
    """Does the panel show the run or the proxy? Only such panels are updated for each word of a model's answer."""
    closed = Signal()
    """Emitted when the user presses a button of the panel that closes it."""
    heightened = Signal()
    """Emitted before the panel changes its fixed height."""
    height_changed = Signal()
    """Emitted when the preferred height has changed."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self._waiting: State | None = None
        self._in_front = True
        self.shown: State | None = None
        self._compared: dict[str, tuple[object, ...]] = {}
        self.cover: Cover | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setObjectName(type(self).__name__)
        self.setAccessibleName(self.TITLE)

    def show_state(self, state: State) -> None:
        raise NotImplementedError

    def is_new(self, what: str, *of: object) -> bool:
        """Has one of these values changed since the last call with `what`? Objects are compared by identity, plain
        values and tuples by value."""
        former = self._compared.get(what)
        self._compared[what] = of
        return former is None or not all(map(_is_same, former, of))

    def counted(self, state: State) -> int | str | None:
        """Return the count for the title, also while the panel is hidden; None if the title has no count."""
        return None

    def take(self, text: str) -> None:
        """Act on a text that the user typed elsewhere (Search), or focus the field to type in (Buffer)."""

    def seek(self, kind: str, by: int) -> None:
        """Go to the next (1) or previous (-1) row of a kind. Does nothing by default."""

    def note_workspace(self, name: str) -> None:
        """Adapt to the workspace that is now shown. Only called if the panel is in all workspaces."""

    def step(self, rows: int) -> None:
        """Go down by a number of rows (negative: up). Does nothing by default."""

    def fit(self) -> None:
        """Adapt the layout to a new size. Does nothing by default."""

    def preferred_width(self, is_narrow: bool) -> int:
        """Return the preferred width in pixels beside other panels; `is_narrow` is True in a narrow window."""
        return self.minimumWidth()

    def preferred_height(self, window_height: int, is_low: bool) -> int:
        """Return the preferred height in pixels; `is_low` is True if other panels need the room."""
        return self.minimumHeight()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.cover is not None:
            self.cover.resize(self.size())
        self.fit()

    def restyle(self) -> None:
        """Repaint the whole panel in the colours of the theme; widgets that keep colours update them."""
        self.update()
        for part in self.findChildren(QWidget):
            getattr(part, "restyle", part.update)()

    def minimumSizeHint(self) -> QSize:
        """Return a size that lets the dock become small, whatever its content asks for."""
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), SMALLEST.width()), min(hint.height(), SMALLEST.height()))

    @property
    def seen(self) -> bool:
        """Is the panel visible to the user? Qt also calls a panel visible that is behind another tab."""
        return self._in_front and self.isVisible()

    def receive(self, state: State) -> None:
        """Show a state now, or once the panel is visible. Called by the window; raises nothing."""
        count = self.counted(state)
        if count is not None:
            words = f"{count:,}" if isinstance(count, int) else count
            self.setWindowTitle(f"{self.TITLE} ({words})" if count else self.TITLE)
        if not self.seen and _path(self.shown) not in ("", _path(state)):
            self.attempt(State())  # a hidden panel must not keep another session in memory
        self._waiting = state
        self._catch_up()

    def come_forward(self, in_front: bool) -> None:
        """Record whether the panel's tab is the one in front. Called by the window."""
        self._in_front = in_front
        self._catch_up()

    def showEvent(self, event: QShowEvent) -> None:
        """Show the newest state, which was held back while the panel was hidden."""
        super().showEvent(event)
        self._catch_up()

    def _catch_up(self) -> None:
        if self.seen and self._waiting is not None:
            waiting = self._waiting
            self._waiting = None
            self.attempt(waiting)

    def attempt(self, state: State) -> None:
        """Show a state, or cover the panel with the sentence that it could not be shown. Raises nothing."""
        if self.cover is not None:  # after a failure its content may be a mixture of two states
            self.cover.deleteLater()
            self.cover = None
            attempt(lambda: self.show_state(State()))
        self.shown = state
        if failure := attempt(lambda: self.show_state(state)):
            self.fall(failure)

    def fall(self, failure: BaseException) -> None:
        """Cover the panel with the sentence that the state could not be shown."""
        self._cover(
            f"{self.TITLE} cannot be shown here: something went wrong ({type(failure).__name__})."
        )

    def show_cancelled(self) -> None:
        """Say that the work for the panel was cancelled, and offer to begin it again."""
        cover = self._cover(f"{self.TITLE}: the work was cancelled.")
        cover.again.show()
        cover.again.clicked.connect(lambda: self.attempt(self.desk.workbench.state))

    def _cover(self, words: str) -> Cover:
        """Lay a sentence over the panel."""
        if self.cover is None:
            self.cover = Cover(self)
        self.cover.words.setText(words)
        self.cover.resize(self.size())
        self.cover.show()
        self.cover.raise_()
        return self.cover


class PlotPanel(Panel):
    """A panel with a plot. pyqtgraph and numpy are loaded when it is first shown, since that takes 0.4 s."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.plot: Any = None
        self._loading = False

    def load_plot(self) -> None:
        """Load the plot in small steps and call `place_plot`; later calls do nothing."""
        if not self._loading:
            self._loading = True
            bridge = self.desk.bridge
            bridge.run(
                lambda task: load_module("numpy"), lambda _: bridge.in_turns(self._load_library())
            )

    def _load_library(self) -> Iterator[None]:
        """Load pyqtgraph on the GUI thread. Importing it reads every name of these modules, upon which PySide6 creates
        Qt classes (see inspector/gui/bridge.py)."""
        for qt_module in ("QtCore", "QtGui", "QtWidgets"):
            module = import_module(f"PySide6.{qt_module}")
            for name in dir(module):
                getattr(module, name)
            yield
        import_module("pyqtgraph")
        yield
        self.plot = self.make_plot()
        self.plot.moved.connect(self.desk.workbench.move)
        self.plot.hovered.connect(self.say)
        self.place_plot()

    def make_plot(self) -> Any:
        """Create the plot, whose heavy module is imported here."""
        raise NotImplementedError

    def place_plot(self) -> None:
        """Put the new plot into the panel, and show the current state in it."""
        raise NotImplementedError

    def say(self, words: str) -> None:
        """Show a text about the item under the mouse in the plot; the text is empty if there is none."""
        raise NotImplementedError


def _is_same(value: object, other: object) -> bool:
    return value is other or (isinstance(value, str | int | tuple) and value == other)


def _path(state: State | None) -> str:
    return state.session.path if state is not None and state.session is not None else ""


class ListPanel(Panel, Generic[T]):
    """A panel of one table. A subclass names the columns, and shows rows in `show_state`."""

    NAME: ClassVar[str]
    """Name of the table for screen readers."""
    COLUMNS: ClassVar[Sequence[Column[Any]]]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.says = label(role="quiet")
        self.copy: QToolButton | None = None
        self.table: Rows[T] = Rows(self.NAME, self.COLUMNS)
        self.table.chosen.connect(self.choose)
        self.table.opened.connect(self.open)

    def lay_out(
        self,
        *head: Item,
        margins: Margins = LIST_HEAD,
        gap: int | None = None,
        above: Sequence[QLayout] = (),
    ) -> None:
        """Lay out a row of widgets and the table below it. While the table is empty, the widgets take all the room.

        Args:
            head: the widgets of the row.
            above: layouts above that row.
        """
        column(
            *above, (row(*head, margins=margins, gap=gap), 1), (self.table, 1_000), of=self, gap=0
        )

    def copy_button(self) -> QToolButton:
        """Return a button that copies the selected rows, or all rows if none is selected."""
        self.copy = small_button("copy", self.table.copy)
        return self.copy

    def say_at_length(self) -> None:
        """Let the sentence about the rows take several lines."""
        self.says.setWordWrap(True)
        self.says.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.says.setContentsMargins(0, 4, 0, 0)  # aligns the first line with the text of a button

    def show_rows(self, rows: Sequence[T], words: str) -> None:
        """Show rows, and a sentence about them."""
        self.table.show_rows(rows)
        self.table.setVisible(bool(rows))
        if self.copy is not None:
            self.copy.setVisible(bool(rows))
        self.says.setText(words)

    def choose(self, place: int, column: int = -1) -> None:
        """Handle a click on a row in a column, or an arrow key that moved to the row (column -1)."""

    def open(self, place: int) -> None:
        """Handle Enter or a double click on a row."""
