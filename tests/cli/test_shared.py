"""Every real file at hand on the command line: an answer of the right shape, or one sentence. Never a traceback."""

import json
from pathlib import Path

import pytest

from inspector.cli import main as cli
from inspector.core.session import BEGINS_LATE
from tests.cli import schema
from tests.shared import TRANSCRIPTS, transcripts

FILES = [path for path in transcripts("**/*") if path.is_file()]
READ = ("claude-code/", "codex/", "pi/", "derived-payloads/anthropic/")
"""Folders whose transcripts must open."""


def names() -> list[str]:
    return [str(path.relative_to(TRANSCRIPTS)) for path in FILES] if TRANSCRIPTS else []


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = cli.main(words)
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    if status:
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert err.startswith("context-inspector: ")
    else:
        begins_late = BEGINS_LATE in json.loads(out)["notes"]
        assert err == (f"context-inspector: {BEGINS_LATE}\n" if begins_late else "")
        assert out.count("\n") == 1
    return status, out


@pytest.mark.skipif(not FILES, reason="no real transcripts on this machine")
@pytest.mark.parametrize("path", FILES, ids=names())
def test_info(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    """What the documents say is tested by tests/test_findings_shared.py."""
    status, out = answer(capsys, "info", str(path), "--json")
    if not status:
        schema.check(json.loads(out), schema.INFO)


@pytest.mark.skipif(not FILES, reason="no real transcripts on this machine")
def test_which_files_open(capsys: pytest.CaptureFixture[str]) -> None:
    closed = []
    for path, name in zip(FILES, names(), strict=True):
        if name.startswith(READ) and path.suffix == ".jsonl" and path.stat().st_size:
            status = cli.main(["calibrate", str(path), "--estimator", "roku"])
            capsys.readouterr()
            closed += [name] if status else []
    assert not closed
