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

from inspector.agent.controls import Breakpoints
from inspector.agent.demo import demo_plan
from inspector.agent.plan import Permissions
from inspector.agent.runner import Runner
from inspector.core.dialects.anthropic import write_body
from inspector.gui.proxies.connect_dialog import ConnectDialog
from inspector.gui.proxies.controller import Wanted
from inspector.gui.runs.controller import About, Begin, Run, Tell
from inspector.proxy.holds.hold import Rule
from inspector.resources import resource
from inspector.simulated.server import SimulatedServer
from inspector.simulated.state import SimulatedServerState
from inspector.transcripts.files import open_transcript

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


def _begin(folder: Path, permissions: Permissions) -> Begin:
    def begin(tell: Tell, breakpoints: Breakpoints) -> tuple[Run, About]:
        plan = demo_plan(folder, permissions, 0.0)
        runner = Runner(plan, tell, breakpoints)
        runner.start()
        who = (plan.provider, plan.model, plan.policy, plan.settings)
        return runner, About(plan.task, str(plan.record), str(plan.workspace), *who)

    return begin


def _state(stage: Stage, name: str) -> Callable[[], bool]:
    running = stage.window.runs.running
    return lambda: running.shown and running.standing is not None and running.standing.state == name


def _demo(stage: Stage, folder: Path, save: Save) -> None:
    """Stopped where the model has refused the buffer, right before L4; then at its end."""
    running = stage.window.runs.running
    running.break_at(Breakpoints(overflow=True))
    running.begin(_begin(folder, "always"))
    _until(stage, _state(stage, "paused"))
    stage.window.show_panel("Run")
    stage.window.show_panel("Events")
    _until(stage, lambda: True)
    save(stage.window.grab().toImage(), "17-paused")
    running.break_at(Breakpoints())
    running.go()
    _until(stage, _state(stage, "ended"))


def _question(stage: Stage, folder: Path, save: Save) -> None:
    """It would like to run a command."""
    running = stage.window.runs.running
    running.begin(_begin(folder, "ask"))
    _until(stage, _state(stage, "asking"))
    stage.window.show_panel("Run")
    _until(stage, lambda: True)
    save(stage.window.grab().toImage(), "18-asks")
    running.stop()
    _until(stage, _state(stage, "ended"))
    running.forget()


def _watch(stage: Stage, folder: Path, save: Save) -> None:
    """A conversation passes through the proxy; its last request is held and L1 tried on it."""
    proxying = stage.window.proxies.proxying
    thread = open_transcript(resource("sample.jsonl")).main
    with SimulatedServer(SimulatedServerState()) as provider:
        proxying.begin(Wanted(provider.url, str(folder / "recording.jsonl"), rule=Rule("watermark", 0.6, 170_000)))
        _until(stage, lambda: proxying.shown)
        watching = proxying.watching
        assert watching is not None
        bodies = [write_body(request.buffer(), "claude-sonnet-4-5", 1_000) for request in thread.requests[40:FULL:3]]
        agent = threading.Thread(target=_play, args=(watching.url, bodies), daemon=True)
        agent.start()
        _until(stage, lambda: proxying.holds)
        stage.window.show_panel("Proxy")
        stage.window.show_panel("Diff")
        stage.stepping.step("L1")
        _until(stage, lambda: stage.bench.state.stepped)
        save(stage.window.grab().toImage(), "19-held")
        dialog = ConnectDialog(stage.window, watching.url)
        dialog.show()
        _until(stage, lambda: True)
        save(dialog.grab().toImage(), "20-connect")
        dialog.close()
        for hold in proxying.holds:
            proxying.drop(hold)
        proxying.stop()
        agent.join(PATIENCE)


def _play(url: str, bodies: list[dict[str, object]]) -> None:
    import anthropic

    with anthropic.Anthropic(api_key="none", base_url=f"{url}/s/evening", max_retries=0) as agent:
        for body in bodies:
            try:
                with agent.messages.stream(**body) as told:  # type: ignore[arg-type]
                    told.until_done()
            except anthropic.APIError:  # the held one is dropped in the end
                return
