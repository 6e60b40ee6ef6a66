"""Reference cycles are collected on the GUI thread only.

Python collects where the allocation happens that fills a generation, also on a worker thread; a widget in a cycle would
then be destroyed off the GUI thread, which ends the program. So automatic collection is off while a window is open, and
a timer here does it.
"""

import gc

from PySide6.QtCore import QObject, QTimer

EVERY_MS = 1_000


class Garbage(QObject):
    """Lives as long as the window."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self)
        self._timer.timeout.connect(collect)
        self._timer.start(EVERY_MS)


def collect() -> None:
    """Collect the oldest generation that is full by Python's own thresholds, and with it the younger ones."""
    counts, thresholds = gc.get_count(), gc.get_threshold()
    full = [n for n in range(3) if thresholds[n] and counts[n] > thresholds[n]]
    if full:
        gc.collect(full[-1])
