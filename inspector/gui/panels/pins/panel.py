"""Pins: a row for each text that should stay in the buffer, over all requests, in the recorded run and under each
chosen policy. Texts are pinned by the user, or found in what the user wrote."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from PySide6.QtCore import QEvent, QObject, QRect
from PySide6.QtGui import QMouseEvent, QPainter
from PySide6.QtWidgets import QMenu

from inspector.core.replay.pins import (
    PinHistory,
    PinIndex,
    collect_pins,
    describe_fate,
    pins_kept,
    recorded_pins,
)
from inspector.core.replay.report import ReplayReport
from inspector.core.session import Thread
from inspector.core.words import plural
from inspector.gui.bridge import LatestJob, Task
from inspector.gui.desk import Desk
from inspector.gui.look.build import checked_action, field, menu_button, small_button
from inspector.gui.look.colours import Colours, ink
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.look.tokens import BOX_GAP, LIST_HEAD
from inspector.gui.navigation import go_to
from inspector.gui.pacing import PacedJob
from inspector.gui.panels.panel import ListPanel
from inspector.gui.widgets.chips import flow
from inspector.gui.widgets.painted import PaintedCell
from inspector.gui.widgets.table import Column, Index, Rows
from inspector.workbench.compare import BASE, NAMES, PolicyRun, Result, compare, runs
from inspector.workbench.state import State

UNDER, STRIP, BECAME = 3, 4, 5
"""Indices of the columns of the policy, of the strip (a click goes to the request under the mouse), and of what
happened to the pin (a click goes to the request at which it happened)."""
Known: TypeAlias = dict[PolicyRun, Sequence[PinHistory]]


@dataclass(frozen=True, slots=True)
class PinLine:
    """A pin in the recorded run (`policy` BASE), or under a policy."""

    history: PinHistory
    policy: str = BASE

    @property
    def source(self) -> str:
        """Who pinned the text: the user or a rule; empty except in the recorded run."""
        names = {"given": "pinned", "constraint": "constraint", "instruction": "instruction"}
        return names[self.history.pin.origin] if self.policy == BASE else ""

    @property
    def first_request(self) -> str:
        """The request at which the text first occurs; empty except in the recorded run."""
        return grouped(self.history.pin.request) if self.policy == BASE else ""

    @property
    def text(self) -> str:
        """The pinned text; empty except in the recorded run."""
        return self.history.pin.text if self.policy == BASE else ""


def pin_lines(
    recorded: Sequence[PinHistory], under: dict[str, Sequence[PinHistory]], with_instructions: bool
) -> list[PinLine]:
    """Return a row for each pin in the recorded run, and below it one for each policy."""
    lines = []
    for index, history in enumerate(recorded):
        if with_instructions or history.pin.origin != "instruction":
            lines.append(PinLine(history, BASE))
            lines += [PinLine(histories[index], name) for name, histories in under.items()]
    return lines


def _spans(line: PinLine) -> str:
    return ", ".join(f"{span.first}-{span.last} {span.state}" for span in line.history.spans)


class PinsPanel(ListPanel[PinLine]):
    """The pins of the thread. A click on a row goes to the first place of the text, a click on the strip to the request
    under the mouse, and a click on what happened to the pin to the place where it happened."""

    TITLE: ClassVar[str] = "Pins"
    NAME = "Pins over all requests"
    COLUMNS: ClassVar[Sequence[Column[PinLine]]] = (
        Column("Request", lambda line: line.first_request, width=6, figures=True),
        Column("Source", lambda line: line.source, width=9),
        Column("Text", lambda line: line.text, lines=2),
        Column("Policy", lambda line: line.policy, width=10, least=10),
        Column("All requests", _spans, width=24, least=17),
        Column("What happened to it", lambda line: describe_fate(line.history), least=21, lines=3),
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._state = State()
        self._thread: Thread | None = None
        self._subject = ("", "")
        """Path of the session and id of the thread."""
        self._pins: tuple[str, ...] = ()
        self._recorded: Sequence[PinHistory] = ()
        self._looking = PacedJob(desk.bridge, self)
        self._known: Known = {}
        """The pins under each policy that was replayed over the thread."""
        self._driving = LatestJob(desk.bridge)
        self._pressed = 0
        """The x coordinate in pixels of the last mouse press."""
        self.strip = StripDelegate(desk.theme, self.table)
        self.table.setItemDelegateForColumn(STRIP, self.strip)
        self.table.viewport().installEventFilter(self)
        self.table.selectionModel().currentRowChanged.connect(lambda *_: self._name_button())
        self.typed = field("Pin a text")
        self.typed.setMaximumWidth(220)
        self.say_at_length()
        self.typed.returnPressed.connect(self._pin_typed)
        self.pin = small_button(
            "pin", self._toggle, about="Pin the text of the selected row, or remove its pin"
        )
        self.instructions = small_button(
            "instructions", self._show, about="List the user's instructions, too", checkable=True
        )
        about = "Replay the thread under other policies, offline"
        self.policies = menu_button("under policies ▾", self._fill_policies, about=about)
        self.setFocusProxy(self.table)
        tools = flow(self.typed, self.pin, self.instructions, self.policies, margins=LIST_HEAD)
        self.lay_out(
            (self.says, 1), self.copy_button(), above=[tools], margins=LIST_HEAD, gap=BOX_GAP
        )
        self._show()

    def _fill_policies(self, menu: QMenu) -> None:
        """Offer every policy, to see its pins below the recorded ones."""
        for name, title in NAMES.items():
            if name != BASE:
                action = checked_action(menu, title)
                action.setData(name)
                action.toggled.connect(lambda _: self._start_replays())

    def show_state(self, state: State) -> None:
        """Find the pins again if the thread or the pinned texts have changed; show the playhead in any case."""
        self._state = state
        if state.thread is not self._thread or state.pins != self._pins:
            self._show_thread(state)
        self._start_replays()
        if self.strip.place != state.at:
            self.strip.place = state.at
            self.table.viewport().update()

    def _show_thread(self, state: State) -> None:
        """Find the pins of a thread. If it has only grown, its former pins are shown until the new ones are found."""
        path = state.session.path if state.session is not None else ""
        subject = path, state.thread_id
        has_grown = bool(path) and subject == self._subject
        if state.thread is not self._thread and not has_grown:
            self._recorded = ()
        self._subject = subject
        self._thread = state.thread
        self._pins = state.pins
        self._known.clear()
        self._find_pins()

    def _find_pins(self) -> None:
        session = self._state.session
        thread = self._thread
        pins = self._pins
        if session is None or thread is None:
            self._looking.cancel()
        else:

            def follow(task: Task) -> Sequence[PinHistory]:
                return recorded_pins(thread, PinIndex(collect_pins(thread, pins)))

            self._looking.run(session, (thread.id, pins), follow, self._show_recorded, lane="pass")
        self._show()

    def _show_recorded(self, recorded: Sequence[PinHistory]) -> None:
        self._recorded = recorded
        self._show()

    def _chosen_runs(self) -> list[PolicyRun]:
        """Return a run for each policy that is checked in the menu."""
        chosen = [action.data() for action in self.policies.menu().actions() if action.isChecked()]
        if not chosen:
            return []
        window = self.desk.workbench.end_window or self._state.window
        listed = runs(self._state, chosen, window.tokens if window else None)
        return [run for run in listed if run.policy != BASE]

    def _start_replays(self) -> None:
        """Replay the chosen policies over the thread, except those whose pins are already known."""
        missing = [run for run in self._chosen_runs() if run not in self._known]
        self._driving.cancel()
        thread = self._thread
        if missing and thread is not None:

            def job(task: Task) -> None:
                compare(
                    thread,
                    missing,
                    lambda run, result: task.report((run, result)),
                    cancelled=task.cancelled,
                )

            self._driving.run(job, lambda _: self._show(), reported=self._keep_result, lane="wait")
        self._show()

    def _keep_result(self, result_of_run: tuple[PolicyRun, Result]) -> None:
        run, result = result_of_run
        self._known[run] = result.pins if isinstance(result, ReplayReport) else ()
        self._show()

    def _show(self) -> None:
        by_policy = self._pins_by_policy()
        instruction_count = sum(history.pin.origin == "instruction" for history in self._recorded)
        self.strip.requests = len(self._thread.requests) if self._thread else 0
        if self._thread:
            lines = pin_lines(self._recorded, by_policy, self.instructions.isChecked())
        else:
            lines = []
        self.table.leave_out(UNDER, not by_policy)
        self.instructions.setText(
            f"instructions ({instruction_count:,})" if instruction_count else "instructions"
        )
        self.instructions.setVisible(instruction_count > 0)
        self.show_rows(lines, self._words(by_policy, instruction_count))
        self._name_button()

    def _pins_by_policy(self) -> dict[str, Sequence[PinHistory]]:
        """Return the pins under each chosen policy whose result is known and up to date."""
        by_policy = dict[str, Sequence[PinHistory]]()
        for run in self._chosen_runs():
            histories = self._known.get(run, ())
            if len(histories) == len(self._recorded):
                by_policy[run.policy] = histories
        return by_policy

    def _words(self, by_policy: dict[str, Sequence[PinHistory]], instruction_count: int) -> str:
        """Return how many pins never left the buffer, or why there are none."""
        if self._thread is None:
            return "Open a transcript to see whether the user's instructions stay in context."
        if self._looking.busy:
            return "Looking for the user's instructions …"
        if not self._recorded:
            return "This thread has no instruction of the user. Pin a text, or a sentence of a message."
        if instruction_count == len(self._recorded) and not self.instructions.isChecked():
            instructions = plural(instruction_count, "instruction")
            return f"No constraints and no pins. “instructions” lists {instructions} of the user."
        counts = [_kept_words(f"as {BASE}", self._recorded)]
        counts += [_kept_words(f"under {name}", histories) for name, histories in by_policy.items()]
        busy = " Replaying policies …" if self._driving.busy else ""
        return f"Always in context: {', '.join(counts)}.{busy}"

    @property
    def _chosen_pin(self) -> PinLine | None:
        place = self.table.currentIndex().row()
        return self.table.rows[place] if 0 <= place < len(self.table.rows) else None

    def _name_button(self) -> None:
        """Let the button pin or unpin the text of the chosen row."""
        line = self._chosen_pin
        self.pin.setEnabled(line is not None)
        self.pin.setText(
            "unpin" if line is not None and line.history.pin.origin == "given" else "pin"
        )

    def _pin_typed(self) -> None:
        text = self.typed.text().strip()
        if text:
            self.typed.clear()
            self.desk.workbench.pin(text)

    def _toggle(self) -> None:
        if self._chosen_pin is not None:
            pin = self._chosen_pin.history.pin
            self.desk.workbench.pin(pin.text, pin.origin != "given")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.MouseButtonPress and isinstance(event, QMouseEvent):
            self._pressed = int(event.position().x())
        return False

    def choose(self, place: int, column: int = -1) -> None:
        """Go to the text of a row: to the request under the mouse on the strip, to its loss, or to its first place."""
        history = self.table.rows[place].history
        request: int | None = history.pin.request
        message = history.pin.message
        if column == STRIP and self.strip.requests:
            room = self.table.visualRect(self.table.model().index(place, STRIP))
            request = self.strip.request_at(room, self._pressed)
            span = history.at(request)
            if span is not None and span.message:
                message = span.message
        elif column == BECAME:
            losses = [span for span in history.spans if span.state == "gone"]
            if losses:
                request = losses[0].first
            else:
                message = history.spans[-1].message
        go_to(self.desk.workbench, self._state.thread_id, request, message)

    def open(self, place: int) -> None:
        self.desk.show_panel("Message")


def _kept_words(run: str, histories: Sequence[PinHistory]) -> str:
    """Return `3 of 4 under pi`: how many pins never left the buffer."""
    in_context, total = pins_kept(histories)
    return f"{in_context} of {total} {run}"


class StripDelegate(PaintedCell):
    """Paints a strip of all requests from left to right: a full bar while the buffer has the text word for word, half a
    bar while it is paraphrased, and a line while it is not in the buffer."""

    def __init__(self, theme: Theme, table: Rows[PinLine]) -> None:
        super().__init__(theme, table)
        self._table = table
        self.requests = 0
        self.place: int | None = None
        """The request of the playhead; None: after the last record."""

    def request_at(self, room: QRect, x: int) -> int:
        """Return the request at a pixel of the strip."""
        inner = room.adjusted(9, 0, -9, 0)
        request = (x - inner.left()) * self.requests // max(1, inner.width())
        return max(0, min(self.requests - 1, request))

    def paint_cell(
        self, painter: QPainter, rect: QRect, index: Index, chosen: bool, palette: Colours
    ) -> None:
        line_height = self._table.verticalHeader().defaultSectionSize() - 8
        inner = rect.adjusted(9, (rect.height() - line_height) // 2, -9, 0)
        inner.setHeight(line_height)
        heights = {"verbatim": line_height, "paraphrased": line_height // 2, "gone": 2}
        colours = {"verbatim": palette.good, "paraphrased": palette.low, "gone": palette.high}
        for span in self._table.rows[index.row()].history.spans:
            left = self._x(inner, span.first)
            width = max(2, self._x(inner, span.last + 1) - left)
            height = heights[span.state]
            top = inner.top() + (line_height - height) // 2
            painter.fillRect(QRect(left, top, width, height), ink(colours[span.state]))
        if self.place is not None and self.requests:
            x = self._x(inner, self.place)
            painter.fillRect(QRect(x, rect.top(), 1, rect.height()), ink(palette.playhead))

    def _x(self, inner: QRect, request: int) -> int:
        return inner.left() + inner.width() * request // max(1, self.requests)
