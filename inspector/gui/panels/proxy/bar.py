"""The bars of a proxy and of a span receiver: current exchanges, what the proxy waits for, and which tier is next."""

from collections.abc import Callable

from PySide6.QtCore import QTimer

from inspector.gui.live.bar import LiveBar
from inspector.gui.live.status import describe_proxy, describe_receiver
from inspector.gui.look.build import button
from inspector.gui.proxies.desk import ProxyDesk
from inspector.workbench.policy_input import sizer_of
from inspector.workbench.pressure.gauge import pressure_here
from inspector.workbench.pressure.scale import watermarks
from inspector.workbench.state import State
from inspector.workbench.words.live_words import find_next_tier
from inspector.workbench.workbench import Workbench

END_PROXY = "End the proxy; the recording stays"
END_RECEIVER = "End the receiver; the recording stays"


class ProxyBar(LiveBar):
    """The bar of the proxy; hidden while no proxy is listening."""

    def __init__(self, proxies: ProxyDesk, workbench: Workbench, show: Callable[[], None]) -> None:
        stop = button("Stop", proxies.controller.stop, about=END_PROXY)
        super().__init__(show, "Show the proxy and its requests", stop)
        self._state = State()
        self._next_tier = ""
        self._second = QTimer(self, interval=1000)
        self._second.timeout.connect(self._show)
        workbench.subscribe(self.show_state)

    def show_state(self, state: State) -> None:
        """Show the proxy, with a countdown while it holds a request."""
        proxy = state.proxy
        if proxy is None or not proxy.url:
            self._state = State()
            self._second.stop()
            self.show_status(None)
            return
        self._state = state
        self._next_tier = _next_tier(state)
        if bool(proxy.holds) != self._second.isActive():
            self._second.start() if proxy.holds else self._second.stop()
        self._show()

    def _show(self) -> None:
        proxy = self._state.proxy
        session = self._state.session
        if proxy is None:
            return
        threads = session.threads if session is not None and self._state.proxy_is_open else ()
        has_requests = any(thread.requests for thread in threads)
        self.show_status(describe_proxy(proxy, has_requests, self._next_tier))


class ReceiverBar(LiveBar):
    """The bar of the span receiver; hidden while no receiver is listening."""

    def __init__(self, proxies: ProxyDesk, workbench: Workbench, show: Callable[[], None]) -> None:
        stop = button("Stop", proxies.stop_receiving, about=END_RECEIVER)
        super().__init__(show, "Show the receiver", stop)
        workbench.subscribe(self.show_state)

    def show_state(self, state: State) -> None:
        """Show the receiver."""
        view = state.receiver
        self.show_status(describe_receiver(view) if view is not None and view.url else None)


def _next_tier(state: State) -> str:
    """Return which tier of the chosen policy is next for the current thread; empty if the recording is not open."""
    if (
        not state.proxy_is_open
        or state.pressures is None
        or state.thread is None
        or not state.thread.requests
    ):
        return ""
    tokens = pressure_here(state, sizer_of(state))[0].tokens
    if tokens is None:
        return ""
    if state.previews:
        due = [verdict.tier for verdict in state.previews.verdicts if verdict.due]
    else:
        due = []
    if due:
        return f"next tier {' and '.join(due)}: due now"
    next_tier = find_next_tier(watermarks(state), tokens)
    return next_tier.words if next_tier is not None else ""
