"""Opening a transcript: off the GUI thread, with progress, cancel, and the first picture before the rest is read."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

from inspector.core.errors import InspectorError
from inspector.core.session import Session
from inspector.gui.bridge import Bridge, Task
from inspector.gui.settings import Settings
from inspector.workbench.state import State
from inspector.workbench.workbench import Workbench

if TYPE_CHECKING:
    from inspector.transcripts.files import TranscriptReading

FIRST = 1.0
"""Seconds that the reading rests at most for the first picture."""

OFTEN = 0.1
"""Seconds between two tellings of how far the reading is."""


@dataclass(frozen=True, slots=True)
class _Progress:
    done: int
    total: int


def open_transcript(
    path: Path,
    progress: Callable[[int, int], None],
    first: Callable[[Session], None],
    cancelled: Callable[[], bool],
    keep: "Callable[[TranscriptReading], None]",
) -> Session:
    """As `live.files` has it. All formats hang on that, so it is loaded with the first transcript."""
    from inspector.transcripts import files

    return files.open_transcript(path, progress=progress, first=first, cancelled=cancelled, keep=keep)


class Opener:
    """One transcript at a time: opening another stops the one on its way."""

    def __init__(self, workbench: Workbench, bridge: Bridge, settings: Settings) -> None:
        self._workbench, self._bridge, self._settings = workbench, bridge, settings
        self._task: Task | None = None
        self._painted = Event()
        self._shown: Session | None = None
        self._opened: list[TranscriptReading] = []
        """What the last opening left for whoever follows it."""
        workbench.subscribe(self._seen)

    def open(self, path: str) -> None:
        """Read the transcript at `path` and show it; an expected failure becomes the State's sentence."""
        self.cancel()
        self._workbench.begin(path)
        opened = self._opened = []

        def job(task: Task) -> Session:
            return open_transcript(
                Path(path),
                progress=_now_and_then(lambda done, total: task.report(_Progress(done, total))),
                first=lambda session: self._show_first(task, replace(session, path=session.path or str(Path(path)))),
                cancelled=task.cancelled,
                keep=opened.append,
            )

        self._task = self._bridge.run(job, self._done, self._failed, self._reported, partial(self._fell, path))

    def _show_first(self, task: Task, session: Session) -> None:
        """On the reading thread: rest until the first picture is painted; two that compute take thrice as long."""
        self._painted.clear()
        task.report(session)
        end = monotonic() + FIRST
        while monotonic() < end and not task.cancelled() and not self._painted.wait(0.02):
            pass

    def _seen(self, state: State) -> None:
        """The State has another session: a moment later it is painted."""
        if state.session is not self._shown:
            self._shown = state.session
            QTimer.singleShot(0, self._painted.set)

    def hand_over(self, path: Path) -> "TranscriptReading | None":
        """What was opened, for one who goes on reading it: once, as a reader reads for one only."""
        return self._opened.pop() if self._opened and self._opened[-1].path == path else None

    def cancel(self) -> None:
        """Stop the reading; what was shown of it stays."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
            self._workbench.stopped()

    def _reported(self, value: _Progress | Session) -> None:
        match value:
            case _Progress(done, total):
                self._workbench.progress(done, total)
            case Session():
                self._workbench.open(value, more=True)

    def _done(self, session: Session) -> None:
        self._task = None
        self._settings.remember(session.path)
        self._workbench.open(session)

    def _failed(self, error: InspectorError) -> None:
        self._task = None
        self._workbench.failed(str(error))

    def _fell(self, path: str, error: BaseException) -> None:
        self._task = None
        self._workbench.fell(path, error)


def _now_and_then(tell: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """`tell`, but not more often than anyone can see, and at the end."""
    last = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal last
        now = monotonic()
        if now - last > OFTEN or done >= total:
            last = now
            tell(done, total)

    return progress
