"""What the parts of the window may reach: the Workbench, the bridge to other threads, the theme, and each other."""

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
    """Open a transcript, off the GUI thread; failures are reported by the window."""
    show_panel: Callable[[str], None]
    """Bring the panel of that TITLE to the front."""
    say: Callable[[str], None]
    """One sentence in the calm bar, for an expected failure that is not about opening."""
    leave_page: Callable[[], object] = lambda: None
    """Return from a page to the workspace from which it was opened."""
    runs: RunDesk | None = None
    """Begins runs of our own agent, and holds the current run."""
    proxies: ProxyDesk | None = None
    """Begins proxies, and holds the one that listens."""
