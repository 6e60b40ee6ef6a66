"""What runs, in pictures: the demo with its brakes on, a question before a command, a request held at the proxy.

The window never rests while something is followed, so these scenes wait for what they want to show.
"""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication
from screenshots.guide import FULL
from screenshots.stage import Stage

from inspector.agent.starting import demo_plan
from inspector.agent.status import Breakpoints
from inspector.core.dialects.anthropic import write_anthropic_body
from inspector.gui.proxies.dialog import ConnectDialog
from inspector.proxy.holds.hold import Rule
from inspector.resources import resource
from inspector.simulated.server import SimulatedServer
from inspector.simulated.state import SimulatedServerState
from inspector.transcripts.files import open_transcript
from inspector.workbench.live import ProxyView

PATIENCE = 90.0
SETTLE_S = 1.5
"""Seconds in which the window catches up with what it follows."""
Save = Callable[[QImage, str], None]


def live(stage: Stage, folder: Path, save: Save) -> None:
    """All scenes. What they make lies in `folder`."""
    os.environ["XDG_DATA_HOME"] = str(folder)
    stage.set_up("dark")
    _demo(stage, folder / "demo", save)
    stage.window.theme.choose("light")
    _question(stage, folder / "asks", save)
    stage.window.theme.choose("dark")
    _watch(stage, folder, save)


def _until(stage: Stage, met: Callable[[], object], settle_s: float = SETTLE_S) -> None:
    """Let the window work until it is so, and a little longer. Raises TimeoutError."""
    end, since = time.monotonic() + PATIENCE, None
    while since is None or time.monotonic() < since + settle_s:
        QApplication.processEvents()
        time.sleep(0.01)
        since = since or (time.monotonic() if met() else None)
        if time.monotonic() > end:
            raise TimeoutError("the scene did not come about")


def _state(stage: Stage, name: str) -> Callable[[], bool]:
    def is_so() -> bool:
        state = stage.bench.state
        return state.run_is_open and state.run is not None and state.run.now.state == name

    return is_so


def _demo(stage: Stage, folder: Path, save: Save) -> None:
    """Stopped where the model has refused the buffer, right before L4; then at its end."""
    run = stage.window.runs.controller
    run.break_at(Breakpoints(overflow=True))
    run.begin(lambda: demo_plan(folder, "always", 0.0))
    _until(stage, _state(stage, "paused"))
    stage.window.show_panel("Run")
    _until(stage, lambda: True)
    save(stage.window.grab().toImage(), "17-paused")
    run.break_at(Breakpoints())
    run.go()
    _until(stage, _state(stage, "ended"))


def _question(stage: Stage, folder: Path, save: Save) -> None:
    """It would like to run a command."""
    run = stage.window.runs.controller
    run.begin(lambda: demo_plan(folder, "ask", 0.0))
    _until(stage, _state(stage, "asking"))
    stage.window.show_panel("Run")
    _until(stage, lambda: True)
    save(stage.window.grab().toImage(), "18-asks")
    run.stop()
    _until(stage, _state(stage, "ended"))
    run.forget()


def _watch(stage: Stage, folder: Path, save: Save) -> None:
    """A conversation passes through the proxy; its last request is held and L1 tried on it."""
    proxy = stage.window.proxies.controller
    thread = open_transcript(resource("sample.jsonl")).main
    with SimulatedServer(SimulatedServerState()) as provider:
        proxy.begin(provider.url, folder / "recording.jsonl", rule=Rule("watermark", 0.6, 170_000))
        _until(stage, lambda: stage.bench.state.proxy_is_open and _status(stage).url)
        url = _status(stage).url
        bodies = [
            write_anthropic_body(request.buffer(), "claude-sonnet-4-5", 1_000)
            for request in thread.requests[40:FULL:3]
        ]
        agent = threading.Thread(target=_play, args=(url, bodies), daemon=True)
        agent.start()
        _until(stage, lambda: _status(stage).holds)
        stage.window.show_panel("Diff")
        stage.stepping.step("L1")
        _until(stage, lambda: stage.bench.state.stepped)
        stage.window.show_panel("Proxy")
        _until(stage, lambda: True)
        save(stage.window.grab().toImage(), "19-held")
        dialog = ConnectDialog(stage.window, url)
        dialog.show()
        _until(stage, lambda: True)
        save(dialog.grab().toImage(), "20-connect")
        dialog.close()
        for hold in _status(stage).holds:
            proxy.drop(hold)
        _until(
            stage, lambda: not _status(stage).holds
        )  # otherwise the window asks before it closes
        proxy.stop()
        agent.join(PATIENCE)


def _status(stage: Stage) -> ProxyView:
    assert stage.bench.state.proxy is not None
    return stage.bench.state.proxy


def _play(url: str, bodies: list[dict[str, object]]) -> None:
    import anthropic

    with anthropic.Anthropic(api_key="none", base_url=f"{url}/s/evening", max_retries=0) as agent:
        for body in bodies:
            try:
                with agent.messages.stream(**body) as told:  # type: ignore[arg-type]
                    told.until_done()
            except anthropic.APIError:  # the held one is dropped in the end
                return
