"""Every real file at hand on the command line: an answer of the right shape, or one sentence. Never a traceback."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from inspector.cli import main as cli
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
        assert err == ""
        assert out.count("\n") == 1
    return status, out


@pytest.mark.skipif(not FILES, reason="no real transcripts on this machine")
@pytest.mark.parametrize("path", FILES, ids=names())
def test_info_and_buffer(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    status, out = answer(capsys, "info", str(path), "--json")
    if status:
        return
    info = json.loads(out)
    schema.check(info, schema.INFO)
    count = len(info["requests"])
    for at in {"end", *(["0", str(count // 2), "-1"] if count else [])}:
        status, out = answer(capsys, "buffer", str(path), "--json", "--at", at)
        assert status == 0
        schema.check_buffer(json.loads(out))
    status, out = answer(capsys, "breakdown", str(path), "--json")
    assert status == 0
    found = json.loads(out)
    schema.check(found, schema.BREAKDOWN)
    buffer = json.loads(answer(capsys, "buffer", str(path), "--json")[1])
    shown = {one["name"]: one["tokens"] for one in found["tree"].get("children", ()) if one["name"] != "unseen"}
    assert (found["tokens"], shown) == (buffer["pressure"]["tokens"], buffer["pressure"]["categories"])


@pytest.mark.skipif(not FILES, reason="no real transcripts on this machine")
@pytest.mark.parametrize("path", FILES, ids=names())
def test_pins(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    status, out = answer(capsys, "pins", str(path), "--json")
    if status:
        return
    found = json.loads(out)
    schema.check(found, schema.PINS)
    for pin in found["pins"]:
        ends = [(span["from"], span["to"]) for span in pin["recorded"]]
        assert all(before[1] + 1 == after[0] for before, after in pairwise(ends))
        assert all(span["state"] in ("verbatim", "paraphrased", "gone") for span in pin["recorded"])
        assert not ends or ends[0][0] == pin["request"]


@pytest.mark.skipif(not FILES, reason="no real transcripts on this machine")
def test_which_files_open(capsys: pytest.CaptureFixture[str]) -> None:
    closed = []
    for path, name in zip(FILES, names(), strict=True):
        if name.startswith(READ) and path.suffix == ".jsonl" and path.stat().st_size:
            status = cli.main(["calibrate", str(path), "--estimator", "roku"])
            capsys.readouterr()
            closed += [name] if status else []
    assert not closed
