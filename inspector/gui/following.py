"""Following: a worker looks at the transcript, and what it finds is shown; the newest picture only, where many come."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.core.errors import InspectorError
from inspector.core.session import Session
from inspector.gui.bridge import Bridge, Task
from inspector.workbench.state import Following, State
from inspector.workbench.workbench import Workbench

if TYPE_CHECKING:
    from inspector.transcripts.files import TranscriptReading


class NoProject(InspectorError):
    """The transcript does not name the folder that the agent worked in."""


@dataclass(slots=True)
class _Latest:
    """The newest picture; `told` = its arrival is on its way to the GUI thread."""

    session: Session | None = None
    told: bool = False


class Follow:
    """One worker at most. It ends when another transcript is opened, the session is closed, or nothing is followed."""

    def __init__(
        self,
        workbench: Workbench,
        bridge: Bridge,
        hand_over: "Callable[[Path], TranscriptReading | None]" = lambda path: None,
    ) -> None:
        self._workbench, self._bridge, self._hand_over = workbench, bridge, hand_over
        self._task: Task | None = None
        self._what: Following = ""
        workbench.subscribe(self._seen)

    def toggle(self, what: Following) -> None:
        """Begin to follow what is open, or stop."""
        state = self._workbench.state
        ready = state.session is not None and state.session.path and state.opening is None
        wanted: Following = what if ready and state.following != what and not self._stops(what) else ""
        self._stop()
        self._what = wanted
        self._workbench.follow(wanted)
        if wanted and state.session is not None:
            self._start(wanted, Path(state.session.path))

    def begin(self, path: str) -> None:
        """Show a transcript that is being written, and follow it."""
        self._stop()
        self._workbench.begin(path)
        self._what = "file"
        self._workbench.follow("file")
        self._start("file", Path(path))

    def _stops(self, what: Following) -> bool:
        """The button, where the project is followed: off, not over to the file."""
        return what == "file" and self._workbench.state.following == "project"

    def _start(self, what: Following, path: Path) -> None:
        latest, opened = _Latest(), self._hand_over(path)

        def job(task: Task) -> None:
            def tell(session: Session) -> None:
                latest.session = session
                if not latest.told:
                    latest.told = True
                    task.report(latest)

            follow(what, path, tell, task, opened, task.report)

        fell = partial(self._fell, path)
        self._task = self._bridge.run(job, lambda _: None, self._failed, self._reported, fell, waits=True)

    def _reported(self, latest: _Latest | str) -> None:
        if isinstance(latest, str):  # the file is gone, or nothing that can be read; it may come back
            self._workbench.failed(latest)
            return
        latest.told = False  # before it is looked at: what comes now is told again
        if latest.session is not None:
            self._workbench.open(latest.session)

    def _failed(self, error: InspectorError) -> None:
        self._task = None
        self._workbench.follow("")
        self._workbench.failed(str(error))

    def _fell(self, path: Path, error: BaseException) -> None:
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
    tell: Callable[[Session], None],
    task: Task,
    opened: "TranscriptReading | None",
    lost: Callable[[str], None],
) -> None:
    """On the worker, until the task is cancelled. All formats hang on what it needs, so that is loaded here."""
    from inspector.transcripts import follow as live
    from inspector.transcripts.discover import project_folder

    if what == "file":
        live.follow(path, tell, task.rest, opened=opened, lost=lost)
        return
    folder = project_folder(path)
    if not folder:
        raise NoProject(f"{path} does not tell which folder the agent worked in")
    live.follow_newest(folder, tell, task.rest, opened=opened, lost=lost)
