"""The selected message in full: every part as plain text, its images below, nothing interpreted."""

from functools import partial
from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QSplitter, QStackedLayout, QToolButton, QVBoxLayout, QWidget

from inspector.core.buffer import Buffer, View
from inspector.core.message import Message, Opaque
from inspector.core.session import Thread
from inspector.core.tokens.prediction import Scale
from inspector.gui.desk import Desk
from inspector.gui.edits.manual_edits import Hand
from inspector.gui.look.labels import label, tip
from inspector.gui.panels.message.header import MessageHeader
from inspector.gui.panels.message.parts import message_images, message_sections, original
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.find_bar import FindBar
from inspector.gui.widgets.image_strip import HEIGHT, ImageStrip
from inspector.gui.widgets.plain_text import PlainText
from inspector.gui.widgets.sections import Section
from inspector.workbench.message_rows import NAME, readable_summary
from inspector.workbench.policy_input import sizer_of
from inspector.workbench.state import State


class MessageView(Panel):
    """One message below the other: the one that is selected."""

    TITLE: ClassVar[str] = "Message"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._thread: Thread | None = None
        self._place: tuple[str, str, View | None, Scale | None] | None = None
        self._stepped: Buffer | None = None
        self._message: Message | None = None
        self.header = MessageHeader(desk)
        self.text = PlainText(desk.theme)
        self.text.setAccessibleName("Text of the message")
        self.text.filled.connect(self._show_rest)
        self.find_bar = FindBar(self.text)
        self.images = ImageStrip(desk.bridge)
        self.rest = QToolButton()
        self.rest.setProperty("role", "flat")
        self.rest.clicked.connect(self._show_all)
        self.rest.hide()
        self.text.find_wanted.connect(self.find_bar.open)
        self.setFocusProxy(self.text)
        self._add_tools()
        self._lay_out()
        self._wrap(desk.settings.text("message/wrap", "yes") == "yes")

    def show_state(self, state: State) -> None:
        """The selected message, as it stands in the buffer at the playhead."""
        thread = state.thread
        view = state.request.view if state.request else thread.end if thread else None
        size = sizer_of(state) if state.pressures is not None else None
        place = (state.selected, state.estimator, view, size.scale if size is not None else None)
        stepped = state.stepped_buffer
        if thread is self._thread and place == self._place and stepped is self._stepped:
            return
        self._thread, self._place, self._stepped = thread, place, stepped
        number, message = find_message(state)
        self.edit.setEnabled(number is not None)
        if message is None or size is None:
            self._message = None
            self._empty.setText(_why_empty(state))
            self._stack.setCurrentIndex(0)
            return
        self.header.show_message(message, number, companions(thread, message), size)
        if message is not self._message:
            self._message = message
            self.text.show_sections(message_sections(message))
            self._show_images(message)
            if any(isinstance(part, Opaque) for part in message.parts):
                self.desk.bridge.run(lambda task: readable_summary(state, message), partial(self._show_shadow, message))
        self._stack.setCurrentIndex(1)

    def _show_shadow(self, message: Message, text: str) -> None:
        """Beside an opaque compaction, what a readable one would have kept."""
        if text and message is self._message:
            self.text.show_sections((*message_sections(message), Section(NAME, text)))

    def restyle(self) -> None:
        """Colours of text are in the text: it is laid in anew."""
        self.header.restyle()
        self.text.restyle()

    def copy_message(self) -> None:
        """The original text of all parts, to the clipboard."""
        if self._message is not None:
            QGuiApplication.clipboard().setText(original(self._message))

    def _add_tools(self) -> None:
        self.wrap = QToolButton()
        self.wrap.setCheckable(True)
        self.wrap.setText("wrap")
        self.wrap.toggled.connect(self._wrap)
        self.edit, find, copy = QToolButton(), QToolButton(), QToolButton()
        self.edit.setText("edit")
        self.edit.setToolTip(tip("Change the message by hand, as a step (F2)"))
        self.edit.setAccessibleName("edit message")
        self.edit.clicked.connect(lambda: Hand(self.desk, self.window()).edit())
        find.setText("find")
        find.setToolTip("Find in message (Ctrl+F)")
        find.clicked.connect(self.find_bar.open)
        copy.setText("copy")
        copy.setToolTip(tip("Copy the message"))
        copy.setAccessibleName("copy message")
        copy.clicked.connect(self.copy_message)
        self.copy = copy
        for button in (self.wrap, self.edit, find, copy):
            button.setProperty("role", "flat")
            self.header.tools.addWidget(button)

    def _lay_out(self) -> None:
        splitter = self._splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self.text)
        splitter.addWidget(self.images)
        splitter.setStretchFactor(0, 3)
        splitter.setStretchFactor(1, 2)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for widget in (self.header, self.find_bar, splitter, self.rest):
            column.addWidget(widget, 1 if widget is splitter else 0)
        self._empty = label(role="quiet")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setWordWrap(True)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(page)

    def _wrap(self, on: bool) -> None:
        self.wrap.setChecked(on)
        modes = QPlainTextEdit.LineWrapMode
        self.text.setLineWrapMode(modes.WidgetWidth if on else modes.NoWrap)
        self.desk.settings.keep_text("message/wrap", "yes" if on else "no")

    def _show_images(self, message: Message) -> None:
        hidden = self.images.isHidden()
        self.images.show_images(message_images(message))
        if hidden and not self.images.isHidden():
            self._splitter.setSizes([max(1, self.height() - 2 * HEIGHT), HEIGHT])

    def _show_rest(self) -> None:
        waiting = self.text.waiting and self._message is not None
        self.rest.setVisible(waiting)
        if waiting and self._message is not None:
            size = sum(len(section.text) for section in message_sections(self._message))
            self.rest.setText(f"The first part of {size:,} characters is shown. Show all")

    def _show_all(self) -> None:
        self.text.show_all()
        self.rest.hide()


def find_message(state: State) -> tuple[int | None, Message | None]:
    """The selected message and its place in the buffer; from elsewhere in the thread, without a place, if need be."""
    thread = state.thread
    if thread is None or not state.selected:
        return None, None
    view = state.stepped_buffer or (state.request.view if state.request else thread.end)
    for number, message in enumerate(view.messages if isinstance(view, Buffer) else view):
        if message.id == state.selected:
            return number, message
    summaries = (compaction.summary for compaction in thread.compactions if compaction.summary is not None)
    elsewhere = (message for source in (thread.messages, summaries) for message in source)
    return None, next((message for message in elsewhere if message.id == state.selected), None)


def companions(thread: Thread | None, message: Message) -> list[Message]:
    """The messages that travelled in the same wire message."""
    if thread is None or not message.together:
        return []
    return [other for other in thread.messages if other.together == message.together and other.id != message.id]


def _why_empty(state: State) -> str:
    if state.session is None:
        return "Open a transcript to look at its messages."
    if state.selected:
        return "The selected message does not stand in this thread."
    return "Select a message in the buffer to read it in full."
