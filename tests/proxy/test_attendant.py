"""Held requests on the command line: by a policy, by a person who types, by nobody."""

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest

from inspector.cli.proxy import Attendant, add_arguments, hold_words, rule_of
from inspector.core.errors import InspectorError
from inspector.core.jsontext import loads
from inspector.proxy.holds.holds import Holds
from inspector.simulated.server import SimulatedServer
from tests.proxy.holding import Later, held_by, kinds, records, settled, until

LONG: list[Any] = [{"role": "user", "content": "Mend src/app.py, keep the port 8080."}]
for n in range(12):
    call = {
        "type": "tool_use",
        "id": f"t{n}",
        "name": "read_file",
        "input": {"path": f"src/m{n}.py"},
    }
    LONG += [
        {"role": "assistant", "content": [{"type": "text", "text": f"I look at {n}."}, call]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": f"t{n}", "content": "line of code\n" * 200}
            ],
        },
    ]
TOOLS: Any = [
    {
        "name": "read_file",
        "description": "reads",
        "input_schema": {"type": "object", "properties": {}},
    }
]


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(["--upstream", "http://127.0.0.1:1", "--record", "x", *words])


def ask(url: str) -> str:
    with anthropic.Anthropic(api_key="k", base_url=url, max_retries=0) as one:
        answer = one.messages.create(
            model="claude-simulated", max_tokens=300, messages=LONG, tools=TOOLS
        )
        return "".join(part.text for part in answer.content if part.type == "text")


@pytest.mark.parametrize("policy", ["roku", "pi", "codex", "opencode", "learn-claude-code"])
def test_by_a_policy(policy: str, simulated: SimulatedServer, tmp_path: Path) -> None:
    """What is due is done, the provider takes it, and it is smaller."""
    given = arguments("--pause-at", "0.5", "--window", "12000", "--compact-with", policy)
    gate = Holds(rule_of(given))
    Attendant(gate, given)
    with held_by(gate, simulated.url, tmp_path) as proxy:
        assert ask(proxy.url)
        told = settled(proxy, 0)
        asked = next(one for one in records(proxy) if one["type"] == "request")
        if "sent" in told:
            body = loads(simulated.world.seen[-1].body)
            assert len(str(body["messages"])) < asked["size"]
            assert body["tools"] == TOOLS
    assert "held watermark" in told
    if policy == "roku":
        assert "released changed" in told


def test_by_a_person(
    simulated: SimulatedServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed: Iterator[str] = iter(["s", "c", "d", "f", ""])
    asked: list[str] = []

    def person(prompt: str) -> str:
        asked.append(prompt)
        return next(typed)

    given = arguments("--pause-each", "--window", "12000")
    gate = Holds(rule_of(given))
    Attendant(gate, given, person)
    with held_by(gate, simulated.url, tmp_path) as proxy:
        assert ask(proxy.url)
        LONG.append({"role": "user", "content": "and now?"})
        try:
            with pytest.raises(anthropic.BadRequestError, match="Dropped"):
                ask(proxy.url)
            LONG[-1] = {"role": "user", "content": "and then?"}
            assert ask(proxy.url)
        finally:
            LONG.pop()
        assert "released changed" in kinds(proxy, 0)
        assert "released dropped" in kinds(proxy, 1)
        assert "released cut again" in kinds(proxy, 2)
    assert "[c]ompact with roku" in asked[0]
    shown = [row for row in capsys.readouterr().err.splitlines() if row.startswith(("│ ", "┆ "))]
    assert sum("line of code\\nline of code" in row for row in shown if row[2:3] == "-") > 3
    assert any(row[2:3] == "+" for row in shown)


def test_by_nobody_it_waits(simulated: SimulatedServer, tmp_path: Path) -> None:
    given = arguments("--pause-each")
    gate = Holds(rule_of(given))
    Attendant(gate, given)
    with held_by(gate, simulated.url, tmp_path) as proxy:
        call = Later(lambda: ask(proxy.url))
        (hold,) = until(gate.list)
        assert "forwarded unchanged in" in hold_words(hold)
        gate.release(hold.id)
        call.result()


def test_what_is_asked_for_must_make_sense() -> None:
    assert rule_of(arguments()) is None
    with pytest.raises(InspectorError, match="--pause-at"):
        rule_of(arguments("--compact-with", "roku"))
    with pytest.raises(InspectorError):
        Attendant(Holds(), arguments("--pause-each", "--compact-with", "nobody"))
    with pytest.raises(InspectorError):
        Attendant(
            Holds(), arguments("--pause-each", "--compact-with", "roku", "--set", "no_such=1")
        )
    with pytest.raises(SystemExit):
        arguments("--set", "novalue")
    add_arguments(argparse.ArgumentParser())


def test_the_command(simulated: SimulatedServer, tmp_path: Path) -> None:
    """From the shell: held, compacted, forwarded; told on stderr and in the recording."""
    record = tmp_path / "r.jsonl"
    words = [
        "proxy",
        "--upstream",
        simulated.url,
        "--record",
        str(record),
        "--pause-at",
        "50%",
        "--window",
        "12k",
    ]
    command = [sys.executable, "-m", "inspector", *words, "--compact-with", "roku", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        url = run.stdout.readline().decode().split()[-1]
        assert ask(url)
        line = loads(run.stdout.readline())
        assert line["status"] == 200
        run.terminate()
        told = run.stderr.read().decode()
        run.wait(60)
    assert "held (watermark): exchange 0" in told
    assert "messages, " in told
    assert "tokens (" in told.partition(" -> ")[2]
    assert b'"how":"changed"' in record.read_bytes()


def test_no_line_is_lost_where_it_is_stopped(simulated: SimulatedServer, tmp_path: Path) -> None:
    """Ctrl+C while the first exchange is being told: the line is printed all the same, then it ends."""
    words = ["proxy", "--upstream", simulated.url, "--record", str(tmp_path / "r.jsonl"), "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-m", "inspector", *words], stdout=pipe, stderr=pipe
    ) as run:
        assert run.stdout is not None
        url = run.stdout.readline().decode().split()[-1]
        assert ask(url)
        time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        lines = run.stdout.read().splitlines()
        assert run.wait(60) == 0
    assert [loads(line)["exchange"] for line in lines] == [0]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_proxy_when_ended_forwards_what_is_held_and_waits_for_its_answer(
    simulated: SimulatedServer, tmp_path: Path, ending: signal.Signals
) -> None:
    record = tmp_path / "r.jsonl"
    words = [
        "proxy",
        "--upstream",
        simulated.url,
        "--record",
        str(record),
        "--pause-each",
        "--json",
    ]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(
        [sys.executable, "-m", "inspector", *words], stdin=nothing, stdout=pipe, stderr=pipe
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        url = run.stdout.readline().decode().split()[-1]
        asked = Later(lambda: ask(url))
        while b"held (each)" not in run.stderr.readline():
            assert asked.is_under_way
        run.send_signal(ending)
        told = run.stderr.read().decode()
        (line,) = run.stdout.read().splitlines()
        assert run.wait(60) == 0
    assert asked.result()
    assert "waiting for the answers to 1 request; held requests are forwarded unchanged" in told
    assert loads(line)["status"] == 200
    assert b'"how":"as it was"' in record.read_bytes()
