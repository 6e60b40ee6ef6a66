"""Three short answers, shown as soon as a session is open: what filled the window, what was lost, what it cost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QMainWindow, QSizePolicy

from inspector.core.findings.answers import (
    QUESTIONS,
    Question,
    ShortAnswer,
    cost_answer,
    filled_answer,
    lost_answer,
)
from inspector.gui.bridge import Lane
from inspector.gui.desk import Desk
from inspector.gui.guard import Guarded
from inspector.gui.look.build import column, delayed, row
from inspector.gui.look.glossary import explain
from inspector.gui.look.labels import label, say, tip
from inspector.gui.look.tokens import CARD_INSET, CARD_INSETS, CONTROL_GAP, GAP, INSET, LINE_GAP
from inspector.gui.navigation import go_to
from inspector.gui.pacing import PacedJob
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.small import EmphasisLabel
from inspector.workbench.state import State


@dataclass(frozen=True, slots=True)
class CardText:
    """The texts of a card besides its answer."""

    caption: str
    panel: str
    """Title of the panel with the whole answer."""
    link: str
    """Text of the link; `{}` is replaced by the request."""
    term: str
    """The glossary's term for the caption."""
    pending: str
    """The sentence shown while the answer is being computed."""


CARDS: dict[Question, CardText] = {
    "filled": CardText(
        "WHAT FILLED IT",
        panel="Breakdown",
        link="Go to request {} ›",
        term="pressure",
        pending="Looking for the fullest request…",
    ),
    "lost": CardText(
        "WHAT WAS LOST",
        panel="What was lost",
        link="Show what was lost ›",
        term="compaction",
        pending="Comparing the conversation before and after each compaction…",
    ),
    "cost": CardText(
        "WHAT IT COST",
        panel="Cost",
        link="Show cost ›",
        term="cache miss",
        pending="Adding up the requests and looking for cache misses…",
    ),
}
READING = "Reading the file…"
NO_SESSION = "Nothing is open."

LATE_MS = 1_000
"""Milliseconds after which a card says that the session has more requests than its answer covers."""
_SIDE, _EDGE, _GAP, _INSET = INSET, CONTROL_GAP, GAP, CARD_INSET
"""Margins in pixels: beside the cards, above and below them, between them, and inside them beside the text."""
_LEAST_SHARE = 0.22
"""Smallest share of the width that a card gets if another card with a longer answer gets more than a third."""
_WORTH_LINES = 2
"""Number of lines of height that unequal widths must save to be used."""
_MOST_SHARE, _MOST_LINES = 0.16, 5
"""The height of the cards is limited to this share of the window's height, but not to fewer than this number of lines.
The last sentences of longer answers are only in the tooltip, so that the buffer below keeps its rows."""
_LOW_LINES, _FEWEST_LINES = 34, 1
"""In a window lower than `_LOW_LINES` lines of text, `_FEWEST_LINES` replaces `_MOST_LINES`."""
_RESERVED_LINES = 4
"""Lines for which a card has room before its answer is known, so that the layout changes little when it is shown."""


class GlancePanel(Panel):
    """Computes each answer in a separate job. While a session grows, `PacedJob` limits how often that is done."""

    TITLE: ClassVar[str] = "At a glance"
    HEADED: ClassVar[bool] = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._soon = delayed(self, milliseconds=0, call=self._fit)
        self._state = State()
        self._jobs = {question: PacedJob(desk.bridge, self) for question in QUESTIONS}
        self._late = delayed(self, LATE_MS, self._say_late)
        self.cards = {
            question: AnswerCard(CARDS[question], self._go_to_answer) for question in QUESTIONS
        }
        self._row = row(*self.cards.values(), of=self, gap=_GAP)
        self._row.setContentsMargins(_SIDE, _EDGE, _SIDE, _EDGE)

    def show_state(self, state: State) -> None:
        """Show the answers about the chosen thread as soon as the whole session is read."""
        self._state = state
        if self.is_new("file", state.session.path if state.session is not None else ""):
            for question, card in self.cards.items():
                self._jobs[question].cancel()
                card.show_answer(
                    answer=None, pending=READING if state.session is not None else NO_SESSION
                )
            self._fit()
        for question in QUESTIONS:
            if state.session is None:
                self.is_new(question, None)  # a session that was closed is not kept in memory
            elif state.opening is None:
                self._work_out(question)

    def _depends_on(self, question: Question) -> tuple[object, ...]:
        """Return what an answer depends on besides the session."""
        state = self._state
        match question:
            case "filled":
                return state.thread_id, state.user_window
            case "lost":
                return (state.thread_id,)
            case "cost":
                return ()

    def _work_out(self, question: Question) -> None:
        job = self._jobs[question]
        session = self._state.session
        thread = self._state.thread
        depends_on = self._depends_on(question)
        if session is None or thread is None or not self.is_new(question, session, depends_on):
            return
        card = self.cards[question]
        work_out = self._answerer(question)
        last = len(thread.requests) - 1
        if card.answer is None:
            card.show_answer(answer=None, pending=CARDS[question].pending)
            self._fit()

        def show(answer: ShortAnswer) -> None:
            card.show_answer(answer)
            card.last = last
            card.show_extent(is_late=False)
            self._fit()
            self._late.start()

        # The other answers need the whole session.
        lane: Lane = "compute" if question == "filled" else "card"
        job.run(session, depends_on, lambda task: work_out(), show, lane=lane)
        if not self._late.isActive():
            self._late.start()

    def _say_late(self) -> None:
        """Show on each card up to which request its answer goes, if the session has more requests."""
        for question, card in self.cards.items():
            card.show_extent(self._jobs[question].is_late)

    def _answerer(self, question: Question) -> Callable[[], ShortAnswer]:
        """Return a function that computes an answer about the current session and may run on any thread."""
        state = self._state
        bench = self.desk.workbench
        session = state.session
        thread = state.thread
        assert session is not None
        assert thread is not None
        if question == "lost":
            return lambda: lost_answer(session, thread)
        if question == "cost":
            return lambda: cost_answer(session, thread)
        return lambda: filled_answer(
            session, thread, lambda at: bench.find_window(state, at).tokens
        )

    def fit(self) -> None:
        """Adapt the height to the longest answer after the resize: during it, the cards would keep their old height."""
        self._soon.start()

    def changeEvent(self, event: QEvent) -> None:
        """Adapt the height after a change of the font, because the labels use the new font only after this event."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._soon.start()

    def _fit(self) -> None:
        """Make the panel as high as the longest answer needs, up to the limit for the height of the window."""
        cards = tuple(self.cards.values())
        for card in cards:
            card.show_details()
        widths = self._card_widths(cards)
        most = self._most_height()
        for place, width in enumerate(widths):
            self._row.setStretch(place, width)
            if most is not None:
                cards[place].cut_details(width, most)
        height = _height_of(cards, widths)
        if any(card.answer is None for card in cards):
            height = max(height, cards[0].height_of_lines(_RESERVED_LINES))
        height += 2 * _EDGE
        if self.maximumHeight() != height:
            self.heightened.emit()
            self.setFixedHeight(height)

    def _card_widths(self, cards: Sequence["AnswerCard"]) -> list[int]:
        """Return equal widths or, if that saves enough lines, widths in proportion to the length of the answers."""
        room = self.width() - 2 * _SIDE - (len(cards) - 1) * _GAP
        lengths = [len(card.words) for card in cards]
        least = _LEAST_SHARE * sum(lengths)
        shares = [max(length, least) for length in lengths]
        equal = [room // len(cards)] * len(cards)
        by_length = [int(room * share / sum(shares)) for share in shares]
        widest_caption = max(card.caption_width for card in cards)
        if min(by_length) < widest_caption:
            return equal
        saved = _height_of(cards, equal) - _height_of(cards, by_length)
        is_worth_it = saved >= _WORTH_LINES * self.fontMetrics().lineSpacing()
        return by_length if is_worth_it else equal

    def _most_height(self) -> int | None:
        """Return the largest height of a card in pixels; None if the panel is in a separate window, without a limit."""
        window = self.window()
        if not isinstance(window, QMainWindow):
            return None
        is_low = window.height() < _LOW_LINES * self.fontMetrics().lineSpacing()
        lines = _FEWEST_LINES if is_low else _MOST_LINES
        return max(
            round(_MOST_SHARE * window.height()), self.cards["filled"].height_of_lines(lines)
        )

    def _go_to_answer(self, answer: ShortAnswer) -> None:
        if answer.request is not None:
            thread = answer.thread or self._state.thread_id
            go_to(self.desk.workbench, thread, answer.request, "")
        self.desk.show_panel(CARDS[answer.question].panel)


def _height_of(cards: Sequence["AnswerCard"], widths: Sequence[int]) -> int:
    return max(card.heightForWidth(width) for card, width in zip(cards, widths, strict=True))


class AnswerCard(Guarded, QFrame):
    """A card with an answer. A click, Return or the space bar calls `go` with the answer."""

    def __init__(self, text: CardText, go: Callable[[ShortAnswer], None]) -> None:
        super().__init__()
        self._text = text
        self._go_to_answer = go
        self.answer: ShortAnswer | None = None
        self.last = 0
        """The last request that the answer is about."""
        self.setObjectName("AnswerCard")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        # The panel sets the width.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.headline = EmphasisLabel()
        self.detail = label(role="quiet", wrap=True)
        self.link = label(role="link")
        self._caption = label(text.caption, role="caption")
        self._caption.setToolTip(tip(explain(text.term)))
        head = row(self._caption, ..., self.link)
        column(head, self.headline, self.detail, ..., of=self, margins=CARD_INSETS, gap=LINE_GAP)
        self.show_answer(answer=None, pending=NO_SESSION)

    @property
    def words(self) -> str:
        """The whole answer, or the sentence shown until it is known."""
        return self.answer.text if self.answer is not None else self.headline.text()

    def show_answer(self, answer: ShortAnswer | None, pending: str = "") -> None:
        """Show an answer; None shows the sentence `pending` until the answer is known."""
        self.answer = answer
        if answer is None:
            self.headline.show_words(pending, quiet=True)
            self.link.setText("")
        else:
            self.headline.show_words(answer.headline, answer.strong)
            self.link.setText(self._link_words(answer))
        self.show_details()
        self._fit_link()
        pressable = (
            Qt.CursorShape.ArrowCursor if answer is None else Qt.CursorShape.PointingHandCursor
        )
        self.setCursor(pressable)
        self.setAccessibleName(f"{self._text.caption.capitalize()}: {self.words}")

    def show_extent(self, is_late: bool) -> None:
        """Show beside the caption the last request that the answer is about, if the session has more."""
        words = self._text.caption
        if is_late and self.answer:
            words = f"{self._text.caption} · UP TO REQUEST {self.last:,}"
        if self._caption.text() != words:
            self._caption.setText(words)
            self._fit_link()

    def show_details(self) -> None:
        """Show all sentences of the answer."""
        say(self.detail, self.answer.detail if self.answer is not None else "")
        self.setToolTip("")

    def cut_details(self, width: int, most: int) -> None:
        """Drop the last sentences of an answer until it is at most `most` pixels high; the headline stays."""
        if self.answer is None:
            return
        sentences = list(self.answer.details)
        while sentences and self.heightForWidth(width) > most:
            sentences.pop()
            say(self.detail, " ".join([*sentences, "…"]))
            self.setToolTip(tip(self.answer.text))

    def _link_words(self, answer: ShortAnswer) -> str:
        if answer.request is not None:
            return self._text.link.format(f"{answer.request:,}")
        return f"Show {self._text.panel.lower()} ›" if "{}" in self._text.link else self._text.link

    @property
    def caption_width(self) -> int:
        """Width in pixels that the caption needs."""
        return self._caption.sizeHint().width() + 2 * _INSET + 2

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_link()

    def _fit_link(self) -> None:
        """Hide the link if it does not fit beside the caption. A click anywhere on the card does the same."""
        room = self.width() - self.caption_width - self.fontMetrics().horizontalAdvance("  ")
        self.link.setVisible(room >= self.link.sizeHint().width())

    def height_of_lines(self, lines: int) -> int:
        """Return the height of a card with a number of lines of text below its caption."""
        margins = self.contentsMargins()
        height_of_one_line = self.heightForWidth(4_000)
        around_headline = height_of_one_line - self.headline.fontMetrics().height()
        text_height = lines * self.fontMetrics().lineSpacing()
        return around_headline + text_height + margins.top() + margins.bottom()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self.answer is not None and self.rect().contains(event.position().toPoint()):
            self._go_to_answer(self.answer)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.answer is not None and event.key() in (
            Qt.Key.Key_Return,
            Qt.Key.Key_Enter,
            Qt.Key.Key_Space,
        ):
            self._go_to_answer(self.answer)
        else:
            super().keyPressEvent(event)
