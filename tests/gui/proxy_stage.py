"""A window with a proxy between a real SDK and the simulated provider."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import anthropic
import pytest
from pytestqt.qtbot import QtBot

from inspector.core.jsontext import loads
from inspector.gui.panels.proxy.hold_box import HoldBox
from inspector.gui.panels.proxy.panel import ProxyPanel
from inspector.gui.window import MainWindow
from inspector.proxy.holds.hold import Rule
from inspector.simulated.server import SimulatedServer
from inspector.simulated.state import SimulatedServerState
from inspector.workbench.live import ProxyView
from inspector.workbench.workbench import Workbench
from tests.proxy.holding import Later

TOLD: list[Any] = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "I did one"},
    {"role": "user", "content": "two"},
    {"role": "assistant", "content": "I did two"},
    {"role": "user", "content": "three"},
]


class Stage:
    """A window, a provider, and an agent."""

    def __init__(
        self, window: MainWindow, qtbot: QtBot, folder: Path, provider: SimulatedServer
    ) -> None:
        self.window, self.qtbot, self.provider = window, qtbot, provider
        self.record = folder / "recording.jsonl"

    def until(self, condition: Callable[[], object]) -> None:
        """Wait for it."""
        self.qtbot.waitUntil(lambda: bool(condition()))

    def begin(self, rule: Rule | None = None) -> None:
        """A proxy in front of the provider; wait until the window shows its recording."""
        self.window.proxies.controller.begin(self.provider.url, self.record, rule=rule)
        self.until(lambda: self.bench.state.proxy_is_open)
        self.until(lambda: self.status.url)
        self.url = self.status.url

    def ask(self, messages: Any = TOLD, stream: bool = True, tag: str = "") -> Later:
        """The agent's turn."""
        url = f"{self.status.url}/s/{tag}" if tag else self.status.url

        def call() -> str:
            given: Any = {"model": "claude-simulated", "max_tokens": 300, "messages": messages}
            with anthropic.Anthropic(api_key="k", base_url=url, max_retries=0) as one:
                if not stream:
                    return str(one.messages.create(**given).content[0].text)
                with one.messages.stream(**given) as told:
                    return told.get_final_text()

        return Later(call)

    @property
    def status(self) -> ProxyView:
        """How the proxy stands."""
        assert self.bench.state.proxy is not None
        return self.bench.state.proxy

    @property
    def bench(self) -> Workbench:
        return self.window.workbench

    @property
    def panel(self) -> ProxyPanel:
        return cast(ProxyPanel, self.window.docks.panel("Proxy"))

    def box(self) -> HoldBox:
        """The one held request, as soon as the window stands at it."""
        self.until(lambda: len(self.panel.boxes) == 1)
        (box,) = self.panel.boxes.values()
        proxy = self.window.proxies.controller
        self.until(
            lambda: (
                (place := proxy.place(box.hold))
                and place == (self.bench.state.thread_id, self.bench.state.at)
            )
        )
        return box

    def edit(self, intent: Callable[[], None]) -> None:
        """One change by hand; wait for its step."""
        steps = self.bench.state.steps
        count = len(steps.taken) if steps else 0
        intent()
        self.until(lambda: (now := self.bench.state.steps) is not None and len(now.taken) > count)

    def arrived(self) -> list[str]:
        """What the provider saw last."""
        body = loads(self.provider.world.seen[-1].body)
        return [
            m["content"] if isinstance(m["content"], str) else m["content"][0]["text"]
            for m in body["messages"]
        ]


@pytest.fixture
def stage(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Stage]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with SimulatedServer(SimulatedServerState(remember=50)) as provider:
        yield Stage(window, qtbot, tmp_path, provider)
        window.proxies.close()
