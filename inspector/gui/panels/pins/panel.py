"""Pins: a line for each text that should hold, over all requests, as recorded and under each policy that is chosen.
They are the user's own, and what the program finds in what the user wrote."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from PySide6.QtCore import QEvent, QObject, QRect
from PySide6.QtGui import QMouseEvent, QPainter
from PySide6.QtWidgets import QMenu

from inspector.core.replay.pins import PinHistory, PinIndex, describe_fate, find_pins, pins_kept, recorded_pins
from inspector.core.replay.report import ReplayReport
from inspector.core.session import Thread
from inspector.core.words import plural
from inspector.gui.bridge import LatestJob, Task
from inspector.gui.desk import Desk
from inspector.gui.look.build import checked_action, field, menu_button, small_button
from inspector.gui.look.colours import Colours, ink
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.navigation import go_to
from inspector.gui.pacing import PacedJob
from inspector.gui.panels.panel import ListPanel
from inspector.gui.widgets.chips import flow
from inspector.gui.widgets.painted import PaintedCell
from inspector.gui.widgets.table import Column, Index, Rows
from inspector.workbench.compare import BASE, NAMES, PolicyRun, Result, compare, runs
from inspector.workbench.state import State

UNDER, STRIP, BECAME = 3, 4, 5
"""Columns whose click leads to the request under the mouse, and to where the pin went."""
Known: TypeAlias = dict[PolicyRun, Sequence[PinHistory]]


@dataclass(frozen=True, slots=True)
class PinLine:
    """A pin as recorded (`policy` BASE), or under a policy."""

    history: PinHistory
    policy: str = BASE

    @property
    def found(self) -> str:
        """Who pinned the text: the user or a rule; empty except in the recorded run."""
        names = {"given": "pinned", "constraint": "constraint", "instruction": "instruction"}
        return names[self.history.pin.origin] if self.policy == BASE else ""


def pin_lines(
    recorded: Sequence[PinHistory], under: dict[str, Sequence[PinHistory]], with_instructions: bool
) -> list[PinLine]:
    """Return each pin as recorded, beneath it the same under each policy."""
    lines = []
    for n, history in enumerate(recorded):
        if with_instructions or history.pin.origin != "instruction":
            lines.append(PinLine(history, BASE))
            lines += [PinLine(histories[n], name) for name, histories in under.items()]
    return lines


def _spans(line: PinLine) -> str:
    return ", ".join(f"{span.first}-{span.last} {span.state}" for span in line.history.spans)


class PinsPanel(ListPanel[PinLine]):
    """A click goes to where the text first stood; on the strip, to the request; on what became of it, to that place."""

    TITLE: ClassVar[str] = "Pins"
    NAME = "Pins over all requests"
    COLUMNS: ClassVar[Sequence[Column[PinLine]]] = (
        Column(
            "request", lambda line: grouped(line.history.pin.request) if line.policy == BASE else "", 6, figures=True
        ),
        Column("found", lambda line: line.found, 9),
        Column("text", lambda line: line.history.pin.text if line.policy == BASE else "", lines=2),
        Column("under", lambda line: line.policy, 10, least=10),
        Column("over all requests", _spans, 24, least=17),
        Column("what became of it", lambda line: describe_fate(line.history), least=21, lines=3),
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._state = State()
        self._thread: Thread | None = None
        self._subject = ("", "")
        """Path of the session, and id of the thread."""
        self._pins: tuple[str, ...] = ()
        self._recorded: Sequence[PinHistory] = ()
        self._looking = PacedJob(desk.bridge, self)
        self._known: Known = {}
        self._driving = LatestJob(desk.bridge)
        self._pressed = 0
        self.strip = StripDelegate(desk.theme, self.table)
        self.table.setItemDelegateForColumn(STRIP, self.strip)
        self.table.viewport().installEventFilter(self)
        self.table.selectionModel().currentRowChanged.connect(lambda *_: self._name_button())
        self.typed = field("Pin a text")
        self.typed.setMaximumWidth(220)
        self.say_at_length()
        self.typed.returnPressed.connect(self._pin_typed)
        self.pin = small_button("pin", self._toggle, about="Pin the chosen line, or take its pin away")
        self.instructions = small_button("instructions", self._show, about="Instructions, too", checkable=True)
        about = "Drive policies over the thread, offline"
        self.policies = menu_button("under policies ▾", self._fill_policies, about=about)
        self.setFocusProxy(self.table)
        tools = flow(self.typed, self.pin, self.instructions, self.policies, margins=(10, 5, 8, 0))
        self.lay_out((self.says, 1), self.copy_button(), above=[tools], margins=(13, 2, 8, 3), gap=4)
        self._show()

    def _fill_policies(self, menu: QMenu) -> None:
        for name, title in NAMES.items():
            if name != BASE:
                action = checked_action(menu, title)
                action.setData(name)
                action.toggled.connect(lambda _: self._drive())

    def show_state(self, state: State) -> None:
        """Another thread or other pins are looked for anew; the playhead always."""
        self._state = state
        if state.thread is not self._thread or state.pins != self._pins:
            path = state.session.path if state.session is not None else ""
            if state.thread is not self._thread and (not path or (path, state.thread_id) != self._subject):
                self._recorded = ()
            self._subject = path, state.thread_id
            self._thread, self._pins = state.thread, state.pins
            self._known.clear()
            self._look()
        self._drive()
        if self.strip.place != state.at:
            self.strip.place = state.at
            self.table.viewport().update()

    def _look(self) -> None:
        session, thread, pins = self._state.session, self._thread, self._pins
        if session is None or thread is None:
            self._looking.cancel()
        else:

            def follow(task: Task) -> Sequence[PinHistory]:
                return recorded_pins(thread, PinIndex(find_pins(thread, pins)))

            self._looking.run(session, (thread.id, pins), follow, self._take, lane="pass")
        self._show()

    def _take(self, recorded: Sequence[PinHistory]) -> None:
        self._recorded = recorded
        self._show()

    def _wanted(self) -> list[PolicyRun]:
        chosen = [action.data() for action in self.policies.menu().actions() if action.isChecked()]
        window = self.desk.workbench.end_window or self._state.window
        listed = runs(self._state, chosen, window.tokens if window else None) if chosen else ()
        return [run for run in listed if run.policy != BASE]

    def _drive(self) -> None:
        runs = self._wanted()
        missing = [run for run in runs if run not in self._known]
        self._driving.cancel()
        thread = self._thread
        if missing and thread is not None:

            def job(task: Task) -> None:
                compare(thread, missing, lambda run, result: task.report((run, result)), cancelled=task.cancelled)

            self._driving.run(job, lambda _: self._show(), reported=self._heard, lane="wait")
        self._show()

    def _heard(self, news: tuple[PolicyRun, Result]) -> None:
        run, result = news
        self._known[run] = result.pins if isinstance(result, ReplayReport) else ()
        self._show()

    def _show(self) -> None:
        under = {
            run.policy: series
            for run in self._wanted()
            if len(series := self._known.get(run, ())) == len(self._recorded)
        }
        self.strip.requests = len(self._thread.requests) if self._thread else 0
        lines = pin_lines(self._recorded, under, self.instructions.isChecked()) if self._thread else []
        self.table.leave_out(UNDER, not under)
        left = sum(history.pin.origin == "instruction" for history in self._recorded)
        self.instructions.setText(f"instructions ({left:,})" if left else "instructions")
        self.instructions.setVisible(left > 0)
        self.show_rows(lines, self._words(under, left))
        self._name_button()

    def _words(self, under: dict[str, Sequence[PinHistory]], left: int) -> str:
        if self._thread is None:
            return "Open a transcript to see whether what its user said still stands."
        if self._looking.busy:
            return "Looking for what the user said …"
        if not self._recorded:
            return "The user gives no instruction here. Pin a text, or a sentence of a message."
        if left == len(self._recorded) and not self.instructions.isChecked():
            return f"No constraint, no pin; the button shows {plural(left, 'instruction')} of the user."
        counts = {BASE: pins_kept(self._recorded)}
        counts |= {name: pins_kept(histories) for name, histories in under.items()}
        words = ", ".join(
            f"{count} of {of} {'as' if name == BASE else 'under'} {name}" for name, (count, of) in counts.items()
        )
        busy = " Driving policies …" if self._driving.busy else ""
        return f"Never gone: {words}.{busy}"

    @property
    def _chosen(self) -> PinLine | None:
        place = self.table.currentIndex().row()
        return self.table.rows[place] if 0 <= place < len(self.table.rows) else None

    def _name_button(self) -> None:
        line = self._chosen
        self.pin.setEnabled(line is not None)
        self.pin.setText("unpin" if line is not None and line.history.pin.origin == "given" else "pin")

    def _pin_typed(self) -> None:
        if text := self.typed.text().strip():
            self.typed.clear()
            self.desk.workbench.pin(text)

    def _toggle(self) -> None:
        if self._chosen is not None:
            pin = self._chosen.history.pin
            self.desk.workbench.pin(pin.text, pin.origin != "given")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.MouseButtonPress and isinstance(event, QMouseEvent):
            self._pressed = int(event.position().x())
        return False

    def choose(self, place: int, column: int = -1) -> None:
        line = self.table.rows[place]
        at: int | None = line.history.pin.request
        message = line.history.pin.message
        if column == STRIP and self.strip.requests:
            room = self.table.visualRect(self.table.model().index(place, STRIP))
            at = self.strip.request_at(room, self._pressed)
            span = line.history.at(at)
            message = (span.message if span is not None else "") or message
        elif column == BECAME:
            gone = next((span for span in line.history.spans if span.state == "gone"), None)
            at, message = (gone.first, message) if gone is not None else (at, line.history.spans[-1].message)
        go_to(self.desk.workbench, self._state.thread_id, at, message)

    def open(self, place: int) -> None:
        self.desk.show_panel("Message")


class StripDelegate(PaintedCell):
    """All requests from left to right: verbatim a full bar, paraphrased half of one, gone a line."""

    def __init__(self, theme: Theme, table: Rows[PinLine]) -> None:
        super().__init__(theme, table)
        self._table = table
        self.requests = 0
        self.place: int | None = None
        """The request we stand at."""

    def request_at(self, room: QRect, x: int) -> int:
        """The request at a place of the strip."""
        inner = room.adjusted(9, 0, -9, 0)
        return max(0, min(self.requests - 1, (x - inner.left()) * self.requests // max(1, inner.width())))

    def paint_cell(self, painter: QPainter, rect: QRect, index: Index, chosen: bool, c: Colours) -> None:
        line = self._table.rows[index.row()]
        strip_height = (
            self._table.verticalHeader().defaultSectionSize() - 8
        )  # a strip is a line high, whatever its row is
        inner = rect.adjusted(9, (rect.height() - strip_height) // 2, -9, 0)
        inner.setHeight(strip_height)
        for span in line.history.spans:
            left, right = self._x(inner, span.first), self._x(inner, span.last + 1)
            high = {"verbatim": inner.height(), "paraphrased": inner.height() // 2, "gone": 2}[span.state]
            colour = {"verbatim": c.good, "paraphrased": c.low, "gone": c.high}[span.state]
            top = inner.top() + (inner.height() - high) // 2
            painter.fillRect(QRect(left, top, max(2, right - left), high), ink(colour))
        if self.place is not None and self.requests:
            x = self._x(inner, self.place)
            painter.fillRect(QRect(x, rect.top(), 1, rect.height()), ink(c.playhead))

    def _x(self, inner: QRect, request: int) -> int:
        return inner.left() + inner.width() * request // max(1, self.requests)
