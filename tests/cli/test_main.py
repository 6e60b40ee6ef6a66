"""The command line as a user calls it: answers on stdout, diagnostics on stderr, exit status 0, 1 or 2."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inspector.__main__ import main
from inspector.cli import main as cli
from inspector.resources import resource
from tests.cli import schema

SAMPLE = str(resource("sample.jsonl"))
Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *words: str) -> tuple[int, str, str]:
    status = main(words)
    out, err = capsys.readouterr()
    return status, out, err


def document(capsys: Capture, *words: str) -> Any:
    """The one JSON document of a command that must succeed and say nothing else."""
    status, out, err = run(capsys, *words, "--json")
    assert (status, err) == (0, "")
    assert out.endswith("\n")
    assert out.count("\n") == 1
    return json.loads(out)


def sentence(capsys: Capture, *words: str) -> str:
    """The one sentence of a command that must fail as expected."""
    status, out, err = run(capsys, *words)
    assert (status, out) == (1, "")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


def payload(folder: Path, **body: Any) -> str:
    path = folder / "body.json"
    path.write_text(json.dumps(body), encoding="utf-8")
    return str(path)


# info


def test_info_has_the_shape_of_the_contract(capsys: Capture) -> None:
    schema.check(document(capsys, "info", SAMPLE), schema.INFO)


def test_info_tells_what_the_sample_holds(capsys: Capture) -> None:
    info = document(capsys, "info", SAMPLE)
    assert (info["format"], info["model"], info["thread"]) == (
        "claude-code",
        "claude-opus-4-5-20251101",
        "main",
    )
    assert info["window"] == {"tokens": 200_000, "source": "catalogue", "basis": "", "warnings": []}
    assert [request["index"] for request in info["requests"]] == list(range(len(info["requests"])))
    assert info["compactions"][0]["trigger"] == "auto"
    assert info["requests"][0]["cache_read"] == 14_982


def test_totals_count_every_call_of_every_thread_once(capsys: Capture) -> None:
    info = document(capsys, "info", SAMPLE)
    main_only, agent = info["totals_by_thread"].values()
    assert main_only["output"] == sum(request["output"] for request in info["requests"])
    assert main_only["cache_read"] == sum(request["cache_read"] for request in info["requests"])
    for name in ("calls", "input", "cache_read", "cache_write", "output"):
        assert info["totals"][name] == main_only[name] + agent[name]
    assert info["totals"]["cost_usd"] == pytest.approx(main_only["cost_usd"] + agent["cost_usd"])


def test_info_of_a_sub_agent(capsys: Capture) -> None:
    agent = document(capsys, "info", SAMPLE)["threads"][1]
    info = document(capsys, "info", SAMPLE, "--thread", agent["id"])
    assert info["thread"] == agent["id"]
    assert len(info["requests"]) == agent["requests"] > 5
    assert info["model"].startswith("claude-haiku")


def test_an_unknown_model_has_no_cost_and_no_window(capsys: Capture, tmp_path: Path) -> None:
    body = payload(
        tmp_path, model="nobody-knows-1", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
    )
    info = document(capsys, "info", body)
    assert info["window"] == {"tokens": None, "source": "unknown", "basis": "", "warnings": []}
    assert info["totals"]["cost_usd"] is None
    assert info["requests"][0]["reported"] is None


@pytest.mark.parametrize(
    ("words", "tokens"), [("1000", 1_000), ("200k", 200_000), ("1m", 1_000_000), ("1_000", 1_000)]
)
def test_the_window_can_be_set(capsys: Capture, words: str, tokens: int) -> None:
    window = document(capsys, "info", SAMPLE, "--window", words)["window"]
    assert (window["tokens"], window["source"]) == (tokens, "user")


def test_a_window_that_cannot_be_is_warned_of(capsys: Capture) -> None:
    assert document(capsys, "info", SAMPLE, "--window", "1000")["window"]["warnings"]


def test_info_for_people(capsys: Capture) -> None:
    status, out, err = run(capsys, "info", SAMPLE)
    assert (status, err) == (0, "")
    for words in (
        "format",
        "claude-code",
        "200,000 tokens (catalogue)",
        "153,212",
        "Explore: Map rounding",
    ):
        assert words in out


def test_of_many_threads_people_see_the_first_and_the_largest(
    capsys: Capture, tmp_path: Path
) -> None:
    def span(number: int, agent: int) -> dict[str, Any]:
        told = {
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": 500,
            "gen_ai.prompt": f"task {agent}",
        }
        ids = {
            "context": {"trace_id": f"{agent}", "span_id": f"{number}"},
            "parent_id": f"agent {agent}",
        }
        return {
            "name": "chat",
            **ids,
            "attributes": told,
            "start_time": f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z",
        }

    spans = [span(n, min(n, 200)) for n in range(204)]
    file = tmp_path / "spans.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in spans))
    threads = document(capsys, "info", str(file))["threads"]
    assert len(threads) == 201
    largest = max(threads, key=lambda one: one["requests"])
    assert largest["requests"] == 4
    _, out, _ = run(capsys, "info", str(file))
    _, *rows = out.partition("threads:\n")[2].partition("\n\n")[0].splitlines()
    assert [row.split()[0] for row in rows[:3]] == [one["id"] for one in threads[:3]]
    assert largest["id"] in [row.split()[0] for row in rows]
    assert len(rows) == 61
    assert rows[-1].split()[:3] == ["and", "141", "more"]


# buffer


def test_buffer_has_the_shape_of_the_contract(capsys: Capture) -> None:
    for at in ("0", "12", "-1", "end"):
        schema.check_buffer(document(capsys, "buffer", SAMPLE, "--at", at))


def test_buffer_is_that_of_the_last_request_unless_told(capsys: Capture) -> None:
    last = document(capsys, "buffer", SAMPLE)
    assert last == document(capsys, "buffer", SAMPLE, "--at", "-1")
    assert last["pressure"]["kind"] == "reported"
    assert last["pressure"]["ratio"] == round(last["pressure"]["tokens"] / 200_000, 6)


def test_end_holds_what_came_after_the_last_request(capsys: Capture) -> None:
    last, end = (
        document(capsys, "buffer", SAMPLE),
        document(capsys, "buffer", SAMPLE, "--at", "end"),
    )
    assert end["request"] == "end"
    assert end["messages"][: len(last["messages"])] == last["messages"]
    assert len(end["messages"]) > len(last["messages"])
    pressure = end["pressure"]
    assert pressure["kind"] == "predicted"
    assert pressure["band"][0] < pressure["tokens"] < pressure["band"][1]


def test_buffers_grow_until_the_compaction(capsys: Capture) -> None:
    before = document(capsys, "buffer", SAMPLE, "--at", "78")
    after = document(capsys, "buffer", SAMPLE, "--at", "79")
    assert len(after["messages"]) < 10 < len(before["messages"])
    assert after["messages"][0]["summary"] is True


def test_a_payload_brings_system_and_tools(capsys: Capture, tmp_path: Path) -> None:
    tool = {"name": "f", "description": "d", "input_schema": {"type": "object"}}
    messages = [{"role": "user", "content": "hi"}]
    body = payload(
        tmp_path, model="m", max_tokens=9, system="Be kind.", tools=[tool], messages=messages
    )
    buffer = document(capsys, "buffer", body)
    assert (buffer["system"], buffer["tools"]) == ("Be kind.", [tool])
    assert document(capsys, "buffer", SAMPLE)["system"] is None
    assert document(capsys, "buffer", SAMPLE)["tools"] is None


def test_validity_is_told(capsys: Capture, tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]}
    ]
    found = document(
        capsys, "buffer", payload(tmp_path, model="m", max_tokens=9, messages=messages)
    )["validity"]
    schema.check(found, schema.BUFFER["validity"])
    assert "result-without-call" in [one["rule"] for one in found]


def test_buffer_for_people_shows_no_control_characters(capsys: Capture, tmp_path: Path) -> None:
    body = payload(
        tmp_path, model="m", max_tokens=9, messages=[{"role": "user", "content": HOSTILE}]
    )
    _, out, _ = run(capsys, "buffer", body)
    assert "bell" in out
    assert not drives_a_terminal(out)


HOSTILE = "red \x1b[31m bell \x07 override \u202e c1 \x9b end"


def drives_a_terminal(text: str) -> list[str]:
    return [char for char in text if char != "\n" and (ord(char) < 32 or char in "\x7f\x9b\u202e")]


@pytest.mark.parametrize("key", ["timestamp", "stop_reason", "model", "name"])
def test_no_value_of_a_transcript_drives_the_terminal(
    key: str, capsys: Capture, tmp_path: Path
) -> None:
    text, path = Path(SAMPLE).read_text(encoding="utf-8"), tmp_path / "odd.jsonl"
    hostile = json.dumps(HOSTILE)[1:-1]
    path.write_text(
        re.sub(rf'("{key}": ?")', lambda found: found[0] + hostile, text), encoding="utf-8"
    )
    for command in ("info", "buffer", "breakdown", "cost", "lost", "pins", "calibrate"):
        status, out, err = run(capsys, command, str(path))
        assert (status, drives_a_terminal(out + err)) == (0, []), command


def test_json_is_json_whatever_the_transcript_holds(capsys: Capture, tmp_path: Path) -> None:
    deep = "[" * 190 + "]" * 190
    odd = '{"nan": NaN, "big": 123456789012345678901234567890, "huge": 1e999, "\\ud800": "\\udfff", "deep": DEEP}'
    call = '{"type": "tool_use", "id": "t1", "name": "f", "input": ODD}'.replace(
        "ODD", odd.replace("DEEP", deep)
    )
    body = '{"model": "m", "max_tokens": 9, "messages": [{"role": "assistant", "content": [CALL]}]}'
    path = tmp_path / "odd.json"
    path.write_text(body.replace("CALL", call), encoding="utf-8")
    _, out, _ = run(capsys, "buffer", str(path), "--at", "end", "--json")

    def refuse(word: str) -> None:
        raise AssertionError(word)

    arguments = json.loads(out, parse_constant=refuse)["messages"][0]["parts"][0]["arguments"]
    assert arguments["nan"] is None
    assert arguments["huge"] == sys.float_info.max
    assert arguments["big"] == float(123456789012345678901234567890)


# selection


@pytest.mark.parametrize("at", ["132", "-133", "999999999999999999999"])
def test_a_request_that_is_not_there(capsys: Capture, at: str) -> None:
    assert "from 0 to 131" in sentence(capsys, "buffer", SAMPLE, "--at", at)


def test_a_thread_that_is_not_there(capsys: Capture) -> None:
    assert "'nobody'; this session has main, " in sentence(
        capsys, "info", SAMPLE, "--thread", "nobody"
    )


def test_files_that_are_none(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "prose").write_text("Dear diary,\n", encoding="utf-8")
    for name in ("", "none", "empty", "binary", "prose"):
        for command in ("info", "buffer", "calibrate"):
            assert str(tmp_path) in sentence(capsys, command, str(tmp_path / name))


def test_the_format_can_be_overruled(capsys: Capture, tmp_path: Path) -> None:
    assert document(capsys, "info", SAMPLE, "--format", "claude-code")["format"] == "claude-code"


WRONG = [
    ["info"],
    ["info", SAMPLE, "--at", "first"],
    ["info", SAMPLE, "--format", "word"],
    ["info", SAMPLE, "--policy", "no-such-policy"],
    ["info", SAMPLE, "--set", "novalue"],
    ["info", SAMPLE, "--window", "0"],
    ["info", SAMPLE, "--window", "many"],
    ["info", SAMPLE, "--verbose"],
    ["info", SAMPLE, "--js"],
    ["buffer", SAMPLE, "another"],
    ["calibrate", SAMPLE, "--estimator", "gut-feeling"],
    ["estimate", "--encoding", "utf-8"],
    ["sessions", "--limit", "0"],
    ["--frobnicate"],
    ["run", SAMPLE],
    ["run", "--task", "x", "--max-turns", "0"],
    ["run", "--resume", "a", "--fork", "b"],
    ["one.jsonl", "two.jsonl"],
]


@pytest.mark.parametrize(
    "words", WRONG, ids=[" ".join(Path(word).name for word in words) for words in WRONG]
)
def test_wrong_usage_is_2(capsys: Capture, words: list[str]) -> None:
    status, out, err = run(capsys, *words)
    assert (status, out) == (2, "")
    assert err
    assert "Traceback" not in err


def test_settings_of_a_policy_are_taken_everywhere(capsys: Capture) -> None:
    """Those of another policy are not for this one, and no fault: one line of options serves all commands."""
    words = (
        "--policy",
        "roku",
        "--set",
        "context_window_tokens=1000",
        "--set",
        "COMPACT_TRIGGER=0",
    )
    assert document(capsys, "info", SAMPLE, *words)["requests"]


@pytest.mark.parametrize(
    "words", [["--help"], ["info", "--help"], ["buffer", "-h"], ["sessions", "-h"], ["--version"]]
)
def test_help_is_on_stdout(capsys: Capture, words: list[str]) -> None:
    status, out, err = run(capsys, *words)
    assert (status, err) == (0, "")
    assert "context-inspector" in out


def test_every_command_stands_in_the_help(capsys: Capture) -> None:
    out = run(capsys, "--help")[1]
    assert all(name in out for name in cli.COMMANDS)


def test_the_window_is_asked_for_a_file_that_is_there(capsys: Capture) -> None:
    assert "'nothing.jsonl'" in sentence(capsys, "nothing.jsonl")


def test_no_display_is_a_sentence(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert "no display" in sentence(capsys)


# calibrate, estimate, sessions


def test_calibrate_has_the_shape_of_the_contract(capsys: Capture) -> None:
    schema.check(document(capsys, "calibrate", SAMPLE), schema.CALIBRATE)


def test_calibrate_by_chosen_estimators_in_their_order(capsys: Capture) -> None:
    found = document(capsys, "calibrate", SAMPLE, "--estimator", "pi", "--estimator", "roku")[
        "estimators"
    ]
    assert [one["name"] for one in found] == ["pi", "roku"]


def test_calibration_samples_say_what_was_predicted(capsys: Capture) -> None:
    (roku,) = document(capsys, "calibrate", SAMPLE, "--estimator", "roku")["estimators"]
    first, second = roku["samples"][:2]
    assert first["predicted"] == first["estimated"]
    assert second["predicted"] == int(second["estimated"] * first["scale"] + 0.5)
    assert second["error"] == round(second["predicted"] / second["reported"] - 1, 6)


def test_calibrate_without_samples_has_no_figures(capsys: Capture, tmp_path: Path) -> None:
    body = payload(tmp_path, model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}])
    for fit in document(capsys, "calibrate", body)["estimators"]:
        assert fit["samples"] == []
        assert fit["r2"] is fit["slope"] is fit["overhead"] is fit["median_abs_error"] is None


ESTIMATES = [
    ("", [], "text", 0),
    ("hello world", [], "text", 3),
    ("你好世界", [], "cjk", 4),
    ('{"a": 1}', [], "structured", 4),
    ("hello world", ["--estimator", "tiktoken"], "text", 2),
    ("hello world", ["--estimator", "tiktoken", "--encoding", "cl100k_base"], "text", 2),
    ("hello world", ["--estimator", "chars4"], "text", 3),
    ("hello world", ["--estimator", "learn-claude-code"], "text", 2),
]


@pytest.mark.parametrize(("text", "words", "kind", "tokens"), ESTIMATES)
def test_estimate(
    capsys: Capture, tmp_path: Path, text: str, words: list[str], kind: str, tokens: int
) -> None:
    path = tmp_path / "text"
    path.write_text(text, encoding="utf-8")
    found = document(capsys, "estimate", str(path), *words)
    schema.check(found, schema.ESTIMATE)
    assert (found["class"], found["tokens"], found["bytes"]) == (kind, tokens, len(text.encode()))


def test_estimate_of_a_missing_file(capsys: Capture) -> None:
    assert "no/such/file" in sentence(capsys, "estimate", "no/such/file")


def test_sessions_are_found_under_home(capsys: Capture, home: Path) -> None:
    assert document(capsys, "sessions") == {"sessions": []}
    folder = home / ".claude" / "projects" / "ledger"
    folder.mkdir(parents=True)
    (folder / "one.jsonl").write_bytes(Path(SAMPLE).read_bytes())
    found = document(capsys, "sessions")
    schema.check(found, schema.SESSIONS)
    assert found["sessions"][0]["format"] == "claude-code"
    assert "one.jsonl" in run(capsys, "sessions")[1]


# as a process


def process(*words: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-W", "error", "-m", "inspector", *words]
    return subprocess.run(command, capture_output=True, timeout=60, check=False, **more)


def test_stdout_is_utf8_under_any_locale() -> None:
    environment = {
        **os.environ,
        "LANG": "C",
        "LC_ALL": "C",
        "PYTHONIOENCODING": "ascii",
        "PYTHONUTF8": "0",
    }
    done = process("buffer", SAMPLE, env=environment)
    assert done.returncode == 0, done.stderr
    assert "支付宝" in done.stdout.decode("utf-8")


def test_a_text_from_a_pipe() -> None:
    done = process("estimate", "-", "--json", input="你好".encode() + b"\xff")
    assert json.loads(done.stdout)["class"] == "cjk"


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = [sys.executable, "-m", "inspector", "buffer", SAMPLE, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.read(10)
        child.stdout.close()
        said = child.stderr.read()
        assert (child.wait(60), said) == (0, b"")


def test_garbage_when_a_command_answers_once_is_collected_less_often_than_by_one_that_lasts() -> (
    None
):
    code = "import gc; from inspector.__main__ import main; main(); print(gc.get_threshold()[0])"
    thresholds = {}
    for name in ("lost", "follow"):
        command = [sys.executable, "-c", code, name, "--help"]
        done = subprocess.run(command, capture_output=True, timeout=60, check=True)
        thresholds[name] = int(done.stdout.split()[-1])
    assert thresholds["lost"] > 10 * thresholds["follow"]


def test_no_window_and_no_sdk_is_imported() -> None:
    code = (
        "import sys; from inspector.cli import main as cli; cli.main(['info', sys.argv[1], '--json']);"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, SAMPLE], capture_output=True, timeout=60, check=True
    )
    loaded = set(done.stderr.decode().split())
    assert "inspector" in loaded
    assert not loaded & {
        "PySide6",
        "pyqtgraph",
        "numpy",
        "anthropic",
        "openai",
        "tiktoken",
        "aiohttp",
    }
