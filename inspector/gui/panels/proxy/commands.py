"""The commands of the proxy."""

from inspector.gui.commands import Command
from inspector.gui.proxies.desk import ProxyDesk

GROUP = "Proxy"


def proxy_commands(proxies: ProxyDesk) -> tuple[Command, ...]:
    """Watch an agent between it and its provider."""
    return (
        Command("Watch an agent…", proxies.watch, ("Ctrl+Shift+W",), GROUP),
        Command("Connect a client to the proxy…", proxies.connect, (), GROUP),
        Command("Hold the next request", proxies.hold_next, ("Ctrl+Shift+H",), GROUP),
        Command("Stop the proxy", proxies.stop, (), GROUP),
    )
