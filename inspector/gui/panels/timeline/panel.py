"""The timeline: pressure over all requests. The plot, and pyqtgraph with it, is loaded after the window was painted."""

from functools import partial
from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QMenu, QVBoxLayout

from inspector.core.policies.policy import Watermark
from inspector.core.session import Thread
from inspector.core.tokens.pressure import Pressures
from inspector.gui.bridge import Task
from inspector.gui.desk import Desk
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import plural
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.curve_key import CurveKey
from inspector.gui.widgets.line_drag import LineDrag
from inspector.gui.widgets.small import Elided
from inspector.workbench.gauge import firings, watermarks
from inspector.workbench.state import PolicyBelief, State
from inspector.workbench.timeline import series, step_effects

MANY = 5_000
"""Requests of a thread whose curves take longer than a frame."""


class Timeline(Panel):
    """Shows the State's thread; a click, a drag and the arrow keys move the playhead."""

    TITLE: ClassVar[str] = "Timeline"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.plot: Any = None
        self._state: State | None = None
        self._drawn: tuple[Thread | None, Pressures | None, PolicyBelief | None] = (None, None, None)
        self._curves_of: Thread | None = None
        self._task: Task | None = None
        self._loading = False
        self._lines: tuple[Watermark, ...] = ()
        self._fired: PolicyBelief | None = None
        self._trees: object = None
        self._whose = ("", "")
        self._caption = label("PRESSURE", role="caption")
        self._here = Elided("quiet")
        self._here.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        head = QHBoxLayout()
        head.setContentsMargins(13, 6, 13, 0)
        head.addWidget(self._caption)
        head.addSpacing(12)
        head.addWidget(self._here, 1)
        self._key = CurveKey(desk.theme)
        head.addWidget(self._key)
        head.addStrut(self._key.sizeHint().height())  # nothing jumps where the key gives way to words
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addStretch()

    def show_state(self, state: State) -> None:
        """Curves where they are others; the playhead always."""
        self._state = state
        thread = state.thread
        count = len(thread.requests) if thread else 0
        self._caption.setText(f"PRESSURE OVER {plural(count, 'request').upper()}")
        if self.plot is not None:
            self._draw(state)
        elif not self._loading:
            self._loading = True
            self.desk.bridge.run(lambda task: _load(), self._plot_loaded)

    def _plot_loaded(self, make: Any) -> None:
        self.plot = make(self.desk.theme, LineDrag(self.desk.workbench, self))
        self.plot.moved.connect(self.desk.workbench.move)
        self.plot.hovered.connect(self._tell)
        self.plot.offered.connect(lambda at, where: self.menu_at(at).popup(where))
        column = self.layout()
        assert isinstance(column, QVBoxLayout)
        column.takeAt(1)
        column.addWidget(self.plot, 1)
        if self._state is not None:
            self._draw(self._state)

    def menu_at(self, at: int) -> QMenu:
        """What can be done at a request."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(f"Go to request {at}", partial(self.desk.workbench.move, at))
        runs = self.desk.runs
        if runs is not None:
            menu.addAction("Run from here…", partial(runs.fork_at, at))
            if runs.resumable:
                menu.addAction("Resume this run", runs.resume)
        return menu

    def _tell(self, words: str) -> None:
        """About the request under the mouse; the key comes back when there is none."""
        self._here.show_text(words)
        self._key.setVisible(not words)

    def _draw(self, state: State) -> None:
        drawn = (state.thread, state.pressures, state.believed)
        if any(one is not other for one, other in zip(self._drawn, drawn, strict=True)):
            self._drawn = drawn
            if self._task is not None:
                self._task.cancel()
                self._task = None
            self._draw_curves(state, state.thread)
        self.plot.show_window(state.window, watermarks(state))
        self.plot.show_playhead(state.at)
        self._draw_tiers(state)

    def _draw_curves(self, state: State, thread: Thread | None) -> None:
        """Of a long session worked out elsewhere; no curve of another stands there meanwhile."""
        from inspector.gui.panels.timeline.plot import grown  # loaded with the plot
        from inspector.gui.widgets.plot_curves import Curves, curves

        if thread is None or len(thread.requests) <= MANY:
            self.plot.show_curves(curves(series(state)), thread)
            return
        if not grown(self._curves_of, thread):
            self.plot.show_curves(Curves(), None)
        self._task = self.desk.bridge.run(
            lambda task: curves(series(state)), lambda found: self.plot.show_curves(found, thread)
        )
        self._curves_of = thread

    def _draw_tiers(self, state: State) -> None:
        """Where the lines lie the tiers would have fired; what our steps did."""
        lines = watermarks(state)
        if lines != self._lines or state.believed is not self._fired:
            self._lines, self._fired = lines, state.believed
            moved = {name for name, _ in state.choices.settings} & {line.setting for line in lines}
            self.plot.tiers.show_firings(firings(state), bool(moved))
        whose = (state.thread_id, state.choices.policy)
        if state.trees is not self._trees or whose != self._whose:
            self._trees, self._whose = state.trees, whose
            self.plot.tiers.show_ghosts(step_effects(state), len(state.thread.requests) if state.thread else 0)

    def restyle(self) -> None:
        """The plot keeps pens."""
        self._key.update()
        if self.plot is not None:
            self.plot.restyle()


def _load() -> Any:
    from inspector.gui.panels.timeline.plot import Plot  # pyqtgraph and numpy: 0.4 s, so only when a plot is wanted

    return Plot
