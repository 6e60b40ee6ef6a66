"""Bugs: logged with their trace, told once with a button that copies a report; the program goes on."""

import logging
import platform
import sys
import traceback
from collections.abc import Callable
from types import TracebackType

from PySide6.QtCore import QTimer, qVersion

LOG = logging.getLogger("inspector")


class Trouble:
    """`tell(sentence, report)` is called on the GUI thread, between events, once for each different bug."""

    def __init__(self, tell: Callable[[str, str], None]) -> None:
        self._tell = tell
        self._told: set[str] = set()

    def install(self) -> None:
        """Become `sys.excepthook`: exceptions of slots, timers and event handlers come here."""
        sys.excepthook = self.meet

    def meet(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Log and tell it, if it is a new one. A keyboard interrupt ends the program as always."""
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        frames = traceback.extract_tb(trace)
        place = f"{kind.__name__} {frames[-1].filename}:{frames[-1].lineno}" if frames else kind.__name__
        if place not in self._told:  # what fails in every row or every picture would fill the log, and the time
            self._told.add(place)
            text = "".join(traceback.format_exception(kind, error, trace))
            LOG.error("unexpected: %s", text)
            usual = f"Something went wrong inside the program ({kind.__name__}). You can go on."
            sentence = next(iter(getattr(error, "__notes__", ())), usual)  # who met it first may know what it concerns
            QTimer.singleShot(0, lambda: self._tell(sentence, report(text)))  # not in the middle of a paint event


def report(text: str) -> str:
    """What a person can paste into a bug report: versions and the trace, nothing of a transcript."""
    from importlib import metadata  # slow to load, and seldom wanted

    try:
        own = metadata.version("context-inspector")
    except metadata.PackageNotFoundError:
        own = "from a checkout"
    lines = (
        f"Context Inspector {own}",
        f"Python {platform.python_version()}, Qt {qVersion()}, {platform.platform()}",
        "",
        text,
    )
    return "\n".join(lines)
