"""The height of the timeline: a share of the window's, with all of its parts in Read, low in the other workspaces.
What the user drags stays, in each of the two."""

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
"""Pixels of a window's height from which on all parts of the timeline have room beside a few rows of the buffer."""
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
        """`frame` holds the timeline's dock; `workspace` names the one that is shown."""
        super().__init__(frame)
        self._frame, self._workspace, self._is_maximised = frame, workspace, is_maximised
        self._added = {is_low: _read_pixels(settings, is_low) for is_low in KEYS}
        """Pixels that the user made the timeline taller than preferred: of the low one, and of the full one."""
        frame.installEventFilter(self)

    @property
    def is_low(self) -> bool:
        """Does the shown workspace, or a low window, need the room for something else?"""
        return self._workspace() not in FULL_IN or self._frame.window().height() < LEAST_FULL

    @property
    def preferred(self) -> int:
        """Pixels that suit the timeline without the user's changes."""
        panel = self._frame.docks[TITLE].widget()
        assert isinstance(panel, Panel)
        return panel.preferred_height(self._frame.window().height(), self.is_low)

    @property
    def _dock(self) -> QDockWidget | None:
        """The dock while its height is ours to set."""
        dock = self._frame.docks.get(TITLE)
        if dock is None or dock.isFloating() or self._is_maximised() or not self._frame.laid_out:
            return None
        return dock

    def fit(self) -> None:
        """Give the timeline the height that suits it now."""
        if (dock := self._dock) is not None:
            height = self.preferred + self._added[self.is_low]
            self._frame.resizeDocks([dock], [height], Qt.Orientation.Vertical)

    def reset(self) -> None:
        """Forget what the user dragged."""
        self._added = dict.fromkeys(KEYS, 0)

    def keep(self, settings: Settings) -> None:
        """Remember what the user dragged for the next start."""
        for is_low, key in KEYS.items():
            settings.keep_text(key, str(self._added[is_low]))

    def note(self) -> None:
        """Remember how much taller the user made the timeline."""
        if (dock := self._dock) is not None:
            self._added[self.is_low] = dock.height() - self.preferred

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the window's height, and what the user drags between the docks."""
        if event.type() == QEvent.Type.Resize:
            self.fit()
        elif event.type() == QEvent.Type.MouseButtonRelease:
            self.note()
        return False


def _read_pixels(settings: Settings, is_low: bool) -> int:
    stored = settings.text(KEYS[is_low], "0")
    return int(stored) if stored.removeprefix("-").isdecimal() and len(stored) < 6 else 0
