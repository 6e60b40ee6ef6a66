"""The diff: what a step or a preview does to each message, side by side, and the changed lines of one message."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from PySide6.QtCore import QModelIndex, QRect, QSignalBlocker, Qt
from PySide6.QtGui import QFontMetrics

from inspector.core.diff import DiffRow, LineRun, line_diff, message_lines
from inspector.core.drops import Drop
from inspector.core.message import Message
from inspector.core.words import plural
from inspector.gui.bridge import LatestJob
from inspector.gui.desk import Desk
from inspector.gui.look.build import button, column, holding, pages, row, splitter
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import grouped, signed
from inspector.gui.look.tokens import CONTROL_GAP, INSET, LIST_HEAD
from inspector.gui.panels.diff.bar import DiffBar
from inspector.gui.panels.diff.rows import DiffDelegate, DiffModel, diff_columns, diff_heads
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.painted import ColumnHead, PaintedHead, PaintedList
from inspector.gui.widgets.pieces import Section
from inspector.gui.widgets.reader import TextReader
from inspector.workbench.diff import LETTERS, Listing, Sides, compare_sides, list_rows, rival, sides
from inspector.workbench.state import State
from inspector.workbench.steps import RECORDED, Steps

WIDE, TALL = 900, 340
"""Width in pixels from which the text of the chosen message fits beside the rows, and height in pixels from which it
fits below them."""
UNCHANGED = "Nothing changed: every message is the same."
LEFT_OUT = "These rows are hidden. Press Enter or click to show them."
"""Shown in place of the text of a message."""


class DiffReading(TextReader):
    """Shows the text of one message before and after, which are compared off the GUI thread."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.theme, "Text of the message, before and after")
        self._of: DiffRow | None = None
        self._job = LatestJob(desk.bridge)

    def read(self, row: DiffRow | None, rival: Message | None = None, words: str = "") -> None:
        """Show the text of the message of a row.

        Args:
            of: the row; None: show only `words`.
            rival: the summary on the other side, with which the message is compared.
            words: the text to show if there is no row; else the name of its fate if two branches are compared.
        """
        if row is self._of and (row is not None or not words):
            return
        self._of = row
        self._job.cancel()
        if row is None:
            self.text.show_sections((Section("", words),) if words else ())
        else:
            self._job.run(lambda task: diff_sections(row, rival, words), self.text.show_sections)


class DiffPanel(Panel):
    """A row for each message, before and after. F7 goes from change to change."""

    TITLE: ClassVar[str] = "Diff"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._sides: Sides | None = None
        self._steps: Steps | None = None
        self._job = LatestJob(desk.bridge)
        self._asked_for_text: bool | None = None
        self.model = DiffModel()
        self.delegate = DiffDelegate(desk.theme)
        self.view = PaintedList("Messages before and after", self.model, self.delegate)
        self.reading = DiffReading(desk)
        self.bar = DiffBar(desk.theme, self.walk, self._run, desk.workbench.stepping.undo)
        self.bar.filtered.connect(self._filter)
        self.bar.against.connect(desk.workbench.stepping.compare)
        self.bar.text.clicked.connect(self._want_text)
        self.view.selectionModel().currentChanged.connect(self._select_row)
        self.view.opened.connect(self._enter)
        self.view.clicked.connect(lambda index: self._open(index.row()))
        self._lay_out()
        self.setFocusProxy(self._nothing)

    def _lay_out(self) -> None:
        self.head = PaintedHead(self.desk.theme, self.view.viewport(), self._name_columns)
        rows = holding(column(self.head, (self.view, 1), gap=0))
        self._splitter = splitter(rows, self.reading, shares=(2, 1))
        self.why = label(role="quiet", wrap=True)
        self._unannounced = holding(column(self.why, margins=LIST_HEAD))
        page = holding(column(self.bar, self._unannounced, (self._splitter, 1), gap=0))
        self._empty = label(role="quiet", wrap=True, centred=True)
        show_compaction = self.desk.workbench.recorded_compaction
        self.recorded = button(
            "", show_compaction, about="C goes to the next compaction, Shift+C to the previous one"
        )
        begin = column(
            ...,
            self._empty,
            row(..., self.recorded, ...),
            ...,
            margins=(INSET, 0, INSET, 0),
            gap=CONTROL_GAP,
        )
        self._nothing = holding(begin)
        self._nothing.setAccessibleName("Diff")
        self._stack = pages(self, self._nothing, page)
        self.fit()

    def _name_columns(self, room: QRect, metrics: QFontMetrics) -> Iterable[ColumnHead]:
        return diff_heads(diff_columns(room, metrics, self.delegate.tool))

    def show_state(self, state: State) -> None:
        """Show the comparison of the selected step or preview, which is computed off the GUI thread."""
        chosen = sides(state)
        if chosen is None:
            self._show_nothing(state)
            return
        as_recorded = (
            state.steps is not None
            and state.steps.at == state.steps.base(state.steps.at) == RECORDED
        )
        drops = state.drops if as_recorded else None
        branch = state.branch if as_recorded else None
        self._show_why(() if drops is None else drops.found, state.place)
        self.bar.show_payback(None if branch is None else branch.economics)
        if state.steps is not self._steps or not chosen.is_same(self._sides):
            self._steps = state.steps
            self.bar.show_choices(state.steps, chosen.preview)
        if chosen.is_same(self._sides):
            self._show_selected(state.selected)
            return
        self._sides = chosen
        fates = self.bar.fates
        self._job.run(lambda task: list_rows(compare_sides(chosen), fates), self._show_listing)

    def _show_why(self, drops: Iterable[Drop], place: int) -> None:
        """Show the evidence for a change before a request, if the file records no compaction there."""
        silent = [drop.why for drop in drops if drop.request == place and drop.compaction is None]
        self.why.setText(
            f"The file records no compaction here. {' '.join(silent)}" if silent else ""
        )
        self._unannounced.setVisible(bool(silent))

    def _show_nothing(self, state: State) -> None:
        self._job.cancel()
        self._sides, self._steps = None, None
        self.model.show(None)
        if state.session is None:
            text = (
                "Open a transcript and take a step to see here what the step did to every message."
            )
        elif state.preview is not None and state.preview.failure:
            text = state.preview.failure
        elif state.steps is not None and state.steps.recorded is not None:
            text = "This is the buffer before the recorded compaction. Run or preview a tier to see what it changes."
        elif state.steps is not None:
            text = "This is the buffer as it was recorded. Select a step under Steps, or preview a tier, to compare."
        else:
            text = "Nothing compacted here yet. Select a tier to preview it; press its button to run it."
        recorded = (
            len(state.thread.compactions) if state.thread is not None and state.steps is None else 0
        )
        self.recorded.setVisible(recorded > 0)
        self.recorded.setText(f"Look at a recorded compaction ({recorded:,})")
        self._empty.setText(text)
        self._stack.setCurrentIndex(0)
        self.setFocusProxy(self._nothing)

    def _show_listing(self, result: Listing) -> None:
        had_focus = self._nothing.hasFocus()
        self._stack.setCurrentIndex(1)
        self.setFocusProxy(self.view)
        if had_focus:
            self.view.setFocus()
        self.bar.show_comparison(result.comparison)
        former = self.chosen if result.comparison is self.model.comparison else None
        self.delegate.name_tools(result.comparison.calls.tool_names)
        self.head.update()
        with QSignalBlocker(self.view.selectionModel()):
            self.model.show(result)
        self._choose_row(self._first_row(former))
        if self.bar.fates != result.selected:  # another chip was clicked meanwhile
            self._filter()

    def _first_row(self, former: DiffRow | None) -> int:
        """Return the row to choose in a new list: the former one, else the selected message if it changed, else the
        first change."""
        message_id = former.fate.id if former is not None else self.desk.workbench.state.selected
        place = self.model.place_of(message_id)
        row = self.model.row_at(place).of if place >= 0 else None
        has_changed = row is not None and row.fate.name != "kept"
        if former is None and not has_changed:
            place = self.model.change_after(place=-1, steps=1)
        return max(0, place)

    def _filter(self) -> None:
        comparison = self.model.comparison
        fates = self.bar.fates
        if comparison is not None and not self._job.busy:
            self._job.run(lambda task: list_rows(comparison, fates), self._show_listing)

    def _show_selected(self, message_id: str) -> None:
        place = self.model.place_of(message_id) if message_id else -1
        if place >= 0 and place != self.view.currentIndex().row():
            self._choose_row(place)

    def _choose_row(self, place: int) -> None:
        self.view.stand_at(place)
        self._read()

    def _select_row(self, current: QModelIndex, previous: QModelIndex) -> None:
        self._read()
        row = self.chosen
        if row is not None:
            self.desk.workbench.select(row.fate.id)

    def _enter(self, place: int) -> None:
        if not self._open(place):
            self.bar.text.click()

    def _open(self, place: int) -> bool:
        """Show the rows that the row at `place` leaves out; return False if it leaves none out."""
        if not 0 <= place < self.model.rowCount() or self.model.row_at(place).of is not None:
            return False
        with QSignalBlocker(self.view.selectionModel()):
            self.model.open(place)
        self.view.setCurrentIndex(self.model.index(place, 0))
        return True

    @property
    def chosen(self) -> DiffRow | None:
        """The chosen row; None if no row is chosen, or one that only says which rows are left out."""
        place = self.view.currentIndex().row()
        return self.model.row_at(place).of if 0 <= place < self.model.rowCount() else None

    def step(self, rows: int) -> None:
        self.walk(rows)

    def walk(self, steps: int) -> None:
        """Go to the next change (1) or the previous one (-1)."""
        place = self.model.change_after(self.view.currentIndex().row(), steps)
        if place >= 0:
            self.view.setCurrentIndex(self.model.index(place, 0))

    def _read(self) -> None:
        row = self.chosen
        comparison = self.model.comparison
        if self.reading.isHidden() or comparison is None:
            self.reading.read(None)
        elif row is None:
            unchanged = comparison.counts.keys() <= {"kept"}
            self.reading.read(None, words=UNCHANGED if unchanged else LEFT_OUT)
        else:
            words = comparison.sides.words[row.fate.name] if comparison.sides.is_across else ""
            self.reading.read(row, rival(comparison, comparison.places[row.fate.id]), words)

    def _want_text(self, is_on: bool) -> None:
        self._asked_for_text = is_on
        self.fit()
        self._read()

    def fit(self) -> None:
        """Show the text beside the rows in a wide panel, else below them. Hide it if the user switched it off or, by
        default, if both do not fit."""
        is_wide = self.width() >= WIDE
        is_tall = self.height() >= TALL
        way = Qt.Orientation.Horizontal if is_wide else Qt.Orientation.Vertical
        turned = way != self._splitter.orientation()
        self._splitter.setOrientation(way)
        is_on = self._asked_for_text
        if is_on is None:
            is_on = is_wide or is_tall
        self.bar.text.setChecked(is_on)
        if self.reading.isHidden() == is_on:
            self.reading.setVisible(is_on)
            self._read()
        if turned:
            # The sizes set for the other direction do not apply to this one.
            self._splitter.setSizes([4_000, 2_000])

    def _run(self) -> None:
        """Run the tier whose preview is shown."""
        if self._sides is not None and self._sides.preview:
            self.desk.workbench.stepping.step(self._sides.name)


AROUND = 3
"""Unchanged lines shown on either side of a change."""
_MEANINGS = {
    "kept": "unchanged",
    "cleared": "cleared: a placeholder replaces the content",
    "cut": "shortened",
    "replaced": "changed",
    "summarised": "replaced by a summary",
    "dropped": "removed",
    "inserted": "inserted",
}


def diff_sections(row: DiffRow, rival: Message | None = None, words: str = "") -> Sequence[Section]:
    """Return the heading and the text of a row. O(text); for a changed message, times the changed lines / 64.

    Args:
        row: the row.
        rival: the summary of the same messages on the other side.
        words: the name of the row's fate if two branches are compared.
    """
    fate = row.fate
    heading = f"{LETTERS[fate.name]} · {words or _MEANINGS[fate.name]} · {_tokens(row)}"
    if rival is not None:
        heading += " · compared with the summary of the same messages on the other side"
    if fate.name == "kept":
        assert fate.before is not None
        return (Section(heading, message_lines(fate.before), "code"),)
    before, after = fate.before or rival, fate.after or rival
    was = message_lines(before) if before is not None else None
    now = message_lines(after) if after is not None else None
    return (Section(heading, "\n".join(_lines(_runs(was, now))), "diff"),)


def _tokens(row: DiffRow) -> str:
    if not row.delta:
        return plural(row.tokens_after, "token")
    if row.fate.name == "kept":
        before = f"{grouped(row.tokens_before)} tokens as measured before"
        return f"{before}, {grouped(row.tokens_after)} as measured after"
    return (
        f"{grouped(row.tokens_before)} → {grouped(row.tokens_after)} tokens ({signed(row.delta)})"
    )


def _runs(was: str | None, now: str | None) -> Sequence[LineRun]:
    if was is None or now is None:
        text = was if was is not None else now or ""
        return (LineRun("-" if now is None else "+", tuple(text.split("\n"))),)
    return line_diff(was, now)


def _lines(runs: Sequence[LineRun]) -> Iterator[str]:
    for index, run in enumerate(runs):
        if run.mark != " ":
            yield from (f"{run.mark} {line}" for line in run.lines)
            continue
        head = run.lines[:AROUND] if index else ()
        tail = run.lines[-AROUND:] if index < len(runs) - 1 else ()
        out = len(run.lines) - len(head) - len(tail)
        if out <= 1:
            yield from (f"  {line}" for line in run.lines)
            continue
        yield from (f"  {line}" for line in head)
        yield f"@@ {out:,} unchanged lines @@"
        yield from (f"  {line}" for line in tail)
