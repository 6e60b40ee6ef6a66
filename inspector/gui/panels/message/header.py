"""Above a message: who, which, where in the file, when, how many tokens by whom, and what travelled with it."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QVBoxLayout, QWidget

from inspector.core.message import Message, ToolResult
from inspector.core.tokens.estimators import count, estimator, refusals
from inspector.core.tokens.sizing import Sizer
from inspector.gui.desk import Desk
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import grouped, plural
from inspector.gui.look.visible import line

COUNTED = "tiktoken"
_MARKS = {"meta": "written by the client", "attachment": "added by the client", "placeholder": "content was cleared"}


class MessageHeader(QWidget):
    """Three calm lines."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._message: Message | None = None
        self._number = label(role="quiet")
        self._role = label(role="strong")
        self._badges = label(role="quiet")
        self._where = label(role="quiet")
        self._where.setWordWrap(True)
        self._where.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._tokens = label()
        self.counter = _flat("count with tiktoken")
        self.counter.clicked.connect(self._count)
        self.together = _flat("")
        self.together.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        first, second = QHBoxLayout(), QHBoxLayout()
        first.setSpacing(8)
        for word in (self._number, self._role, self._badges):
            first.addWidget(word)
        first.addStretch(1)
        self.tools = first
        for widget in (self._tokens, self.counter, self.together):
            second.addWidget(widget)
        second.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(13, 6, 8, 2)
        column.setSpacing(2)
        column.addLayout(first)
        column.addWidget(self._where)
        column.addLayout(second)

    def show_message(self, message: Message, number: int | None, others: Sequence[Message], size: Sizer) -> None:
        """`number` is its place in the buffer, None where it does not stand there; `others` travelled with it; `size`:
        what measures the buffer."""
        self._message = message
        self._number.setText("elsewhere" if number is None else f"{number:,}")
        self._number.setToolTip(tip("It does not stand in the buffer that is looked at") if number is None else "")
        self._role.setText(message.role)
        self._badges.setText(" · ".join(_badges(message)))
        self._where.setText(" · ".join(_where(message)))
        self._tokens.setText(_tokens(message, size))
        self._show_counted()
        self._show_others(others)
        self.restyle()

    def restyle(self) -> None:
        """Colour the role as the list does."""
        colours = self._desk.theme.colours
        role = self._message.role if self._message else ""
        colour = {"user": colours.accent, "tool": colours.on_tool}.get(role, colours.text)
        self._role.setStyleSheet(f"color: {colour}")

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
        known = message is not None and COUNTED in message.counts
        self.counter.setEnabled(not known)
        if message is None or not known:
            self.counter.setText("count with tiktoken")
        elif refusals(estimator(COUNTED), (message,)):
            self.counter.setText("tiktoken gave up on it")
        else:
            self.counter.setText(f"{grouped(count(estimator(COUNTED), message))} · tiktoken o200k, counted")

    def _show_others(self, others: Sequence[Message]) -> None:
        self.together.setVisible(bool(others))
        if not others:
            return
        self.together.setText(f"travelled together with {plural(len(others), 'other')} ▾")
        menu = QMenu(self.together)
        for other in others[:50]:
            first = next((part.content for part in other.parts if isinstance(part, ToolResult)), "")
            action = menu.addAction(f"{other.role} · {line(first or other.id, 60)}".replace("&", "&&"))
            action.triggered.connect(lambda _=False, id_=other.id: self._desk.workbench.select(id_))
        self.together.setMenu(menu)


def _tokens(message: Message, size: Sizer) -> str:
    """`1,131 tokens of the prompt · roku counts 941`; without reports what the estimator counts is all there is."""
    counted = grouped(count(size.estimator, message))
    if size.kind != "predicted":
        return f"{size.estimator.name} counts {counted} tokens, {size.kind}"
    return f"{grouped(size.row(message))} tokens of the prompt · {size.estimator.name} counts {counted}"


def _badges(message: Message) -> list[str]:
    found = ["summary"] if message.summary else []
    if message.mark:
        found.append(_MARKS[message.mark])
    if any(isinstance(part, ToolResult) and part.is_error for part in message.parts):
        found.append("error")
    return found


def _where(message: Message) -> list[str]:
    found = [line(message.id)]
    if message.line:
        found.append(f"line {message.line:,}")
    if message.time:
        found.append(line(message.time))
    return found


def _flat(text: str) -> QToolButton:
    made = QToolButton()
    made.setText(text)
    made.setProperty("role", "flat")
    return made
