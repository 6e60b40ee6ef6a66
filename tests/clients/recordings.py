"""What a recording says: line by line, and as our own commands read it."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.actor import ROOT


@dataclass(frozen=True, slots=True)
class Exchange:
    """One exchange: what was taken down of both sides."""

    path: str
    headers: dict[str, str]
    status: int
    ended: str
    received: str
    """The sum of what the client sent."""
    sent: str
    """The sum of what the provider sent; empty for the frames of a WebSocket."""
    frames: list[Any]


def exchanges(recording: Path) -> list[Exchange]:
    """All of them, in the order in which they began."""
    lines = [json.loads(line) for line in recording.read_text(encoding="utf-8").splitlines()]
    asked = {line["exchange"]: line for line in lines if line["type"] == "request"}
    answered = {line["exchange"]: line for line in lines if line["type"] == "response"}
    assert asked.keys() == answered.keys(), "every request has its answer, however it ended"
    return [_exchange(asked[n], answered[n]) for n in sorted(asked)]


def _exchange(asked: dict[str, Any], answered: dict[str, Any]) -> Exchange:
    headers = {name.lower(): value for name, value in asked["headers"]}
    sums = asked.get("sha256", ""), answered.get("sha256", "")
    return Exchange(
        asked["path"],
        headers,
        answered["status"],
        answered["ended"],
        *sums,
        answered.get("frames", []),
    )


def command(*words: str) -> Any:
    """One of our own commands, with `--json`."""
    call = [sys.executable, "-m", "inspector", *words, "--json"]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
