"""What the program is working on, if that takes longer than a moment, and a button that cancels it."""

from collections.abc import Callable, Sequence
from time import monotonic

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame

from inspector.core.words import per_cent
from inspector.gui.bridge import Bridge, Task
from inspector.gui.look.build import button, row
from inspector.gui.look.labels import label

LOOK_MS = 300
"""Milliseconds between two looks, and from which on work is worth a word."""
_MOST_NAMED = 2


class WorkNotice(QFrame):
    """Names slow background work and offers to cancel it; hidden if there is none.

    Work that waits for a model, a file or a server is shown in its panel instead.
    """

    changed = Signal()
    """It was shown or hidden."""

    def __init__(self, bridge: Bridge, cancel: Callable[[Sequence[str]], None]) -> None:
        """`cancel` is called with the titles of the panels whose work was cancelled."""
        super().__init__()
        self._bridge, self._cancel = bridge, cancel
        self.words = label(role="quiet")
        about = "Cancel this work; the panels offer to begin it again"
        self.stop = button("Cancel", self.cancel_work, about=about, role="flat")
        self.stop.setFocusPolicy(
            Qt.FocusPolicy.NoFocus
        )  # it comes and goes; a command does the same
        row(self.words, self.stop, of=self, gap=8)
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self.look)
        self._timer.start()
        self.hide()

    def look(self) -> None:
        """Say what is being worked on, and for how long."""
        tasks = find_long_tasks(self._bridge, LOOK_MS / 1000)
        if tasks:
            self.words.setText(describe_work(tasks))
        if self.isHidden() == bool(tasks):
            self.setVisible(bool(tasks))
            self.changed.emit()

    def cancel_work(self) -> None:
        """Cancel all that panels compute."""
        tasks = find_long_tasks(self._bridge, 0)
        for task in tasks:
            task.cancel()
        self._cancel(list(dict.fromkeys(task.part for task in tasks)))
        self.look()


def find_long_tasks(bridge: Bridge, seconds: float) -> list[Task]:
    """Return the jobs of panels that compute and were asked for more than so long ago, the oldest first."""
    since = monotonic() - seconds
    computing = [
        task for task in bridge.tasks if task.part and task.lane != "wait" and not task.stopped
    ]
    return sorted((task for task in computing if task.began < since), key=lambda task: task.began)


def describe_work(tasks: Sequence[Task]) -> str:
    """`Working on Cost (45% done) and At a glance, 12 s`"""
    by_part = {task.part: task for task in reversed(tasks)}
    parts = list(dict.fromkeys(task.part for task in tasks))
    names = [f"{part}{_describe_share(by_part[part])}" for part in parts[:_MOST_NAMED]]
    named = " and ".join(names)
    if len(parts) > _MOST_NAMED:
        named = f"{', '.join(names)} and {len(parts) - _MOST_NAMED} more"
    seconds = monotonic() - min(task.began for task in tasks)
    return f"Working on {named}, {seconds:.0f} s" if seconds >= 1 else f"Working on {named}"


def _describe_share(task: Task) -> str:
    """Return ` (45% done)`, from the second step of a job on ` (step 2, 45% done)`; empty if the share is not known."""
    if task.share is None:
        return ""
    step = f"step {task.step}, " if task.step > 1 else ""
    return f" ({step}{per_cent(task.share)} done)"
