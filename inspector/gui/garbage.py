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
"""Objects that are looked through for garbage, which takes 5 ms: a job makes a million a second, and they stay."""
THAW_S, MOST_THAWED = 30.0, 400_000
"""Seconds between two looks through what was set aside, and objects of which it takes no longer than 0.1 s: beyond that
a session is open whose objects stay."""
THAW_SHARE = 500
"""At most one of this many seconds is spent on visiting or counting the frozen objects."""
LATE = 0.25
"""Seconds since the last look after which a job has made too many, whatever is counted."""


class Garbage(QObject):
    """Collects reference cycles on the GUI thread only, while this object exists.

    Python collects where the allocation happens that fills a generation, also on a worker thread; a widget in a cycle
    would then be destroyed off the GUI thread, which ends the program. So automatic collection is off while a window
    is open, and a timer here does it.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._looked = self._thawed = monotonic()
        self._thawing_s = 0.0
        """Seconds that the last look through what was set aside took."""
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._look)
        self._timer.start(EVERY_MS)

    def _look(self) -> None:
        before, self._looked = self._looked, monotonic()
        if computing_jobs and self._looked - before > LATE:
            gc.freeze()
        elif not computing_jobs and self._looked > self._thawed + max(
            THAW_S, THAW_SHARE * self._thawing_s
        ):
            self._thaw()
        else:
            collect()

    def _thaw(self) -> None:
        """Collect the cycles among what was set aside, unless it is too much to look through."""
        count = gc.get_freeze_count()
        if 0 < count <= MOST_THAWED:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            Thread(target=return_free_memory, name="memory", daemon=True).start()
        self._thawed = monotonic()
        self._thawing_s = self._thawed - self._looked


def return_free_memory() -> None:
    """Return free memory to the system. glibc keeps it in pieces: some megabytes for every run of an agent."""
    if sys.platform == "linux" and (trim := getattr(CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


def collect() -> None:
    """Collect the oldest generation that is full by Python's own thresholds, and with it the younger ones.

    While a job computes, only the youngest generation is collected: the older ones hold the objects that the job still
    uses. If the youngest generation exceeds MOST, its objects are frozen, because collecting them would take too long.
    """
    counts, thresholds = gc.get_count(), gc.get_threshold()
    if counts[0] > MOST:
        gc.freeze()
    elif computing_jobs:
        gc.collect(0)
    elif full := [n for n in range(3) if thresholds[n] and counts[n] > thresholds[n]]:
        gc.collect(full[-1])
