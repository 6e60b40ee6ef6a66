"""The run: what the model says, what waits, what it may do, the last turns, and where it is to stop.

Only what is on its way is shown here; all that lasts is in the journal, which the other panels show.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from PySide6.QtCore import QTimer
from PySide6.QtGui import QTextCursor, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from inspector.agent.status import RunStatus, TurnReport
from inspector.agent.tools.toolbox import TOOLS
from inspector.core.message import ToolCall
from inspector.core.policies.catalogue import policy
from inspector.core.policies.verdict import Verdict
from inspector.gui.desk import Desk
from inspector.gui.look.build import button, column, empty_page, holding, pages, splitter
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.visible import line, visible
from inspector.gui.panels.message.parts import part_text
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.run.breaks import BreakRows
from inspector.gui.panels.run.question import QuestionBox
from inspector.gui.widgets.table import Column, Rows
from inspector.workbench.live import RunView
from inspector.workbench.state import State

if TYPE_CHECKING:
    from inspector.agent.plan import Plan

LONGEST = 200_000
"""Characters that are shown; the journal has them all."""
SHOWN_CALLS = 4


def call_line(call: ToolCall) -> str:
    """A call as one line."""
    return f"{line(call.name, 40)} {line(part_text(call), 160)}"


def happened(report: TurnReport) -> str:
    """What a turn did: tiers first, then tools, else what was said."""
    words = [*(f"⇣ {tier}" for tier in report.fired), *dict.fromkeys(report.tools)]
    if report.error:
        words.append(f"✗ {line(report.error, 200)}")
    if not words:
        words.append(line(report.text, 200) or report.finish)
    return " · ".join(words)


def size(report: TurnReport) -> str:
    """Tokens of the prompt: as reported, else as predicted or estimated (≈)."""
    return f"{'' if report.kind == 'reported' else '≈'}{grouped(report.tokens)}"


COLUMNS: Sequence[Column[TurnReport]] = (
    Column("turn", lambda one: str(one.turn), 4, figures=True),
    Column("tokens", size, 8, figures=True),
    Column("believed", lambda one: grouped(one.calibrated), 8, figures=True),
    Column("what", lambda one: ("sub-agent · " if one.thread != "main" else "") + happened(one)),
)


class RunPanel(Panel):
    """Every choice drives the run."""

    TITLE: ClassVar[str] = "Run"
    LIVE: ClassVar[bool] = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        assert desk.runs is not None
        run = desk.runs.controller
        self._run: RunView | None = None
        self._plan: Plan | None = None
        self._brought: Plan | None = None
        self._verdict: Verdict | None = None
        """Of the tier that the run paused for and that was brought to the front."""
        self.task = label(role="strong", wrap=True)
        self.about = label(role="small", wrap=True)
        self.notes = label(role="small", wrap=True)
        self.question = QuestionBox(desk.theme, run.permit)
        need = "Bring the open need to the panel “Need”"
        self.need = button("Answer what a tier asks…", run.show_need, about=need)
        self.text = RunText()
        self.calls = label(role="quiet", wrap=True)
        self.turns: Rows[TurnReport] = Rows("The last turns", COLUMNS)
        self.turns.chosen.connect(lambda row, column: self._go_to(self.turns.rows[row]))
        self.stops = BreakRows([tool.name for tool in TOOLS], run.breakpoints)
        self.stops.chosen.connect(run.break_at)
        self.begin, self.demo = button("Run an agent…", desk.runs.ask_new), button("Run a live demo", desk.runs.demo)
        self._lay_out()

    def _lay_out(self) -> None:
        self._around = holding(column(self.question, margins=(9, 4, 9, 4)))
        says = _captioned("THE MODEL SAYS", self.text, self.calls)
        self._turns = _captioned("LAST TURNS", self.turns)
        self._split = splitter(self._around, says, self._turns, down=True, shares=(5, 2, 3))
        head = column(self.task, self.about, self.notes, self.need, margins=(13, 8, 10, 2), gap=2)
        page = holding(column(head, (self._split, 1), _captioned("STOP AT", self.stops), margins=(0, 0, 0, 8), gap=4))
        what = "An agent of our own, with a debugger's controls: give it a task and a folder."
        self._stack = pages(self, empty_page(what, self.begin, self.demo), page)

    # -- what is shown -------------------------------------------------------------------------------------------------

    def receive(self, state: State) -> None:
        """Seen or not: a question comes to the front, and the tab tells that there is one."""
        super().receive(state)
        run = state.run
        doing = run.now.state if run is not None else "ended"
        self.setWindowTitle(f"{self.TITLE} ●" if doing in ("asking", "needing") else self.TITLE)
        permission = run.now.asked if run is not None and doing == "asking" else None
        new = self.question.show_permission(permission)
        self._around.setVisible(permission is not None)
        self._turns.setVisible(permission is None)  # the question has their room
        self._look_at_tier(state)
        if new:
            self.desk.show_panel(self.TITLE)
            self._split.setSizes([self._split.height() // 2, self._split.height() // 4, self._split.height() // 4])
        elif run is not None and run.plan is not self._brought and state.run_is_open:
            self._brought = run.plan  # a new run, once its journal is there
            self.desk.show_panel(self.TITLE)

    def _look_at_tier(self, state: State) -> None:
        """A run that paused before a tier shows what that tier would do."""
        now = state.run.now if state.run is not None else None
        stands = now is not None and state.run_is_open and state.at is None and state.thread_id == now.thread
        verdict = now.verdict if now is not None and stands and now.stop == "tier" else None
        if verdict is not None and verdict is not self._verdict:
            tier = verdict.tier
            QTimer.singleShot(0, self, lambda: self.desk.workbench.previews.point(tier))  # others are still being told
            self.desk.show_panel("Tiers")
        if now is None or now.state != "paused" or verdict is not None:
            self._verdict = verdict

    def show_state(self, state: State) -> None:
        """The run as it stands."""
        run = state.run
        if run is self._run:
            return
        self._run = run
        self._stack.setCurrentIndex(0 if run is None else 1)
        if run is None:
            return
        if run.plan is not None and run.plan is not self._plan:
            self._plan = run.plan
            self._show_plan(run.plan)
        self.need.setVisible(run.now.state == "needing")
        self.text.show_text(run.now.text or said_last(run.now))
        if run.breakpoints != self.stops.breakpoints:
            self.stops.show_breakpoints(run.breakpoints)
        self._show_calls(run.now.calls)
        reports = tuple(reversed(run.reports))
        if len(reports) != len(self.turns.rows) or (reports and reports[0] is not self.turns.rows[0]):
            self.turns.show_rows(reports)

    def _show_plan(self, plan: "Plan") -> None:
        self.task.setText(line(plan.task, 240) or "Goes on from a buffer")
        self.task.setToolTip(tip(plan.task))
        model = f"{plan.provider} · {plan.model}" if plan.model else plan.provider
        by = policy(plan.policy)
        self.about.setText(" · ".join((line(model), by.title, line(str(plan.workspace), 200))))
        self.about.setToolTip(tip(f"Journal: {plan.record}"))
        changes = (plan.forked_from or {}).get("changes")
        notes = [f"· {line(str(change), 300)}" for change in changes] if isinstance(changes, list) else []
        self.notes.setText("\n".join(notes))
        self.notes.setVisible(bool(notes))
        self.stops.name_tiers([tier.name for tier in by.tiers])

    def _show_calls(self, calls: Sequence[ToolCall]) -> None:
        listed = [call_line(call) for call in calls[:SHOWN_CALLS]]
        more = len(calls) - len(listed)
        if more > 0:
            listed.append(f"and {more} more")
        words = "\n".join(f"{'→' if n == 0 else '  '} {one}" for n, one in enumerate(listed))
        if words != self.calls.text():
            self.calls.setText(words)
        self.calls.setVisible(bool(words))

    def _go_to(self, report: TurnReport) -> None:
        """Stand at the request of a turn, where the journal is open."""
        state = self.desk.workbench.state
        if state.run_is_open and state.thread is not None and state.thread.id == report.thread:
            self.desk.workbench.move(report.turn)

    def restyle(self) -> None:
        """Colours of text are in the text."""
        self.question.restyle()


class RunText(QPlainTextEdit):
    """`show_text` costs what is new, not what is there."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("RunText")
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setAccessibleName("What the model is saying")
        self._text = ""

    def show_text(self, text: str) -> None:
        """All that was said so far in this call."""
        if text == self._text:
            return
        bar = self.verticalScrollBar()
        at_end = bar.value() >= bar.maximum() - 4
        before, self._text = self._text, text
        if before and text.startswith(before):
            new = text[len(before) : LONGEST]
        else:
            self.clear()
            new = text[:LONGEST]
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(visible(new).text)
        if at_end:
            bar.setValue(bar.maximum())


def _captioned(words: str, *widgets: QWidget) -> QWidget:
    parts = [(widget, 0 if n else 1) for n, widget in enumerate(widgets)]
    return holding(column(label(words, role="caption"), *parts, margins=(13, 4, 10, 2), gap=3))


def said_last(standing: RunStatus) -> str:
    """The words of the newest answer that the thread holds."""
    answers = (message.text for message in reversed(standing.buffer.messages) if message.role == "assistant")
    return next(answers, "")
