"""Set the timeline's height: a share of the window's height, tall in the Read workspace and low in the others.

The height that the user drags is kept, separately for the tall and the low timeline.
"""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QDockWidget

from inspector.gui.guard import Guarded
from inspector.gui.panels.panel import Panel
from inspector.gui.settings import Settings
from inspector.gui.workspace import WorkspacePage

TITLE = "Timeline"
FULL_IN = ("Read",)
"""Workspaces that show all parts of the timeline."""
LEAST_FULL = 700
"""Window height in pixels from which all parts of the timeline fit together with a few rows of the buffer."""
KEYS = {True: "timeline/added low", False: "timeline/added"}
"""Keys of the settings for the pixels that the user added to the low timeline (True) and to the full one (False)."""


class TimelineHeight(Guarded, QObject):
    """Sets the height of the timeline's dock when the workspace, the window or the timeline changes."""

    def __init__(
        self,
        frame: WorkspacePage,
        settings: Settings,
        workspace: Callable[[], str],
        is_maximised: Callable[[], bool],
    ) -> None:
        """Create the controller; `frame` holds the timeline's dock, `workspace` returns the name of the current
        workspace."""
        super().__init__(frame)
        self._frame = frame
        self._workspace = workspace
        self._is_maximised = is_maximised
        self._added = {is_low: _read_pixels(settings, is_low) for is_low in KEYS}
        """Pixels that the user added to the preferred height: for the low timeline (True) and for the full one
        (False).
        """
        frame.installEventFilter(self)

    @property
    def is_low(self) -> bool:
        """True if the timeline must be low because the current workspace or a low window needs the room."""
        return self._workspace() not in FULL_IN or self._frame.window().height() < LEAST_FULL

    @property
    def preferred(self) -> int:
        """The timeline's preferred height in pixels, without the user's changes."""
        panel = self._frame.docks[TITLE].widget()
        assert isinstance(panel, Panel)
        return panel.preferred_height(self._frame.window().height(), self.is_low)

    @property
    def _dock(self) -> QDockWidget | None:
        """The timeline's dock; None while it floats, is maximised or is not laid out yet."""
        dock = self._frame.docks.get(TITLE)
        if dock is None or dock.isFloating() or self._is_maximised() or not self._frame.laid_out:
            return None
        return dock

    def fit(self) -> None:
        """Set the timeline to its preferred height plus what the user added."""
        if (dock := self._dock) is not None:
            height = self.preferred + self._added[self.is_low]
            self._frame.resizeDocks([dock], [height], Qt.Orientation.Vertical)

    def reset(self) -> None:
        """Discard the heights that the user added."""
        self._added = dict.fromkeys(KEYS, 0)

    def keep(self, settings: Settings) -> None:
        """Store the heights that the user added for the next start."""
        for is_low, key in KEYS.items():
            settings.keep_text(key, str(self._added[is_low]))

    def note(self) -> None:
        """Record how many pixels taller than preferred the user made the timeline."""
        if (dock := self._dock) is not None:
            self._added[self.is_low] = dock.height() - self.preferred

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Adapt the height when the window is resized, and record it when the user releases a dragged dock border."""
        if event.type() == QEvent.Type.Resize:
            self.fit()
        elif event.type() == QEvent.Type.MouseButtonRelease:
            self.note()
        return False


def _read_pixels(settings: Settings, is_low: bool) -> int:
    stored = settings.text(KEYS[is_low], "0")
    return int(stored) if stored.removeprefix("-").isdecimal() and len(stored) < 6 else 0
