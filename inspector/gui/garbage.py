"""Collects reference cycles while a window is open, and returns free memory to the system."""

import gc
import sys
from ctypes import CDLL
from threading import Thread
from time import monotonic

from PySide6.QtCore import QObject, QTimer

from inspector.gui.bridge import computing_jobs

EVERY_MS = 100
"""Milliseconds between two collections."""
MOST = 30_000
"""Objects of the youngest generation above which they are frozen: collecting 30,000 takes 5 ms, a job makes a million
per second, and its objects last."""
THAW_S, MOST_THAWED = 30.0, 400_000
"""Seconds between two collections of the frozen objects, and the largest number of objects for which a collection takes
at most 0.1 s. Above that number a large session is open, and its objects last."""
MANY_S = 300.0
"""Seconds until the frozen objects are counted again if there were too many: counting a million takes 30 ms."""
THAW_SHARE = 500
"""Frozen objects are collected so rarely that it takes at most one second in this many."""
LATE = 0.25
"""Seconds between two timer events after which a computing job's objects are frozen without counting them."""


class Garbage(QObject):
    """Collects reference cycles on the GUI thread only, while this object exists.

    Python collects on the thread whose allocation fills a generation, which may be a worker thread. A widget in a cycle
    would then be destroyed off the GUI thread, which crashes the program. So automatic collection is disabled while a
    window is open, and a timer of this object collects.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._last_tick = self._last_thaw = monotonic()
        self._thawing_s = 0.0
        """Seconds that the last collection of the frozen objects took."""
        self._frozen = 0
        """Number of frozen objects when they were last counted."""
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._freeze_or_collect)
        self._timer.start(EVERY_MS)

    def _freeze_or_collect(self) -> None:
        before = self._last_tick
        self._last_tick = monotonic()
        if computing_jobs and self._last_tick - before > LATE:
            gc.freeze()
        elif not computing_jobs and self._last_tick > self._last_thaw + self._rest_s():
            self._collect_frozen()
        else:
            collect()

    def _rest_s(self) -> float:
        """Return the seconds between two collections of the frozen objects."""
        least = MANY_S if self._frozen > MOST_THAWED else THAW_S
        return max(least, THAW_SHARE * self._thawing_s)

    def _collect_frozen(self) -> None:
        """Collect the cycles among the frozen objects, unless there are too many."""
        self._frozen = gc.get_freeze_count()
        if 0 < self._frozen <= MOST_THAWED:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            Thread(target=return_free_memory, name="memory", daemon=True).start()
        self._last_thaw = monotonic()
        self._thawing_s = self._last_thaw - self._last_tick


def return_free_memory() -> None:
    """Return free memory to the system. glibc keeps fragments of it: some megabytes for every run of an agent."""
    if sys.platform == "linux" and (trim := getattr(CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


def collect() -> None:
    """Collect the oldest generation that is full by Python's own thresholds, and with it the younger ones.

    While a job computes, only the youngest generation is collected: the older ones hold the objects that the job still
    uses. If the youngest generation exceeds MOST, its objects are frozen, because collecting them would take too long.
    """
    counts = gc.get_count()
    thresholds = gc.get_threshold()
    if counts[0] > MOST:
        gc.freeze()
    elif computing_jobs:
        gc.collect(0)
    elif full := [
        index for index in range(3) if thresholds[index] and counts[index] > thresholds[index]
    ]:
        gc.collect(full[-1])
