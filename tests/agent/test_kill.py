"""kill -9 at any moment: the journal opens, every command reads it, and the run goes on to its end.

A real process on a real workspace, started anew each time; the moments are drawn anew for each round, from one seed.
"""

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from inspector.__main__ import main
from inspector.agent.starting import copy_sample
from inspector.core.formats.detect import FORMATS
from inspector.simulated.demo import MODEL, TASK
from inspector.transcripts.files import open_transcript
from tests.warm import WarmProgram, WarmStarter

ROUNDS = 4
WINDOW = "40000"
"""Large enough for every step of the script, small enough for tiers to fire."""
MOST = 350_000
"""Bytes of the journal up to which it is killed; a whole one has more."""
LONGEST_S = 120.0


RUN = ("run", "--yes", "--json")


def _command(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def _new(folder: Path) -> list[str]:
    copy_sample(folder / "work")
    about = [
        "--provider",
        "simulated:responses",
        "--model",
        MODEL,
        "--window",
        WINDOW,
        "--set",
        "opaque_items=keep",
    ]
    return [*about, "--workspace", "work", "--task", TASK, "--record", "journal.jsonl"]


def _wait_for_size(journal: Path, size: int, process: WarmProgram) -> None:
    until = time.monotonic() + LONGEST_S
    while not process.is_over() and time.monotonic() < until:
        if journal.exists() and journal.stat().st_size >= size:
            return
        time.sleep(0.001)


def _read(capsys: pytest.CaptureFixture[str], journal: Path) -> tuple[int, int]:
    """(requests, messages of the buffer at the end). At most the last record is torn."""
    lines = journal.read_bytes().split(b"\n")
    assert all(json.loads(line) for line in lines[:-1])
    session = open_transcript(str(journal))
    assert session.format == "journal"
    assert all(problem.line == len(lines) for problem in session.problems)
    main = session.threads[0]
    assert len(_command(capsys, "info", str(journal))["requests"]) == len(main.requests)
    buffer = _command(capsys, "buffer", str(journal), "--at", "end")
    assert buffer["messages"][0]["parts"][0]["text"] == TASK
    return len(main.requests), len(buffer["messages"])


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_killed_and_resumed(
    tmp_path: Path, round_: int, warm: WarmStarter, capsys: pytest.CaptureFixture[str]
) -> None:
    """Killed, read, resumed, killed again, read, and resumed to the end: the tests of the sample pass."""
    assert "journal" in {one.name for one in FORMATS}
    dice, journal = random.Random(900 + round_), tmp_path / "journal.jsonl"
    arguments = _new(tmp_path)
    sizes = sorted(dice.randint(1, MOST) for _ in range(2))
    before = 0
    for size in sizes:
        process = warm.start(tmp_path, *RUN, *arguments)
        _wait_for_size(journal, size, process)
        time.sleep(dice.random() * 0.02)
        process.kill()
        process.wait()
        requests, _ = _read(capsys, journal)
        assert requests >= before
        before, arguments = requests, ["--resume", "journal.jsonl"]
    process = warm.start(tmp_path, *RUN, *arguments)
    process.wait()
    rows = [json.loads(row) for row in process.output.read_bytes().splitlines()]
    assert rows[-1]["end"] == "done", rows[-1]
    requests, _ = _read(capsys, journal)
    assert requests >= before
    passed = subprocess.run(
        [sys.executable, "-m", "unittest"], cwd=tmp_path / "work", capture_output=True, check=False
    )
    assert passed.returncode == 0


def test_every_beginning_of_a_journal_is_one(tmp_path: Path) -> None:
    """Cut at any byte, it opens with at most one problem: the record that was being written."""
    command = [sys.executable, "-m", "inspector", *RUN, *_new(tmp_path)]
    subprocess.run(command, cwd=tmp_path, timeout=LONGEST_S, capture_output=True, check=False)
    data = (tmp_path / "journal.jsonl").read_bytes()
    first = data.index(b"\n") + 1
    dice, cut = random.Random(5), tmp_path / "cut.jsonl"
    for at in sorted(dice.randint(first, len(data)) for _ in range(40)):
        cut.write_bytes(data[:at])
        session = open_transcript(str(cut))
        torn = not data[:at].endswith(b"\n")
        assert len(session.problems) <= torn
