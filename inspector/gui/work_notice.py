"""A notice that names work that takes longer than a moment, with a button that cancels it."""

from collections.abc import Callable, Sequence
from time import monotonic

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame

from inspector.core.words import per_cent
from inspector.gui.bridge import Bridge, Task
from inspector.gui.look.build import button, row
from inspector.gui.look.labels import label
from inspector.gui.look.tokens import CONTROL_GAP

LOOK_MS = 300
"""Milliseconds between two checks, and also the age from which a job is reported."""
_MOST_NAMED = 2


class WorkNotice(QFrame):
    """Names slow background work and offers to cancel it; hidden if there is none.

    Work that waits for a model, a file or a server is shown in its panel instead.
    """

    changed = Signal()
    """Emitted when the notice is shown or hidden."""

    def __init__(self, bridge: Bridge, cancel: Callable[[Sequence[str]], None]) -> None:
        """Create the notice; `cancel` is called with the titles of the panels whose work was cancelled."""
        super().__init__()
        self._bridge = bridge
        self._cancel = cancel
        self.words = label(role="quiet")
        about = "Cancel this work; a button in the panel starts it again"
        self.stop = button("Cancel", self.cancel_work, about=about, role="flat")
        # The button is often hidden; a command does the same.
        self.stop.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        row(self.words, self.stop, of=self, gap=CONTROL_GAP)
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self.look)
        self._timer.start()
        self.hide()

    def look(self) -> None:
        """Update the notice: what is being worked on, and for how long."""
        tasks = find_long_tasks(self._bridge, LOOK_MS / 1000)
        if tasks:
            self.words.setText(describe_work(tasks))
        if self.isHidden() == bool(tasks):
            self.setVisible(bool(tasks))
            self.changed.emit()

    def cancel_work(self) -> None:
        """Cancel all jobs that compute for panels."""
        tasks = find_long_tasks(self._bridge, seconds=0)
        for task in tasks:
            task.cancel()
        self._cancel(list(dict.fromkeys(task.part for task in tasks)))
        self.look()


def find_long_tasks(bridge: Bridge, seconds: float) -> list[Task]:
    """Return the computing jobs of panels that were started more than `seconds` ago, oldest first."""
    since = monotonic() - seconds
    computing = [
        task for task in bridge.tasks if task.part and task.lane != "wait" and not task.stopped
    ]
    return sorted((task for task in computing if task.began < since), key=lambda task: task.began)


def describe_work(tasks: Sequence[Task]) -> str:
    """Return a sentence such as `Working on Cost (45% done) and At a glance, 12 s`."""
    by_part = {task.part: task for task in reversed(tasks)}
    parts = list(dict.fromkeys(task.part for task in tasks))
    names = [f"{part}{_describe_share(by_part[part])}" for part in parts[:_MOST_NAMED]]
    named = " and ".join(names)
    if len(parts) > _MOST_NAMED:
        named = f"{', '.join(names)} and {len(parts) - _MOST_NAMED} more"
    seconds = monotonic() - min(task.began for task in tasks)
    return f"Working on {named}, {seconds:.0f} s" if seconds >= 1 else f"Working on {named}"


def _describe_share(task: Task) -> str:
    """Return ` (45% done)`, or ` (step 2, 45% done)` from the second step on; empty if the share is unknown."""
    if task.share is None:
        return ""
    step = f"step {task.step}, " if task.step > 1 else ""
    return f" ({step}{per_cent(task.share)} done)"
