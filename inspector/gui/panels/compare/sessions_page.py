"""The page that compares policies over several sessions: files, progress, and mean figures with intervals."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QWidget

from inspector.core.replay.over_sessions import (
    FIGURES_NOTE,
    PolicySummary,
    few_sessions_words,
    spell_cost,
    spell_needed,
)
from inspector.core.replay.ranking import FORGOTTEN
from inspector.core.words import per_cent, plural
from inspector.gui.bridge import LatestJob, Task
from inspector.gui.desk import Desk
from inspector.gui.dialogs.ask import ask_files
from inspector.gui.look.build import button, column, holding, mark, menu_button, row
from inspector.gui.look.labels import label, say, tip
from inspector.gui.look.tokens import CONTROL_GAP, LIST_HEAD, PAGE_HEAD
from inspector.gui.look.visible import line
from inspector.gui.widgets.chips import flow
from inspector.gui.widgets.small import ProgressBar
from inspector.gui.widgets.table import Column, Rows
from inspector.replay_files import SessionsComparison, compare_over_sessions
from inspector.workbench.compare import NAMES

_NAMED = 6
"""Most files that are named; of further files, only the number is shown."""
_COLUMNS: Sequence[Column[PolicySummary]] = (
    Column("Policy", lambda row: NAMES.get(row.policy, row.policy), width=26, least=14),
    Column("Sessions", lambda row: f"{row.sessions:,}", width=9, figures=True),
    Column(
        "Infeasible in",
        lambda row: f"{row.infeasible:,}",
        width=12,
        figures=True,
        about="Sessions in which a request would not have fitted into the window",
    ),
    Column(
        "Cost",
        lambda row: spell_cost(row.cost)[0],
        width=9,
        figures=True,
        about="Mean cost, as a share of the recorded cost of the same session",
    ),
    Column("95% interval of cost", lambda row: spell_cost(row.cost)[1], width=20, figures=True),
    Column(
        "Needed again",
        lambda row: spell_needed(row.needed_per_1000)[0],
        width=13,
        figures=True,
        about="Mean of the facts that were needed again for each 1,000 tokens freed",
    ),
    Column(
        "95% interval of needs",
        lambda row: spell_needed(row.needed_per_1000)[1],
        width=20,
        figures=True,
    ),
    Column(
        "In front",
        lambda row: f"{row.in_front:,}",
        width=9,
        figures=True,
        about="Sessions in which no other policy was better in both cost and facts needed again",
    ),
)


class _Progress(NamedTuple):
    """How far the comparison is: the file that is being replayed, and the share of all work that is done."""

    path: str
    share: float


class SessionsPage(QWidget):
    """Lets the user choose files and compares the policies over them.

    `changed` is emitted when a comparison begins and when it ends.
    """

    changed = Signal()

    def __init__(self, desk: Desk, policies: Callable[[], Sequence[str]]) -> None:
        """Args:
        policies: returns the names of the policies to compare.
        """
        super().__init__()
        self._desk = desk
        self._policies = policies
        self._job = LatestJob(desk.bridge)
        self.paths: list[str] = []
        self.files = label(role="quiet", wrap=True)
        self.add = button("Add files…", self._ask, about="Choose transcripts on this machine")
        recent = "Sessions that were open before"
        self.recent = menu_button("Add recent ▾", self._offer, about=recent, role="", anew=True)
        self.clear = button("Clear", self._clear, about="Remove all files from the comparison")
        self.start = button(
            "Compare", self.run, about="Replay each file under each policy, offline"
        )
        self.progress = ProgressBar(desk.theme)
        self.done = label(role="quiet")
        self.says = label(role="quiet", wrap=True)
        self.table: Rows[PolicySummary] = Rows("Policies over several sessions", _COLUMNS)
        buttons = holding(flow(self.add, self.recent, self.clear, self.start))
        top = column(
            buttons,
            self.files,
            row(self.progress, self.done, ..., gap=CONTROL_GAP),
            margins=PAGE_HEAD,
            gap=CONTROL_GAP,
        )
        column(top, (self.table, 1), row((self.says, 1), margins=LIST_HEAD), of=self, gap=0)
        self._show()

    def add_path(self, path: str) -> None:
        """Add a file to the comparison unless it is already part of it."""
        if path and path not in self.paths:
            self.paths.append(path)
            self._show()

    def run(self) -> None:
        """Compare the policies over the chosen files, or cancel the comparison that is under way."""
        if self._job.busy:
            self._job.cancel()
            self._end("Cancelled. Press Compare to begin again.")
            return
        paths = tuple(self.paths)
        names = tuple(self._policies())
        if len(paths) < 2 or not names:
            return

        def job(task: Task) -> SessionsComparison:
            def report(path: str, share: float) -> None:
                task.report(_Progress(path, share))

            return compare_over_sessions(
                paths, policies=names, progress=report, cancelled=task.cancelled
            )

        self._job.run(job, self._show_result, reported=self._show_progress, lane="wait")
        self._show_progress(_Progress(paths[0], share=0.0))
        self._show()
        self.changed.emit()

    def _show_progress(self, progress: _Progress) -> None:
        self.progress.show_share(progress.share)
        name = line(Path(progress.path).name, 80)
        self.done.setText(f"{per_cent(progress.share)} done: replaying {name}")

    def _show_result(self, result: SessionsComparison) -> None:
        self.table.show_rows(result.summaries)
        left_out = [f"Left out: {line(Path(path).name, 80)}: {why}" for path, why in result.errors]
        notes = (FIGURES_NOTE, few_sessions_words(result.summaries), FORGOTTEN, *left_out)
        self._end(" ".join(filter(None, notes)))

    def _end(self, words: str) -> None:
        self.says.setText(words)
        self._show()
        self.changed.emit()

    def _ask(self) -> None:
        for path in ask_files(self, self._desk.settings):
            self.add_path(path)

    def _offer(self, menu: QMenu) -> None:
        """List the recent sessions that are not chosen."""
        for path in self._desk.settings.recents():
            if path not in self.paths:
                action = menu.addAction(line(Path(path).name, 80).replace("&", "&&"))
                action.setToolTip(tip(path))
                action.triggered.connect(lambda _=False, path=path: self.add_path(path))
        if menu.isEmpty():
            menu.addAction("No other recent session.").setEnabled(False)

    def _clear(self) -> None:
        self._job.cancel()
        self.paths.clear()
        self.table.show_rows(())
        self._end("")

    def _show(self) -> None:
        """Show which files are chosen and whether they are being compared."""
        count = len(self.paths)
        is_busy = self._job.busy
        names = [line(Path(path).name, 60) for path in self.paths[:_NAMED]]
        more = f" and {count - _NAMED:,} more" if count > _NAMED else ""
        say(self.files, f"{plural(count, 'session')}: {', '.join(names)}{more}" if count else "")
        self.files.setToolTip(tip("\n".join(self.paths[:40])))
        self.progress.setVisible(is_busy)
        self.done.setVisible(is_busy)
        begin = "Press Compare." if count > 1 else "Add at least two sessions, then press Compare."
        self.table.empty = "" if is_busy else begin
        self.table.viewport().update()
        words = f"Compare over {plural(count, 'session')}" if count > 1 else "Compare"
        self.start.setText("Cancel" if is_busy else words)
        self.start.setEnabled(is_busy or count > 1)
        mark(self.start, "role", "primary" if count > 1 and not is_busy else "")
