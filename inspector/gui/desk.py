"""The services that parts of the window share: Workbench, bridge to worker threads, theme and actions of the window."""

from collections.abc import Callable
from dataclasses import dataclass

from inspector.gui.bridge import Bridge
from inspector.gui.look.theme import Theme
from inspector.gui.proxies.desk import ProxyDesk
from inspector.gui.runs.desk import RunDesk
from inspector.gui.settings import Settings
from inspector.workbench.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Desk:
    """The services that a panel may use."""

    workbench: Workbench
    bridge: Bridge
    theme: Theme
    settings: Settings
    open_path: Callable[[str], None]
    """Open a transcript on a worker thread; the window reports failures."""
    show_panel: Callable[[str], None]
    """Bring the panel with that TITLE to the front."""
    say: Callable[[str], None]
    """Show one sentence in the notice bar, for an expected failure that does not concern opening."""
    leave_page: Callable[[], object] = lambda: None
    """Return from a page to the workspace from which it was opened."""
    runs: RunDesk | None = None
    """Starts runs of the built-in agent, and holds the current run."""
    proxies: ProxyDesk | None = None
    """Starts proxies, and holds the proxy that is listening."""
