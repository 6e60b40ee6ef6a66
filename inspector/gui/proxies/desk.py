"""Starts and stops a proxy and a span receiver for the window, including their dialogs.

Their packages are imported when the first one is started.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from inspector.gui.bridge import Bridge
from inspector.gui.commands import Command
from inspector.gui.dialogs.ask import is_sure
from inspector.gui.live.status import NO_PROXY
from inspector.gui.settings import Settings
from inspector.workbench.workbench import Workbench

if TYPE_CHECKING:
    from inspector.gui.proxies.controller import ProxyController
    from inspector.gui.proxies.receiving import ReceiverController


class ProxyDesk:
    """The actions on proxies and receivers.

    The window holds the object as `proxies`; panels reach it through the desk.
    """

    def __init__(
        self,
        workbench: Workbench,
        bridge: Bridge,
        settings: Settings,
        window: QWidget,
        follow: Callable[[str], None],
    ) -> None:
        self._workbench = workbench
        self._bridge = bridge
        self._settings = settings
        self._window = window
        self._follow = follow
        self._made: ProxyController | None = None
        self._receiver: ReceiverController | None = None

    @property
    def controller(self) -> "ProxyController":
        """The controller of the proxy, created on first use."""
        if self._made is None:
            from inspector.gui.proxies.controller import ProxyController

            self._made = ProxyController(self._workbench, self._bridge, self._follow)
        return self._made

    @property
    def receiver(self) -> "ReceiverController":
        """The controller of the span receiver, created on first use."""
        if self._receiver is None:
            from inspector.gui.proxies.receiving import ReceiverController

            self._receiver = ReceiverController(self._workbench, self._bridge, self._follow)
        return self._receiver

    def receive(self) -> None:
        """Receive the spans of traced agents. If a receiver is already running, show its recording."""
        self.receiver.begin()

    def stop_receiving(self) -> None:
        """Stop the span receiver."""
        if self._receiver is not None:
            self._receiver.stop()

    def watch(self) -> None:
        """Ask for the provider and start a proxy. If one is already running, show its recording."""
        from inspector.gui.proxies.dialog import ProxyDialog

        if self._workbench.state.proxy is not None:
            self.controller.show_recording()
            return
        dialog = ProxyDialog(self._window, self._settings)
        dialog.exec()
        if dialog.wanted is not None:
            self.controller.begin(*dialog.wanted)

    def connect(self) -> None:
        """Show how to connect a client to the proxy."""
        from inspector.gui.proxies.dialog import ConnectDialog

        proxy = self._workbench.state.proxy
        if proxy is None or not proxy.url:
            self._workbench.failed(NO_PROXY)
            return
        ConnectDialog(self._window, proxy.url).exec()

    def hold_next(self) -> None:
        """Hold the next request of a conversation."""
        self.controller.hold_next(True)

    def stop(self) -> None:
        """Stop the proxy; the recording stays."""
        if self._made is not None:
            self._made.stop()

    def may_close(self, close: Callable[[], object]) -> bool:
        """Return True if the window may close now.

        If requests are under way, the user is asked; `close` is then called once the proxy has stopped.
        """
        proxy = self._workbench.state.proxy
        if self._made is not None and self._made.is_finishing:
            question = "Close now? The proxy still waits for answers; if you close, the agents lose these turns."
            return is_sure(
                self._window,
                title="An agent waits for its answer",
                question=question,
                yes="Close now",
                no="Wait",
            )
        if proxy is None or not proxy.busy:
            return True
        question = (
            "Close the window? The proxy holds requests or waits for answers. Held requests are "
            "forwarded unchanged, and the window closes when all answers have arrived. Agents that use "
            "the proxy then lose their connection; the recording stays complete."
        )
        if is_sure(
            self._window,
            title="An agent is being watched",
            question=question,
            yes="Forward and close",
            no="Keep watching",
        ):
            self.controller.stop(close)
        return False

    def close(self) -> None:
        """Stop proxy and receiver when the window closes."""
        for controller in (self._made, self._receiver):
            if controller is not None:
                controller.close()

    def commands(self) -> tuple[Command, ...]:
        """Return the commands for the proxy and the receiver."""
        return (
            Command("Watch an agent…", self.watch, ("Ctrl+Shift+W",), "Proxy"),
            Command("Connect a client to the proxy…", self.connect, (), "Proxy"),
            Command("Hold the next request", self.hold_next, ("Ctrl+Shift+H",), "Proxy"),
            Command("Stop the proxy", self.stop, (), "Proxy"),
            Command("Receive the spans of a traced agent", self.receive, (), "Proxy"),
            Command("Stop receiving spans", self.stop_receiving, (), "Proxy"),
        )
