"""The selected message in full: every part as plain text, its images below; prose also as Markdown, of which nothing is
loaded or followed. Above it who, which, where in the file, when, how many tokens, and what travelled with it."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QToolButton, QToolTip, QWidget

from inspector.core.facts.reading import texts
from inspector.core.facts.wording import join_lines
from inspector.core.message import Message, Opaque, ToolResult
from inspector.core.session import Thread
from inspector.core.tokens.estimators import ESTIMATOR_TITLES, count, estimator, refusals
from inspector.core.tokens.sizing import Sizer
from inspector.core.words import plural
from inspector.gui.desk import Desk
from inspector.gui.edits.manual_edits import ManualEdits
from inspector.gui.look.build import column, holding, menu_button, pages, row, small_button, splitter
from inspector.gui.look.colours import role_colour
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.visible import line
from inspector.gui.panels.message.parts import CopyForm, copied, markdown_text, message_images, message_sections
from inspector.gui.panels.message.rendered import find_sentence, source_of_selection, source_of_sentence
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.chips import Chips, flow
from inspector.gui.widgets.images import HEIGHT, ImageStrip
from inspector.gui.widgets.markdown import LONGEST, MarkdownView
from inspector.gui.widgets.pieces import Section
from inspector.gui.widgets.reader import TextReader
from inspector.gui.widgets.small import Elided
from inspector.workbench.message_rows import NAME, message_role, no_messages_words, readable_summary
from inspector.workbench.policy_input import sizer_of
from inspector.workbench.state import State
from inspector.workbench.tool_pairs import PairedPart, ToolPairs

COUNTED = "tiktoken"
NOTHING_TO_PIN = "Select a text of the message, or click into one of its sentences, to pin it."
SIZED_LINES = 10
"""Of text, from which on there is also room for the sizes of the message."""
_FORM_KEY = "message/form"
"""Under which the chosen form of prose is remembered."""
LINES = 13
"""Of text, from which on the panel has room for all buttons."""
MARKDOWN, PLAIN = "Markdown", "Plain"
_TEXT_FORMS = (
    (MARKDOWN, "The text as Markdown: nothing is loaded, no link can be followed"),
    (PLAIN, "The text as it was written, with its hits"),
)
_FORMS: dict[str, CopyForm] = {"Copy as text": "text", "Copy as JSON": "json", "Copy as Markdown": "markdown"}
_BACK, _ON = "The use of the same tool before this one", "The next use of the same tool"
_MARKS = {"meta": "written by the client", "attachment": "added by the client", "placeholder": "content was cleared"}


class MessageHeader(QWidget):
    """Who and where, how many tokens, and the buttons, in as many lines as these need."""

    def __init__(self, desk: Desk, tools: Sequence[QToolButton], rare: Sequence[QToolButton]) -> None:
        """`rare`: those of the tools that a low panel has in a menu, to leave room for the text."""
        super().__init__()
        self._desk, self._rare = desk, rare
        self._message: Message | None = None
        self._size = ""
        self.is_low = self._has_others = self._is_prose = False
        self._number = label(role="quiet")
        self._role = label(role="strong")
        self._where, self._tokens = Elided("quiet"), Elided()
        self.counter = small_button(
            "count", self._count, about="Count it with tiktoken o200k", name="count with tiktoken"
        )
        self.together = menu_button("")
        self.forms = Chips("Text", _TEXT_FORMS)
        self.more = menu_button("more", self._fill_more, about="What else can be done with it", anew=True)
        who = row(self._number, self._role, (self._where, 1), gap=8)
        buttons = flow(self.forms, *tools, self.counter, self.together, self.more, margins=(0, 0, 0, 0))
        column(who, self._tokens, buttons, of=self, margins=(13, 6, 8, 2), gap=2)
        self.be_low(False)

    def show_message(
        self, message: Message, number: int | None, others: Sequence[Message], size: Sizer, name: str
    ) -> None:
        """`number` is its place in the buffer, None where it does not stand there; `others` travelled with it; `size`:
        what measures the buffer; `name`: of the picked estimator."""
        self._message = message
        self._number.setText("elsewhere" if number is None else f"{number:,}")
        self._number.setToolTip(tip("It does not stand in the buffer that is looked at") if number is None else "")
        self._role.setText(message_role(message))
        words = [*_badges(message), *_where(message)]
        self._where.show_text(" · ".join(words), *(" · ".join(words[:n]) for n in range(len(words) - 1, 0, -1)))
        self._size = _tokens(message, size, name)
        self._name_others(others)
        self._show_counted()
        self.restyle()

    def offer_forms(self, is_prose: bool, form: str) -> None:
        """Offer the choice between Markdown and plain text for prose, and show which of them is shown."""
        self._is_prose = is_prose
        self.forms.setVisible(is_prose and not self.is_low)
        self.forms.select(form)

    def show_sizes(self, are_shown: bool) -> None:
        """Show how many tokens the message takes, or leave that to the buffer list."""
        self._tokens.setVisible(are_shown)

    def be_low(self, low: bool) -> None:
        """Is there little room for the text?"""
        self.is_low = low
        for button in self._rare:
            button.setVisible(not low)
        self.more.setVisible(low)
        self.forms.setVisible(self._is_prose and not low)
        self._show_counted()

    def _fill_more(self, menu: QMenu) -> None:
        for button in (*self._rare, self.counter):
            action = menu.addAction(button.text(), button.click)
            action.setEnabled(button.isEnabled())
            action.setCheckable(button.isCheckable())
            action.setChecked(button.isChecked())
        if self._has_others:
            menu.addMenu(self.together.menu()).setText(self.together.text().removesuffix(" ▾"))

    def restyle(self) -> None:
        sheet = f"color: {role_colour(self._desk.theme.colours, self._role.text())}"
        if self._role.styleSheet() != sheet:
            self._role.setStyleSheet(sheet)

    def _count(self) -> None:
        message = self._message
        if message is None:
            return
        self.counter.setText("counting …")
        self.counter.setEnabled(False)

        def done(tokens: int) -> None:
            if message is self._message:
                self._show_counted()

        self._desk.bridge.run(lambda task: count(estimator(COUNTED), message), done)

    def _show_counted(self) -> None:
        message = self._message
        is_counted = message is not None and COUNTED in message.counts
        self.counter.setText("count")
        self.counter.setEnabled(True)
        self.counter.setVisible(not is_counted and not self.is_low)
        self.together.setVisible(self._has_others and not self.is_low)
        words = self._size
        if message is not None and is_counted:
            refused = refusals(estimator(COUNTED), (message,))
            counted = f"tiktoken {grouped(count(estimator(COUNTED), message))}"
            words += f" · {'tiktoken gave up on it' if refused else counted}"
        self._tokens.show_text(words, words.replace(" of the prompt", ""))

    def _name_others(self, others: Sequence[Message]) -> None:
        self._has_others = bool(others)
        self.together.setText(f"travelled together with {plural(len(others), 'other')} ▾")
        menu = self.together.menu()
        menu.clear()
        for other in others[:50]:
            first = next((part.content for part in other.parts if isinstance(part, ToolResult)), "")
            action = menu.addAction(f"{other.role} · {line(first or other.id, 60)}".replace("&", "&&"))
            action.triggered.connect(lambda _=False, id_=other.id: self._desk.workbench.select(id_))


class MessageView(Panel):
    """One message below the other: the one that is selected."""

    TITLE: ClassVar[str] = "Message"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._message: Message | None = None
        self._number: int | None = None
        """Its place in the buffer; None where it stands elsewhere in the thread."""
        self._pairs, self._partners = ToolPairs(), tuple[PairedPart | None, ...]()
        self._found = ""
        self.reader = TextReader(desk.theme, "Text of the message", desk.bridge)
        self.text, self.find_bar, self.rest = self.reader.text, self.reader.find_bar, self.reader.rest
        self.images = ImageStrip(desk.bridge)
        self.markdown = MarkdownView(desk.theme, "Text of the message as Markdown")
        self._plain_once = ""
        """Id of the message that is shown plain whatever was chosen: something is looked for in it."""
        self.setFocusProxy(self.text)
        self.text.setMinimumHeight(self.fontMetrics().height())
        self._add_tools()
        self._lay_out()
        self._wrap(desk.settings.text("message/wrap", "yes") == "yes")

    def show_state(self, state: State) -> None:
        thread, view, stepped = state.thread, state.view, state.stepped_buffer
        size = sizer_of(state) if state.pressures is not None else None
        place = (state.selected, state.estimator, view, size and size.scale, state.hits)
        if not self.is_new("message", thread, stepped, place):
            return
        number, message = find_message(state)
        self.edit.setEnabled(number is not None)
        if message is None or size is None:
            self._message = self._number = None
            self._empty.setText(_why_empty(state))
            self._stack.setCurrentIndex(0)
            return
        self.header.show_message(message, number, companions(thread, message), size, state.estimator)
        if self.is_new("pairs", stepped, (view,)):
            self._pairs = ToolPairs(stepped.messages if stepped is not None else view.messages())
        partners = self._pairs.partners(number) if number is not None else (None,) * len(message.parts)
        for button, rows in ((self.back, -1), (self.on, 1)):
            button.setEnabled(number is not None and self._pairs.same_tool(number, rows) is not None)
        self._number = number
        query = state.hits.text if state.hits is not None else ""
        if message is not self._message or partners != self._partners:
            self._message, self._partners = message, partners
            self.text.show_sections(message_sections(message, partners))
            self._show_images(message)
            if any(isinstance(part, Opaque) for part in message.parts):
                self.desk.bridge.run(
                    lambda task: readable_summary(state, message), partial(self._show_readable, message)
                )
            self._found = ""
        is_searched = query != self._found
        self._found = query
        self._show_form()
        self._stack.setCurrentIndex(1)
        if is_searched:
            self.find_bar.look_for(query)

    def _show_form(self) -> None:
        """Show prose as Markdown, if the user wants it so and nothing is looked for in it; anything else plain."""
        message = self._message
        text = markdown_text(message) if message is not None else ""
        is_prose = bool(text) and len(text) <= LONGEST
        is_plain = self.desk.settings.text(_FORM_KEY, MARKDOWN) == PLAIN
        looked_for = message is not None and (bool(self._found) or self._plain_once == message.id)
        shows_markdown = is_prose and not is_plain and not looked_for
        self.header.offer_forms(is_prose, MARKDOWN if shows_markdown else PLAIN)
        widget: QWidget = self.markdown if shows_markdown else self.text
        if shows_markdown:
            self.markdown.show_markdown(text)
        self._forms.setCurrentIndex(1 if shows_markdown else 0)
        self.setFocusProxy(widget)

    def _choose_form(self, form: str) -> None:
        self._plain_once = ""
        self._found = ""
        self.desk.settings.keep_text(_FORM_KEY, form)
        self._show_form()

    def show_plain(self) -> None:
        """Show this message plain: what is done next needs the text as it was written."""
        if self._message is not None:
            self._plain_once = self._message.id
            self._show_form()

    def find_text(self) -> None:
        """Open the bar to find a text in the message."""
        self.show_plain()
        self.find_bar.open()

    def _show_readable(self, message: Message, text: str) -> None:
        """Beside an opaque compaction, what a readable one would have kept."""
        if text and message is self._message:
            self.text.show_sections((*message_sections(message, self._partners), Section(NAME, text)))

    def copy_message(self, form: CopyForm = "text") -> None:
        """All parts, to the clipboard."""
        if self._message is not None:
            QGuiApplication.clipboard().setText(copied(self._message, form))

    def step_tool(self, rows: int) -> None:
        """Select the next call of the same tool, or the one before; from a result its next result."""
        message = self._pairs.same_tool(self._number, rows) if self._number is not None else None
        if message is not None:
            self.desk.workbench.select(message.id)

    def take(self, text: str) -> None:
        """Pin where the cursor stands."""
        self.pin_sentence()

    def pin_sentence(self) -> None:
        """Follow what is selected, else the sentence that holds the cursor, over all requests."""
        if text := self.sentence():
            self.desk.workbench.pin(text)
            self.desk.show_panel("Pins")
        else:
            self._hint(self.pin, NOTHING_TO_PIN)

    def _hint(self, beside: QWidget, words: str) -> None:
        """Say it beside the button: a bar above the panels would move them all."""
        at = beside if beside.isVisible() else self.header
        QToolTip.showText(at.mapToGlobal(at.rect().bottomLeft()), tip(words), at)

    def sentence(self) -> str:
        """Return what is selected, else the sentence that holds the cursor; empty where the message does not hold it.

        Of rendered Markdown that is the text as it was written. Until the cursor is put there, that of the plain text
        counts.
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
            stretch = source_of_selection(rendered, source.text, start, end)
        else:
            stretch = source_of_sentence(rendered, source.text, start)
        if stretch is None:
            return ""
        return source.origin(*stretch)

    def markdown_menu_at(self, place: QPoint) -> QMenu:
        """What can be done with the rendered text there."""
        menu = self.markdown.menu_at(place)
        menu.addSeparator()
        menu.addAction("Pin this sentence").triggered.connect(self.pin_sentence)
        return menu

    def menu_at(self, place: QPoint) -> QMenu:
        """What can be done with the text there."""
        if not self.text.textCursor().hasSelection():
            self.text.setTextCursor(self.text.cursorForPosition(place))
        menu = self.text.createStandardContextMenu(place)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addSeparator()
        menu.addAction("Pin this sentence").triggered.connect(self.pin_sentence)
        if (fold := self.text.fold) is not None:
            menu.addAction("Fold or unfold\tEnter").triggered.connect(partial(self.text.toggle, fold))
            menu.addAction("Unfold all").triggered.connect(partial(self.text.fold_all, False))
            menu.addAction("Fold all that is long").triggered.connect(partial(self.text.fold_all, True))
        return menu

    def _add_tools(self) -> None:
        def edit() -> None:
            ManualEdits(self.desk, self.window()).edit()

        about = "Change the message by hand, as a step (F2)"
        self.wrap = small_button("wrap", checkable=True)
        self.wrap.toggled.connect(self._wrap)
        self.edit = small_button("edit", edit, about=about, name="edit message")
        find = small_button("find", self.find_text, about="Find in message (Ctrl+F)")
        self.copy = small_button("copy", lambda: self.copy_message(), about="Copy the message", name="copy message")
        another = "Copy as JSON or Markdown"
        self.forms = menu_button("▾", self._fill_forms, about=another, name="copy in another form")
        self.back = small_button("‹", partial(self.step_tool, -1), about=_BACK, name=_BACK)
        self.on = small_button("›", partial(self.step_tool, 1), about=_ON, name=_ON)
        self.pin = small_button("pin", self.pin_sentence, about="Pin the sentence (Ctrl+Shift+D)", name="pin sentence")
        self.text.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.text.customContextMenuRequested.connect(
            lambda at: self.menu_at(at).popup(self.text.viewport().mapToGlobal(at))
        )
        self.markdown.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.markdown.customContextMenuRequested.connect(
            lambda at: self.markdown_menu_at(at).popup(self.markdown.viewport().mapToGlobal(at))
        )
        tools = (self.back, self.on, self.wrap, self.edit, find, self.copy, self.forms, self.pin)
        self.header = MessageHeader(self.desk, tools, (self.wrap, self.edit, find, self.pin))

    def fit(self) -> None:
        """A low panel has few buttons: its room is the text's. A very low one does without the line of sizes, too."""
        self.header.show_sizes(self.height() >= SIZED_LINES * self.fontMetrics().height())
        if (low := self.height() < LINES * self.fontMetrics().height()) != self.header.is_low:
            self.header.be_low(low)

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
        self._empty.setContentsMargins(16, 16, 16, 16)
        self._stack = pages(self, self._empty, page)

    def _wrap(self, on: bool) -> None:
        self.wrap.setChecked(on)
        modes = QPlainTextEdit.LineWrapMode
        self.text.setLineWrapMode(modes.WidgetWidth if on else modes.NoWrap)
        self.desk.settings.keep_text("message/wrap", "yes" if on else "no")

    def _show_images(self, message: Message) -> None:
        was_hidden = self.images.isHidden()
        self.images.show_images(message_images(message))
        if was_hidden and not self.images.isHidden():
            room = max(1, self._splitter.height())
            image_room = min(HEIGHT, room * 2 // 5)
            self._splitter.setSizes([room - image_room, image_room])


def find_message(state: State) -> tuple[int | None, Message | None]:
    """The selected message and its place in the buffer; from elsewhere in the thread, without a place, if need be."""
    thread = state.thread
    if thread is None or not state.selected:
        return None, None
    view = state.view
    stepped = state.stepped_buffer
    if stepped is None and len(view) and (last := view.tail(len(view) - 1)[0]).id == state.selected:
        return len(view) - 1, last  # mostly it is the newest
    for number, message in enumerate(view if stepped is None else stepped.messages):
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
    if state.thread is not None and not state.thread.messages:
        return no_messages_words(state)
    return "Select a message in the buffer to read it in full."


def _tokens(message: Message, size: Sizer, name: str) -> str:
    """`1,131 tokens of the prompt · estimated 941 by Roku`: as the gauge measures, and as the picked estimator does."""
    estimated = f"estimated {grouped(count(estimator(name), message))} by {ESTIMATOR_TITLES[name]}"
    return f"{grouped(size.row(message))} tokens of the prompt · {estimated}"


def _badges(message: Message) -> list[str]:
    badges = [_MARKS[message.mark]] if message.mark else []
    if any(isinstance(part, ToolResult) and part.is_error for part in message.parts):
        badges.append("error")
    return badges


def _where(message: Message) -> list[str]:
    """Line, time to the second, and the id where it tells more than the line."""
    facts = [f"line {message.line:,}"] if message.line else []
    facts += [line(message.time[:19].replace("T", " "))] if message.time else []
    return facts if message.id == f"L{message.line}" else [*facts, line(message.id)]
