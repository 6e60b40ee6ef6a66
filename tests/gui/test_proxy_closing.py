"""Clients, and what becomes of a held request when the window, or the proxy, is closed."""

import subprocess
import sys
from typing import Never

import anthropic
import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox, QPlainTextEdit, QPushButton

from inspector.gui.proxies.dialog import COPIED, ConnectDialog
from inspector.proxy.clients import connections
from inspector.proxy.holds.hold import Rule
from inspector.transcripts.files import open_transcript
from tests.gui.hands import click
from tests.gui.proxy_stage import TOLD, Stage, stage
from tests.gui.test_edit import in_dialog
from tests.proxy.holding import Later

__all__ = ["stage"]


def test_two_agents_are_told_apart(stage: Stage) -> None:
    """By the tag of their launch; and another session is no sub-agent."""
    stage.begin(Rule("each"))
    calls = [
        stage.ask(TOLD, tag="one"),
        stage.ask([{"role": "user", "content": "elsewhere"}], tag="two"),
    ]
    stage.until(lambda: len(stage.panel.boxes) == 2)
    boxes = tuple(stage.panel.boxes.values())
    assert sorted(
        word for box in boxes for word in ("one", "two") if f" {word} " in box.who.text()
    ) == ["one", "two"]
    for box in boxes:
        click(box.as_it_was)
    for call in calls:
        call.result()
    stage.until(lambda: "1 other conversation" in stage.window.status.words.text())
    assert "sub-agent" not in stage.window.status.words.text()


def test_a_client_that_goes_away_is_shown(stage: Stage) -> None:
    stage.begin(Rule("each"))
    url = stage.status.url

    # Else it would be let go before that.
    says = {"x-stainless-read-timeout": "600", "x-stainless-timeout": "600"}

    def impatient() -> None:
        with anthropic.Anthropic(
            api_key="k", base_url=url, max_retries=0, timeout=3.0, default_headers=says
        ) as one:
            one.messages.create(model="claude-simulated", max_tokens=9, messages=TOLD)

    call = Later(impatient)
    stage.until(lambda: len(stage.panel.boxes) == 1)
    (box,) = stage.panel.boxes.values()
    stage.until(lambda: "closed the connection" in box.left.text())
    with pytest.raises(anthropic.APITimeoutError):
        call.result()
    click(box.drop)


def test_connect(stage: Stage) -> None:
    """Every client's line holds the address and the tag; copied with a click."""
    stage.begin()
    seen: list[str] = []

    def act(dialog: ConnectDialog) -> None:
        dialog.tag.setText("mine")
        for row in range(dialog.clients.count()):
            dialog.clients.setCurrentRow(row)
            texts = [one.toPlainText() for one in dialog.page.findChildren(QPlainTextEdit)]
            assert any("/s/mine" in text for text in texts)
            seen.extend(texts)
        dialog.clients.setCurrentRow(0)
        copy = dialog.page.findChildren(QPushButton)[0]
        click(copy)
        assert copy.text() == COPIED
        assert "ENABLE_TOOL_SEARCH" in QGuiApplication.clipboard().text()
        dialog.tag.setText("not a tag")
        assert "letters" in dialog.trouble.text()
        dialog.reject()

    in_dialog(stage.qtbot, ConnectDialog, act, stage.window.proxies.connect)
    assert len(seen) > 10


def test_every_client_is_told_of_with_its_tag() -> None:
    assert [one.name for one in connections("http://127.0.0.1:1")] == [
        "claude-code", "codex", "pi", "opencode", "gemini-cli", "mini-swe-agent", "llm", "aider",
        "anthropic-sdk", "openai-sdk",
    ]  # fmt: skip


def test_closing_asks_while_a_request_is_held(stage: Stage) -> None:
    stage.begin(Rule("each"))
    call = stage.ask()
    stage.box()

    def keep(box: QMessageBox) -> None:
        click(next(one for one in box.buttons() if "Keep" in one.text()))

    in_dialog(stage.qtbot, QMessageBox, keep, stage.window.close)
    assert stage.window.isVisible()
    (box,) = stage.panel.boxes.values()
    click(box.as_it_was)
    call.result()
    stage.until(lambda: not stage.status.busy)


CLIENT = """
import sys
import anthropic

said = [("user", "one"), ("assistant", "I did one"), ("user", "two")]
messages = [{"role": role, "content": text} for role, text in said]
with anthropic.Anthropic(api_key="k", base_url=sys.argv[1], max_retries=0) as client:
    with client.messages.stream(model="claude-simulated", max_tokens=300, messages=messages) as stream:
        message = stream.get_final_message()
print(message.stop_reason)
"""


def client_process(stage: Stage) -> "subprocess.Popen[str]":
    """A client in a process of its own, as an agent is."""
    command = [sys.executable, "-c", CLIENT, stage.status.url]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def forward(box: QMessageBox) -> None:
    click(next(button for button in box.buttons() if "Forward" in button.text()))


def test_window_when_it_is_closed_with_a_held_request_forwards_it_unchanged(stage: Stage) -> None:
    stage.provider.world.pause_s = 0.2  # the window waits for the whole answer
    stage.begin(Rule("each"))
    with client_process(stage) as client:
        stage.box()
        assert not stage.provider.world.seen
        in_dialog(stage.qtbot, QMessageBox, forward, stage.window.close)
        stage.until(lambda: client.poll() is not None)
        assert client.stdout is not None
        assert client.stderr is not None
        assert client.stdout.read() == "end_turn\n", client.stderr.read()
    assert client.returncode == 0
    assert stage.arrived() == ["one", "I did one", "two"]
    stage.until(lambda: not stage.window.isVisible())
    session = open_transcript(stage.record)
    assert session.main.requests[-1].usage is not None


def test_window_when_it_is_closed_twice_with_a_slow_answer_ends_it(stage: Stage) -> None:
    stage.provider.world.pause_s = 30
    stage.begin(Rule("each"))
    with client_process(stage) as client:
        stage.box()
        in_dialog(stage.qtbot, QMessageBox, forward, stage.window.close)
        assert stage.window.isVisible()
        stage.until(lambda: stage.provider.world.seen)

        def close_now(box: QMessageBox) -> None:
            click(next(button for button in box.buttons() if "Close now" in button.text()))

        in_dialog(stage.qtbot, QMessageBox, close_now, stage.window.close)
        stage.until(lambda: not stage.window.isVisible())
        stage.until(lambda: client.poll() is not None)
    assert client.returncode != 0


def test_proxy_when_it_is_stopped_with_a_held_request_forwards_it_unchanged(stage: Stage) -> None:
    stage.begin(Rule("each"))
    call = stage.ask(stream=True)
    stage.box()
    stage.window.proxies.stop()
    stage.until(lambda: not call.is_under_way)
    assert call.result()
    assert len(stage.arrived()) == 5
    stage.until(lambda: not stage.window.proxies.controller.is_finishing)
    with pytest.raises(anthropic.APIConnectionError):
        anthropic.Anthropic(api_key="k", base_url=stage.url, max_retries=0).messages.create(
            model="claude-simulated", max_tokens=300, messages=TOLD
        )


def test_a_start_that_falls_leaves_room_for_the_next(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = stage.window.proxies.controller

    def fall(*given: object, **named: object) -> Never:
        raise LookupError("nobody thought of this")

    with monkeypatch.context() as broken, stage.qtbot.captureExceptions() as caught:
        broken.setattr("inspector.gui.proxies.controller.LiveProxy", fall)
        proxy.begin(stage.provider.url, stage.record)
        assert stage.bench.state.proxy is not None
        stage.until(lambda: caught)
    assert [kind for kind, *_ in caught] == [LookupError]
    stage.until(lambda: stage.bench.state.proxy is None)
    stage.begin()
