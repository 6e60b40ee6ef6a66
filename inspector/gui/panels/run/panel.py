"""The run: what the model says, what waits, what it may do, the last turns, and where it is to stop.

How it stands comes from `desk.runs.running`, not from the State: only what is on its way is shown here; all that lasts
is in the journal, which the other panels show.
"""

from collections.abc import Sequence
from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QSplitter, QStackedLayout, QVBoxLayout, QWidget

from inspector.agent.status import RunStatus, TurnReport
from inspector.agent.tools.schemas import TOOLS
from inspector.core.policies.catalogue import policy
from inspector.gui.desk import Desk
from inspector.gui.look.build import empty_page
from inspector.gui.look.labels import label, tip
from inspector.gui.look.visible import line
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.run.asked import AskedBox
from inspector.gui.panels.run.breaks import BreakRows
from inspector.gui.panels.run.text import RunText
from inspector.gui.panels.run.words import belief, call_line, happened, size
from inspector.gui.runs.controller import About, Running
from inspector.gui.widgets.table import Column, Rows
from inspector.workbench.state import State

COLUMNS: Sequence[Column[TurnReport]] = (
    Column("turn", lambda one: str(one.number), 4, figures=True),
    Column("tokens", size, 8, figures=True),
    Column("believed", belief, 8, figures=True),
    Column("what", lambda one: ("sub-agent · " if one.thread != "main" else "") + happened(one)),
)
SHOWN_CALLS = 4


class RunPanel(Panel):
    """Every choice drives the run."""

    TITLE: ClassVar[str] = "Run"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        assert desk.runs is not None
        self._running: Running = desk.runs.running
        self._about: About | None = None
        self._brought: About | None = None
        self.task = label(role="strong")
        self.task.setWordWrap(True)
        self.about = label(role="small")
        self.about.setWordWrap(True)
        self.notes = label(role="small")
        self.notes.setWordWrap(True)
        self.asked = AskedBox(desk.theme, self._running.permit)
        self.need = QPushButton("Answer what a tier asks…")
        self.need.setToolTip(tip("Bring the open need to the panel “Need”"))
        self.need.clicked.connect(self._running.show_need)
        self.text = RunText()
        self.calls = label(role="quiet")
        self.calls.setWordWrap(True)
        self.turns: Rows[TurnReport] = Rows("The last turns", COLUMNS)
        self.turns.chosen.connect(lambda row, column: self._go_to(self.turns.rows[row]))
        self.stops = BreakRows(desk.settings, [tool.name for tool in TOOLS])
        self.stops.chosen.connect(self._running.break_at)
        self._running.break_at(self.stops.breakpoints)
        self._lay_out()
        self._unbrought = self._ask()
        self._running.changed.connect(self._changed)
        self._show()

    def _lay_out(self) -> None:
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        self._question = QWidget()
        around = QVBoxLayout(self._question)
        around.setContentsMargins(9, 4, 9, 4)
        around.addWidget(self.asked)
        split.addWidget(self._question)
        split.addWidget(_captioned("THE MODEL SAYS", self.text, self.calls))
        split.addWidget(_captioned("LAST TURNS", self.turns))
        for n, share in enumerate((5, 2, 3)):
            split.setStretchFactor(n, share)
        self._split = split
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 8)
        column.setSpacing(4)
        head = QVBoxLayout()
        head.setContentsMargins(13, 8, 10, 2)
        head.setSpacing(2)
        for widget in (self.task, self.about, self.notes, self.need):
            head.addWidget(widget)
        column.addLayout(head)
        column.addWidget(split, 1)
        column.addWidget(_captioned("STOP AT", self.stops))
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty())
        self._stack.addWidget(page)

    def _empty(self) -> QWidget:
        runs = self.desk.runs
        assert runs is not None
        self.begin, self.demo = QPushButton("Run an agent…"), QPushButton("Run a live demo")
        self.begin.clicked.connect(lambda: runs.ask_new())
        self.demo.clicked.connect(lambda: runs.demo())
        what = "An agent of our own, with a debugger's controls: give it a task and a folder."
        return empty_page(what, self.begin, self.demo)

    # -- what is shown -------------------------------------------------------------------------------------------------

    def show_state(self, state: State) -> None:
        """Nothing of it: the run tells."""
        self._show()

    def receive(self, state: State) -> None:
        """A question that came before this panel stood in its place comes to the front now."""
        super().receive(state)
        if self._unbrought:
            self._bring()

    def _changed(self) -> None:
        """Seen or not: a question comes to the front, and the tab tells that there is one."""
        about = self._running.about
        if self._ask():
            self._bring()
        elif about is not None and about is not self._brought and self._running.shown:
            self._brought = about  # a new run, once its journal is there
            self.desk.show_panel(self.TITLE)
        if self.seen:
            self._show()

    def _ask(self) -> bool:
        """Show what is asked, or that nothing is. Returns whether it is a new question."""
        standing = self._running.standing
        state = standing.state if standing is not None else "ended"
        self.setWindowTitle(f"{self.TITLE} ●" if state in ("asking", "needing") else self.TITLE)
        asked = standing.asked if standing is not None and state == "asking" else None
        new = self.asked.show_permission(asked)
        self._question.setVisible(asked is not None)
        return new

    def _bring(self) -> None:
        self._unbrought = False
        self.desk.show_panel(self.TITLE)
        self._split.setSizes([self._split.height() // 2, self._split.height() // 4, self._split.height() // 4])

    def _show(self) -> None:
        standing, about = self._running.standing, self._running.about
        self._stack.setCurrentIndex(0 if standing is None else 1)
        if standing is None:
            return
        if about is not self._about and about is not None:
            self._about = about
            self._show_about(about)
        self.need.setVisible(standing.state == "needing")
        self.text.show_text(standing.text or said_last(standing))
        if self._running.breakpoints != self.stops.breakpoints:
            self.stops.show_breakpoints(self._running.breakpoints)
        self._show_calls(standing)
        reports = tuple(reversed(self._running.reports))
        if len(reports) != len(self.turns.rows) or (reports and reports[0] is not self.turns.rows[0]):
            self.turns.show_rows(reports)

    def _show_about(self, about: About) -> None:
        self.task.setText(line(about.task, 120) or "Goes on from a buffer")
        self.task.setToolTip(tip(about.task))
        model = f"{about.provider} · {about.model}" if about.model else about.provider
        self.about.setText(" · ".join((line(model), policy(about.policy).title, line(about.workspace, 200))))
        self.about.setToolTip(tip(f"Journal: {about.record}"))
        self.notes.setText("\n".join(f"· {line(note, 300)}" for note in about.notes))
        self.notes.setVisible(bool(about.notes))
        self.stops.name_tiers([tier.name for tier in policy(about.policy).tiers])

    def _show_calls(self, standing: RunStatus) -> None:
        listed = [call_line(call) for call in standing.calls[:SHOWN_CALLS]]
        more = len(standing.calls) - len(listed)
        if more > 0:
            listed.append(f"and {more} more")
        words = "\n".join(f"{'→' if n == 0 else '  '} {one}" for n, one in enumerate(listed))
        if words != self.calls.text():
            self.calls.setText(words)
        self.calls.setVisible(bool(words))

    def _go_to(self, report: TurnReport) -> None:
        """Stand at the request of a turn, where the journal is open."""
        thread = self.desk.workbench.state.thread
        if self._running.shown and thread is not None and thread.id == report.thread:
            self.desk.workbench.move(report.turn)

    def restyle(self) -> None:
        """Colours of text are in the text."""
        self.asked.restyle()


def _captioned(words: str, *widgets: QWidget) -> QWidget:
    made = QWidget()
    column = QVBoxLayout(made)
    column.setContentsMargins(13, 4, 10, 2)
    column.setSpacing(3)
    column.addWidget(label(words, role="caption"))
    for n, widget in enumerate(widgets):
        column.addWidget(widget, 0 if n else 1)
    return made


def said_last(standing: RunStatus) -> str:
    """The words of the newest answer that the thread holds."""
    answers = (message.text for message in reversed(standing.buffer.messages) if message.role == "assistant")
    return next(answers, "")
