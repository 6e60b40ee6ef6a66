"""The strip over the panels while a proxy listens: what is under way, what it waits for, and which tier is next."""

from collections.abc import Callable
from time import time

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QFrame

from inspector.gui.look.build import button, mark, row
from inspector.gui.look.visible import line
from inspector.gui.panels.proxy.hold_box import clock_words
from inspector.gui.proxies.desk import ProxyDesk
from inspector.gui.widgets.small import Elided
from inspector.workbench.policy_input import sizer_of
from inspector.workbench.pressure.gauge import pressure_here
from inspector.workbench.pressure.scale import watermarks
from inspector.workbench.state import State
from inspector.workbench.words.live_words import describe_proxy, find_next_tier
from inspector.workbench.workbench import Workbench


class ProxyBar(QFrame):
    """Hidden while no proxy listens."""

    def __init__(self, proxies: ProxyDesk, workbench: Workbench, show: Callable[[], None]) -> None:
        super().__init__()
        self.setObjectName("RunBar")
        self._state = State()
        self._next = ""
        """Which tier is next, in words."""
        self.chip = button("", show, about="Show the proxy and its requests", role="run")
        self.says = Elided()
        self.stop = button(
            "Stop", proxies.controller.stop, about="End the proxy; the recording stays"
        )
        row(self.chip, (self.says, 1), self.stop, of=self, margins=(12, 5, 12, 5), gap=7)
        self._second = QTimer(self, interval=1000)
        self._second.timeout.connect(self._say)
        workbench.subscribe(self.show_state)

    def show_state(self, state: State) -> None:
        """Show the proxy; hidden without one."""
        proxy = state.proxy
        listens = proxy is not None and bool(proxy.url)
        self.setVisible(listens)
        self._state = state if listens else State()
        if proxy is None or not listens:
            self._second.stop()
            return
        self._next = _next_tier(state)
        if bool(proxy.holds) != self._second.isActive():
            self._second.start() if proxy.holds else self._second.stop()
        self._say()

    def _say(self) -> None:
        proxy, session = self._state.proxy, self._state.session
        if proxy is None:
            return
        is_open = self._state.proxy_is_open and session is not None
        has_requests = (
            is_open and session is not None and any(thread.requests for thread in session.threads)
        )
        words, waits = describe_proxy(proxy, has_requests)
        kind = "waits" if proxy.holds else "runs"
        mark(self, "kind", kind)
        mark(self.chip, "kind", kind)
        self.chip.setText(words)
        self.chip.setAccessibleName(f"Proxy: {words}")
        if proxy.holds:
            soonest = min(hold.until for hold in proxy.holds)
            waits += f", forwarded unchanged in {clock_words(max(0.0, soonest - time()))}"
        parts = (f"{proxy.url} to {proxy.upstream}", waits, self._next, proxy.trouble)
        self.says.show_text(line(" · ".join(part for part in parts if part), 400))


def _next_tier(state: State) -> str:
    """Say which tier of the chosen policy is next for the thread that is shown; empty if the recording is not open."""
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
    next_tier = find_next_tier(watermarks(state), tokens)
    return next_tier.words if next_tier is not None else ""
