"""`follow`: a line for every new request, soon; nothing twice; Ctrl+C is the end, not a failure."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inspector.cli.main import main
from inspector.core.jsontext import dumps
from inspector.core.session import Session
from inspector.transcripts.files import open_transcript
from tests.core.formats.feeding import DATA
from tests.shared import transcripts
from tests.transcripts.made import lines_of, record, write

LONG = 20
"""Seconds after which a test gives up."""


class Running:
    """A `follow` on its way."""

    def __init__(self, *words: str, home: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "inspector", "follow", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "HOME": str(home), "USERPROFILE": str(home)},
        )
        self.out: queue.Queue[str] = queue.Queue()
        self.notes: queue.Queue[str] = queue.Queue()
        pipes = ((self.process.stdout, self.out), (self.process.stderr, self.notes))
        self.pumps = [threading.Thread(target=self._pump, args=pipe, daemon=True) for pipe in pipes]
        for pump in self.pumps:
            pump.start()

    @staticmethod
    def _pump(stream: Any, lines: "queue.Queue[str]") -> None:
        for line in stream:
            lines.put(line)

    def next(self) -> dict[str, Any]:
        return dict(json.loads(self.out.get(timeout=LONG)))

    def note(self) -> str:
        return self.notes.get(timeout=LONG)

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(LONG)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Any]:
    running: list[Running] = []

    def start(*words: str) -> Running:
        running.append(Running(*words, home=tmp_path / "home"))
        return running[-1]

    yield start
    for one in running:
        one.process.kill()
        one.process.wait(LONG)
        for pump in one.pumps:
            pump.join(LONG)
        for stream in (one.process.stdout, one.process.stderr):
            assert stream is not None
            stream.close()


def append(path: Path, *lines: bytes) -> None:
    with path.open("ab") as file:
        file.writelines(lines)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT of a child")
def test_new_requests_one_line_each(tmp_path: Path, started: Any) -> None:
    path = write(tmp_path, lines_of(4))
    running = started(str(path), "--json")
    assert "2 requests" in running.note()
    append(path, record(4), record(5)[:60])
    append(path, record(5)[60:])
    told = running.next()
    assert (told["thread"], told["index"], told["reported"], told["kind"]) == (
        "main",
        2,
        50,
        "reported",
    )
    assert (told["tokens"], told["window"], told["ratio"]) == (50, 200_000, 0.00025)
    assert (told["time"], told["compactions"]) == ("2026-01-01T00:00:05.000Z", [])
    append(path, *(record(n) for n in range(6, 12)))
    assert [running.next()["index"] for _ in range(3)] == [3, 4, 5]
    assert running.end() == 0
    assert running.out.empty()


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT of a child")
def test_the_newest_of_a_project_and_the_next_one(tmp_path: Path, started: Any) -> None:
    folder = tmp_path / "home" / ".claude" / "projects" / "-home-dev-project"
    folder.mkdir(parents=True)
    write(folder, lines_of(4), "one.jsonl")
    other = write(
        folder,
        [line.replace(b"/home/dev/project", b"/home/dev/else") for line in lines_of(2)],
        "x.jsonl",
    )
    os.utime(other, (4e9, 4e9))
    running = started("--project", "/home/dev/project", "--json")
    assert "newest" in running.note()
    assert "one.jsonl" in running.note()
    assert "2 requests" in running.note()
    append(folder / "one.jsonl", record(4), record(5))
    assert running.next()["index"] == 2
    write(folder, [record(n, session="s2") for n in range(2)], "two.jsonl")
    assert "two.jsonl" in running.note()
    assert running.next()["index"] == 0
    assert running.end() == 0


def test_one_session_of_a_file_of_many(tmp_path: Path, started: Any) -> None:
    """The others grow, too, and are not told."""
    first, second = (
        (DATA / "harnesses/openhands-output.jsonl").read_bytes().splitlines(keepends=True)[:2]
    )
    path = tmp_path / "output.jsonl"
    path.write_bytes(first)
    held = open_transcript(DATA / "harnesses/openhands-output.jsonl").held
    following = started(str(path), "--session", "0", "--all", "--json")
    whole = open_transcript(path)
    assert [following.next()["index"] for _ in whole.main.requests] == [
        one.index for one in whole.main.requests
    ]
    append(path, second)
    other = started(str(path), "--session", held[1].id, "--all", "--json")
    assert other.next()["messages"] == len(open_transcript(f"{path}#1").main.requests[0].view)
    assert following.end() == 0
    assert following.out.empty()


def test_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["follow", "--project", str(tmp_path), "--session", "1"]) == 1
    assert "--session needs FILE" in capsys.readouterr().err
    assert main(["follow"]) == 2
    assert main(["follow", "a", "--project", "b"]) == 2
    capsys.readouterr()
    assert main(["follow", str(tmp_path / "none.jsonl")]) == 1
    assert "no file" in capsys.readouterr().err


def printed(
    sessions: list[Session],
    capsys: pytest.CaptureFixture[str],
    *,
    all: bool,  # noqa: A002
) -> list[dict[str, Any]]:
    from inspector.cli.follow import RequestPrinter

    printer = RequestPrinter(True, all, None)
    for session in sessions:
        printer.take(session)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_all_is_what_info_says(capsys: pytest.CaptureFixture[str]) -> None:
    for path in transcripts("clients/[cp]*autocompact.jsonl"):
        session = open_transcript(path)
        told = {(one["thread"], one["index"]): one for one in printed([session], capsys, all=True)}
        assert main(["info", str(path), "--json"]) == 0
        info = json.loads(capsys.readouterr().out)
        for request in info["requests"]:
            if request["index"] == len(info["requests"]) - 1 and request["reported"] is None:
                continue  # waits for its usage
            one = told["main", request["index"]]
            assert all(
                one[key] == request[key]
                for key in ("reported", "estimated", "calibrated", "tokens", "kind")
            )
        fired = [
            (n, c["kind"])
            for (thread, n), one in told.items()
            if thread == "main"
            for c in one["compactions"]
        ]
        last = len(info["requests"])
        known = [
            (c["before_request"], c["kind"])
            for c in info["compactions"]
            if c["before_request"] < last
        ]
        assert fired == known


def test_a_request_waits_for_its_usage_and_is_told_once_more_when_that_is_late(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from inspector.cli import follow as cli_follow

    monkeypatch.setattr(cli_follow, "SOON", 0.0)
    printer = cli_follow.RequestPrinter(True, True, None)
    value = json.loads(record(1))
    full = open_transcript(write(tmp_path, lines_of(2)))
    del value["message"]["usage"]
    bare = open_transcript(write(tmp_path, [record(0), dumps(value).encode() + b"\n"]))
    printer.take(bare)
    assert not capsys.readouterr().out
    printer.rest(0)
    assert json.loads(capsys.readouterr().out)["reported"] is None
    printer.take(full)
    again = json.loads(capsys.readouterr().out)
    assert (again["index"], again["reported"], again["revised"]) == (0, 10, True)
    printer.take(full)
    assert not capsys.readouterr().out


@pytest.mark.parametrize("as_json", [True, False])
def test_one_line_a_request_where_the_usage_comes_with_the_answers_of_the_tools(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    as_json: bool,
) -> None:
    """Codex writes it when the tools have run, however long that takes. In JSON that is waited for."""
    from inspector.cli import follow as cli_follow

    monkeypatch.setattr(cli_follow, "SOON", 0.0)
    source = next(transcripts("clients/codex*.jsonl"), None)
    if source is None:
        pytest.skip("no real transcripts on this machine")
    lines = source.read_bytes().splitlines(keepends=True)
    printer, told = cli_follow.RequestPrinter(as_json, True, None), []
    for count in range(2, len(lines) + 1):
        printer.take(open_transcript(write(tmp_path, lines[:count])))
        printer.rest(0)
        told += capsys.readouterr().out.splitlines()
    printer.print_waiting()
    told += capsys.readouterr().out.splitlines()
    requests = len(open_transcript(source).main.requests)
    if as_json:
        assert [json.loads(line)["index"] for line in told] == list(range(requests))
        assert all(json.loads(line)["reported"] for line in told[:-1])
    else:
        assert len(told) > requests  # people see it at once, and once more with its usage
