"""What fills the window, what was lost, what it cost: a sentence each, there before the first click."""

from collections.abc import Callable
from typing import ClassVar

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame

from inspector.core.findings.answers import Question, ShortAnswer, short_answers
from inspector.core.session import Session, Thread
from inspector.core.tokens.estimators import estimator
from inspector.gui.bridge import LatestJob
from inspector.gui.desk import Desk
from inspector.gui.guard import Guarded
from inspector.gui.look.build import column, delayed, row
from inspector.gui.look.labels import label
from inspector.gui.panels.panel import Panel
from inspector.workbench.state import State

_ASKED: dict[Question, tuple[str, str]] = {
    "filled": ("WHAT FILLS IT", "Breakdown"),
    "lost": ("WHAT WAS LOST", "Lost"),
    "cost": ("WHAT IT COST", "Cost"),
}
"""Caption, and title of the panel with the whole answer."""

LEAST = 0.22
"""Share of the room that the card of the shortest sentence has."""
_AWAITED = "…\n\n\n"
"""As high as most answers: nothing jumps when they come."""
_SIDE, _EDGE, _GAP, _BESIDE = 13, 7, 10, 11
"""Pixels beside, above and below, and between the cards; beside their words."""


class GlancePanel(Panel):
    """Works out the sentences off the GUI thread; while a session grows, one time after the other."""

    TITLE: ClassVar[str] = "At a glance"
    HEADED: ClassVar[bool] = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._of: tuple[Session | None, Thread | None] = (None, None)
        self._job = LatestJob(desk.bridge)
        self._soon = delayed(self, 0, self._fit)
        self.cards = {name: AnswerCard(caption, self._go) for name, (caption, _) in _ASKED.items()}
        self._row = row(*self.cards.values(), of=self, margins=(_SIDE, _EDGE, _SIDE, _EDGE), gap=_GAP)

    def show_state(self, state: State) -> None:
        """The sentences of the chosen thread, as soon as the whole of it is read."""
        if state.opening is not None and state.session is not None:
            return
        if state.session is not self._of[0] or state.thread is not self._of[1]:
            self._of = (state.session, state.thread)
            if self.is_new("file", state.session.path if state.session is not None else ""):
                self._show(())
                self._job.cancel()
            if not self._job.busy:
                self._work_out()

    def _work_out(self) -> None:
        session, thread = self._of
        if session is None or thread is None or not (thread.requests or len(thread.end)):
            return
        by = estimator(self.desk.workbench.state.estimator)

        def done(found: tuple[ShortAnswer, ...]) -> None:
            self._show(found)
            if self._of != (session, thread):
                self._work_out()

        last = len(thread.requests) - 1 if thread.requests else 0
        self._job.run(lambda task: short_answers(session, thread, last, by), done)

    def _show(self, found: tuple[ShortAnswer, ...]) -> None:
        known = {one.question: one for one in found}
        for name, card in self.cards.items():
            card.show_answer(known.get(name))
        self._fit()

    def fit(self) -> None:
        """As high as the longest sentence; in the midst of it the cards would keep their old height."""
        self._soon.start()

    def changeEvent(self, event: QEvent) -> None:
        """Other letters: the sentences have them only when this is over."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._soon.start()

    def _fit(self) -> None:
        """All of every sentence can be read: the longer it is the wider its card."""
        room = self.width() - 2 * _SIDE - (len(self.cards) - 1) * _GAP
        long = [len(card.words.text()) for card in self.cards.values()]
        shares = [max(one, LEAST * sum(long)) for one in long]
        high = 0
        for n, card in enumerate(self.cards.values()):
            wide = int(room * shares[n] / sum(shares))
            self._row.setStretch(n, wide)
            high = max(high, card.heightForWidth(wide))
        if self.maximumHeight() != (whole := 2 * _EDGE + high):
            self.heightened.emit()
            self.setFixedHeight(whole)

    def _go(self, answer: ShortAnswer) -> None:
        if answer.request is not None:
            self.desk.workbench.move(answer.request)
        self.desk.show_panel(_ASKED[answer.question][1])


class AnswerCard(Guarded, QFrame):
    """One sentence; a click, Return or the space bar leads to more."""

    def __init__(self, caption: str, go: Callable[[ShortAnswer], None]) -> None:
        super().__init__()
        self._caption, self._go = caption, go
        self.answer: ShortAnswer | None = None
        self.setObjectName("AnswerCard")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.words = label(wrap=True)
        column(label(caption, role="caption"), self.words, ..., of=self, margins=(_BESIDE, 7, _BESIDE, 8), gap=3)
        self.show_answer(None)

    def show_answer(self, answer: ShortAnswer | None) -> None:
        """None while nobody knows it."""
        self.answer = answer
        words = answer.text if answer is not None else _AWAITED
        self.words.setText(words)
        self.setAccessibleName(f"{self._caption.capitalize()}: {answer.text if answer is not None else ''}")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self.answer is not None and self.rect().contains(event.position().toPoint()):
            self._go(self.answer)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.answer is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._go(self.answer)
        else:
            super().keyPressEvent(event)
