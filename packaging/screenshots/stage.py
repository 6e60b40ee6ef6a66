"""The window with a pair of hands: what a person does in it, by widgets, keys and intents; then one picture."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget
from screenshots.screen import rest

from inspector.gui.look.theme import Mode
from inspector.gui.panels.diff.panel import DiffPanel
from inspector.gui.panels.tiers.need_panel import NeedPanel
from inspector.gui.panels.tiers.panel import TierPanel
from inspector.gui.panels.timeline.gauge import Gauge
from inspector.gui.window import MainWindow
from inspector.workbench.pressure.gauge import reading

P = TypeVar("P", bound=QWidget)
SIZE = (1280, 800)


class Stage:
    """`window` is open and shown."""

    def __init__(self, window: MainWindow) -> None:
        self.window = window
        self.bench = window.workbench
        self.stepping = window.workbench.stepping

    # -- the scenery ---------------------------------------------------------------------------------------------------

    def open(self, path: Path) -> None:
        """A transcript, to its end."""
        self.window.open_path(str(path))
        self.rest(lambda: self.bench.state.session is not None and self.bench.state.opening is None)

    def set_up(self, mode: Mode, size: tuple[int, int] = SIZE, bottom: int = 0) -> None:
        """Theme, size of the window, a fresh layout; `bottom`: pixels for the panels at the foot."""
        self.window.resize(*size)
        self.window.theme.choose(mode)
        self.window.docks.reset()
        self._scroll(to_foot=False)
        if bottom:
            self.rest()
            compact = self.window.docks.workspaces["Compact"]
            compact.resizeDocks([compact.docks["Lost"]], [bottom], Qt.Orientation.Vertical)
        self.rest()

    def rest(self, until: Callable[[], bool] = lambda: True) -> None:
        """Until the window is at rest."""
        rest(self.window, until)

    def picture(self) -> QImage:
        """What can be seen, without a cursor that blinks."""
        focus = QApplication.focusWidget()
        if focus is not None:
            focus.clearFocus()
        self.rest()
        return self.window.grab().toImage()

    # -- panels --------------------------------------------------------------------------------------------------------

    def bring(self, *titles: str) -> None:
        """Panels to the front."""
        for title in titles:
            self.window.show_panel(title)
        self.rest()

    def panel(self, title: str, kind: type[P]) -> P:
        """The panel of that title."""
        found = self.window.docks.panels[title]
        assert isinstance(found, kind)
        return found

    @property
    def tiers(self) -> TierPanel:
        """Right: a row a tier."""
        return self.panel("Tiers", TierPanel)

    @property
    def need(self) -> NeedPanel:
        """At the foot: what a tier asks."""
        return self.panel("Model calls", NeedPanel)

    @property
    def diff(self) -> DiffPanel:
        """At the foot: before and after."""
        return self.panel("Diff", DiffPanel)

    # -- hands ---------------------------------------------------------------------------------------------------------

    def click(self, widget: QWidget) -> None:
        """In its middle."""
        QTest.mouseClick(
            widget,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
            widget.rect().center(),
        )
        self.rest()

    def stand(self, at: int | None) -> None:
        """At a request."""
        self.bench.move(at)
        self.rest(lambda: self.bench.state.previews is not None or not self.tiers.seen)

    def look_at(self, tier: str) -> None:
        """A click on the tier's row keeps its preview in the diff."""
        self.bring("Tiers")
        if self.bench.state.pointed != tier:
            QTest.mouseClick(
                self.tiers.rows[tier],
                Qt.MouseButton.LeftButton,
                Qt.KeyboardModifier.NoModifier,
                QPoint(4, 4),
            )
        self.rest()

    def run(self, tier: str) -> None:
        """Step or force it; returns when it has ended, or waits for the person."""
        self.bring("Tiers")
        self.click(self.tiers.rows[tier].button)
        self.rest(lambda: self.bench.state.asking is None or not self.bench.state.asking.busy)

    def answer_by(self, word: str) -> None:
        """Offline, Simulated, Manually."""
        self.bring("Tiers")
        self.click(self.tiers.answers.chips.buttons[word])

    def fail_with(self, words: str) -> None:
        """The need that waits fails in that way."""
        menu = self.need.fail.menu()
        assert menu is not None
        next(action for action in menu.actions() if action.text() == words).trigger()
        self.rest()

    def paste(self, text: str) -> None:
        """An answer by hand."""
        self.need.answer.setPlainText(text)
        self.rest()

    def newest(self) -> None:
        """The newest message is the selected one."""
        self.bench.select(self.bench.state.buffer().messages[-1].id)
        self.rest()

    def show_text(self) -> None:
        """The text of the first change beside the rows of the diff."""
        if not self.diff.bar.text.isChecked():
            self.click(self.diff.bar.text)
        self.diff.view.setCurrentIndex(self.diff.model.index(0, 0))
        self.diff.walk(1)
        self.rest()

    def to_foot(self) -> None:
        """The tier panel scrolled down."""
        self._scroll(to_foot=True)
        self.rest()

    def _scroll(self, to_foot: bool) -> None:
        if "Tiers" in self.window.docks.panels:
            (area,) = self.tiers.findChildren(QScrollArea)
            bar = area.verticalScrollBar()
            bar.setValue(bar.maximum() if to_foot else 0)

    def drag_line(self, name: str, share: float) -> None:
        """The watermark of the gauge whose label ends so, to that share of the tank."""
        tank = self.panel("Pressure", Gauge).tank
        now = reading(self.bench.state)
        assert now is not None
        line = next(line for line in now.lines if line.label.endswith(name))
        at, to = (
            QPoint(tank.width() // 5, round(tank.y_of(tokens)))
            for tokens in (line.tokens, share * now.rim)
        )
        left, plain = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        QTest.mousePress(tank, left, plain, at)
        QTest.mouseMove(tank, to)
        self.rest()
        QTest.mouseMove(tank, to)
        QTest.mouseRelease(tank, left, plain, to)
        self.rest()
