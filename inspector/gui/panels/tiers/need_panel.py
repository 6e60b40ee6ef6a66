"""The panel of model calls: the call that a tier waits for or, without one, the calls of the current step.

The user can edit and send a waiting call, paste an answer, let it fail, or give up the tier. It is brought to the front
when a call waits for the user, or when an answer takes longer than A_MOMENT.
"""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QMenu, QPlainTextEdit, QProgressBar, QTabWidget

from inspector.core.needs import Answer, Failure, Need, RemoteCompact, SaveTranscript, Summarize
from inspector.core.words import plural
from inspector.gui.desk import Desk
from inspector.gui.guard import Guarded
from inspector.gui.look.build import (
    button,
    choice,
    column,
    delayed,
    holding,
    keep_hidden,
    mark,
    menu_button,
    row,
    splitter,
)
from inspector.gui.look.labels import label, say
from inspector.gui.look.tokens import BOX_GAP, CHIP_GAP, LINE_GAP, PANEL_INSETS
from inspector.gui.look.visible import line
from inspector.gui.panels.message.parts import message_sections
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.tiers.blocks import PROVIDERS
from inspector.gui.panels.tiers.calls_log import CallsLog
from inspector.gui.panels.tiers.need_text import (
    FAILURES,
    answer_hint,
    asking_words,
    by_hand,
    edited,
    instructions_of,
    summary_text,
)
from inspector.gui.widgets.editable_text import EditableText
from inspector.gui.widgets.pieces import Section
from inspector.gui.widgets.small import Elided
from inspector.gui.widgets.text import PlainText
from inspector.workbench.state import PendingNeed, State
from inspector.workbench.stepping import HAND
from inspector.workbench.steps import Step
from inspector.workbench.words.step_words import missing_headings, step_words

A_MOMENT = 300
"""Milliseconds after which an unanswered call brings the panel to the front."""
ANSWERERS = ("offline", "simulated", *PROVIDERS)


class AnswerText(Guarded, QPlainTextEdit):
    """The editor of the answer; Ctrl+Enter uses the answer."""

    def __init__(self, use: Callable[[], None]) -> None:
        super().__init__()
        self._answer_by_hand = use

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._answer_by_hand()
        else:
            super().keyPressEvent(event)


class NeedPanel(Panel):
    """The panel of model calls. Every choice is passed to `workbench.stepping`."""

    TITLE: ClassVar[str] = "Model calls"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._asking: PendingNeed | None = None
        self._need: Need | None = None
        self._brought = False
        self._stepping = desk.workbench.stepping
        self.says = label(role="strong", wrap=True)
        self.says.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.note = label(role="small")
        self.text = EditableText(desk.theme, "Text of the call, to be edited")
        self.instructions = EditableText(desk.theme, "Instructions of the call, to be edited")
        self.messages = PlainText(desk.theme, desk.bridge)
        self.messages.setAccessibleName("Messages of the call")
        self.answer = AnswerText(self._answer_by_hand)
        self.answer.setObjectName("NeedAnswer")
        self.answer.setAccessibleName("Answer by hand")
        self.answer.textChanged.connect(self._enable)
        self.missing = Elided("quiet")
        self.log = CallsLog(desk)
        self._make_buttons()
        self._moment = delayed(self, A_MOMENT, self._show_unseen_need)
        self._lay_out()
        self._show_asking(asking=None)

    def _fill_failures(self, menu: QMenu) -> None:
        for words, reply in FAILURES:
            menu.addAction(words).triggered.connect(partial(self._fail, reply))

    def _make_buttons(self) -> None:
        self.who = choice("Who is asked", ANSWERERS)
        self.who.setEditable(True)
        self.who.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.who.setMinimumWidth(self.fontMetrics().horizontalAdvance("simulated") + 50)
        self.send = button(
            "Send", self._send, about="Send the call, as edited here, to the chosen provider"
        )
        self.use = button("Use this answer", self._answer_by_hand, about="Ctrl+Enter")
        self.fail = menu_button("Fail with… ▾", self._fill_failures, role="")
        self.stop = button(
            "Stop",
            self._stepping.stop,
            about="Stop the model call; the tier then waits for your answer",
        )
        self.give_up = button(
            "Give up", self._stepping.give_up, about="Cancel the tier; the buffer stays unchanged"
        )
        self.bar = QProgressBar()
        self.bar.setRange(0, 0)
        self.bar.setTextVisible(False)
        self.bar.setMaximumWidth(160)

    def _lay_out(self) -> None:
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.setAccessibleName("The model call")
        self.tabs.tabBar().setAccessibleName("Parts of the model call")
        keep_hidden(self.tabs, self.text, self.instructions, self.messages)
        question = holding(column((self.tabs, 1), margins=(0, 0, CHIP_GAP, 0)))
        answered = holding(
            column((self.answer, 1), self.missing, margins=(CHIP_GAP, BOX_GAP, 0, 0), gap=LINE_GAP)
        )
        split = splitter(question, answered, shares=(3, 2))
        buttons = row(
            self.who,
            self.send,
            self.bar,
            self.stop,
            ...,
            self.fail,
            self.give_up,
            self.use,
            gap=CHIP_GAP,
        )
        self._body = holding(column(self.note, (split, 1), buttons, gap=BOX_GAP))
        column(
            self.says, (self._body, 1), (self.log, 1), of=self, margins=PANEL_INSETS, gap=LINE_GAP
        )

    def receive(self, state: State) -> None:
        """Bring the panel to the front when a call waits for the user, and mark its tab, even while it is hidden."""
        super().receive(state)
        asking = state.asking
        if asking is not None:
            self.setWindowTitle(f"{self.TITLE} ●")
        if asking is None:
            self._moment.stop()
            if self._brought:
                self._brought = False
                for title in ("Lost", "Diff"):  # show the effect of the answer
                    self.desk.show_panel(title)
        elif not asking.busy:
            self._show_unseen_need()
        elif not self._moment.isActive():
            self._moment.start()

    def counted(self, state: State) -> int:
        step = state.shown_step
        return len(step.asked) if step is not None else 0

    def _show_unseen_need(self) -> None:
        if self.desk.workbench.state.asking is not None and not self.seen:
            self._brought = True
            self.desk.show_panel(self.TITLE)
            self.answer.setFocus()

    def show_state(self, state: State) -> None:
        """Show the need if it is new, and who is answering it."""
        if self.is_new("log", state.asking, state.steps):
            self._show_log(state)
        if state.asking is not self._asking:
            new = state.asking is not None and state.asking.need is not self._need
            self._show_asking(state.asking)
            who = state.choices.answer_by
            if new and who != HAND and not self.who.hasFocus():
                self.who.setCurrentText(who)
            if new and state.asking is not None and not state.asking.busy and self.seen:
                self.answer.setFocus()  # the step's next need: sending the last answer took the focus away

    def _show_log(self, state: State) -> None:
        """Show the needs of the current step with their answers, unless a need is waiting."""
        if state.asking is not None:
            return
        step = state.shown_step
        calls = step.asked if step is not None else ()
        self.log.show_calls(calls)
        self.log.setVisible(bool(calls))
        self.says.setText(_log_words(state, step))
        mark(self.says, "role", "strong" if calls else "quiet")

    def _show_asking(self, asking: PendingNeed | None) -> None:
        self._asking = asking
        self._body.setVisible(asking is not None)
        if asking is None:
            self._need = None
            return
        self.log.hide()
        mark(self.says, "role", "strong")
        self.says.setText(asking_words(asking))
        if asking.need is not self._need:
            self._need = asking.need
            self._show_need(asking.need)
        for text in (self.text, self.instructions):
            text.hold(asking.busy)
        say(
            self.note, f"{line(asking.who, 60)} is answering…" if asking.who and asking.busy else ""
        )
        for widget in (self.bar, self.stop):
            widget.setVisible(asking.busy)
        self._enable()

    def _show_need(self, need: Need) -> None:
        self.tabs.clear()
        text = summary_text(need)
        instructions = instructions_of(need)
        messages = (
            need.messages if isinstance(need, Summarize | RemoteCompact | SaveTranscript) else ()
        )
        if text is not None and (text or not messages):
            self.text.show_text(text)
            self.tabs.addTab(self.text, f"Text · {plural(len(text), 'character')}")
        if instructions is not None:
            self.instructions.show_text(instructions)
            self.tabs.addTab(
                self.instructions, f"Instructions · {plural(len(instructions), 'character')}"
            )
        if messages:
            self.messages.show_sections(
                [
                    section
                    for message in messages
                    for section in (Section(message.role), *message_sections(message))
                ]
            )
            self.tabs.addTab(self.messages, plural(len(messages), "message"))
        self.answer.clear()
        self.answer.setPlaceholderText(answer_hint(need))

    def _enable(self) -> None:
        free = self._asking is not None and not self._asking.busy
        self.send.setEnabled(free)
        self.who.setEnabled(free)
        self.fail.setEnabled(self._asking is not None)
        answer = self.answer.toPlainText()
        self.use.setEnabled(self._asking is not None and bool(answer.strip()))
        if self._need is not None and answer.strip():
            missing = missing_headings(self._need, answer)
        else:
            missing = ()
        self.missing.show_text(f"Missing headings: {', '.join(missing)}" if missing else "")

    def _send(self) -> None:
        need = self._need
        who = self.who.currentText().strip()
        if need is not None and who:
            instructions = instructions_of(need)
            text = summary_text(need)
            as_left = edited(
                need,
                self.instructions.text() if instructions is not None else "",
                self.text.text() if text else "",
            )
            self._stepping.send(as_left, who)

    def _answer_by_hand(self) -> None:
        if self._need is not None and self.use.isEnabled():
            self._stepping.answer(by_hand(self._need, self.answer.toPlainText()))

    def _fail(self, reply: Callable[[Need], Answer | Failure], checked: bool = False) -> None:
        if self._need is not None:
            self._stepping.answer(reply(self._need))


def _log_words(state: State, step: Step | None) -> str:
    if step is not None:
        return (
            f"{step.name}: {step_words(step)}" if step.asked else f"{step.name} made no model call."
        )
    return "No tier waits for an answer. Choose “Manually” under Tiers to answer every model call yourself."
