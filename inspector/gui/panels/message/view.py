"""The selected message in full: its parts as plain text, its images below; prose also as Markdown, without loading
anything or following links. Its head shows role, place in the file, time, tokens, and the messages sent with it."""

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import ClassVar

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QToolTip, QWidget

from inspector.core.facts.reading import texts
from inspector.core.facts.wording import join_lines
from inspector.core.message import Message, Opaque
from inspector.core.session import Thread
from inspector.gui.desk import Desk
from inspector.gui.edits.manual_edits import ManualEdits
from inspector.gui.look.build import column, holding, menu_button, pages, small_button, splitter
from inspector.gui.look.labels import label, tip
from inspector.gui.look.tokens import INSET
from inspector.gui.panels.message.header import MARKDOWN, PLAIN, MessageHeader
from inspector.gui.panels.message.parts import (
    CopyForm,
    copied,
    markdown_text,
    message_images,
    message_sections,
)
from inspector.gui.panels.message.rendered import (
    find_sentence,
    source_of_selection,
    source_of_sentence,
)
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.images import HEIGHT, ImageStrip
from inspector.gui.widgets.markdown import LONGEST, MarkdownView
from inspector.gui.widgets.pieces import Section
from inspector.gui.widgets.reader import TextReader
from inspector.workbench.message_rows import NAME, no_messages_words, readable_summary
from inspector.workbench.policy_input import sizer_of
from inspector.workbench.state import State
from inspector.workbench.tool_pairs import PairedPart, ToolPairs

NOTHING_TO_PIN = "To pin a text of the message, select the text or click into a sentence."
SIZED_LINES = 10
"""Height of the panel in lines from which the tokens of the message are shown."""
_FORM_KEY = "message/form"
"""Key of the setting that holds the chosen form of prose."""
LINES = 13
"""Height of the panel in lines from which all buttons are shown."""
_FORMS: dict[str, CopyForm] = {
    "Copy as text": "text",
    "Copy as JSON": "json",
    "Copy as Markdown": "markdown",
}
_BACK, _ON = "The previous use of the same tool", "The next use of the same tool"


class MessageView(Panel):
    """Shows the selected message in full."""

    TITLE: ClassVar[str] = "Message"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._message: Message | None = None
        self._number: int | None = None
        """Place of the message in the buffer; None if it is elsewhere in the thread."""
        self._pairs, self._partners = ToolPairs(), tuple[PairedPart | None, ...]()
        self._query = ""
        """The text that is searched for in the session."""
        self.reader = TextReader(desk.theme, "Text of the message", desk.bridge)
        self.text, self.find_bar, self.rest = (
            self.reader.text,
            self.reader.find_bar,
            self.reader.rest,
        )
        self.images = ImageStrip(desk.bridge)
        self.markdown = MarkdownView(desk.theme, "Text of the message as Markdown")
        self._plain_once = ""
        """Id of a message that is shown plain regardless of the chosen form, since a text is searched in it."""
        self.setFocusProxy(self.text)
        self.text.setMinimumHeight(self.fontMetrics().height())
        self._add_tools()
        self._lay_out()
        self._wrap(desk.settings.text("message/wrap", "yes") == "yes")

    def show_state(self, state: State) -> None:
        size = sizer_of(state) if state.pressures is not None else None
        place = (state.selected, state.estimator, state.view, size and size.scale, state.hits)
        if not self.is_new("message", state.thread, state.stepped_buffer, place):
            return
        number, message = find_message(state)
        self.edit.setEnabled(number is not None)
        if message is None or size is None:
            self._message = self._number = None
            self._empty.setText(_empty_words(state, message))
            self._stack.setCurrentIndex(0)
            return
        self._number = number
        self.header.show_message(
            message,
            number,
            others=companions(state.thread, message),
            size=size,
            name=state.estimator,
        )
        self._pair_tools(state)
        partners = (
            self._pairs.partners(number) if number is not None else (None,) * len(message.parts)
        )
        if message is not self._message or partners != self._partners:
            self._show_parts(state, message, partners)
        query = state.hits.text if state.hits is not None else ""
        has_new_query = query != self._query
        self._query = query
        self._show_form()
        self._stack.setCurrentIndex(1)
        if has_new_query:
            self.find_bar.look_for(query)

    def _pair_tools(self, state: State) -> None:
        """Pair the calls and results of the buffer, and enable the buttons that lead to uses of the same tool."""
        stepped = state.stepped_buffer
        number = self._number
        if self.is_new("pairs", stepped, (state.view,)):
            self._pairs = ToolPairs(
                stepped.messages if stepped is not None else state.view.messages()
            )
        for button, rows in ((self.back, -1), (self.on, 1)):
            button.setEnabled(
                number is not None and self._pairs.same_tool(number, rows) is not None
            )

    def _show_parts(
        self, state: State, message: Message, partners: tuple[PairedPart | None, ...]
    ) -> None:
        """Show the text and the images of a message. A readable summary of an opaque part is computed and appended."""
        self._message = message
        self._partners = partners
        self._query = ""
        self.text.show_sections(message_sections(message, partners))
        self._show_images(message)
        if any(isinstance(part, Opaque) for part in message.parts):
            show_readable = partial(self._show_readable, message)
            self.desk.bridge.run(lambda task: readable_summary(state, message), show_readable)

    def _show_form(self) -> None:
        """Show prose as Markdown if that is chosen and no text is searched in it; show anything else plain."""
        message = self._message
        text = markdown_text(message) if message is not None else ""
        is_prose = bool(text) and len(text) <= LONGEST
        is_plain = self.desk.settings.text(_FORM_KEY, MARKDOWN) == PLAIN
        is_searched = message is not None and (bool(self._query) or self._plain_once == message.id)
        shows_markdown = is_prose and not is_plain and not is_searched
        self.header.offer_forms(is_prose, MARKDOWN if shows_markdown else PLAIN)
        widget: QWidget = self.markdown if shows_markdown else self.text
        if shows_markdown:
            self.markdown.show_markdown(text)
        self._forms.setCurrentIndex(1 if shows_markdown else 0)
        self.setFocusProxy(widget)

    def _choose_form(self, form: str) -> None:
        self._plain_once = ""
        self._query = ""
        self.desk.settings.keep_text(_FORM_KEY, form)
        self._show_form()

    def show_plain(self) -> None:
        """Show this message plain, for an action that needs the text as it was written."""
        if self._message is not None:
            self._plain_once = self._message.id
            self._show_form()

    def find_text(self) -> None:
        """Open the bar to find a text in the message."""
        self.show_plain()
        self.find_bar.open()

    def _show_readable(self, message: Message, text: str) -> None:
        """Append the offline summary of an opaque compaction, if the message is still shown."""
        if text and message is self._message:
            self.text.show_sections(
                (*message_sections(message, self._partners), Section(NAME, text))
            )

    def copy_message(self, form: CopyForm = "text") -> None:
        """Copy all parts to the clipboard."""
        if self._message is not None:
            QGuiApplication.clipboard().setText(copied(self._message, form))

    def step_tool(self, rows: int) -> None:
        """Select the next (1) or previous (-1) call of the same tool; from a result, its next or previous result."""
        message = self._pairs.same_tool(self._number, rows) if self._number is not None else None
        if message is not None:
            self.desk.workbench.select(message.id)

    def take(self, text: str) -> None:
        """Pin the sentence at the cursor."""
        self.pin_sentence()

    def pin_sentence(self) -> None:
        """Pin the selected text, else the sentence at the cursor."""
        text = self.sentence()
        if text:
            self.desk.workbench.pin(text)
            self.desk.show_panel("Pins")
        else:
            self._hint(self.pin, NOTHING_TO_PIN)

    def _hint(self, beside: QWidget, words: str) -> None:
        """Show a hint beside a button, since a bar above the panels would move them all."""
        at = beside if beside.isVisible() else self.header
        QToolTip.showText(at.mapToGlobal(at.rect().bottomLeft()), tip(words), at)

    def sentence(self) -> str:
        """Return the selected text, else the sentence at the cursor; empty if the message does not contain it.

        If Markdown is shown, return the text as it was written. The cursor of the plain text is used until the user
        places the cursor in the Markdown.
        """
        is_rendered = self._forms.currentIndex() == 1 and self.markdown.is_cursor_placed
        sentence = self._rendered_sentence() if is_rendered else self._plain_sentence()
        words = join_lines(sentence)
        message_texts = [] if self._message is None else texts(self._message)
        whole = join_lines("\n".join(message_texts))
        return sentence if words and words in whole else ""

    def _plain_sentence(self) -> str:
        cursor = self.text.textCursor()
        if cursor.hasSelection():
            return self.text.original(cursor.selectionStart(), cursor.selectionEnd())
        block = cursor.block()
        start = block.position()
        line = self.text.original(start, start + block.length() - 1)
        before = self.text.original(start, cursor.position())
        stretch = find_sentence(line, len(before))
        if stretch is None:
            return ""
        return line[slice(*stretch)]

    def _rendered_sentence(self) -> str:
        rendered = self.markdown.shown_text()
        source = self.markdown.source
        start, end = self.markdown.selected()
        if start < end:
            stretch = source_of_selection(rendered, source=source.text, start=start, end=end)
        else:
            stretch = source_of_sentence(rendered, source.text, start)
        if stretch is None:
            return ""
        return source.origin(*stretch)

    def markdown_menu_at(self, place: QPoint) -> QMenu:
        """Return the context menu for a position in the rendered text."""
        menu = self.markdown.menu_at(place)
        menu.addSeparator()
        menu.addAction("Pin this sentence").triggered.connect(self.pin_sentence)
        return menu

    def menu_at(self, place: QPoint) -> QMenu:
        """Return the context menu for a position in the plain text."""
        if not self.text.textCursor().hasSelection():
            self.text.setTextCursor(self.text.cursorForPosition(place))
        menu = self.text.createStandardContextMenu(place)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addSeparator()
        menu.addAction("Pin this sentence").triggered.connect(self.pin_sentence)
        if (fold := self.text.fold) is not None:
            menu.addAction("Fold or unfold\tEnter").triggered.connect(
                partial(self.text.toggle, fold)
            )
            menu.addAction("Unfold all").triggered.connect(partial(self.text.fold_all, False))
            menu.addAction("Fold all long texts").triggered.connect(
                partial(self.text.fold_all, True)
            )
        return menu

    def _add_tools(self) -> None:
        def edit() -> None:
            ManualEdits(self.desk, self.window()).edit()

        about = "Change the message by hand, as a step (F2)"
        self.wrap = small_button("wrap", checkable=True)
        self.wrap.toggled.connect(self._wrap)
        self.edit = small_button("edit", edit, about=about, name="edit message")
        find = small_button("find", self.find_text, about="Find in message (Ctrl+F)")
        self.copy = small_button(
            "copy", lambda: self.copy_message(), about="Copy the message", name="copy message"
        )
        another = "Copy as JSON or Markdown"
        self.forms = menu_button(
            "copy as ▾", self._fill_forms, about=another, name="copy in another form"
        )
        self.back = small_button("‹", partial(self.step_tool, -1), about=_BACK, name=_BACK)
        self.on = small_button("›", partial(self.step_tool, 1), about=_ON, name=_ON)
        self.pin = small_button(
            "pin", self.pin_sentence, about="Pin the sentence (Ctrl+Shift+D)", name="pin sentence"
        )
        for view, menu_at in ((self.text, self.menu_at), (self.markdown, self.markdown_menu_at)):
            view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            view.customContextMenuRequested.connect(partial(_open_menu, view, menu_at))
        tools = (self.back, self.on, self.wrap, self.edit, find, self.copy, self.forms, self.pin)
        self.header = MessageHeader(self.desk, tools, (self.wrap, self.edit, find, self.pin))

    def fit(self) -> None:
        """Leave room for the text in a low panel: hide rare buttons and, in a very low one, the tokens."""
        line_height = self.fontMetrics().height()
        self.header.show_sizes(self.height() >= SIZED_LINES * line_height)
        is_low = self.height() < LINES * line_height
        if is_low != self.header.is_low:
            self.header.be_low(is_low)

    def _fill_forms(self, menu: QMenu) -> None:
        for words, form in _FORMS.items():
            menu.addAction(words, partial(self.copy_message, form))

    def _lay_out(self) -> None:
        texts = QWidget()
        self._forms = pages(texts, self.reader, self.markdown)
        self.header.forms.chosen.connect(self._choose_form)
        self._splitter = splitter(texts, self.images, down=True, shares=(3, 2))
        page = holding(column(self.header, (self._splitter, 1), gap=0))
        self._empty = label(role="quiet", wrap=True, centred=True)
        self._empty.setContentsMargins(INSET, INSET, INSET, INSET)
        self._stack = pages(self, self._empty, page)

    def _wrap(self, is_on: bool) -> None:
        self.wrap.setChecked(is_on)
        modes = QPlainTextEdit.LineWrapMode
        self.text.setLineWrapMode(modes.WidgetWidth if is_on else modes.NoWrap)
        self.desk.settings.keep_text("message/wrap", "yes" if is_on else "no")

    def _show_images(self, message: Message) -> None:
        was_hidden = self.images.isHidden()
        self.images.show_images(message_images(message))
        if was_hidden and not self.images.isHidden():
            room = max(1, self._splitter.height())
            image_room = min(HEIGHT, room * 2 // 5)
            self._splitter.setSizes([room - image_room, image_room])


def _open_menu(
    view: QPlainTextEdit | MarkdownView, menu_at: Callable[[QPoint], QMenu], place: QPoint
) -> None:
    menu_at(place).popup(view.viewport().mapToGlobal(place))


def find_message(state: State) -> tuple[int | None, Message | None]:
    """Find the selected message.

    Returns:
        Its place in the buffer and the message; None as the place if it is elsewhere in the thread, None for both if
        there is none.
    """
    thread = state.thread
    if thread is None or not state.selected:
        return None, None
    view = state.view
    stepped = state.stepped_buffer
    if stepped is None and len(view):  # usually the newest message is selected
        last = view.tail(len(view) - 1)[0]
        if last.id == state.selected:
            return len(view) - 1, last
    for number, message in enumerate(view if stepped is None else stepped.messages):
        if message.id == state.selected:
            return number, message
    return None, _find_in_thread(thread, state.selected)


def _find_in_thread(thread: Thread, message_id: str) -> Message | None:
    """Find a message of a thread, or of a summary of its compactions."""
    summaries = (
        compaction.summary for compaction in thread.compactions if compaction.summary is not None
    )
    for message in chain(thread.messages, summaries):
        if message.id == message_id:
            return message
    return None


def companions(thread: Thread | None, message: Message) -> list[Message]:
    """Return the other messages of the same wire message."""
    if thread is None or not message.together:
        return []
    return [
        other
        for other in thread.messages
        if other.together == message.together and other.id != message.id
    ]


def _empty_words(state: State, message: Message | None) -> str:
    if state.session is None:
        return "Open a transcript to look at its messages."
    if message is not None:
        return "The token counts of this session are being computed."
    if state.selected:
        return "The selected message is not in this buffer: select one in the list."
    if state.thread is not None and not state.thread.messages:
        return no_messages_words(state)
    return "Select a message in the buffer to read it in full."
