"""Policies over several sessions: the window's figures are those of the command line."""

from json import loads
from pathlib import Path

import pytest

from inspector.cli.main import main
from inspector.core.errors import Cancelled
from inspector.replay_files import compare_over_sessions
from inspector.resources import resource

POLICIES = ("roku", "none")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two recorded sessions with reported usage, and a file that holds none."""
    folder = tmp_path_factory.mktemp("sessions")
    lines = resource("sample.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    paths = []
    for name, count in (("first.jsonl", 90), ("second.jsonl", 160)):
        (folder / name).write_text("".join(lines[:count]), encoding="utf-8")
        paths.append(str(folder / name))
    (folder / "notes.jsonl").write_text("no session\n", encoding="utf-8")
    return [*paths, str(folder / "notes.jsonl")]


def test_figures_over_sessions_are_those_of_the_command_line(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    shares = list[float]()
    result = compare_over_sessions(files, POLICIES, lambda path, share: shares.append(share))
    assert main(["replay", *files, "--policy", "roku", "--policy", "none", "--json"]) == 0
    document = loads(capsys.readouterr().out)
    assert [summary.policy for summary in result.summaries] == ["recorded", *POLICIES]
    for summary, listed in zip(result.summaries, document["policies"], strict=True):
        assert summary.sessions == listed["sessions"] == 2
        assert summary.in_front == listed["in_front"]
        assert summary.cost is not None
        assert listed["cost"] == pytest.approx(summary.cost._asdict())
    assert dict(result.errors) == document["errors"]
    assert [Path(path).name for path, _ in result.errors] == ["notes.jsonl"]
    assert shares == sorted(shares)
    assert 0.5 < shares[-1] <= 1


def test_comparison_over_sessions_when_cancelled_ends(files: list[str]) -> None:
    with pytest.raises(Cancelled):
        compare_over_sessions(files, POLICIES, cancelled=lambda: True)
