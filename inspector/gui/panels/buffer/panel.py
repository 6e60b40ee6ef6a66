"""The buffer list: the messages of the selected request, filtered and sorted as the user chooses."""

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
from inspector.gui.look.build import (
    checked_action,
    column,
    delayed,
    field,
    menu_button,
    row,
    small_button,
)
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.tokens import CHIP_GAP, LIST_HEAD
from inspector.gui.look.visible import line
from inspector.gui.panels.buffer.rows import (
    NO_FATES,
    ORDERS,
    BufferDelegate,
    BufferModel,
    Order,
    buffer_heads,
)
from inspector.gui.panels.panel import Panel
from inspector.gui.settings import Settings
from inspector.gui.widgets.painted import ColumnHead, PaintedHead, PaintedList
from inspector.workbench.message_rows import (
    KINDS,
    NO_CALLS,
    next_of_kind,
    no_messages_words,
    of_kind,
    with_text,
)
from inspector.workbench.policy_input import sizer_of
from inspector.workbench.state import BufferFilter, State
from inspector.workbench.steps import ORIGIN, Steps

_ONLY = 220
"""Largest width in pixels of the text on the chip that names the messages to which the list is limited."""
SOUGHT = {"Errors": "error", "Edits": "edit of a file", "User": "message of the user"}
"""Singular nouns for the kinds of messages between which the user can move with a key."""
ORDER_KEY, LINES_KEY = "buffer/order", "buffer/lines"
"""Keys of the settings that hold the chosen order and the number of lines of a message."""
MANY = 5_000
"""Most new messages whose names and sizes are computed on the GUI thread; more would take longer than a frame."""
UNSETTLED = 8
"""Number of messages at the end of a thread that may still change when the thread grows."""


class BufferPanel(Panel):
    """A row for each message; the selected row is the selected message of the State."""

    TITLE: ClassVar[str] = "Buffer"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.model = BufferModel()
        self.delegate = BufferDelegate(desk.theme)
        self.view = PaintedList("Messages of the buffer", self.model, self.delegate)
        self.text = field(
            "Filter by text   /", "Filter   /", "Filter", name="Filter messages by text"
        )
        self.kind = _menu_button("Show only some messages", KINDS, self._choose_kind)
        self.order = _menu_button(
            "Sort the messages",
            choices=ORDERS,
            chosen=self._choose_order,
            at_first=_remembered_order(desk.settings),
        )
        self.two_lines = small_button(
            "2 lines",
            self._choose_lines,
            about="Show the text of each message in a second line, below its file or command",
            name="Two lines a message",
            checkable=True,
        )
        self.count = label(role="quiet")
        self.only = small_button(
            "", lambda: desk.workbench.look_into(()), about="Show all messages again", role="chip"
        )
        self._among: BufferFilter | None = None
        self._largest = 1
        self._steps: Steps | None = None
        self._fates: Mapping[str, FateName] = NO_FATES
        self._buffer: tuple[Message, ...] = ()
        self._first_new_message = 0
        self._kind = KINDS[0]
        self._filtering = LatestJob(desk.bridge)
        self._looking = LatestJob(desk.bridge)
        self._measured: MeasuredMessages | None = None
        self._why_empty = ""
        self._timer = delayed(self, milliseconds=120, call=self._filter)
        self.setFocusProxy(self.view)
        self.model.arrange(_remembered_order(desk.settings))
        self._lay_out()
        self.two_lines.setChecked(desk.settings.text(LINES_KEY) == "2")
        self._show_lines()

    def _lay_out(self) -> None:
        self.text.setMaximumWidth(230)
        self.text.textChanged.connect(lambda _: self._timer.start())
        head = row(
            self.count,
            6,
            self.only,
            ...,
            self.text,
            self.kind,
            self.order,
            self.two_lines,
            margins=LIST_HEAD,
            gap=CHIP_GAP,
        )
        self.only.hide()
        self.heads = PaintedHead(self.desk.theme, self.view.viewport(), self._name_columns)
        column(head, self.heads, (self.view, 1), of=self, gap=0)
        self.view.setProperty(WINDOW_KEYS, True)
        self.view.selectionModel().currentChanged.connect(self._select_message)
        for opened in (self.view.opened, self.view.activated):  # by Enter, by a double click
            opened.connect(lambda _: self.desk.show_panel("Message"))
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self._open_menu)

    def _open_menu(self, at: QPoint) -> None:
        self.menu_at(at).popup(self.view.viewport().mapToGlobal(at))

    def _name_columns(self, room: QRect, metrics: QFontMetrics) -> Iterable[ColumnHead]:
        return buffer_heads(self.delegate.columns(room, metrics))

    def show_state(self, state: State) -> None:
        """Show the buffer at the playhead, changing only the rows that differ."""
        estimator = state.pressures.by if state.pressures is not None else None
        is_new_thread = self.is_new(
            "thread", state.thread, estimator.name if estimator is not None else ""
        )
        if is_new_thread:
            self._measure(state.thread, estimator)
        self._why_empty = no_messages_words(state)
        self._show_scale(sizer_of(state).scale if state.pressures else UNSCALED)
        view = state.view
        stepped = state.stepped_buffer
        self._among = state.among
        self._steps = state.steps
        has_new_rows = self.is_new("rows", stepped, state.steps, (view, state.at, state.among))
        if not has_new_rows and not is_new_thread:
            self._show_selected(state.selected)
            return
        self._show_only(state.among)
        self._buffer = stepped.messages if stepped is not None else view.messages()
        self._fates = changed_since(state)
        self._first_new_message = (
            _first_new_message(state) if stepped is None else len(self._buffer)
        )
        self.delegate.letter(stepped is not None or bool(self._fates))
        self._filter()

    def _show_scale(self, scale: Scale) -> None:
        """Convert the tokens of the rows by another scale."""
        if scale != self.model.scale:
            self.model.scale = scale
            self.delegate.largest = max(1, scale.rows(self._largest))
            self.view.viewport().update()

    def _measure(self, thread: Thread | None, by: Estimator | None) -> None:
        """Find the largest message and longest tool name of a thread, off the GUI thread if many messages are new."""
        measure = by or estimator(DEFAULT_ESTIMATOR)
        messages: Sequence[Message] = (
            thread.messages if thread is not None and by is not None else ()
        )
        former = self._measured
        if former is not None and not former.is_beginning_of(messages, measure.name):
            former = None
        self._looking.cancel()
        new_count = len(messages) - (former.settled if former is not None else 0)
        if new_count <= MANY:
            result = measure_rows(measure, messages, former)
            self._show_measured(measure, result, is_growth=former is not None)
            return
        self._measured = None
        # Until the messages are measured, the rows keep the scale of the former ones.
        self._paint_by(measure, NO_CALLS, largest=self._largest, longest=0, is_growth=False)
        self._looking.run(
            lambda task: measure_rows(measure, messages),
            lambda result: self._show_measured(measure, result),
        )

    def _show_measured(
        self, measure: Estimator, result: "MeasuredMessages", *, is_growth: bool = False
    ) -> None:
        self._measured = result
        self._paint_by(
            measure,
            result.calls,
            largest=result.largest,
            longest=result.longest,
            is_growth=is_growth,
        )

    def _paint_by(
        self, measure: Estimator, calls: CallIndex, *, largest: int, longest: int, is_growth: bool
    ) -> None:
        """Paint the rows with this estimator, these calls and these sizes. O(1).

        Args:
            measure: The estimator that counts the tokens of a message.
            calls: The calls of the thread.
            largest: Tokens of the largest message.
            longest: Characters of the longest tool name.
            is_growth: The previous thread has only got more messages, so cached rows are kept.
        """
        is_other = self.model.use(calls, measure, is_growth)
        tool = min(15, (longest or 6) + 2)
        if is_other or (largest, tool) != (self._largest, self.delegate.tool):
            self._largest = largest
            self.delegate.largest = max(1, self.model.scale.rows(largest))
            self.delegate.tool = tool
            self.delegate.forget()
            self.view.viewport().update()

    def _show_selected(self, message_id: str) -> None:
        """Choose the row of the selected message, if it is shown."""
        current = self.view.currentIndex()
        place = self.model.place_of(message_id, current.row()) if message_id else -1
        if place != (current.row() if current.isValid() else -1):
            self.view.stand_at(place)

    def _select_message(self, current: QModelIndex, previous: QModelIndex) -> None:
        if current.isValid():
            self.desk.workbench.select(self.model.message_at(current.row()).id)

    def menu_at(self, at: QPoint) -> QMenu:
        """Select the message at a position in the list, and return its context menu."""
        index = self.view.indexAt(at)
        if index.isValid():
            self.view.setCurrentIndex(index)
        return buffer_menu(self.desk, self.view)

    # -- filter and order --------------------------------------------------------------------------------------------

    def _choose_kind(self, kind: str) -> None:
        self._kind = kind
        self._filter()

    def _show_only(self, among: BufferFilter | None) -> None:
        """Show a chip that names the messages to which the list is limited; a click on it shows all messages again."""
        self.only.setVisible(among is not None)
        name = line(among.name, 300) if among is not None else ""
        short = self.only.fontMetrics().elidedText(name, Qt.TextElideMode.ElideMiddle, _ONLY)
        self.only.setText(f"{short}  ✕".replace("&", "&&"))
        self.only.setAccessibleName(f"only {name}")

    def _choose_order(self, order: str) -> None:
        self.desk.settings.keep_text(ORDER_KEY, order)
        self.model.arrange(_remembered_order(self.desk.settings))
        self._show_selected(self.desk.workbench.state.selected)

    def _choose_lines(self) -> None:
        self.desk.settings.keep_text(LINES_KEY, "2" if self.two_lines.isChecked() else "1")
        self._show_lines()

    def _show_lines(self) -> None:
        """Show each message in one line or in two. O(1), independent of the number of messages."""
        self.delegate.has_two_lines = self.two_lines.isChecked()
        self.view.fit_rows()

    def _filter(self) -> None:
        """Show the rows that match the filters. Text is searched in whole messages, off the GUI thread."""
        self._filtering.cancel()
        buffer = self._buffer
        text = self.text.text().strip()
        picked = of_kind(buffer, self._kind)
        if self._among is not None:
            ids = self._among.ids
            candidates = range(len(buffer)) if picked is None else picked
            picked = [index for index in candidates if buffer[index].id in ids]
        if not text:
            self._show_rows(buffer, picked)
            return
        self._filtering.run(
            lambda task: with_text(buffer, text, among=picked, cancelled=task.cancelled),
            lambda rows: self._show_rows(buffer, rows),
            lane="answer",
        )

    def _show_rows(self, buffer: tuple[Message, ...], picked: Sequence[int] | None) -> None:
        """Show the messages of a buffer at the indices `picked` (None: all), and their number."""
        self.view.empty = (
            "No message of this buffer matches the filter." if buffer else self._why_empty
        )
        before = self.model.size()
        self.model.show(buffer, picked, self._first_new_message, self._fates)
        total = plural(len(buffer), "message")
        words = total if picked is None else f"{grouped(len(picked))} of {total}"
        own = len(self._steps.own_path) if self._steps else 0
        steps_note = f" · after {plural(own, 'step')}" if own else ""
        self.count.setText(words + steps_note)
        self._show_selected(self.desk.workbench.state.selected)
        # Qt does not follow the selected row when rows above it are removed.
        if self.model.size() < before:
            self.view.scrollTo(self.view.currentIndex())

    def take(self, text: str) -> None:
        if text:
            self.text.setText(text)
        self.text.setFocus()
        self.text.selectAll()

    def seek(self, kind: str, by: int) -> None:
        """Select the next message of a kind, or with `by` -1 the previous one. Tell the user if there is none."""
        buffer = self._buffer
        selected = self.desk.workbench.state.selected
        before = -1 if by > 0 else len(buffer)
        places = (place for place, message in enumerate(buffer) if message.id == selected)
        selected_place = next(places, before)
        place = next_of_kind(buffer, kind, selected_place, by)
        if place is not None:
            self.desk.workbench.select(buffer[place].id)
            return
        where = "after" if by > 0 else "before"
        self.desk.workbench.note(f"This buffer has no {SOUGHT[kind]} {where} the selected message.")

    def step(self, rows: int) -> None:
        count = self.model.rowCount()
        if count:
            now = self.view.currentIndex().row()
            place = max(0, min(now + rows, count - 1))
            if now < 0:
                place = 0 if rows > 0 else count - 1
            self.view.setCurrentIndex(self.model.index(place, 0))


@dataclass(frozen=True, slots=True)
class MeasuredMessages:
    """The results of one pass over the messages of a thread, which are needed to paint their rows."""

    estimator: str
    settled: int
    """Number of messages that do not change when the thread grows."""
    last: Message | None
    """The last settled message."""
    calls: CallIndex
    largest: int
    """Tokens of the largest message."""
    longest: int
    """Characters of the longest tool name."""

    def is_beginning_of(self, messages: Sequence[Message], estimator: str) -> bool:
        """Do the messages begin with the settled ones, and was the same estimator used for them? O(1)."""
        if estimator != self.estimator or not 0 < self.settled <= len(messages):
            return False
        return messages[self.settled - 1] is self.last


def measure_rows(
    measure: Estimator, messages: Sequence[Message], former: MeasuredMessages | None = None
) -> MeasuredMessages:
    """Index the calls of a thread, and find its largest message and its longest tool name.

    O(messages that `former` does not contain).
    """
    start = former.settled if former is not None else 0
    new = [messages[index] for index in range(start, len(messages))] if start else messages
    calls = CallIndex(new, former.calls if former is not None else None)
    largest = max((count(measure, message) for message in new), default=1)
    longest = max((len(call.name) for message in new for call in message.calls), default=0)
    if former is not None:
        largest = max(largest, former.largest)
        longest = max(longest, former.longest)
    settled = max(0, len(messages) - UNSETTLED)
    last = messages[settled - 1] if settled else None
    return MeasuredMessages(measure.name, settled, last, calls, largest, longest)


def changed_since(state: State) -> Mapping[str, FateName]:
    """Return the fate of each changed message by its id. O(messages).

    The changes are those that the user's steps made to the buffer from which they start. If the user took no step, they
    are those of the recorded compaction.
    """
    steps = state.steps
    if steps is None or steps.step is None:
        return NO_FATES
    since = steps.base(steps.at) if steps.stepped else ORIGIN
    return {fate.id: fate.name for fate in steps.fates(since=since) if fate.name != "kept"}


def _first_new_message(state: State) -> int:
    """Return the number of the first message that the previous request did not contain."""
    thread = state.thread
    request = state.request
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


def _menu_button(
    name: str, choices: Sequence[str], chosen: Callable[[str], None], at_first: str = ""
) -> QToolButton:
    """Return a button that shows its choice and has a menu of all choices.

    Args:
        at_first: the initial choice; empty for the first of `choices`.
    """
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
