"""Makes reports and bundles for the window. Each is computed, reviewed by the user, and only then written."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from PySide6.QtWidgets import QDialog, QWidget

from inspector.core.session import SharedWork
from inspector.core.words import plural
from inspector.gui.bridge import Task
from inspector.gui.commands import Command
from inspector.gui.desk import Desk
from inspector.gui.dialogs import ask
from inspector.transcripts.bundle import SUFFIX
from inspector.workbench.state import State
from inspector.workbench.steps_file import StepsSource, write_steps

if TYPE_CHECKING:
    from inspector.gui.sharing.review_dialog import ReviewDialog

_Written: TypeAlias = tuple[str, str]
"""The name of a file, and a further sentence about it or an empty text."""
T = TypeVar("T")


class SharingDesk:
    """The actions of the commands for sharing. Jobs run on worker threads."""

    def __init__(self, desk: Desk, parent: QWidget) -> None:
        self._desk = desk
        self._parent = parent

    def commands(self) -> tuple[Command, ...]:
        """Return the commands for sharing."""
        return (
            Command("Share a report…", self.share_report, (), "Session"),
            Command("Share a bundle…", self.share_bundle, (), "Session"),
        )

    def share_report(self) -> None:
        """Review and write one HTML file about the open session."""
        from inspector.gui.sharing.review_dialog import ReviewDialog
        from inspector.workbench.sharing.report import ReportDraft, draft_report

        bench = self._desk.workbench
        state = self._desk.workbench.state
        session = state.session
        thread = state.thread
        if session is None or thread is None:
            self._desk.say("Open a transcript first.")
            return

        def work(task: Task) -> ReportDraft:
            return draft_report(session, thread, lambda at: bench.find_window(state, at).tokens)

        def review(draft: ReportDraft) -> None:
            dialog = ReviewDialog(self._parent, "report", draft.found, has_note=False)
            path = self._ask_target(dialog, state, name="report.html", kinds="Web pages (*.html)")
            if path:
                redaction = dialog.redaction()
                self._write(path, state, lambda: (draft.write(redaction), ""))

        self._run(work, review)

    def share_bundle(self) -> None:
        """Review and write a bundle of the open session, with its pins and steps."""
        from inspector.gui.sharing.review_dialog import ReviewDialog
        from inspector.workbench.sharing.bundle import BundleDraft, draft_bundle

        state = self._desk.workbench.state
        session = state.session
        if session is None or not session.path:
            self._desk.say("Open a transcript first.")
            return
        former = session.shared.note if session.shared is not None else ""

        def work(task: Task) -> BundleDraft:
            return draft_bundle(session, _gather_work(state), task.cancelled)

        def review(draft: BundleDraft) -> None:
            dialog = ReviewDialog(self._parent, "bundle", draft.found, has_note=True)
            if dialog.note is not None:
                dialog.note.setText(former)
            path = self._ask_target(
                dialog, state, name=f"bundle{SUFFIX}", kinds=f"Bundles (*{SUFFIX})"
            )
            if not path:
                return
            work = replace(draft.work, note=dialog.note_text())
            noted = replace(draft, work=work)
            redaction = dialog.redaction()

            def pack() -> tuple[bytes, str]:
                packed = noted.pack(redaction)
                lost = len(packed.failures)
                return (
                    packed.data,
                    f" {plural(lost, 'tree')} of steps could not be included." if lost else "",
                )

            self._write(path, state, pack)

        self._run(work, review)

    def _ask_target(self, dialog: "ReviewDialog", state: State, name: str, kinds: str) -> str:
        """Let the user review the texts, then ask for a file. Return its path; empty if the user cancelled."""
        if dialog.exec() != QDialog.DialogCode.Accepted:
            return ""
        stem = Path(state.session.path).name.split(".")[0] if state.session is not None else ""
        title = dialog.windowTitle()
        return ask.ask_new_file(
            self._parent, self._desk.settings, title, name=f"{stem}-{name}", kinds=kinds
        )

    def _write(self, path: str, state: State, make: Callable[[], tuple[str | bytes, str]]) -> None:
        from inspector.transcripts.saving import save_text

        source = state.session.path if state.session is not None else ""

        def work(task: Task) -> _Written:
            data, more = make()
            save_text(data, path, force=True, source=source)
            return Path(path).name, more

        def report(written: _Written) -> None:
            name, more = written
            self._desk.workbench.note(f"{name} was written.{more}")

        self._run(work, report)

    def _run(self, job: Callable[[Task], T], done: Callable[[T], None]) -> None:
        self._desk.bridge.run(job, done, lambda error: self._desk.say(str(error)))


def _gather_work(state: State) -> SharedWork:
    """Return the pins and all steps of the user on the open session."""
    session = state.session
    assert session is not None
    source = StepsSource("", session.id, session.format)
    trees = [write_steps(steps, source) for steps in state.trees.values() if steps.own]
    note = session.shared.note if session.shared is not None else ""
    return SharedWork(note, state.pins, tuple(trees))
