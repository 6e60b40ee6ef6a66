"""The need that a tier waits with: shown in full, and met by the person: edit and send, paste, fail, or give up. It
comes to the front when it waits for the person, or when an answer takes longer than a moment."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QMenu, QPlainTextEdit, QProgressBar, QTabWidget

from inspector.core.answering import http_failure
from inspector.core.message import Message, Text
from inspector.core.needs import (
    Answer,
    AskModel,
    ContextWindowExceeded,
    Failure,
    Need,
    ProviderFailure,
    ReadFile,
    RemoteCompact,
    RunTools,
    SaveText,
    SaveTranscript,
    Summarize,
    Timeout,
)
from inspector.core.words import plural
from inspector.gui.desk import Desk
from inspector.gui.guard import Guarded
from inspector.gui.look.build import button, choice, column, delayed, holding, keep, mark, menu_button, row, splitter
from inspector.gui.look.labels import label, say
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.visible import line
from inspector.gui.panels.message.parts import message_sections
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.tiers.blocks import PROVIDERS
from inspector.gui.widgets.pieces import Section
from inspector.gui.widgets.text import NeedText, PlainText
from inspector.workbench.state import PendingNeed, State
from inspector.workbench.stepping import HAND

PERSON = "person"


def asked(asking: PendingNeed) -> str:
    """One line: who asks what, the how-manieth of this step, within which limits."""
    tier = {"": "What is due", "turn": "The turn"}.get(asking.tier, asking.tier)
    words = [f"{tier} asks for {_ASKS[type(asking.need)][0](asking.need)}", f"call {asking.number} of this step"]
    limit = getattr(asking.need, "timeout_s", None)
    if limit:
        words.append(f"within {limit:g} s")
    most = getattr(asking.need, "max_tokens", None)
    if most:
        words.append(f"at most {grouped(most)} tokens")
    return " · ".join(words)


_ANSWER, _PATH = "Paste or write the answer", "The path under which it was kept"
_ASKS: Mapping[type[Need], tuple[Callable[[Any], str], str]] = {
    Summarize: (lambda need: f"a model's {need.purpose}", _ANSWER),
    RemoteCompact: (lambda need: f"a remote compact of {plural(len(need.messages), 'message')}", _ANSWER),
    ReadFile: (lambda need: f"the file {need.path}", "The content of the file"),
    SaveTranscript: (lambda need: f"{plural(len(need.messages), 'message')} to be kept on disk", _PATH),
    SaveText: (lambda need: "a text to be kept on disk", _PATH),
    AskModel: (lambda need: "the model's next answer", _ANSWER),
    RunTools: (lambda need: "tools to be run", _ANSWER),
}
"""What each need asks for, and what stands in the editor of its answer."""


def instructions_of(need: Need) -> str | None:
    """The system prompt of the call; None where a need has none."""
    return need.instructions if isinstance(need, Summarize | RemoteCompact) else None


def text_of(need: Need) -> str | None:
    """The text of the call; None where a need has none."""
    return need.text if isinstance(need, Summarize | SaveText) else None


def edited(need: Need, instructions: str, text: str) -> Need:
    """The need as the person left it."""
    match need:
        case Summarize():
            return replace(need, instructions=instructions, text=text)
        case RemoteCompact():
            return replace(need, instructions=instructions)
        case _:
            return need


def by_hand(need: Need, text: str) -> Answer:
    """What the person pasted, as the tier wants it."""
    if isinstance(need, RemoteCompact):
        return Answer(messages=(Message("by-hand", "assistant", (Text(text),), summary=True),), by=PERSON)
    return Answer(text=text, by=PERSON)


def _timed_out(need: Need) -> Failure:
    limit = getattr(need, "timeout_s", None)
    return Timeout(f"no answer within {limit:g} s" if limit else "no answer in time")


def _status(status: int, message: str) -> Callable[[Need], Failure]:
    return lambda need: http_failure(status, message)


FAILURES: Sequence[tuple[str, Callable[[Need], Answer | Failure]]] = (
    ("Time out", _timed_out),
    ("403 forbidden", _status(403, "403: this key may not do that")),
    ("404 not found", _status(404, "404: there is no such model or endpoint")),
    ("429 too many requests", _status(429, "429: too many requests")),
    ("500 server error", _status(500, "500: the server failed")),
    ("Context window exceeded", lambda need: ContextWindowExceeded("the prompt is too long for the model's window")),
    ("Empty output", lambda need: Answer(by=PERSON)),
    ("Broken stream", lambda need: ProviderFailure("the stream broke off before its end", kind="broken")),
)
"""The ways in which the person can make a call fail, as if the provider had: words of the menu, what the tier gets."""


A_MOMENT = 300
"""Milliseconds; what is answered sooner does not bring the panel to the front."""
ANSWERERS = ("offline", "simulated", *PROVIDERS)


class AnswerText(Guarded, QPlainTextEdit):
    """Ctrl+Enter uses the answer."""

    def __init__(self, use: Callable[[], None]) -> None:
        super().__init__()
        self._use = use

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._use()
        else:
            super().keyPressEvent(event)


class NeedPanel(Panel):
    """Every choice drives `workbench.stepping`."""

    TITLE: ClassVar[str] = "Need"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._asking: PendingNeed | None = None
        self._need: Need | None = None
        self._brought = False
        self._stepping = desk.workbench.stepping
        self.says = label(role="strong", wrap=True)
        self.says.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.note = label(role="small")
        self.text = NeedText(desk.theme, "Text of the call, to be edited")
        self.instructions = NeedText(desk.theme, "Instructions of the call, to be edited")
        self.messages = PlainText(desk.theme, desk.bridge)
        self.messages.setAccessibleName("Messages of the call")
        self.answer = AnswerText(self._use)
        self.answer.setObjectName("NeedAnswer")
        self.answer.setAccessibleName("Answer by hand")
        self.answer.textChanged.connect(self._enable)
        self._make_buttons()
        self._moment = delayed(self, A_MOMENT, self._come)
        self._lay_out()
        self._show_asking(None)

    def _fill_failures(self, menu: QMenu) -> None:
        for words, reply in FAILURES:
            menu.addAction(words).triggered.connect(partial(self._fail, reply))

    def _make_buttons(self) -> None:
        self.who = choice("Who is asked", ANSWERERS)
        self.who.setEditable(True)
        self.who.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.who.setMinimumWidth(self.fontMetrics().horizontalAdvance("simulated") + 50)
        self.send = button("Send", self._send, about="Have the chosen one answer the call, as it stands here")
        self.use = button("Use this answer", self._use, about="Ctrl+Enter")
        self.fail = menu_button("Fail with… ▾", self._fill_failures, role="")
        self.stop = button("Stop", self._stepping.stop, about="End the call; the need waits for you again")
        self.give_up = button("Give up", self._stepping.give_up, about="Drop the tier: nothing happened")
        self.bar = QProgressBar()
        self.bar.setRange(0, 0)
        self.bar.setTextVisible(False)
        self.bar.setMaximumWidth(160)

    def _lay_out(self) -> None:
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        keep(self.tabs, self.text, self.instructions, self.messages)
        sides = ((self.tabs, (0, 0, 6, 0)), (self.answer, (6, 4, 0, 0)))
        split = splitter(*(holding(column((part, 1), margins=margins)) for part, margins in sides), shares=(3, 2))
        buttons = row(self.who, self.send, self.bar, self.stop, ..., self.fail, self.give_up, self.use, gap=7)
        self._body = holding(column(self.note, (split, 1), buttons, gap=4))
        column(self.says, (self._body, 1), of=self, margins=(13, 6, 10, 8), gap=2)

    def receive(self, state: State) -> None:
        """Seen or not: a need that waits comes to the front, and the tab tells that there is one."""
        super().receive(state)
        asking = state.asking
        self.setWindowTitle(f"{self.TITLE} ●" if asking is not None else self.TITLE)
        if asking is None:
            self._moment.stop()
            if self._brought:
                self._brought = False
                for title in ("Lost", "Diff"):  # what came of it
                    self.desk.show_panel(title)
        elif not asking.busy:
            self._come()
        elif not self._moment.isActive():
            self._moment.start()

    def _come(self) -> None:
        if self.desk.workbench.state.asking is not None and not self.seen:
            self._brought = True
            self.desk.show_panel(self.TITLE)
            self.answer.setFocus()

    def show_state(self, state: State) -> None:
        """The need, where it is another one; who is busy."""
        if state.asking is not self._asking:
            new = state.asking is not None and state.asking.need is not self._need
            self._show_asking(state.asking)
            who = state.choices.answer_by
            if new and who != HAND and not self.who.hasFocus():
                self.who.setCurrentText(who)
            if new and state.asking is not None and not state.asking.busy and self.seen:
                self.answer.setFocus()  # the next one of the step: the last answer took the focus along

    def _show_asking(self, asking: PendingNeed | None) -> None:
        self._asking = asking
        self._body.setVisible(asking is not None)
        mark(self.says, "role", "quiet" if asking is None else "strong")
        if asking is None:
            self._need = None
            self.says.setText(
                "No tier waits for an answer. Choose “by hand” under Tiers to meet every model call yourself."
            )
            return
        self.says.setText(asked(asking))
        if asking.need is not self._need:
            self._need = asking.need
            self._show_need(asking.need)
        for text in (self.text, self.instructions):
            text.hold(asking.busy)
        say(self.note, f"{line(asking.who, 60)} is answering…" if asking.who and asking.busy else "")
        for widget in (self.bar, self.stop):
            widget.setVisible(asking.busy)
        self._enable()

    def _show_need(self, need: Need) -> None:
        self.tabs.clear()
        text, instructions = text_of(need), instructions_of(need)
        messages = need.messages if isinstance(need, Summarize | RemoteCompact | SaveTranscript) else ()
        if text is not None and (text or not messages):
            self.text.show_text(text)
            self.tabs.addTab(self.text, f"Text · {grouped(len(text))}")
        if instructions is not None:
            self.instructions.show_text(instructions)
            self.tabs.addTab(self.instructions, f"Instructions · {grouped(len(instructions))}")
        if messages:
            self.messages.show_sections(
                [section for message in messages for section in (Section(message.role), *message_sections(message))]
            )
            self.tabs.addTab(self.messages, plural(len(messages), "message"))
        self.answer.clear()
        self.answer.setPlaceholderText(_ASKS[type(need)][1])

    def _enable(self) -> None:
        free = self._asking is not None and not self._asking.busy
        self.send.setEnabled(free)
        self.who.setEnabled(free)
        self.fail.setEnabled(self._asking is not None)
        self.use.setEnabled(self._asking is not None and bool(self.answer.toPlainText().strip()))

    def _send(self) -> None:
        need, who = self._need, self.who.currentText().strip()
        if need is not None and who:
            instructions, text = instructions_of(need), text_of(need)
            as_left = edited(
                need,
                self.instructions.text() if instructions is not None else "",
                self.text.text() if text else "",
            )
            self._stepping.send(as_left, who)

    def _use(self) -> None:
        if self._need is not None and self.use.isEnabled():
            self._stepping.answer(by_hand(self._need, self.answer.toPlainText()))

    def _fail(self, reply: Callable[[Need], Answer | Failure], checked: bool = False) -> None:
        if self._need is not None:
            self._stepping.answer(reply(self._need))
