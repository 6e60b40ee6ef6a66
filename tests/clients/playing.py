"""A play is put on the stage: in its own namespaces, in a folder that is the same each time, and what came of it."""

import json
import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.actor import INSTALLED, ROOT, Actor, Limits

STEP_S, PLAY_S = 90, 240
TASK = "Please look at src/parser.py and make the parser accept numbers."
WORK = {
    "README.md": "# Sample\n\nA small project.\nTODO: make the parser accept numbers.\n",
    "notes.txt": "first line of the notes\nsecond line of the notes\n",
    "src/parser.py": "def parse(text):\n    return text.split()\n"
    + "".join(f"# line {n} of the parser, which says nothing of interest\n" for n in range(60)),
}
_SPACES = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
"""No network but a loopback of its own; everything that is started there ends with its first process."""


@dataclass(frozen=True, slots=True)
class Wire:
    """One exchange as the provider saw it."""

    method: str
    path: str
    headers: dict[str, str]
    status: int
    received: bytes
    sent: bytes
    received_sha256: str
    sent_sha256: str


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a play: `statuses` and `stdout` a command each."""

    statuses: list[int | None]
    stdout: list[str]
    stderr: list[str]
    wire: list[Wire]
    folder: Path

    @property
    def recording(self) -> Path:
        """Where the proxy wrote."""
        return self.folder / "recording.jsonl"


def unshare() -> list[str] | None:
    """The command that makes the namespaces; None where this machine does not allow it."""
    tool = shutil.which("unshare")
    for more in ([], ["--map-root-user"]) if tool else ():
        command = [str(tool), *more, *_SPACES]
        if (
            subprocess.run(
                [*command, "true"], capture_output=True, check=False, timeout=30
            ).returncode
            == 0
        ):
            return command
    return None


def why_not(name: str) -> str:
    """Why a client cannot play; empty where it can."""
    if (INSTALLED / name / "done").is_file():
        return ""
    why = INSTALLED / name / "why"
    told = why.read_text(encoding="utf-8") if why.is_file() else "`make test-clients` installs it"
    return f"{name} is not installed: {told}"


def play(
    spaces: Sequence[str],
    folder: Path,
    actor: Actor,
    wire: str,
    *,
    simulate: Sequence[str] = (),
    proxy: Sequence[str] | None = None,
    pause_s: float = 0,
    limits: Limits | None = None,
    calls: Sequence[Sequence[str]] = (),
    at_once: bool = False,
) -> Played:
    """Put it on; `proxy` are the options of the proxy between, None: there is none.

    `calls`: other command lines than the actor's for the task; `at_once`: all together, each in a folder of its own.
    """
    dress = actor.dress(wire, limits)
    calls = calls or actor.calls(wire, TASK, limits)
    # In a parent of their own: what `ls -la` says of it follows from how many lie there, where files lie in memory.
    places = (
        [f"places/work-{n}" for n in range(len(calls))] if at_once else ["places/work"] * len(calls)
    )
    for name in ("tmp", "home", *places):
        (folder / name).mkdir(parents=True, exist_ok=True)
    files = {f"home/{k}": v for k, v in dress.files.items()}
    files |= {f"{place}/{k}": v for place in places for k, v in WORK.items()}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    node = str(Path(shutil.which("node") or "/usr/bin/node").parent)
    environment = {
        "PATH": f"{node}:/usr/bin:/bin",
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
    }
    environment |= {"LANG": "C.UTF-8", **dress.environment}
    steps = [
        {"command": list(one), "seconds": STEP_S, "folder": place}
        for one, place in zip(calls, places, strict=True)
    ]
    told = {
        "root": str(ROOT),
        "proxy": None if proxy is None else list(proxy),
        "pause_s": pause_s,
        "simulate": list(simulate),
        "steps": steps,
        "at_once": at_once,
        "environment": environment,
    }
    (folder / "play.json").write_text(json.dumps(told))
    stage = [*spaces, sys.executable, str(Path(__file__).with_name("stage.py")), str(folder)]
    done = subprocess.run(
        stage, cwd=ROOT, capture_output=True, text=True, timeout=PLAY_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return _played(folder, len(steps))


def _played(folder: Path, steps: int) -> Played:
    results = json.loads((folder / "result.json").read_text())
    lines = (folder / "wire.jsonl").read_text().splitlines()
    return Played(
        [one["status"] for one in results],
        [(folder / f"{n}.stdout").read_text(errors="replace") for n in range(steps)],
        [(folder / f"{n}.stderr").read_text(errors="replace") for n in range(steps)],
        [_wire(json.loads(line)) for line in lines],
        folder,
    )


def _wire(record: dict[str, Any]) -> Wire:
    received, sent = record["received"], record["sent"]
    return Wire(
        record["method"],
        record["path"],
        record["headers"],
        record["status"],
        b64decode(received["base64"]),
        b64decode(sent["base64"]),
        received["sha256"],
        sent["sha256"],
    )
