"""A recording knows the window and the rule of holding that its proxy had, from its first line on."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from inspector.cli import main as cli
from inspector.core.formats.proxy.reader import ProxyReader
from inspector.core.tokens.windows import find_window
from inspector.proxy.holds.hold import Rule
from inspector.proxy.live_proxy import SIMULATED, LiveProxy
from inspector.simulated.server import SimulatedServer
from tests.proxy.raw import read_lines

BODY = {
    "model": "claude-fake",
    "max_tokens": 50,
    "messages": [{"role": "user", "content": "Say something."}],
}


def _ask(url: str) -> None:
    httpx2.post(f"{url}/v1/messages", json=BODY, timeout=60).raise_for_status()


@pytest.mark.parametrize(
    ("options", "told", "window"),
    [
        (["--window", "30k"], {"window": 30_000}, (30_000, "recorded")),
        (
            ["--window", "30k", "--pause-at", "60%", "--compact-with", "roku"],
            {
                "window": 30_000,
                "hold": {"kind": "watermark", "ratio": 0.6, "always": True, "compact_with": "roku"},
            },
            (30_000, "recorded"),
        ),
        (
            ["--pause-at", "0.9"],
            {"hold": {"kind": "watermark", "ratio": 0.9, "always": False}},
            (None, "unknown"),
        ),
        ([], {}, (None, "unknown")),
    ],
)
def test_the_command_writes_them_into_the_head(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    told: dict[str, Any],
    window: tuple[int | None, str],
) -> None:
    path = tmp_path / "r.jsonl"
    with SimulatedServer() as provider:
        command = [
            sys.executable,
            "-m",
            "inspector",
            "proxy",
            "--upstream",
            provider.url,
            "--record",
            str(path),
        ]
        proxy = subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert proxy.stdout is not None
        with proxy.stdout:
            _ask(proxy.stdout.readline().rpartition(" ")[2].strip())
            proxy.send_signal(signal.SIGINT)
            proxy.wait(60)
    head = read_lines(path)[0]
    assert {key: head[key] for key in ("window", "hold") if key in head} == told
    assert cli.main(["info", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["window"]
    assert (found["tokens"], found["source"]) == window


def test_another_rule_while_it_runs_is_known_from_there_on(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    watching = LiveProxy(SIMULATED, path, 0, Rule("watermark", 0.9, 50_000), lambda: None)
    try:
        _ask(watching.url)
        watching.set_rule(Rule("off", window=20_000))
        assert watching.holds.rule.window == 20_000
        _ask(watching.url)
    finally:
        watching.close()
    head, *rest = read_lines(path)
    assert (head["window"], head["hold"]["ratio"]) == (50_000, 0.9)
    (rule,) = [line for line in rest if line["type"] == "rule"]
    assert rule["window"] == 20_000
    assert "hold" not in rule
    reader = ProxyReader()
    for n, line in enumerate(read_lines(path), 1):
        reader.feed(n, line)
    session = reader.session()
    windows = [request.window for thread in session.threads for request in thread.requests]
    assert windows == [50_000, 20_000]
    assert find_window(session, session.threads[-1]).tokens == 20_000


def test_a_recording_that_begins_anew_knows_the_latest_rule(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    watching = LiveProxy(SIMULATED, path, 0, Rule("watermark", 0.9, 50_000), lambda: None)
    try:
        watching.set_rule(Rule("off", window=20_000))
        assert watching._server.recorder.settle()
        path.unlink()
        _ask(watching.url)
    finally:
        watching.close()
    head = read_lines(path)[0]
    assert head["window"] == 20_000
    assert "hold" not in head
