"""The buffer list: the messages of the request we look at, filtered and sorted as the user likes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import is_
from typing import ClassVar

from PySide6.QtCore import QModelIndex, QPoint, QRect, Qt
from PySide6.QtGui import QAction, QActionGroup, QFontMetrics
from PySide6.QtWidgets import QMenu, QToolButton

from inspector.core.buffer import is_prefix
from inspector.core.calls import CallIndex
from inspector.core.message import Message
from inspector.core.outcome import FateName
from inspector.core.session import Thread
from inspector.core.tokens.estimators import DEFAULT_ESTIMATOR, Estimator, count, estimator
from inspector.core.tokens.prediction import UNSCALED, Scale
from inspector.core.words import plural
from inspector.gui.bridge import LatestJob
from inspector.gui.commands import WINDOW_KEYS
from inspector.gui.desk import Desk
from inspector.gui.edits.manual_edits import buffer_menu
from inspector.gui.look.build import checked_action, column, delayed, field, menu_button, row, small_button
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.visible import line
from inspector.gui.panels.buffer.rows import NO_FATES, ORDERS, BufferDelegate, BufferModel, Order, buffer_heads
from inspector.gui.panels.panel import Panel
from inspector.gui.settings import Settings
from inspector.gui.widgets.painted import ColumnHead, PaintedHead, PaintedList
from inspector.workbench.message_rows import KINDS, NO_CALLS, next_of_kind, no_messages_words, of_kind, with_text
from inspector.workbench.policy_input import sizer_of
from inspector.workbench.state import BufferFilter, State
from inspector.workbench.steps import ORIGIN, Steps

_ONLY = 220
"""Pixels of what is said of the messages that are shown alone."""
SOUGHT = {"Errors": "error", "Edits": "edit of a file", "User": "message of the user"}
"""Kinds of messages that a key leads to, in the singular."""
ORDER_KEY = "buffer/order"
"""Under which the chosen order is remembered."""
MANY = 5_000
"""Messages of a thread whose names and sizes take longer than a frame."""
UNSETTLED = 8
"""Messages at the end of a thread that may be other ones when it has grown."""


class BufferPanel(Panel):
    """One row a message; the selected one is the State's."""

    TITLE: ClassVar[str] = "Buffer"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.model = BufferModel()
        self.delegate = BufferDelegate(desk.theme)
        self.view = PaintedList("Messages of the buffer", self.model, self.delegate)
        self.text = field("Filter by text   /", "Filter   /", "Filter", name="Filter messages by text")
        self.kind = _menu_button("Show only some messages", KINDS, self._choose_kind)
        self.order = _menu_button("Sort the messages", ORDERS, self._choose_order, _remembered_order(desk.settings))
        self.count = label(role="quiet")
        self.only = small_button("", lambda: desk.workbench.look_into(()), about="Show all messages again", role="chip")
        self._among: BufferFilter | None = None
        self._largest = 1
        self._steps: Steps | None = None
        self._fates: Mapping[str, FateName] = NO_FATES
        self._buffer: tuple[Message, ...] = ()
        self._fresh_from = 0
        self._kind = KINDS[0]
        self._filtering = LatestJob(desk.bridge)
        self._looking = LatestJob(desk.bridge)
        self._known: KnownMessages | None = None
        self._why_empty = ""
        self._timer = delayed(self, 120, self._filter)
        self.setFocusProxy(self.view)
        self.model.arrange(_remembered_order(desk.settings))
        self._lay_out()

    def _lay_out(self) -> None:
        self.text.setMaximumWidth(230)
        self.text.textChanged.connect(lambda _: self._timer.start())
        head = row(self.count, 6, self.only, ..., self.text, self.kind, self.order, margins=(13, 2, 8, 2), gap=6)
        self.only.hide()
        self.heads = PaintedHead(self.desk.theme, self.view.viewport(), self._name_columns)
        column(head, self.heads, (self.view, 1), of=self, gap=0)
        self.view.setProperty(WINDOW_KEYS, True)
        self.view.selectionModel().currentChanged.connect(self._picked)
        for opened in (self.view.opened, self.view.activated):  # by Enter, by a double click
            opened.connect(lambda _: self.desk.show_panel("Message"))
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(
            lambda at: self.menu_at(at).popup(self.view.viewport().mapToGlobal(at))
        )

    def _name_columns(self, room: QRect, metrics: QFontMetrics) -> Iterable[ColumnHead]:
        return buffer_heads(self.delegate.columns(room, metrics))

    def show_state(self, state: State) -> None:
        """The buffer at the playhead. The view hears only of what changed."""
        by = state.pressures.by if state.pressures is not None else None
        if another := self.is_new("thread", state.thread, by.name if by is not None else ""):
            self._begin(state.thread, by)
        self._why_empty = no_messages_words(state)
        self._weigh(sizer_of(state).scale if state.pressures else UNSCALED)
        view, stepped, self._among, self._steps = state.view, state.stepped_buffer, state.among, state.steps
        if not self.is_new("rows", stepped, state.steps, (view, state.at, state.among)) and not another:
            self._show_selected(state.selected)
            return
        self._show_only(state.among)
        self._buffer = stepped.messages if stepped is not None else view.messages()
        self._fates = changed_since(state)
        self._fresh_from = _fresh_from(state) if stepped is None else len(self._buffer)
        self.delegate.letter(stepped is not None or bool(self._fates))
        self._filter()

    def _weigh(self, scale: Scale) -> None:
        if scale != self.model.scale:
            self.model.scale = scale
            self.delegate.largest = max(1, scale.rows(self._largest))
            self.view.viewport().update()

    def _begin(self, thread: Thread | None, by: Estimator | None) -> None:
        measure = by or estimator(DEFAULT_ESTIMATOR)
        messages: Sequence[Message] = thread.messages if thread is not None and by is not None else ()
        cached = self._known
        former = cached if cached is not None and cached.is_beginning_of(messages, measure.name) else None
        self._looking.cancel()
        if len(messages) - (former.settled if former is not None else 0) <= MANY:
            self._know(measure, _known(measure, messages, former))
            return
        self._known = None
        self._paint_by(measure, NO_CALLS, self._largest, 0)  # until they are known
        self._looking.run(lambda task: _known(measure, messages), lambda result: self._know(measure, result))

    def _know(self, measure: Estimator, result: "KnownMessages") -> None:
        self._known = result
        self._paint_by(measure, result.calls, result.largest, result.longest)

    def _paint_by(self, measure: Estimator, calls: CallIndex, largest: int, longest: int) -> None:
        """The calls, and the largest message: what the rows are painted with. O(1)."""
        self.model.forget(calls, measure)
        self._largest = largest
        self.delegate.largest = max(1, self.model.scale.rows(largest))
        self.delegate.tool = min(15, (longest or 6) + 2)
        self.delegate.forget()
        self.view.viewport().update()

    def _show_selected(self, message_id: str) -> None:
        current = self.view.currentIndex()
        place = self.model.place_of(message_id, current.row()) if message_id else -1
        if place != (current.row() if current.isValid() else -1):
            self.view.stand_at(place)

    def _picked(self, current: QModelIndex, previous: QModelIndex) -> None:
        if current.isValid():
            self.desk.workbench.select(self.model.message_at(current.row()).id)

    def menu_at(self, at: QPoint) -> QMenu:
        """What can be done to the message at that place of the list, which is selected."""
        if self.view.indexAt(at).isValid():
            self.view.setCurrentIndex(self.view.indexAt(at))
        return buffer_menu(self.desk, self.view)

    # -- filter and order --------------------------------------------------------------------------------------------

    def _choose_kind(self, kind: str) -> None:
        self._kind = kind
        self._filter()

    def _show_only(self, among: BufferFilter | None) -> None:
        self.only.setVisible(among is not None)
        name = line(among.name, 300) if among is not None else ""
        short = self.only.fontMetrics().elidedText(name, Qt.TextElideMode.ElideMiddle, _ONLY)
        self.only.setText(f"{short}  ✕".replace("&", "&&"))
        self.only.setAccessibleName(f"only {name}")

    def _choose_order(self, order: str) -> None:
        self.desk.settings.keep_text(ORDER_KEY, order)
        self.model.arrange(_remembered_order(self.desk.settings))
        self._show_selected(self.desk.workbench.state.selected)

    def _filter(self) -> None:
        """Which rows are shown. A text is looked for in whole messages, off this thread."""
        self._filtering.cancel()
        buffer, text = self._buffer, self.text.text().strip()
        picked = of_kind(buffer, self._kind)
        if self._among is not None:
            ids = self._among.ids
            picked = [n for n in (range(len(buffer)) if picked is None else picked) if buffer[n].id in ids]
        if not text:
            self._show_rows(buffer, picked)
            return
        self._filtering.run(
            lambda task: with_text(buffer, text, picked, task.cancelled),
            lambda rows: self._show_rows(buffer, rows),
            lane="answer",
        )

    def _show_rows(self, buffer: tuple[Message, ...], picked: Sequence[int] | None) -> None:
        self.view.empty = "No message of this buffer matches the filter." if buffer else self._why_empty
        before = self.model.size()
        self.model.show(buffer, picked, self._fresh_from, self._fates)
        total = plural(len(buffer), "message")
        words = total if picked is None else f"{grouped(len(picked))} of {total}"
        own = len(self._steps.own_path) if self._steps else 0
        steps_note = f" · after {plural(own, 'step')}" if own else ""
        self.count.setText(words + steps_note)
        self._show_selected(self.desk.workbench.state.selected)
        if self.model.size() < before:  # where rows go above it Qt scrolls to where the selected one stood
            self.view.scrollTo(self.view.currentIndex())

    def take(self, text: str) -> None:
        if text:
            self.text.setText(text)
        self.text.setFocus()
        self.text.selectAll()

    def seek(self, kind: str, by: int) -> None:
        """Select the next message of a kind, or with `by` -1 the previous one; say so if there is none."""
        buffer, selected = self._buffer, self.desk.workbench.state.selected
        before = -1 if by > 0 else len(buffer)
        at = next((place for place, message in enumerate(buffer) if message.id == selected), before)
        place = next_of_kind(buffer, kind, at, by)
        if place is not None:
            self.desk.workbench.select(buffer[place].id)
            return
        where = "after" if by > 0 else "before"
        self.desk.workbench.note(f"No {SOUGHT[kind]} {where} the selected message of this buffer.")

    def step(self, rows: int) -> None:
        count = self.model.rowCount()
        if count:
            now = self.view.currentIndex().row()
            place = max(0, min(now + rows, count - 1))
            if now < 0:
                place = 0 if rows > 0 else count - 1
            self.view.setCurrentIndex(self.model.index(place, 0))


@dataclass(frozen=True, slots=True)
class KnownMessages:
    """What the rows of a thread's messages are painted with."""

    estimator: str
    settled: int
    """Messages that stay as they are when the thread grows."""
    last: Message | None
    """The last one of these."""
    calls: CallIndex
    largest: int
    """Tokens of the largest message."""
    longest: int
    """Letters of the longest name of a tool."""

    def is_beginning_of(self, messages: Sequence[Message], estimator: str) -> bool:
        """Do the messages begin with those that are known, weighed by that estimator? O(1)."""
        if estimator != self.estimator or not 0 < self.settled <= len(messages):
            return False
        return messages[self.settled - 1] is self.last


def _known(measure: Estimator, messages: Sequence[Message], former: KnownMessages | None = None) -> KnownMessages:
    """Look at the messages that `former` does not know. O(their number)."""
    start = former.settled if former is not None else 0
    new = [messages[at] for at in range(start, len(messages))] if start else messages
    calls = CallIndex(new, former.calls if former is not None else None)
    largest = max((count(measure, message) for message in new), default=1)
    longest = max((len(call.name) for message in new for call in message.calls), default=0)
    if former is not None:
        largest, longest = max(largest, former.largest), max(longest, former.longest)
    settled = max(0, len(messages) - UNSETTLED)
    last = messages[settled - 1] if settled else None
    return KnownMessages(measure.name, settled, last, calls, largest, longest)


def changed_since(state: State) -> Mapping[str, FateName]:
    """Fate by message id of what our steps changed of the buffer that they start from; where we took none, of what the
    recording changed. O(messages)."""
    steps = state.steps
    if steps is None or steps.step is None:
        return NO_FATES
    since = steps.base(steps.at) if steps.stepped else ORIGIN
    return {fate.id: fate.name for fate in steps.fates(since=since) if fate.name != "kept"}


def _fresh_from(state: State) -> int:
    """Number of the first message that the request before did not have."""
    thread, request = state.thread, state.request
    if thread is None or not thread.requests:
        return 0
    index = len(thread.requests) if request is None else request.index
    if not index:
        return 0
    before = thread.requests[index - 1]
    view = state.view
    if is_prefix(before.view, view):
        return len(before.view)
    return sum(1 for _ in takewhile(bool, map(is_, before.view.messages(), view.messages())))


def _remembered_order(settings: Settings) -> Order:
    """Return the order that the user chose last."""
    stored = settings.text(ORDER_KEY)
    return next((order for order in ORDERS if order == stored), ORDERS[0])


def _menu_button(name: str, choices: Sequence[str], chosen: Callable[[str], None], at_first: str = "") -> QToolButton:
    """A quiet button that shows its choice and drops down the others. `at_first`: what is chosen, else the first."""
    first = at_first or choices[0]

    def fill(menu: QMenu) -> None:
        group = QActionGroup(menu)
        for choice in choices:
            group.addAction(checked_action(menu, choice, choice == first))
        group.triggered.connect(choose)

    def choose(action: QAction) -> None:
        button.setText(f"{action.text()} ▾")
        chosen(action.text())

    button = menu_button(f"{first} ▾", fill, name=name)
    return button
