"""The page What was lost: filters at the left, the facts in a table, below it the three places of the selected fact and
buttons that give the selected facts back to the agent."""

from collections.abc import Sequence
from typing import ClassVar

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QBoxLayout, QFrame

from inspector.core.findings.give_back import give_back_text, open_and_gone
from inspector.core.findings.lost_rows import VERDICT_WORDS, LostRow
from inspector.core.words import plural
from inspector.gui.bridge import Task
from inspector.gui.desk import Desk
from inspector.gui.look.build import button, column, field, holding, pages, row, splitter
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.tokens import CONTROL_GAP, GAP, LIST_HEAD, PAGE_HEAD
from inspector.gui.navigation import go_to
from inspector.gui.pacing import PacedJob
from inspector.gui.panels.losses.choices import FIGURES, LossChoices
from inspector.gui.panels.losses.fact_places import PlaceCards
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.chips import flow
from inspector.gui.widgets.small import Elided
from inspector.gui.widgets.table import Column, Rows
from inspector.workbench.loss_judging import NO_MODEL
from inspector.workbench.loss_page import (
    FactPlace,
    LossEntry,
    LossPage,
    build_loss_page,
    count_entries,
    describe_page,
    find_places,
)
from inspector.workbench.state import State

COLUMNS: Sequence[Column[LossEntry]] = (
    Column(
        "Kind",
        lambda entry: entry.kind_group.removesuffix("s") or entry.kind_group,
        width=11,
        least=11,
    ),
    Column("Fact", lambda entry: entry.row.fact.text, least=30),
    Column(
        "In the summary",
        lambda entry: VERDICT_WORDS[entry.row.verdict],
        width=14,
        about="What the summary still says of the fact",
    ),
    Column(
        "Compaction",
        lambda entry: grouped(entry.loss.before_request),
        width=10,
        figures=True,
        about="The first request after the compaction",
    ),
    Column(
        "Needed at",
        lambda entry: grouped(entry.use.request) if entry.use else "",
        width=9,
        figures=True,
    ),
    Column("Call that needed it", lambda entry: entry.caller, width=32, least=20),
    Column(
        "Tokens",
        lambda entry: grouped(entry.tokens_again) if entry.tokens_again else "",
        width=8,
        figures=True,
        about="Tokens of the tool results that brought the fact back",
    ),
)
COMPACTION = 3
"""Index of the column that is hidden if all rows belong to one compaction."""
NEEDS = (4, 5, 6)
"""Indices of the columns that are hidden if no row was needed again."""
NOTHING = "Open a transcript to see what its compactions lost."
GIVE_FIGURES = 60
"""Width in digits that the words beside the buttons need."""
NO_UNSURE = "No row has the verdict “not sure”, so there is nothing to ask a model."


class LossesPanel(Panel):
    """The facts that the compactions of the chosen thread lost. Alt+Left, Escape and Back leave the page."""

    TITLE: ClassVar[str] = "What was lost"
    HEADED: ClassVar[bool] = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._page: LossPage | None = None
        self._job = PacedJob(desk.bridge, self)
        self._at: int | None = None
        self._is_price_shown = False
        """Is the price of asking a model shown, so that the next click asks?"""
        self.choices = LossChoices()
        self.choices.changed.connect(self._refill)
        self.table: Rows[LossEntry] = Rows("Facts that were lost", COLUMNS)
        self.table.selectionModel().selectionChanged.connect(lambda *_: self._show_selected())
        self.cards = PlaceCards(desk, self._go_to_place)
        self.table.opened.connect(lambda _: self._go_to_place(self.cards.before.place))
        self.back = button("‹ Back", desk.leave_page)
        self.says = Elided(role="quiet")
        self.count = label(role="strong")
        self.filter = field("Filter by text", "Filter")
        self.filter.textChanged.connect(self.choices.look_for)
        self._build_give_back()
        self._lay_out()

    def _build_give_back(self) -> None:
        self.give_words = Elided(role="quiet")
        self.copy_names = button("Copy text only", lambda: self._copy(as_message=False))
        self.copy_message = button(
            "Copy as message", lambda: self._copy(as_message=True), role="primary"
        )
        self.judge = button("Judge…", self._ask_price)
        self.insert = button("Add to buffer", self._insert)
        self.insert.setToolTip(
            tip("Add the facts as a message to the current buffer, even if its request is held.")
        )
        self._actions = flow(self.judge, self.insert, self.copy_names, self.copy_message)
        """The buttons that act on the selected facts."""
        self.give_bar = QFrame()
        self.give_bar.setObjectName("GiveBack")
        words = row(label("Give it back", role="good"), (self.give_words, 1), gap=CONTROL_GAP)
        self._give_layout = row(
            (words, 1), self._actions, of=self.give_bar, margins=PAGE_HEAD, gap=CONTROL_GAP
        )

    def _lay_out(self) -> None:
        head = row(
            self.back,
            label("What was lost", role="heading"),
            (self.says, 1),
            margins=PAGE_HEAD,
            gap=GAP,
        )
        above = row(self.count, ..., (self.filter, 1), margins=LIST_HEAD, gap=GAP)
        top = holding(column(above, (self.table, 1), gap=0))
        self._split = splitter(top, self.cards, down=True, shares=(3, 2))
        right = column(
            (self._split, 1), row((self.give_bar, 1), margins=(GAP, 0, GAP, CONTROL_GAP)), gap=0
        )
        body = row(self.choices, (holding(right), 1), gap=0)
        whole = holding(column(head, (holding(body), 1), gap=0))
        self._empty = label(NOTHING, role="quiet", wrap=True, centred=True)
        self._empty_back = button("‹ Back", self.desk.leave_page)
        empty = holding(column(row(self._empty_back, ...), (self._empty, 1), margins=PAGE_HEAD))
        self._pages = pages(self, empty, whole)
        self.setFocusProxy(self.table)

    def fit(self) -> None:
        """Make the column of choices as wide as its words. Put the buttons below the text about them if both do not fit
        into one line."""
        figure = self.fontMetrics().horizontalAdvance("0")
        self.choices.setFixedWidth(FIGURES * figure)
        needed = self.choices.width() + self._actions.sizeHint().width() + GIVE_FIGURES * figure
        directions = QBoxLayout.Direction
        self._give_layout.setDirection(
            directions.LeftToRight if self.width() >= needed else directions.TopToBottom
        )

    def show_state(self, state: State) -> None:
        """Find what the compactions of the chosen thread lost, if the thread has changed."""
        session = state.session
        thread = state.thread
        self._at = state.at
        if not self.is_new("page", session, thread):
            return
        if session is None or thread is None:
            self._job.cancel()
            self._page = None
            self._say_empty(NOTHING)
            return
        if self.is_new("thread", session.path, thread.id):
            self._page = None
            self._say_empty("Comparing the conversation before and after each compaction…")

        def work(task: Task) -> LossPage:
            return build_loss_page(session, thread)

        self._job.run(session, (thread.id,), work, self._show_page, lane="card")

    def _say_empty(self, words: str) -> None:
        self._empty.setText(words)
        self._pages.setCurrentIndex(0)
        self.setFocusProxy(self._empty_back)

    def _show_page(self, page: LossPage) -> None:
        is_first = self._page is None
        self._page = page
        if not page.losses:
            self._say_empty(page.nothing)
            return
        chosen = self._at if is_first else self.choices.wanted.before_request
        self.choices.show_compactions(page.losses, chosen)
        if is_first and not count_entries(page, self.choices.wanted).views["Worth reading"]:
            self.choices.show_everything()
        self._pages.setCurrentIndex(1)
        had_focus = self._empty_back.hasFocus()
        self.setFocusProxy(self.table)
        if had_focus:
            self.table.setFocus()
        self._refill()

    def _refill(self) -> None:
        page = self._page
        choice = self.choices.wanted
        if page is None:
            return
        entries = [entry for entry in page.entries if choice.takes(entry)]
        self.choices.show_counts(count_entries(page, choice))
        losses = [
            loss for loss in page.losses if choice.before_request in (None, loss.before_request)
        ]
        self.says.show_text(describe_page(losses))
        self.count.setText(f"{plural(len(entries), 'fact')}, {choice.view.lower()}")
        self.table.leave_out(COMPACTION, len(losses) < 2)
        for place in NEEDS:
            self.table.leave_out(place, not any(entry.use for entry in entries))
        self.table.empty = "" if entries else "No fact of this kind."
        self.table.show_rows(entries)
        self.cards.setVisible(bool(entries))
        if entries and not self.table.selectionModel().hasSelection():
            self.table.selectRow(0)
        self._show_selected()

    @property
    def selected(self) -> list[LossEntry]:
        """The selected facts, in the order of the rows."""
        rows = sorted({index.row() for index in self.table.selectedIndexes()})
        return [self.table.rows[row] for row in rows if row < len(self.table.rows)]

    def _show_selected(self) -> None:
        page = self._page
        chosen = self.selected
        current = self.table.currentIndex().row()
        entry = self.table.rows[current] if 0 <= current < len(self.table.rows) and chosen else None
        self.cards.show_places(
            find_places(page, entry) if page is not None and entry is not None else None
        )
        self._show_give_back()

    # -- give it back --------------------------------------------------------------------------------------------------

    def _rows_to_give(self) -> Sequence[LostRow]:
        """Return the selected facts; if none is selected, those of the list that should be given back."""
        chosen = self.selected
        if chosen:
            return [entry.row for entry in chosen]
        return open_and_gone(entry.row for entry in self.table.rows)

    def _show_give_back(self, copied: str = "") -> None:
        rows = self._rows_to_give()
        for widget in (self.copy_names, self.copy_message, self.insert):
            widget.setEnabled(bool(rows))
        which = "selected" if self.selected else "open"
        words = f"{plural(len(rows), f'{which} fact')} to copy and paste into the session."
        if not rows:
            words = "No open fact to copy."
        self.give_words.show_text(copied or words)

    def _copy(self, as_message: bool) -> None:
        rows = self._rows_to_give()
        if as_message:
            text = give_back_text(rows)
        else:
            text = "\n".join(dict.fromkeys(row.fact.text for row in rows))
        QGuiApplication.clipboard().setText(text)
        self._show_give_back(
            f"Copied {plural(len(rows), 'fact')}. Paste the text into the session."
        )

    def _insert(self) -> None:
        """Add the facts to the current buffer as a step. If the request is held, it is sent with them."""
        rows = self._rows_to_give()
        self.desk.workbench.editing.insert(give_back_text(rows))
        self._show_give_back(
            f"Added {plural(len(rows), 'fact')} to the buffer of request {grouped(self._at or 0)}."
        )

    # -- judged by a model ---------------------------------------------------------------------------------------------

    def _ask_price(self) -> None:
        """Show what asking a model costs; on the second click, ask the model."""
        page = self._page
        judging = self.desk.workbench.loss_judging
        if page is None:
            return
        if not judging.has_model:
            self._show_give_back(NO_MODEL)
        elif self._is_price_shown:
            self._judge(page)
        else:
            price = judging.price(page)
            self._is_price_shown = bool(price.rows)
            self.judge.setText("Ask the model" if price.rows else "Judge…")
            words = NO_UNSURE
            if price.rows:
                words = f"{price.model or 'The model'} would judge {price.words}. Press “Ask the model” to send."
            self._show_give_back(words)

    def _judge(self, page: LossPage) -> None:
        session = self.desk.workbench.state.session
        self._is_price_shown = False
        self.judge.setText("Judge…")
        if session is None:
            return
        self._show_give_back("Asking the model…")

        def show(judged: LossPage) -> None:
            if self._page is page:
                self._show_page(judged)
                self._show_give_back("The model judged the rows that were not sure.")

        self.desk.workbench.loss_judging.judge(session, page, show)

    def _go_to_place(self, place: FactPlace | None) -> None:
        """Show a place in its buffer; Back returns to this page."""
        if self._page is not None and place is not None and place.request is not None:
            go_to(self.desk.workbench, self._page.thread.id, place.request, place.message)
            self.desk.show_panel("Message")
