"""`context-inspector run`: the program itself, over HTTP to a provider of its own, with real tools."""

import os
import pty
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from inspector.cli import main as cli
from inspector.core.jsontext import loads
from inspector.core.session import Session
from inspector.core.tokens.pressure import known_pressures
from inspector.simulated.server import SimulatedServer
from inspector.simulated.state import SimulatedServerState
from inspector.transcripts.files import open_transcript

SAMPLE = Path(__file__).parent.parent / "data" / "codex" / "turns.jsonl"
Capture = pytest.CaptureFixture[str]
FIELDS = (
    "turn", "thread", "reported", "estimated", "calibrated", "predicted", "band", "believed", "tokens", "kind",
    "output", "window", "ratio", "fired", "tools", "finish", "text", "error",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace."""
    place = tmp_path / "workspace"
    place.mkdir()
    (place / "parser.py").write_text("def parse(text):\n    return text.split()\n")
    return place


def words(folder: Path, *more: str, task: str = "Look after the parser.") -> list[str]:
    """A run in `folder`, its journal beside it."""
    return [
        "run",
        "--task",
        task,
        "--workspace",
        str(folder),
        "--record",
        str(folder.parent / "run.jsonl"),
        *more,
    ]


def run(capsys: Capture, *words: str) -> tuple[int, str, str]:
    """(status, stdout, stderr)."""
    status = cli.main(words)
    out, err = capsys.readouterr()
    return status, out, err


def lines(out: str) -> list[dict[str, Any]]:
    """The lines of JSON."""
    return [loads(line.encode()) for line in out.splitlines()]


def journal(folder: Path) -> Session:
    """As every other command reads it."""
    return open_transcript(folder.parent / "run.jsonl")


def test_a_line_a_turn(capsys: Capture, folder: Path) -> None:
    status, out, err = run(capsys, *words(folder, "--yes"))
    assert (status, err) == (0, "")
    turns = [line for line in out.splitlines() if line.startswith("main")]
    assert len(turns) == len(journal(folder).main.requests) > 5
    assert all("reported" in line and "% of 200,000" in line for line in turns)
    assert "(simulated) That is done." in out
    assert (folder / "SIMULATED.md").exists()


def test_json(capsys: Capture, folder: Path) -> None:
    status, out, err = run(capsys, *words(folder, "--yes", "--json", "--window", "50k"))
    assert (status, err) == (0, "")
    *turns, end = lines(out)
    assert all(tuple(one) == FIELDS for one in turns)
    assert [one["turn"] for one in turns] == list(range(len(turns)))
    recorded = journal(folder).main.requests
    assert [one["reported"] for one in turns] == [
        one.usage.prompt if one.usage else None for one in recorded
    ]
    assert all(abs(one["ratio"] - one["reported"] / 50_000) < 1e-5 for one in turns)
    assert all((one["tokens"], one["kind"]) == (one["reported"], "reported") for one in turns)
    shown = known_pressures(journal(folder).main)
    before = [one.predicted.tokens if one.predicted else None for one in shown]
    assert [one["predicted"] for one in turns] == before, (
        "while it runs and in its journal: one measure"
    )
    assert before[0] is None
    assert all(before[1:])
    assert any(one["tools"] == ["read_file"] for one in turns)
    assert end["end"] == "done"
    assert end["turns"] == len(turns)


def test_its_journal_is_a_transcript_like_any_other(capsys: Capture, folder: Path) -> None:
    run(capsys, *words(folder, "--yes"))
    file = str(folder.parent / "run.jsonl")
    for command in ("info", "buffer", "calibrate", "step", "replay"):
        status, out, err = run(capsys, command, file, "--json")
        assert (status, err) == (0, ""), command
        assert loads(out.encode())
    info = loads(run(capsys, "info", file, "--json")[1].encode())
    assert info["format"] == "journal"
    assert info["window"]["source"] == "recorded"
    buffer = loads(run(capsys, "buffer", file, "--json")[1].encode())
    assert buffer["system"]
    assert {tool["name"] for tool in buffer["tools"]} >= {"read_file", "run_command", "task"}
    assert buffer["pressure"]["kind"] == "reported"


def test_without_a_terminal_nothing_is_written(capsys: Capture, folder: Path) -> None:
    status, _, _ = run(capsys, *words(folder))
    assert status == 0
    assert not (folder / "SIMULATED.md").exists()
    assert any(one.result and one.result.is_error for one in journal(folder).main.messages)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--provider", "nobody"), "Unknown answerer"),
        (("--provider", "anthropic", "--model", "claude-x"), "key"),
        (("--provider", "http://127.0.0.1:9", "--model", "m"), "connection"),
        (("--set", "no_such=1"), "no setting"),
        (("--workspace", "/nowhere/at/all"), "is not a folder"),
        (("--record", "/nowhere/run.jsonl"), "cannot be written"),
        (("--task", " "), "--task"),
        (("--max-turns", "2"), "--resume"),
        (("--fork", "no-such-file.jsonl"), "no-such-file"),
    ],
)
def test_expected_failures_are_one_sentence(
    capsys: Capture, folder: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], told: str
) -> None:
    from inspector.agent import plan

    monkeypatch.setattr(plan.RunLimits, "__init__", _hasty(plan.RunLimits.__init__))
    status, _, err = run(capsys, *words(folder), *more)
    assert status == 1
    assert told in err.splitlines()[-1]
    assert "Traceback" not in err


def _hasty(made: Any) -> Any:
    def init(self: Any, *given: Any, **named: Any) -> None:
        made(self, *given, **{"retries": 1, "backoff_s": 0.01, **named})

    return init


@pytest.mark.parametrize("more", ["?api_key=sk-hidden", "/v1#sk-hidden", "/v1?"])
@pytest.mark.parametrize("user", ["", "me:sk-hidden@"])
def test_a_providers_address_holds_no_key(
    capsys: Capture, folder: Path, user: str, more: str
) -> None:
    """One sentence that does not repeat it, before anything is written."""
    more_words = ("--provider", f"anthropic+http://{user}127.0.0.1:9{more}", "--model", "m")
    status, out, err = run(capsys, *words(folder), *more_words)
    assert (status, out) == (1, "")
    assert "not into the URL" in err.splitlines()[-1]
    assert "sk-hidden" not in err
    assert not (folder.parent / "run.jsonl").exists()


def test_a_journal_is_never_written_over(capsys: Capture, folder: Path) -> None:
    (folder.parent / "run.jsonl").write_text("mine")
    status, _, err = run(capsys, *words(folder))
    assert status == 1
    assert "exists" in err
    assert (folder.parent / "run.jsonl").read_text() == "mine"


def test_resume(capsys: Capture, folder: Path) -> None:
    assert run(capsys, *words(folder, "--max-turns", "3"))[0] == 1
    file = str(folder.parent / "run.jsonl")
    status, out, _ = run(capsys, "run", "--resume", file, "--json")
    assert status == 0
    assert lines(out)[0]["turn"] == 3
    status, _, err = run(capsys, "run", "--resume", file)
    assert status == 1
    assert "task" in err
    assert run(capsys, "run", "--resume", file, "--task", "Once more.")[0] == 0
    assert run(capsys, "run", "--resume", str(SAMPLE))[0] == 1


def test_fork(capsys: Capture, folder: Path) -> None:
    more = ("--fork", str(SAMPLE), "--at", "1")
    status, _, err = run(capsys, *words(folder, *more, task="Now look after the parser."))
    assert status == 0
    assert "tools" in err
    session = journal(folder)
    recorded = open_transcript(SAMPLE).main.requests[1].buffer()
    assert len(session.main.requests[0].view) == len(recorded.messages) + 1
    assert any("Forked from" in note for note in session.notes)


@pytest.mark.parametrize(("keep", "fires"), [("1", True), ("99", False)])
def test_policy_and_its_settings(capsys: Capture, folder: Path, keep: str, fires: bool) -> None:
    more = ("--policy", "roku", "--set", f"microcompact_retain_recent={keep}", "--yes", "--json")
    status, out, _ = run(capsys, *words(folder, *more))
    assert status == 0
    assert any("L0" in one.get("fired", ()) for one in lines(out)) == fires


# on a terminal, and stopped


@contextmanager
def program(words: list[str], **more: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """The program, ended after the test whatever happens."""
    with subprocess.Popen([sys.executable, "-m", "inspector", *words], **more) as process:
        ending = threading.Timer(120, process.kill)
        ending.start()
        try:
            yield process
        finally:
            process.kill()
            ending.cancel()


def test_permission_is_asked_for_on_the_terminal(folder: Path) -> None:
    """The diff is shown, `y` writes; whatever is not a clear yes does not."""
    ours, theirs = pty.openpty()
    with program(words(folder), stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown, asked = b"", 0
        while select.select([ours], [], [], 60)[0]:
            try:
                shown += os.read(ours, 4096)
            except OSError:  # the program has closed its end
                break
            if shown.count(b"[n]o: ") > asked:
                asked += 1
                os.write(ours, b"a\n" if b"SIMULATED.md" in shown else b"n\n")
        assert process.wait(60) == 0
    os.close(ours)
    assert asked >= 2
    assert b"Change the file parser.py" in shown or b"Write the new file SIMULATED.md" in shown
    assert (folder / "SIMULATED.md").exists()
    assert (folder / "parser.py").read_text() == "def parse(text):\n    return text.split()\n"


def test_interrupted_it_stops_and_the_journal_says_so(folder: Path) -> None:
    world = SimulatedServerState()
    world.faults.push("ok,hang:4")
    with SimulatedServer(world) as server:
        more = ("--provider", f"anthropic+{server.url}", "--model", "claude-simulated", "--json")
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with program(words(folder, *more), **pipes) as process:
            assert process.stdout is not None
            assert process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        assert process.returncode == 130
    assert b"Traceback" not in err
    assert "The run was stopped." in journal(folder).notes
