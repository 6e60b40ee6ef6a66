"""Logs of harnesses and benchmarks: what each call was sent, what was reported of it, many sessions in one file."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from inspector.core.errors import NothingToRead
from inspector.core.formats.detect import FORMATS, detect
from inspector.core.formats.format import Head
from inspector.core.message import Thinking
from inspector.core.session import Session, Thread
from inspector.transcripts.files import find_session_path, open_transcript
from inspector.transcripts.follow import Follower
from tests.core.formats.feeding import DATA, check, deep, laid_out, records, spoilt, told

HERE = DATA / "harnesses"
SAMPLES = {
    "mini-swe-agent.traj.json": "mini-swe-agent",
    "swe-agent.traj": "swe-agent",
    "swe-agent-query.traj": "swe-agent",
    "inspect.json": "inspect",
    "atif/trajectory.json": "atif",
    "atif-traces.json": "atif-traces",
    "tau-bench.json": "tau-bench",
    "openhands.json": "openhands",
    "openhands-output.jsonl": "openhands",
    "openhands-v1.jsonl": "openhands-v1",
    "openhands-log/acorn__oak-2-1767225600.125.json": "openhands-log",
}


def opened(name: str, wanted: str = "") -> Session:
    return open_transcript(find_session_path(HERE / name, wanted) if wanted else HERE / name)


def buffers(thread: Thread) -> list[list[str]]:
    """What stood in the buffer of each request: role and beginning of each message, results by what they say."""
    return [[said(message) for message in request.view] for request in thread.requests]


def said(message: Any) -> str:
    text = message.result.content if message.result else message.text
    return f"{message.role}: {text}" + "".join(f" [{call.name}]" for call in message.calls)


def prompts(thread: Thread) -> list[tuple[int, int, int] | None]:
    """(prompt, of it read from the cache, output) of each request."""
    used = (request.usage for request in thread.requests)
    return [(one.prompt, one.cache_read, one.output) if one else None for one in used]


def values(name: str) -> list[tuple[int, Any]]:
    """As they are fed: a document on line 1, or a value a line."""
    text = (HERE / name).read_bytes()
    return records(HERE / name) if name.endswith(".jsonl") else [(1, json.loads(text))]


@pytest.mark.parametrize("name", SAMPLES)
def test_each_is_known_by_its_content(name: str) -> None:
    session = opened(name)
    assert session.format == SAMPLES[name]
    assert session.main.requests
    assert not session.problems
    check(session)
    told_all = [value for _, value in values(name)]
    head = Head(
        told_all[:60], told_all[0] if len(told_all) == 1 and not name.endswith(".jsonl") else None
    )
    sure = {one.name: one.sniff(head) for one in FORMATS}
    assert sure.pop(SAMPLES[name]) >= 0.9
    assert max(sure.values()) < 0.9


@pytest.mark.parametrize("name", SAMPLES)
def test_any_value_in_any_place(name: str) -> None:
    given = values(name)
    format_ = next(one for one in FORMATS if one.name == SAMPLES[name])
    for bad in (None, [7], {"role": 1}, -(10**30), deep(60)):
        for changed in spoilt(given, bad, depth=9):
            for thread in told(format_, changed).threads:
                for request in thread.requests:
                    assert len(request.view) == len(request.view.messages())


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_file_gives_the_same_ids(name: str) -> None:
    assert laid_out(opened(name)) == laid_out(opened(name))


def test_mini_swe_agent() -> None:
    session = opened("mini-swe-agent.traj.json")
    thread = session.main
    first, second = buffers(thread)
    assert first == ["user: The sum of an empty list is wrong in numbers.py."]
    assert second[1] == "assistant: Let me see. [bash]"
    assert second[2].startswith("tool: <returncode>0")
    assert prompts(thread) == [(60, 0, 20), (140, 60, 20)]
    assert thread.prompt.system == "You fix code with one shell command at a time."
    assert thread.prompt.tools is None
    assert [message.role for message in thread.end] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    assert (thread.requests[0].finish, thread.requests[0].time[:19]) == (
        "tool_calls",
        "2026-01-01T00:00:00",
    )
    assert (session.id, session.client) == ("numbers-1", "mini-swe-agent 2.2.7")


def test_what_a_scrubber_wrote_is_no_measurement() -> None:
    value = json.loads((HERE / "mini-swe-agent.traj.json").read_text())
    for message in value["messages"]:
        if "response" in message.get("extra", {}):
            message["extra"]["response"]["usage"] = {"prompt_tokens": 0, "completion_tokens": 0}
    assert prompts(told(detect(Head([value], value)), [(1, value)]).main) == [None, None]


def test_swe_agent_by_its_history() -> None:
    session = opened("swe-agent.traj")
    first, second = buffers(session.main)
    assert [len(first), len(second)] == [3, 5]
    assert first[-1] == "user: Fix numbers.py."
    assert prompts(session.main) == [None, None]
    assert session.main.prompt.system == "You are a programmer."
    assert any("900 sent" in note for note in session.notes)
    assert any("demonstration" in note for note in session.notes)


def test_swe_agent_says_where_its_totals_contradict_the_history() -> None:
    value = json.loads((HERE / "swe-agent.traj").read_text())
    value["info"]["model_stats"]["tokens_sent"] = 20
    notes = told(detect(Head([value], value)), [(1, value)]).notes
    assert any("left out before they were sent" in note for note in notes)
    assert not any(
        "left out before they were sent" in note for note in opened("swe-agent.traj").notes
    )


def test_swe_agent_with_its_history_alone() -> None:
    history = json.loads((HERE / "swe-agent.traj").read_text())["history"]
    value = {"history": history}
    assert detect(Head([value], value)).name == "swe-agent"
    saved = {
        "history": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"text": "yes"}]},
        ]
    }
    assert detect(Head([saved], saved)).name == "gemini"  # a chat that Gemini CLI saved
    assert buffers(told(detect(Head([value], value)), [(1, value)]).main) == buffers(
        opened("swe-agent.traj").main
    )


def test_swe_agent_by_what_its_steps_sent() -> None:
    """A message that was shortened later is another one; the answer is as the next step sends it."""
    first, second = buffers(opened("swe-agent-query.traj").main)
    assert first == ["user: Fix numbers.py."]
    assert second[0] == "user: Fix numbers.py. (shortened)"
    assert second[2] == "user: [File: numbers.py (2 lines total)]"


@pytest.mark.parametrize("wanted", ["", "2_epoch_1"])
def test_inspect_samples(wanted: str) -> None:
    """With its messages in place, and by reference."""
    session = opened("inspect.json", wanted)
    assert [one.id for one in session.held] == ["1_epoch_1", "2_epoch_1"]
    thread = session.main
    number = wanted[:1] or "1"
    ask = f"user: What stands at x? ({number})"
    assert buffers(thread) == [[ask], [ask, "assistant:  [look]", "tool: It is 7."]]
    assert prompts(thread) == [(50, 0, 10), (70, 60, 12)]
    assert thread.requests[1].usage is not None
    assert thread.requests[1].usage.cache_write == 6
    assert thread.prompt.tools is not None
    assert "Looks at a place." in json.dumps(thread.prompt.tools[0].definition)
    assert isinstance(thread.end.messages()[-1].parts[0], Thinking)
    assert [(call.kind, call.usage.prompt if call.usage else 0) for call in session.side_calls] == [
        ("scorer", 9)
    ]


@pytest.fixture
def eval_log(tmp_path: Path) -> Path:
    """The same log as a zip file, as Inspect writes it."""
    value = json.loads((HERE / "inspect.json").read_text())
    samples = value.pop("samples")
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("_journal/start.json", json.dumps({"version": 2, "eval": value["eval"]}))
        for sample in reversed(samples):
            made.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
        made.writestr("header.json", json.dumps(value))
    return path


def test_an_eval_log_is_the_same_log(eval_log: Path) -> None:
    for number in ("0", "1"):
        same = open_transcript(find_session_path(eval_log, number))
        assert laid_out(same) == laid_out(opened("inspect.json", number))
        assert [one.id for one in same.held] == ["1_epoch_1", "2_epoch_1"]
    with pytest.raises(NothingToRead, match="1_epoch_1, 2_epoch_1"):
        open_transcript(find_session_path(eval_log, "9"))


def test_an_eval_log_names_all_its_samples(eval_log: Path) -> None:
    """By its summaries, where they can be read: only the wanted sample is unpacked."""
    whole = [one.title for one in opened("inspect.json").held]
    assert all(whole)
    assert [one.title for one in open_transcript(eval_log).held] == [whole[0], ""]
    value = json.loads((HERE / "inspect.json").read_text())
    told = [{"id": one["id"], "epoch": 1, "input": one["input"]} for one in value["samples"]]
    for text, titles in ((json.dumps(told), whole), ("[{", [whole[0], ""])):
        path = eval_log.with_name(f"{len(text)}.eval")
        path.write_bytes(eval_log.read_bytes())
        with zipfile.ZipFile(path, "a") as made:
            made.writestr("summaries.json", text)
        assert [one.title for one in open_transcript(path).held] == titles


def test_eval_logs_in_a_zip_file_open_each_of_their_samples(eval_log: Path, tmp_path: Path) -> None:
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("logs/none.eval", b"PK\x03\x04 and no archive")
        made.write(eval_log, "logs/one.eval")
        made.write(eval_log, "logs/two.eval")
    opened = open_transcript(path)
    assert [one.id for one in opened.held] == ["logs/none.eval", "logs/one.eval", "logs/two.eval"]
    assert laid_out(opened) == laid_out(open_transcript(eval_log))
    samples = open_transcript(opened.held[2].path).held
    assert [one.id for one in samples] == [one.id for one in open_transcript(eval_log).held]
    for one, same in zip(samples, open_transcript(eval_log).held, strict=True):
        assert laid_out(open_transcript(one.path)) == laid_out(open_transcript(same.path))
    with pytest.raises(NothingToRead, match="cannot be unpacked"):
        open_transcript(f"{path}#logs/none.eval")


def test_names_in_a_log_may_be_any_number(eval_log: Path) -> None:
    with zipfile.ZipFile(eval_log, "a") as made:
        for name in ("9" * 5_000, "²", "٣"):
            made.writestr(
                f"samples/{name}_epoch_1.json", json.dumps({"id": 3, "epoch": 1, "events": []})
            )
    assert len(open_transcript(eval_log).held) == 5
    with pytest.raises(NothingToRead):
        open_transcript(find_session_path(eval_log, "8" * 5_000))


def test_an_eval_log_is_read_again_when_it_was_written_again(eval_log: Path) -> None:
    seen: list[Session] = []
    follower = Follower(eval_log, seen.append)
    follower.look()
    with zipfile.ZipFile(eval_log, "a") as made:
        made.writestr("samples/3_epoch_1.json", json.dumps({"id": 3, "epoch": 1, "events": []}))
    follower.look()
    assert [len(session.held) for session in seen] == [2, 3]


def test_atif_compacts_and_goes_on() -> None:
    """The questions of the handoff stand in the buffer; copies are no calls; the continuation is the same thread."""
    session = opened("atif/trajectory.json")
    thread = session.main
    told_before = buffers(thread)
    assert told_before[1] == [
        "user: Make hello.txt.",
        "assistant: I make a folder. [run]",
        "tool: made",
    ]
    assert told_before[2] == [
        "user: Make hello.txt.",
        "user: Ask what you must know.",
        "assistant: Which folder?",
        "user: Here are the answers.",
    ]
    assert told_before[3] == ["user: Make hello.txt."]
    assert prompts(thread) == [(40, 8, 9), (60, 0, 3), (70, 0, 5), (33, 0, 2)]
    assert [one.before_request for one in thread.compactions] == [2, 3]
    assert [(one.id, prompts(one)) for one in session.threads[1:]] == [
        ("questions", [(30, 0, 4)]),
        ("summary", [(50, 0, 6)]),
    ]


def test_atif_training_conversations() -> None:
    session = opened("atif-traces.json")
    assert [one.id for one in session.held] == ["a/hello", "b/other"]
    assert buffers(session.main) == [
        ["user: Make hello.txt."],
        ["user: Make hello.txt.", "assistant: one", "user: made"],
    ]
    assert [said(message) for message in session.main.end][-1] == "assistant: two"
    assert buffers(opened("atif-traces.json", "b/other").main) == [["user: Another."]]


def test_inspect_calls_that_failed_are_none_and_cached_ones_are_told(tmp_path: Path) -> None:
    log = json.loads((HERE / "inspect.json").read_text())
    sample = log["samples"][0]
    first, *_ = calls = [one for one in sample["events"] if one.get("event") == "model"]
    failed = {**first, "output": {"model": "oak-2", "choices": []}, "error": "Rate limit reached."}
    sample["events"] = [failed, *({**one, "cache": "read"} for one in calls[:2])]
    (tmp_path / "log.json").write_text(json.dumps(log))
    session = open_transcript(tmp_path / "log.json")
    assert prompts(session.main) == [(50, 0, 10), (70, 60, 12)]
    assert [(call.kind, call.before_request, call.what) for call in session.side_calls] == [
        ("refused", 0, "Rate limit reached.")
    ]
    assert any("2 answers came from Inspect's own cache" in note for note in session.notes)


def test_tau_bench_trials() -> None:
    session = opened("tau-bench.json")
    assert [(one.id, one.title) for one in session.held] == [
        ("0_trial_0", "reward 1: You want a seat."),
        ("0_trial_1", "reward 0: You want a seat."),
    ]
    assert buffers(session.main) == [
        ["user: A seat, please."],
        ["user: A seat, please.", "assistant:  [seats]", "tool: 12A"],
    ]
    assert buffers(opened("tau-bench.json", "1").main) == [["user: Hello."]]
