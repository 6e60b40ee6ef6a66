"""The status line of Claude Code: from the client's JSON, a small index, and at most the end of the transcript."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inspector import statusline
from inspector.__main__ import main
from inspector.cli.beside.statusline import refresh_index
from inspector.resources import resource

SAMPLE = resource("sample.jsonl")
USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 121_990,
    "output_tokens": 5,
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration folder without anything in it, and no process that is started."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(statusline, "start_refresh", lambda transcript: None)
    return tmp_path


def show(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], status: Any
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(status).encode())))
    code = main(["statusline"])
    out, err = capsys.readouterr()
    return code, out, err


def test_line_after_a_refresh_has_pressure_requests_to_the_measured_trigger_and_rules(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status: dict[str, Any] = {
        "transcript_path": str(SAMPLE),
        "context_window": {"context_window_size": 200_000},
    }
    assert show(monkeypatch, capsys, status) == (0, "61%\n", "")
    index = refresh_index(str(SAMPLE))
    assert (index["trigger"], index["observed"], index["window"]) == (153_212, True, 200_000)
    (kept,) = Path(statusline.index_folder()).iterdir()
    assert set(json.loads(kept.read_text("utf-8"))) <= {*index}
    _, line, _ = show(monkeypatch, capsys, status)
    assert line == "61% · about 22 requests to compaction · 1 rule at risk\n"
    status["context_window"]["current_usage"] = USAGE | {"cache_read_input_tokens": 153_300}
    assert show(monkeypatch, capsys, status)[1] == "77% · compaction is due · 1 rule at risk\n"


def test_index_of_a_longer_file_is_not_used(home: Path) -> None:
    transcript = home / "s.jsonl"
    transcript.write_bytes(SAMPLE.read_bytes())
    refresh_index(str(transcript))
    assert statusline.read_index(str(transcript))["requests"] == 132
    transcript.write_bytes(b"")
    assert statusline.read_index(str(transcript)) == {}
    assert statusline.status_words({}, str(transcript), {}) == "no request yet"


@pytest.mark.parametrize("status", [None, [], {}, {"transcript_path": 7}])
def test_other_input_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], status: Any
) -> None:
    code, out, err = show(monkeypatch, capsys, status)
    assert (code, out, err.count("\n")) == (1, "", 1)


def test_line_reads_only_the_end_of_a_large_transcript_and_loads_the_standard_library_only(
    home: Path,
) -> None:
    transcript = home / "large.jsonl"
    record = json.dumps({"type": "assistant", "message": {"usage": USAGE}}).encode()
    with transcript.open("wb") as file:
        file.seek(100_000_000)  # a hole: nothing of it is written
        file.write(b"\n" + record + b"\n")
    refreshed = Path(statusline.index_path(str(transcript)))
    refreshed.parent.mkdir(parents=True)
    refreshed.write_text(
        json.dumps({"bytes": transcript.stat().st_size, "window": 200_000}), "utf-8"
    )
    code = (
        "import sys; from inspector.__main__ import main; main(['statusline']); "
        "print([name for name in sys.modules if name.startswith(('inspector.c', 'inspector.s', 'orjson'))])"
    )
    status = json.dumps({"transcript_path": str(transcript)})
    done = subprocess.run(
        [sys.executable, "-c", code], input=status, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["61%", "['inspector.statusline']"]
