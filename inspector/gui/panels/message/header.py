"""The head of the message panel: role, place in the file, time, tokens, buttons, and the messages sent with it."""

from collections.abc import Sequence

from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from inspector.core.message import Message, ToolResult
from inspector.core.tokens.estimators import ESTIMATOR_TITLES, count, estimator, refusals
from inspector.core.tokens.sizing import Sizer
from inspector.core.words import plural
from inspector.gui.desk import Desk
from inspector.gui.look.build import column, menu_button, row, small_button
from inspector.gui.look.colours import role_colour
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.tokens import CONTROL_GAP, LINE_GAP, LIST_HEAD
from inspector.gui.look.visible import line
from inspector.gui.widgets.chips import Chips, flow
from inspector.gui.widgets.small import Elided
from inspector.workbench.message_rows import message_role

COUNTED = "tiktoken"
MARKDOWN, PLAIN = "Markdown", "Plain"
_TEXT_FORMS = (
    (MARKDOWN, "Show the text as Markdown; nothing is loaded, and no link can be followed"),
    (PLAIN, "Show the text as it was written, with the search hits marked"),
)
_MARKS = {
    "meta": "written by the client",
    "attachment": "added by the client",
    "placeholder": "content was cleared",
}


class MessageHeader(QWidget):
    """The role, place and tokens of a message, and below them the buttons, in as many lines as they need."""

    def __init__(
        self, desk: Desk, tools: Sequence[QToolButton], rare: Sequence[QToolButton]
    ) -> None:
        """Args:
        tools: the buttons.
        rare: those of the buttons that a low panel puts into a menu, to leave room for the text.
        """
        super().__init__()
        self._desk = desk
        self._rare = rare
        self._message: Message | None = None
        self._size = ""
        self.is_low = self._has_others = self._is_prose = False
        self._number = label(role="quiet")
        self._role = label(role="strong")
        self._where = Elided("quiet")
        self._tokens = Elided()
        self.counter = small_button(
            "count",
            self._count,
            about="Count the message with tiktoken o200k",
            name="count with tiktoken",
        )
        self.together = menu_button("")
        self.forms = Chips("Text", _TEXT_FORMS)
        self.more = menu_button(
            "more", self._fill_more, about="More actions for this message", anew=True
        )
        who = row(self._number, self._role, (self._where, 1), gap=CONTROL_GAP)
        buttons = flow(
            self.forms, *tools, self.counter, self.together, self.more, margins=(0, 0, 0, 0)
        )
        column(who, self._tokens, buttons, of=self, margins=LIST_HEAD, gap=LINE_GAP)
        self.be_low(low=False)

    def show_message(
        self,
        message: Message,
        number: int | None,
        others: Sequence[Message],
        size: Sizer,
        name: str,
    ) -> None:
        """Show role, place, time and tokens of a message.

        Args:
            number: place of the message in the buffer; None: it is not in the buffer.
            others: the other messages sent in the same wire message.
            size: counts the tokens of messages on the scale of the gauge.
            name: name of the chosen estimator.
        """
        self._message = message
        self._number.setText("not in this buffer" if number is None else f"{number:,}")
        self._number.setToolTip(
            tip("The selected request does not contain this message") if number is None else ""
        )
        self._role.setText(message_role(message))
        facts = [*_badges(message), *_facts(message)]
        shorter = [" · ".join(facts[:count]) for count in range(len(facts) - 1, 0, -1)]
        self._where.show_text(" · ".join(facts), *shorter)
        if message.id != f"L{message.line}":
            self._where.setToolTip(tip(line(message.id)))
        self._size = _tokens(message, size, name)
        self._name_others(others)
        self._show_counted()
        self.restyle()

    def offer_forms(self, is_prose: bool, form: str) -> None:
        """Offer Markdown and plain text for prose, with the current form checked."""
        self._is_prose = is_prose
        self.forms.setVisible(is_prose and not self.is_low)
        self.forms.select(form)

    def show_sizes(self, are_shown: bool) -> None:
        """Show or hide the tokens of the message. The buffer list shows them, too."""
        self._tokens.setVisible(are_shown)

    def be_low(self, low: bool) -> None:
        """Hide the rare buttons to leave room for the text, or show them again."""
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
        """Show the tokens of the message and, once the tokenizer has counted it, the tokenizer's count."""
        message = self._message
        is_counted = message is not None and COUNTED in message.counts
        self.counter.setText("count")
        self.counter.setEnabled(True)
        self.counter.setVisible(not is_counted and not self.is_low)
        self.together.setVisible(self._has_others and not self.is_low)
        words = self._size
        if message is not None and is_counted:
            words += f" · {_counted_words(message)}"
        self._tokens.show_text(words, words.replace(" of the prompt", ""))

    def _name_others(self, others: Sequence[Message]) -> None:
        """Fill the menu of the other messages sent in the same wire message."""
        self._has_others = bool(others)
        self.together.setText(f"sent with {plural(len(others), 'other message')} ▾")
        menu = self.together.menu()
        menu.clear()
        for other in others[:50]:
            first = next((part.content for part in other.parts if isinstance(part, ToolResult)), "")
            action = menu.addAction(
                f"{other.role} · {line(first or other.id, 60)}".replace("&", "&&")
            )
            action.triggered.connect(lambda _=False, id_=other.id: self._desk.workbench.select(id_))


def _tokens(message: Message, size: Sizer, name: str) -> str:
    """Return `1,131 tokens of the prompt · estimated 941 by Roku`: on the gauge's scale and by the chosen estimator."""
    estimated = grouped(count(estimator(name), message))
    tokens = grouped(size.row(message))
    return f"{tokens} tokens of the prompt · estimated {estimated} by {ESTIMATOR_TITLES[name]}"


def _counted_words(message: Message) -> str:
    """Return the tokens that tiktoken counted, or say that it could not count the message."""
    tokenizer = estimator(COUNTED)
    if refusals(tokenizer, (message,)):
        return "not countable by tiktoken"
    return f"tiktoken {grouped(count(tokenizer, message))}"


def _badges(message: Message) -> list[str]:
    badges = [_MARKS[message.mark]] if message.mark else []
    if any(isinstance(part, ToolResult) and part.is_error for part in message.parts):
        badges.append("error")
    return badges


def _facts(message: Message) -> list[str]:
    """Return the line in the file, and the time to the second."""
    facts = list[str]()
    if message.line:
        facts.append(f"line {message.line:,}")
    if message.time:
        facts.append(line(message.time[:19].replace("T", " ")))
    return facts
