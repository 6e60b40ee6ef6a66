"""The panel of a run: the model's current text, open questions, the last turns, and the breakpoints.

It shows only the current activity. The journal, which the other panels show, records everything.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from PySide6.QtCore import QSignalBlocker, QTimer, Signal
from PySide6.QtGui import QTextCursor, QTextOption
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QPlainTextEdit,
    QWidget,
)

from inspector.agent.status import ANY, Breakpoints, TurnReport
from inspector.agent.tools.toolbox import TOOLS
from inspector.core.message import ToolCall
from inspector.core.policies.verdict import Verdict
from inspector.extensions.policies import find_policy
from inspector.gui.desk import Desk
from inspector.gui.look.build import (
    button,
    choice,
    column,
    empty_page,
    holding,
    line_field,
    pages,
    splitter,
)
from inspector.gui.look.labels import label, say, tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.tokens import BOX_GAP, CONTROL_GAP, LINE_GAP, LIST_HEAD, PANEL_INSETS
from inspector.gui.look.visible import line, visible
from inspector.gui.panels.message.parts import part_original
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.run.question_box import QuestionBox
from inspector.gui.widgets.table import Column, Rows
from inspector.workbench.state import State

if TYPE_CHECKING:
    from inspector.agent.plan import Plan


LONGEST = 200_000
"""Maximum number of characters that are shown. The journal has all of them."""
SHOWN_CALLS = 4


def happened(report: TurnReport) -> str:
    """Return what happened in a turn: its tiers and tools or, without any, the model's text."""
    words = [*(f"⇣ {tier}" for tier in report.fired), *dict.fromkeys(report.tools)]
    if report.error:
        words.append(f"✗ {line(report.error, 200)}")
    if not words:
        words.append(line(report.text, 200) or report.finish)
    return " · ".join(words)


def prompt_size(report: TurnReport) -> str:
    """Return the tokens of the prompt as reported or, with `≈`, as predicted or estimated."""
    return f"{'' if report.kind == 'reported' else '≈'}{grouped(report.tokens)}"


COLUMNS: Sequence[Column[TurnReport]] = (
    Column("turn", lambda report: str(report.turn), width=4, figures=True),
    Column("tokens", prompt_size, width=8, figures=True),
    Column("own count", lambda report: grouped(report.calibrated), width=9, figures=True),
    Column(
        "what",
        lambda report: ("sub-agent · " if report.thread != "main" else "") + happened(report),
    ),
)


class RunPanel(Panel):
    """The panel of the run: its question, the model's text, the last turns, and the breakpoints."""

    TITLE: ClassVar[str] = "Run"
    LIVE: ClassVar[bool] = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        assert desk.runs is not None
        run = desk.runs.controller
        self._brought: Plan | None = None
        self._verdict: Verdict | None = None
        """The verdict of the tier before which the run paused and whose preview was shown."""
        self.task = label(role="strong", wrap=True)
        self.about = label(role="small", wrap=True)
        self.notes = label(role="small", wrap=True)
        self.question = QuestionBox(desk.theme, run.permit)
        need = "Show in the panel “Model calls” what the tier asks for"
        self.need = button("Answer what a tier asks…", run.show_need, about=need)
        self.text = RunText()
        self.calls = label(role="quiet", wrap=True)
        self.turns: Rows[TurnReport] = Rows("The last turns", COLUMNS)
        self.turns.chosen.connect(lambda row, column: self._go_to(self.turns.rows[row]))
        self.stops = BreakRows([tool.name for tool in TOOLS], run.breakpoints)
        self.stops.chosen.connect(run.break_at)
        self.begin = button("Run an agent…", desk.runs.ask_new)
        self.demo = button("Run a live demo", desk.runs.demo)
        self._lay_out()

    def _lay_out(self) -> None:
        self._around = holding(
            column(self.question, margins=(CONTROL_GAP, BOX_GAP, CONTROL_GAP, BOX_GAP))
        )
        says = _captioned("THE MODEL SAYS", self.text, self.calls)
        self._turns = _captioned("LAST TURNS", self.turns)
        self._split = splitter(self._around, says, self._turns, down=True, shares=(5, 2, 3))
        head = column(
            self.task, self.about, self.notes, self.need, margins=PANEL_INSETS, gap=LINE_GAP
        )
        page = holding(
            column(
                head,
                (self._split, 1),
                _captioned("STOP AT", self.stops),
                margins=(0, 0, 0, CONTROL_GAP),
                gap=BOX_GAP,
            )
        )
        what = "Run the built-in agent under a debugger's controls: give it a task and a folder."
        self._stack = pages(self, empty_page(what, self.begin, self.demo), page)

    def receive(self, state: State) -> None:
        """Bring the panel to the front when the run asks a question, and mark its tab, even while it is hidden."""
        super().receive(state)
        run = state.run
        doing = run.now.state if run is not None else "ended"
        self.setWindowTitle(f"{self.TITLE} ●" if doing in ("asking", "needing") else self.TITLE)
        permission = run.now.asked if run is not None and doing == "asking" else None
        new = self.question.show_permission(permission)
        self._around.setVisible(permission is not None)
        self._turns.setVisible(permission is None)  # the question takes their room
        self._look_at_tier(state)
        if new:
            self.desk.show_panel(self.TITLE)
            self._split.setSizes(
                [self._split.height() // 2, self._split.height() // 4, self._split.height() // 4]
            )
        elif run is not None and run.plan is not self._brought and state.run_is_open:
            self._brought = run.plan  # a new run whose journal is open
            self.desk.show_panel(self.TITLE)

    def _look_at_tier(self, state: State) -> None:
        """Show the preview of the tier before which the run paused."""
        now = state.run.now if state.run is not None else None
        verdict = _verdict_here(state)
        if verdict is not None and verdict is not self._verdict:
            tier = verdict.tier
            # After all subscribers.
            QTimer.singleShot(0, self, lambda: self.desk.workbench.previews.point(tier))
            self.desk.show_panel("Tiers")
        if now is None or now.state != "paused" or verdict is not None:
            self._verdict = verdict

    def show_state(self, state: State) -> None:
        run = state.run
        if not self.is_new("run", run):
            return
        self._stack.setCurrentIndex(0 if run is None else 1)
        if run is None:
            return
        if run.plan is not None and self.is_new("plan", run.plan):
            self._show_plan(run.plan)
        self.need.setVisible(run.now.state == "needing")
        newest_first = reversed(run.now.buffer.messages)
        answers = (message.text for message in newest_first if message.role == "assistant")
        self.text.show_text(run.now.text or next(answers, ""))
        if run.breakpoints != self.stops.breakpoints:
            self.stops.show_breakpoints(run.breakpoints)
        self._show_calls(run.now.calls)
        reports = tuple(reversed(run.reports))
        shown_reports = self.turns.rows
        has_more = len(reports) != len(shown_reports)
        if has_more or (reports and reports[0] is not shown_reports[0]):
            self.turns.show_rows(reports)

    def _show_plan(self, plan: "Plan") -> None:
        """Show task, model, policy and workspace of a run, and what differs from the run from which it was forked."""
        self.task.setText(line(plan.task, 240) or "No task: the run continues from a buffer")
        self.task.setToolTip(tip(plan.task))
        model = f"{plan.provider} · {plan.model}" if plan.model else plan.provider
        policy = find_policy(plan.policy)
        self.about.setText(" · ".join((line(model), policy.title, line(str(plan.workspace), 200))))
        self.about.setToolTip(tip(f"Journal: {plan.record}"))
        changes = (plan.forked_from or {}).get("changes")
        if isinstance(changes, list):
            notes = [f"· {line(str(change), 300)}" for change in changes]
        else:
            notes = []
        say(self.notes, "\n".join(notes))
        self.stops.name_tiers([tier.name for tier in policy.tiers])

    def _show_calls(self, calls: Sequence[ToolCall]) -> None:
        """Show the tool calls of the current turn, at most SHOWN_CALLS, with an arrow at the running call."""
        listed = [
            f"{line(call.name, 40)} {line(part_original(call), 160)}"
            for call in calls[:SHOWN_CALLS]
        ]
        more = len(calls) - len(listed)
        if more > 0:
            listed.append(f"and {more} more")
        say(
            self.calls,
            "\n".join(f"{'→' if index == 0 else '  '} {text}" for index, text in enumerate(listed)),
        )

    def _go_to(self, report: TurnReport) -> None:
        """Go to the request of a turn, if the journal is open."""
        state = self.desk.workbench.state
        if state.run_is_open and state.thread is not None and state.thread.id == report.thread:
            self.desk.workbench.move(report.turn)


def _verdict_here(state: State) -> "Verdict | None":
    """Return the verdict of the tier before which the run paused, if the end of its thread is shown; otherwise None."""
    now = state.run.now if state.run is not None else None
    if now is None or now.stop != "tier":
        return None
    is_shown = state.run_is_open and state.at is None and state.thread_id == now.thread
    return now.verdict if is_shown else None


class RunText(QPlainTextEdit):
    """The model's text. `show_text` takes time in proportion to the new text only."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("RunText")
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setAccessibleName("What the model is saying")
        self._text = ""

    def show_text(self, text: str) -> None:
        """Show the current model call's text so far."""
        if text == self._text:
            return
        bar = self.verticalScrollBar()
        at_end = bar.value() >= bar.maximum() - 4
        before = self._text
        self._text = text
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
    parts = [(widget, 0 if index else 1) for index, widget in enumerate(widgets)]
    return holding(column(label(words, role="caption"), *parts, margins=LIST_HEAD, gap=LINE_GAP))


EVERY = "any"
STOP_FIGURES = 40
"""Most digits that fit into a field beside a breakpoint."""
USUAL = 0.6
"""Share of the context window at which to stop, until the user enters another."""


_STOPS = {
    "watermark": (
        "a watermark",
        "Before a model call whose buffer has reached this share of the window",
    ),
    "tiers": ("a tier", "Before a tier fires"),
    "tools": ("a tool", "Before a tool runs"),
    "requests": ("each request", "Before every model call"),
    "overflow": (
        "overflow",
        "When the model refuses the buffer as too long, before the policy reacts",
    ),
    "errors": ("error", "When a model call has failed after all retries; Run repeats the call"),
}
"""Label and tooltip of each breakpoint, by the field of Breakpoints."""


class BreakRows(QWidget):
    """Check boxes for the breakpoints. `chosen` is emitted with the Breakpoints."""

    chosen = Signal(object)

    def __init__(self, tools: Sequence[str], now: Breakpoints) -> None:
        super().__init__()
        self.boxes = {field: QCheckBox(words) for field, (words, _) in _STOPS.items()}
        for box, (_, what) in zip(self.boxes.values(), _STOPS.values(), strict=True):
            box.setToolTip(tip(what))
            box.setAccessibleDescription(what)
            box.clicked.connect(lambda _: self._choose())
        self.share = line_field("Share of the window to stop at, in percent")
        self.tiers = choice("Which tier", (EVERY,))
        self.tools = choice("Which tool", (EVERY, *tools))
        which = (self.share, self.tiers, self.tools)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(4)
        # Three with a field beside them, then three without.
        for index, box in enumerate(self.boxes.values()):
            grid.addWidget(box, index % 3, 0 if index < 3 else 2)
        for index, beside in enumerate(which):
            beside.setMaximumWidth(STOP_FIGURES * self.fontMetrics().horizontalAdvance("0"))
            grid.addWidget(beside, index, 1)
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(3, 1)
        self.show_breakpoints(now)
        self.share.editingFinished.connect(self._choose_share)
        for names in (self.tiers, self.tools):
            names.currentTextChanged.connect(lambda _: self._choose())

    def name_tiers(self, names: Sequence[str]) -> None:
        """Set the tiers that can be selected, for another policy."""
        now = self.tiers.currentText()
        with QSignalBlocker(self.tiers):
            self.tiers.clear()
            self.tiers.addItems([EVERY, *names])
            self.tiers.setCurrentText(now if now in names else EVERY)

    @property
    def breakpoints(self) -> Breakpoints:
        """The breakpoints that are checked."""
        checked = {field: box.isChecked() for field, box in self.boxes.items()}
        watermark = _percent(self.share.text()) if checked["watermark"] else None
        tiers = _chosen_name(self.tiers) if checked["tiers"] else frozenset[str]()
        tools = _chosen_name(self.tools) if checked["tools"] else frozenset[str]()
        return Breakpoints(
            checked["requests"],
            watermark,
            tiers,
            overflow=checked["overflow"],
            tools=tools,
            errors=checked["errors"],
        )

    def show_breakpoints(self, now: Breakpoints) -> None:
        """Show these breakpoints without emitting `chosen`."""
        for field, box in self.boxes.items():
            box.setChecked(bool(getattr(now, field)))
        if now.watermark is not None or not self.share.text():
            self.share.setText(f"{(now.watermark or USUAL) * 100:g}%")
        for which, names in ((self.tiers, now.tiers), (self.tools, now.tools)):
            if names:
                name = next((name for name in sorted(names) if name != ANY), EVERY)
                with QSignalBlocker(which):
                    if which.findText(name) < 0:  # before the policy's tiers are known
                        which.addItem(name)
                    which.setCurrentText(name)

    def _choose_share(self) -> None:
        """Show the share as it was understood, or the default if the typed text is not a number."""
        self.share.setText(f"{_percent(self.share.text()) * 100:g}%")
        self._choose()

    def _choose(self) -> None:
        self.chosen.emit(self.breakpoints)


def _percent(text: str) -> float:
    """Return `60%` as 0.6, limited to 1 to 150%; USUAL if the text is not a number."""
    try:
        number = float(text.replace("%", "").replace(",", ".").strip())
    except ValueError:
        return USUAL
    return min(max(number, 1.0), 150.0) / 100 if number == number else USUAL


def _chosen_name(names: QComboBox) -> frozenset[str]:
    """Return the chosen name, or ANY."""
    name = names.currentText()
    if name in (EVERY, ""):
        name = ANY
    return frozenset({name})
