"""`step --save-steps` and `--export-pytest`: what they write is replayed, and run, elsewhere."""

import subprocess
import sys
from pathlib import Path

from inspector.cli import main as cli
from inspector.core.jsontext import loads
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from inspector.workbench.steps_file import place_of, replay_steps, source_of

SAMPLE = str(resource("sample.jsonl"))


def test_saved_steps_are_replayed_on_the_same_buffer(tmp_path: Path) -> None:
    path = tmp_path / "steps.json"
    assert cli.main(["step", SAMPLE, "--at", "79", "--tier", "L3b", "--save-steps", str(path)]) == 0
    document = loads(path.read_bytes())
    assert source_of(document).path == SAMPLE
    assert place_of(document) == ("main", 79)
    replay = replay_steps(document, open_transcript(SAMPLE).main.requests[79].buffer())
    assert not replay.elsewhere
    assert replay.steps.step is not None
    assert replay.steps.step.fired == ("L3b",)


def test_an_exported_test_runs(tmp_path: Path) -> None:
    path = tmp_path / "test_exported.py"
    words = [
        "step",
        SAMPLE,
        "--at",
        "end",
        "--tier",
        "L1",
        "--set",
        "mid_ratio=0.1",
        "--export-pytest",
        str(path),
    ]
    assert cli.main(words) == 0
    root = Path(__file__).resolve().parent.parent.parent
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", path.name],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr


def test_neither_is_written_over_a_file_unasked(tmp_path: Path) -> None:
    path = tmp_path / "there"
    path.write_text("mine", "utf-8")
    for option in ("--save-steps", "--export-pytest"):
        words = ["step", SAMPLE, "--tier", "L0", option, str(path)]
        assert cli.main(words) == 1
        assert path.read_text("utf-8") == "mine"
        assert cli.main([*words, "--force"]) == 0
        assert path.read_text("utf-8") != "mine"
        path.write_text("mine", "utf-8")


def test_the_state_is_written_over_the_one_before(tmp_path: Path) -> None:
    """Handed on from step to step in one file; what came out of it is not written over anything unasked."""
    state, out = tmp_path / "state.json", tmp_path / "out.jsonl"
    for at in ("20", "60"):
        assert (
            cli.main(["step", SAMPLE, "--at", at, "--tier", "L0", "--save-state", str(state)]) == 0
        )
        out.write_text(state.read_text("utf-8"), "utf-8")
    assert (
        cli.main(
            ["step", SAMPLE, "--state", str(state), "--save-state", str(state), "--tier", "L1"]
        )
        == 0
    )
    assert (
        cli.main(["step", SAMPLE, "--tier", "L0", "--output", str(out), "--save-state", str(state)])
        == 1
    )
    assert out.read_text("utf-8").startswith("{")


def test_the_transcript_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(Path(SAMPLE).read_bytes())
    for option in ("--output", "--save-state", "--save-steps", "--export-pytest"):
        assert cli.main(["step", str(path), "--tier", "L0", option, str(path), "--force"]) == 1
    assert path.read_bytes() == Path(SAMPLE).read_bytes()
