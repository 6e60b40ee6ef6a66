"""What a panel is: one part of the window that shows a State and sends intents up; with a plot, or of one list.

To add one: a file with a `Panel` subclass, named with its place in the list in
`gui/panels/catalogue.py`. The rules:

- `__init__(self, desk)` calls `super().__init__(desk)` and builds the widgets. Nothing is open yet.
- `show_state(state)` is the only way in. It is called on the GUI thread after every change while the panel can be
  seen (a hidden one, when it comes to light) and must cost nothing when nothing it shows has changed: ask
  `self.is_new("rows", state.session, state.at)`.
- What the user wants goes up: `self.desk.workbench.select(...)`, `.move(...)`, `self.desk.open_path(...)`.
- Anything over 50 ms: `self.desk.bridge.run(job, done)`, or a `LatestJob` where only the newest matters; what goes over
  a whole session in the lane `pass`, so that nothing waits for it. A panel makes no thread.
- Colours: `self.desk.theme.colours`, read while painting. A widget that keeps some has a `restyle()`, which is called
  when they change.
- A widget paints in `with QPainter(self) as painter:`. A painter that a trace keeps alive ends the program.
- Text of a transcript goes into widgets that never interpret it: labels by `look.labels.label`, tooltips
  by `look.labels.tip`.
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
from inspector.gui.look.build import Item, Margins, column, row, small_button
from inspector.gui.look.labels import label
from inspector.gui.look.tokens import LIST_HEAD
from inspector.gui.widgets.table import Column, Rows, T
from inspector.workbench.state import State

Place: TypeAlias = Literal["left", "top", "centre", "right", "bottom"]
"""Where a panel stands in its workspace at first; the user may move all but the centre."""
SMALLEST = QSize(240, 110)
"""Pixels to which every panel can be shrunk."""


class Cover(QFrame):
    """Lies over a panel that could not show the state: a sentence, so that nobody takes an older one for it."""

    def __init__(self, under: QWidget) -> None:
        super().__init__(under)
        self.setAutoFillBackground(True)
        self.words = label(role="quiet", wrap=True, centred=True)
        column(self.words, of=self, margins=None)


class Panel(Guarded, QWidget):
    """One part of the window. Keeps nothing of its own but what the eye needs (scroll, filter)."""

    TITLE: ClassVar[str]
    HEADED: ClassVar[bool] = False
    """It has a headline of its own, and needs no caption."""
    LIVE: ClassVar[bool] = False
    """It shows the run or the proxy of the State: the others are not called for each word that a model says."""
    heightened = Signal()
    """It is about to fix another height for itself."""
    height_changed = Signal()
    """Another height suits it than before."""

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
        """Is one of these another than when `what` was last asked for? Objects are the same or not, plain values and
        tuples are compared."""
        former, self._compared[what] = self._compared.get(what), of
        return former is None or not all(map(_is_same, former, of))

    def counted(self, state: State) -> int | str | None:
        """Return how many there are of what the panel lists, for its title, seen or not. None: the title has none."""
        return None

    def take(self, text: str) -> None:
        """The user typed `text` elsewhere for this panel to act on (Search), or wants to type here (Buffer)."""

    def seek(self, kind: str, by: int) -> None:
        """Go to the next thing of a kind, or with -1 to the previous one. By default nothing."""

    def step(self, rows: int) -> None:
        """The user wants the row so many further down; for panels that have rows."""

    def fit(self) -> None:
        """The panel has other room: it may show more or less, or stand otherwise."""

    def preferred_width(self, is_narrow: bool) -> int:
        """Return the pixels that suit the panel beside others; `is_narrow`: in a window of little width."""
        return self.minimumWidth()

    def preferred_height(self, window_height: int, is_low: bool) -> int:
        """Return the pixels that suit the panel in a window of that height; `is_low`: beside others that need room."""
        return self.minimumHeight()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.cover is not None:
            self.cover.resize(self.size())
        self.fit()

    def restyle(self) -> None:
        """The colours have changed: all that is in the panel is painted anew, what keeps colours takes the new ones."""
        self.update()
        for part in self.findChildren(QWidget):
            getattr(part, "restyle", part.update)()

    def minimumSizeHint(self) -> QSize:
        """A dock may be made small, whatever its content would like."""
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), SMALLEST.width()), min(hint.height(), SMALLEST.height()))

    @property
    def seen(self) -> bool:
        """Can it be seen? Behind another tab Qt calls a panel visible, but it cannot."""
        return self._in_front and self.isVisible()

    def receive(self, state: State) -> None:
        """Called by the window: shows the state now, or as soon as the panel can be seen. Nothing is raised."""
        if (many := self.counted(state)) is not None:
            count = f"{many:,}" if isinstance(many, int) else many
            self.setWindowTitle(f"{self.TITLE} ({count})" if many else self.TITLE)
        if not self.seen and _path(self.shown) not in ("", _path(state)):
            self.attempt(State())  # what nobody sees keeps no other session in memory
        self._waiting = state
        self._catch_up()

    def come_forward(self, in_front: bool) -> None:
        """Called by the window: its tab was chosen, or another one."""
        self._in_front = in_front
        self._catch_up()

    def showEvent(self, event: QShowEvent) -> None:
        """A panel that comes to light shows what it missed."""
        super().showEvent(event)
        self._catch_up()

    def _catch_up(self) -> None:
        if self.seen and self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self.attempt(waiting)

    def attempt(self, state: State) -> None:
        """Show the state, or say in place that it could not be shown. Nothing is raised."""
        if self.cover is not None:  # what it keeps from then may be half of one state, half of another
            self.cover.deleteLater()
            self.cover = None
            attempt(lambda: self.show_state(State()))
        self.shown = state
        if failure := attempt(lambda: self.show_state(state)):
            self.fall(failure)

    def fall(self, failure: BaseException) -> None:
        """Say in place that the state could not be shown: what stands in the panel is of an older one."""
        if self.cover is None:
            self.cover = Cover(self)
        self.cover.words.setText(f"{self.TITLE} cannot be shown here: something went wrong ({type(failure).__name__}).")
        self.cover.resize(self.size())
        self.cover.show()
        self.cover.raise_()


class PlotPanel(Panel):
    """A panel with a plot. pyqtgraph and numpy take 0.4 s to load, so that is done when the panel is first shown."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.plot: Any = None
        self._loading = False

    def load_plot(self) -> None:
        """Once, in pieces; `place_plot` is called when it is there."""
        if not self._loading:
            self._loading = True
            bridge = self.desk.bridge
            bridge.run(lambda task: load_module("numpy"), lambda _: bridge.in_turns(self._load_library()))

    def _load_library(self) -> Iterator[None]:
        """On this thread, since it makes classes of Qt's (inspector/gui/bridge.py): pyqtgraph looks at every name of
        these, and PySide6 makes the class of a name when it is looked at."""
        for looked_at in ("QtCore", "QtGui", "QtWidgets"):
            module = import_module(f"PySide6.{looked_at}")
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
        """The plot, whose class is imported here: it is heavy."""
        raise NotImplementedError

    def place_plot(self) -> None:
        """Give the new plot its place, and show there what is shown."""
        raise NotImplementedError

    def say(self, words: str) -> None:
        """What is under the mouse in the plot; empty where nothing is."""
        raise NotImplementedError


def _is_same(value: object, other: object) -> bool:
    return value is other or (isinstance(value, str | int | tuple) and value == other)


def _path(state: State | None) -> str:
    return state.session.path if state is not None and state.session is not None else ""


class ListPanel(Panel, Generic[T]):
    """What inherits from it names the columns; `show_state` says which rows there are."""

    NAME: ClassVar[str]
    """What the table is called where it is read out."""
    COLUMNS: ClassVar[Sequence[Column[Any]]]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.says = label(role="quiet")
        self.copy: QToolButton | None = None
        self.table: Rows[T] = Rows(self.NAME, self.COLUMNS)
        self.table.chosen.connect(self.choose)
        self.table.opened.connect(self.open)

    def lay_out(
        self, *head: Item, margins: Margins = LIST_HEAD, gap: int | None = None, above: Sequence[QLayout] = ()
    ) -> None:
        """`head` in a row, the table below it; without rows what is said has all the room, at its top."""
        column(*above, (row(*head, margins=margins, gap=gap), 1), (self.table, 1_000), of=self, gap=0)

    def copy_button(self) -> QToolButton:
        """It copies the selected rows, else all."""
        self.copy = small_button("copy", self.table.copy)
        return self.copy

    def say_at_length(self) -> None:
        """What is said may take several lines."""
        self.says.setWordWrap(True)
        self.says.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.says.setContentsMargins(0, 4, 0, 0)  # as the words of a button beside it stand

    def show_rows(self, rows: Sequence[T], words: str) -> None:
        """These, and what is said of them."""
        self.table.show_rows(rows)
        self.table.setVisible(bool(rows))
        if self.copy is not None:
            self.copy.setVisible(bool(rows))
        self.says.setText(words)

    def choose(self, place: int, column: int = -1) -> None:
        """A row was clicked in a column, or walked to (-1)."""

    def open(self, place: int) -> None:
        """Enter or a double click on a row."""
