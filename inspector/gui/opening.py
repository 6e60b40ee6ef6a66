"""Open a transcript on a worker thread, and follow it while it is still being written.

Opening shows progress, can be cancelled, and shows a first part of the session before all of it is read. If following
yields many sessions in a short time, only the newest is shown.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget

from inspector.core.errors import InspectorError
from inspector.core.session import Session
from inspector.gui.bridge import Bridge, Task
from inspector.gui.guard import Guarded
from inspector.gui.settings import Settings
from inspector.workbench.state import Following, State
from inspector.workbench.workbench import Workbench

if TYPE_CHECKING:
    from inspector.transcripts.files import TranscriptReading
    from inspector.transcripts.follow import FollowNews, TellNews
    from inspector.workbench.kept_steps import FileSteps

FIRST = 1.0
"""Maximum number of seconds for which the reading thread waits for the panels, and again for the first picture."""

OFTEN = 0.1
"""Seconds between two progress reports."""


def open_transcript(
    path: Path,
    progress: Callable[[int, int], None],
    first: Callable[[Session], None],
    cancelled: Callable[[], bool],
    keep: "Callable[[TranscriptReading], None]",
) -> Session:
    """Open a transcript as `transcripts.files.open_transcript` does.

    That module imports all formats, so it is imported with the first transcript.
    """
    from inspector.transcripts import files

    return files.open_transcript(
        path, progress=progress, first=first, cancelled=cancelled, keep=keep
    )


class Opener:
    """Opens one transcript at a time; opening another cancels the current one."""

    def __init__(
        self, workbench: Workbench, bridge: Bridge, settings: Settings, choose: Callable[[], None]
    ) -> None:
        """Create the opener; `choose` offers the sessions of a file that holds several, if the path names none of
        them.
        """
        self._workbench = workbench
        self._bridge = bridge
        self._settings = settings
        self._choose = choose
        self._task: Task | None = None
        self._painted = Event()
        self.placed = Event()
        """Set once the panels that show a session exist."""
        self._shown: Session | None = None
        self._opened: list[TranscriptReading] = []
        """The reader of the transcript opened last, until `hand_over` takes it."""
        workbench.subscribe(self._seen)

    def open(self, path: str) -> None:
        """Read the transcript at `path` and show it. An expected failure becomes the sentence in the State."""
        self.cancel()
        self._workbench.begin(path)
        opened = self._opened = []

        def job(task: Task) -> "tuple[Session, FileSteps | None]":
            def show_first(session: Session) -> None:
                named = replace(session, path=session.path or str(Path(path)))
                self._show_first(task, named)

            def report(done: int, total: int) -> None:
                task.report((done, total))

            # Reading while the panels are built would slow both down threefold.
            _await(self.placed, task)
            session = open_transcript(
                Path(path),
                progress=_limit_reports(report),
                first=show_first,
                cancelled=task.cancelled,
                keep=opened.append,
            )
            return session, _restore_steps(session)

        done = partial(self._done, path)
        report_fault = partial(self._report_fault, path)
        self._task = self._bridge.run(
            job, done, self._report_failure, self._show_report, report_fault
        )

    def _show_first(self, task: Task, session: Session) -> None:
        """Report the first part of the session, and wait on the reading thread until it is painted.

        Two busy threads would take three times as long.
        """
        self._painted.clear()
        task.report(session)
        _await(self._painted, task)

    def _seen(self, state: State) -> None:
        """Note that another session is shown, and set `_painted` in the next turn of the event loop."""
        if state.session is not self._shown:
            self._shown = state.session
            QTimer.singleShot(0, self._painted.set)

    def hand_over(self, path: Path) -> "TranscriptReading | None":
        """Return the reader of the opened transcript so that it can be followed; None on later calls.

        A reader serves a single caller.
        """
        return self._opened.pop() if self._opened and self._opened[-1].path == path else None

    def cancel(self) -> None:
        """Cancel the reading; what is already shown stays."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
            self._workbench.stopped()

    def _show_report(self, value: tuple[int, int] | Session) -> None:
        if isinstance(value, Session):
            self._workbench.open(value, more=True)
        else:
            self._workbench.progress(*value)

    def _done(self, path: str, result: "tuple[Session, FileSteps | None]") -> None:
        self._task = None
        session, steps = result
        self._workbench.kept_steps.put(session.path, steps)
        self._settings.remember(session.path)
        self._workbench.open(session)
        if session.held and all(path != held_session.path for held_session in session.held):
            self._choose()

    def _report_failure(self, error: InspectorError) -> None:
        self._task = None
        self._workbench.failed(str(error))

    def _report_fault(self, path: str, error: BaseException) -> None:
        self._task = None
        self._workbench.fell(path, error)


def _restore_steps(session: Session) -> "FileSteps | None":
    if session.shared is None or not session.shared.steps:
        return None
    from inspector.workbench.sharing.shared_steps import restore_shared_steps  # bundles are rare

    return restore_shared_steps(session)


def _await(event: Event, task: Task) -> None:
    end = monotonic() + FIRST
    while monotonic() < end and not task.stopped and not event.wait(0.02):
        pass


def _limit_reports(report: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """Limit `report` to one call per OFTEN seconds, plus the call at the end."""
    last = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal last
        now = monotonic()
        if now - last > OFTEN or done >= total:
            last = now
            report(done, total)

    return progress


@dataclass(slots=True)
class _Latest:
    """The newest session. `sent`: a report of it is on its way to the GUI thread."""

    session: Session | None = None
    sent: bool = False


class Follow:
    """Follows the open transcript with at most one worker.

    The worker ends when another transcript is opened, the session is closed, or following is switched off.
    """

    def __init__(self, workbench: Workbench, bridge: Bridge, opener: Opener) -> None:
        self._workbench = workbench
        self._bridge = bridge
        self._opener = opener
        self._task: Task | None = None
        self._what: Following = ""
        self._loss = ""
        """The sentence that reports the followed file as unreadable; empty while the file can be read."""
        workbench.subscribe(self._seen)

    def toggle(self, what: Following) -> None:
        """Start to follow the open file or its project, or stop."""
        state = self._workbench.state
        ready = state.session is not None and state.session.path and state.opening is None
        # The button switches following off; it does not switch from project to file.
        stops = state.following in (what, "project")
        following: Following = what if ready and not stops else ""
        self._stop()
        self._what = following
        self._workbench.follow(following)
        if following and state.session is not None:
            self._start(following, Path(state.session.path))

    def begin(self, path: str) -> None:
        """Show a transcript that is being written, and follow it."""
        self._stop()
        self._workbench.begin(path)
        self._what = "file"
        self._workbench.follow("file")
        self._start("file", Path(path))

    def _start(self, what: Following, path: Path) -> None:
        latest = _Latest()
        opened = self._opener.hand_over(path)

        def job(task: Task) -> None:
            def publish(session: Session) -> None:
                latest.session = session
                if not latest.sent:
                    latest.sent = True
                    task.report(latest)

            follow(what, path, publish, task, opened, task.report)

        fell = partial(self._report_fault, path)
        self._task = self._bridge.run(
            job, lambda _: None, self._report_failure, self._show_report, fell, lane="wait"
        )

    def _show_report(self, report: "_Latest | FollowNews") -> None:
        if not isinstance(report, _Latest):
            self._show_news(report)
            return
        report.sent = False  # first, so that a newer session is reported
        if report.session is not None:
            self._workbench.open(report.session)

    def _show_news(self, news: "FollowNews") -> None:
        """Show a loss as a failure until the file is back, and anything else as a note."""
        if news.is_lost:
            self._loss = news.sentence
            self._workbench.failed(news.sentence)
            return
        if self._loss and self._workbench.state.failure == self._loss:
            self._workbench.dismiss()
        self._loss = ""
        self._workbench.note(news.sentence)

    def _report_failure(self, error: InspectorError) -> None:
        self._task = None
        self._workbench.follow("")
        self._workbench.failed(str(error))

    def _report_fault(self, path: Path, error: BaseException) -> None:
        self._stop()
        self._workbench.follow("")
        self._workbench.fell(str(path), error)

    def _seen(self, state: State) -> None:
        if state.following != self._what:
            self._what = state.following
            self._stop()

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None


def follow(
    what: Following,
    path: Path,
    publish: Callable[[Session], None],
    task: Task,
    opened: "TranscriptReading | None",
    tell: "TellNews",
) -> None:
    """Follow a file or its project until the task is cancelled. Runs on the worker.

    The modules for following import all formats, so they are imported here.
    """
    from inspector.transcripts import follow as live
    from inspector.transcripts.discover import project_folder

    if what == "file":
        live.follow(path, publish, task.rest, opened=opened, tell=tell)
        return
    folder = project_folder(path)
    if not folder:
        raise InspectorError(
            f"{path} does not record the agent's working folder, so its project's "
            "sessions cannot be followed"
        )
    live.follow_newest(folder, publish, task.rest, opened=opened, tell=tell)


class FileDrop(Guarded, QObject):
    """Opens a file that is dropped on the window. `over(True)` means that a file is held above the window."""

    def __init__(
        self, window: QWidget, open_path: Callable[[str], None], over: Callable[[bool], None]
    ) -> None:
        super().__init__(window)
        self._open_path = open_path
        self._over = over
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Accept only local files, and open the first of several."""
        match event:
            case QDragEnterEvent():
                if any(url.isLocalFile() for url in event.mimeData().urls()):
                    event.acceptProposedAction()
                    self._over(True)
                return True
            case QDropEvent() if event.type() == QEvent.Type.Drop:
                self._over(False)
                paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
                if paths:
                    event.acceptProposedAction()
                    self._open_path(paths[0])
                return True
            case _:
                if event.type() == QEvent.Type.DragLeave:
                    self._over(False)
                return False
