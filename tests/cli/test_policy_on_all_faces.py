"""One policy, by default Roku, on every command: its own count of a request is the same number everywhere."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.cli import main as cli
from inspector.cli.follow import RequestPrinter
from inspector.cli.proxy import Exchanges
from inspector.core.policies.catalogue import DEFAULT_POLICY, POLICIES
from inspector.core.policies.place import believed_at
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from inspector.workbench.policy_input import context_of, policy_of
from inspector.workbench.pressure.gauge import beliefs
from inspector.workbench.workbench import Workbench
from tests.core.formats.feeding import DATA
from tests.core.formats.recordings import Recording, assistant, body, said, text, user

SAMPLE = resource("sample.jsonl")
AT = 60


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def answer(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    status = cli.main([*map(str, words), "--json"])
    out = capsys.readouterr()
    assert status == 0, out.err
    return json.loads(out.out)


def followed(capsys: pytest.CaptureFixture[str], policy: str) -> Any:
    printer = RequestPrinter(json=True, everything=True, window=None, policy=POLICIES[policy])
    printer.take(open_transcript(SAMPLE))
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def shown_in_the_window(policy: str) -> tuple[int, int]:
    """The belief of the gauge at the request, and that of the verdicts."""
    bench = Workbench()
    bench.open(open_transcript(SAMPLE))
    bench.stepping.choose(policy=policy)
    bench.move(AT)
    return beliefs(bench.state).tokens[AT], policy_of(bench.state).believed(context_of(bench.state))


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_count_of_a_policy_is_the_same_on_every_face(
    policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--policy", policy, "--at", AT)
    count = answer(capsys, "info", SAMPLE, *words)["requests"][AT]["believed"]
    assert answer(capsys, "buffer", SAMPLE, *words)["pressure"]["believed"] == count
    assert answer(capsys, "step", SAMPLE, *words)["before"]["calibrated"] == count
    assert followed(capsys, policy)[AT]["believed"] == count
    assert shown_in_the_window(policy) == (count, count)


@pytest.mark.parametrize("command", ["info", "buffer", "step"])
@pytest.mark.parametrize("name", ["claude_code/plain.jsonl", "codex/turns.jsonl", "pi/v1.jsonl"])
def test_policy_of_a_session_of_any_harness_is_roku_by_default(
    command: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = DATA / name
    by_default = answer(capsys, command, path)
    assert by_default == answer(capsys, command, path, "--policy", DEFAULT_POLICY)
    assert by_default != answer(capsys, command, path, "--policy", "opencode")


@pytest.mark.parametrize("name", [DEFAULT_POLICY, "pulse"])
def test_proxy_counts_by_the_policy_that_was_chosen(name: str) -> None:
    recording, messages = Recording(), [user("Read all of it.")]
    for tokens in (400, 900, 1_300):
        answer = said(text("word " * 300), tokens=tokens)
        recording.reply(recording.ask(body(messages)), answer)
        messages = [*messages, assistant(answer), user("Go on.")]
    exchanges = Exchanges(None, POLICIES[name])
    told = [one for line in recording.records for one in exchanges.take(line)]
    session = recording.session()
    settings = POLICIES[name].settings()
    expected = [believed_at(POLICIES[name], settings, session.main, at) for at in range(3)]
    assert [one["believed"] for one in told] == expected
