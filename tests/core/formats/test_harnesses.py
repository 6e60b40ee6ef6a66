"""Logs of harnesses and benchmarks: what each call was sent, what was reported of it, many sessions in one file."""

import json
import zipfile
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from inspector.core.errors import NothingToRead
from inspector.core.formats.detect import FORMATS, detect
from inspector.core.formats.format import Head
from inspector.core.message import Thinking
from inspector.core.session import Session, Thread
from inspector.transcripts.files import open_transcript, path_of
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
    return open_transcript(path_of(HERE / name, wanted) if wanted else HERE / name)


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
    head = Head(told_all[:60], told_all[0] if len(told_all) == 1 and not name.endswith(".jsonl") else None)
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
    assert [message.role for message in thread.end] == ["user", "assistant", "tool", "assistant", "tool"]
    assert (thread.requests[0].finish, thread.requests[0].time[:19]) == ("tool_calls", "2026-01-01T00:00:00")
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
    assert not any("left out before they were sent" in note for note in opened("swe-agent.traj").notes)


def test_swe_agent_with_its_history_alone() -> None:
    history = json.loads((HERE / "swe-agent.traj").read_text())["history"]
    value = {"history": history}
    assert detect(Head([value], value)).name == "swe-agent"
    saved = {"history": [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"text": "yes"}]}]}
    assert detect(Head([saved], saved)).name == "gemini"  # a chat that Gemini CLI saved
    assert buffers(told(detect(Head([value], value)), [(1, value)]).main) == buffers(opened("swe-agent.traj").main)


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
    assert [(call.kind, call.usage.prompt if call.usage else 0) for call in session.side_calls] == [("scorer", 9)]


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
        same = open_transcript(path_of(eval_log, number))
        assert laid_out(same) == laid_out(opened("inspect.json", number))
        assert [one.id for one in same.held] == ["1_epoch_1", "2_epoch_1"]
    with pytest.raises(NothingToRead, match="1_epoch_1, 2_epoch_1"):
        open_transcript(path_of(eval_log, "9"))


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
            made.writestr(f"samples/{name}_epoch_1.json", json.dumps({"id": 3, "epoch": 1, "events": []}))
    assert len(open_transcript(eval_log).held) == 5
    with pytest.raises(NothingToRead):
        open_transcript(path_of(eval_log, "8" * 5_000))


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
    assert told_before[1] == ["user: Make hello.txt.", "assistant: I make a folder. [run]", "tool: made"]
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


def test_openhands_events() -> None:
    """An answer with two actions is one call; the model reads reports, not differences; a condensation is recorded."""
    thread = opened("openhands.json").main
    first, second, third = buffers(thread)
    assert first == ["user: List the files."]
    assert second == [
        "user: List the files.",
        "assistant: I list. [bash] [bash]",
        "tool: numbers.py\n[done]\n[Current working directory: /w]\n[Command finished with exit code 0]",
        "tool: /w",
    ]
    assert third == ["user: List the files.", "user: Files were listed.", "assistant: I edit. [bash]", "tool: Edited."]
    assert prompts(thread) == [(100, 0, 20), (160, 100, 30), None]
    assert thread.prompt.system == "You are OpenHands."
    assert thread.compactions[0].summary is not None


def test_openhands_events_a_line_each_and_as_its_server_gives_them() -> None:
    ((_, events),) = values("openhands.json")
    whole = buffers(opened("openhands.json").main)
    lines = [(n, event) for n, event in enumerate(events, 1)]
    for rows in (lines, [(1, {"trajectory": events})]):
        document = rows[0][1] if len(rows) == 1 else None
        reader = detect(Head([value for _, value in rows[:20]], document)).start()
        for line, value in rows:
            reader.feed(line, value)
            reader.session()
        assert buffers(reader.session().main) == whole
        assert not reader.session().held


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


def test_openhands_runs_a_line_each() -> None:
    session = opened("openhands-output.jsonl")
    assert [one.id for one in session.held] == ["task-1", "task-2"]
    assert buffers(opened("openhands-output.jsonl", "task-2").main) == [["user: Do 2."]]
    assert any("without what the provider reported" in note for note in session.notes)


def test_openhands_v1_by_its_running_sums() -> None:
    session = opened("openhands-v1.jsonl")
    thread = session.main
    assert prompts(thread) == [(200, 0, 20), (300, 250, 20), (200, 200, 5)]
    first, second, third = buffers(thread)
    assert first == ["user: List the files."]
    assert second[-2:] == ["tool: a.py", "tool: /w"]
    assert third == ["user: List the files.", "user: Files were listed.", "assistant:  [terminal]", "tool: print(1)"]
    said_first = thread.messages[1]
    assert (said_first.text, type(said_first.parts[0])) == ("I list.", Thinking)
    assert [(call.kind, call.usage.prompt if call.usage else 0) for call in session.side_calls] == [
        ("answer not in file", 60),
        ("condenser", 90),
    ]
    assert thread.requests[1].window == 128_000


@pytest.mark.parametrize("name", ["agent", "main", "profile: mine"])
def test_openhands_v1_sums_of_the_agent_under_any_name(name: str, tmp_path: Path) -> None:
    """Its SDK's own examples call them `agent`; an application may say anything."""
    text = (HERE / "openhands-v1.jsonl").read_text()
    (tmp_path / "events.jsonl").write_text(text.replace('"default":', f"{json.dumps(name)}:"))
    session = open_transcript(tmp_path / "events.jsonl")
    assert prompts(session.main) == [(200, 0, 20), (300, 250, 20), (200, 200, 5)]
    assert [call.kind for call in session.side_calls] == ["answer not in file", "condenser"]


def test_openhands_v1_tells_in_a_snapshot_whose_sums_are_the_agents(tmp_path: Path) -> None:
    """What it had used before is not what a call used."""

    def event(kind: str, number: int, **more: Any) -> dict[str, Any]:
        return {"kind": kind, "id": f"e{number}", "timestamp": f"2026-01-01T00:00:0{number}", **more}

    def used(prompt: int) -> dict[str, Any]:
        return {"accumulated_token_usage": {"prompt_tokens": prompt, "completion_tokens": prompt // 10}}

    agent = {"kind": "Agent", "llm": {"model": "oak-2", "usage_id": "mine"}}
    state = {"agent": agent, "stats": {"usage_to_metrics": {"title": used(10), "mine": used(9000)}}}
    stats = {"usage_to_metrics": {"title": used(60), "mine": used(9500)}}
    said = {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}
    events = [
        event("ConversationStateUpdateEvent", 1, source="environment", key="full_state", value=state),
        event("MessageEvent", 2, source="user", llm_message={"role": "user", "content": "Go on?"}),
        event("ConversationStateUpdateEvent", 3, source="environment", key="stats", value=stats),
        event("MessageEvent", 4, source="agent", llm_message=said, llm_response_id="r"),
    ]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(one) + "\n" for one in events))
    session = open_transcript(tmp_path / "events.jsonl")
    assert prompts(session.main) == [(500, 0, 50)]
    assert [(call.kind, call.usage.prompt if call.usage else 0) for call in session.side_calls] == [("title", 50)]


def test_openhands_v1_prompt_with_what_is_of_the_conversation_and_thoughts_in_blocks(tmp_path: Path) -> None:
    call = {"id": "c", "name": "terminal", "arguments": "{}"}
    thought = [{"type": "thinking", "thinking": "First look.", "signature": "c2ln"}]
    events = [
        {"kind": "SystemPromptEvent", "id": "a", "source": "agent", "tools": [],
         "system_prompt": {"type": "text", "text": "Be brief."},
         "dynamic_context": {"type": "text", "text": "Today is Monday."}},
        {"kind": "MessageEvent", "id": "b", "source": "user", "llm_message": {"role": "user", "content": "Look."}},
        {"kind": "ActionEvent", "id": "c", "source": "agent", "thought": [], "thinking_blocks": thought,
         "tool_name": "terminal", "tool_call_id": "c", "tool_call": call, "llm_response_id": "r"},
    ]  # fmt: skip
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(one) + "\n" for one in events))
    thread = open_transcript(tmp_path / "events.jsonl").main
    assert thread.prompt.system == "Be brief.\n\nToday is Monday."
    assert thread.end.messages()[-1].parts[0] == Thinking("First look.", "c2ln")


def openhands_folder(root: Path) -> Path:
    """A conversation as OpenHands V1 keeps it: a file an event, and the state with what each call used."""

    def used(answer: str, prompt: int, read: int = 0) -> dict[str, Any]:
        counts = {"prompt_tokens": prompt, "completion_tokens": 9, "cache_read_tokens": read, "cache_write_tokens": 0}
        return {"model": "oak-2", **counts, "context_window": 64_000, "response_id": answer}

    def text(words: str) -> list[dict[str, str]]:
        return [{"type": "text", "text": words}]

    call = {"id": "c", "name": "terminal", "arguments": '{"command": "ls"}'}
    events: list[dict[str, Any]] = [
        {"kind": "SystemPromptEvent", "source": "agent", "system_prompt": text("Be brief.")[0], "tools": []},
        {"kind": "MessageEvent", "source": "user", "llm_message": {"role": "user", "content": text("List.")}},
        {"kind": "ActionEvent", "source": "agent", "thought": text("So I do."), "tool_name": "terminal",
         "tool_call_id": "c", "tool_call": call, "llm_response_id": "r1"},
        {"kind": "ObservationEvent", "source": "environment", "tool_name": "terminal", "tool_call_id": "c",
         "action_id": "event 2", "observation": {"content": text("a.py"), "is_error": False}},
        {"kind": "Condensation", "source": "environment", "forgotten_event_ids": ["event 2", "event 3"],
         "summary": "There is a.py.", "summary_offset": 1, "llm_response_id": "s1"},
        {"kind": "MessageEvent", "source": "agent", "llm_response_id": "r2",
         "llm_message": {"role": "assistant", "content": text("a.py")}},
    ]  # fmt: skip
    folder = root / "0123abcd"
    (folder / "events").mkdir(parents=True)
    for n, one in enumerate(events):
        event = {"id": f"event {n}", "timestamp": f"2026-01-01T00:00:0{n}.000001", **one}
        (folder / "events" / f"event-{n:05}-00000000-0000-4000-8000-00000000000{n}.json").write_text(json.dumps(event))
    metrics = {
        "mine": {"token_usages": [used("r1", 300), used("r2", 400, 250), used("r3", 500)]},
        "condenser": {"token_usages": [used("s1", 350)]},
    }
    state = {
        "id": "0123-abcd", "agent": {"kind": "Agent", "llm": {"model": "oak-2", "usage_id": "mine"}},
        "workspace": {"working_dir": "/w"}, "execution_status": "finished", "stats": {"usage_to_metrics": metrics},
    }  # fmt: skip
    (folder / "base_state.json").write_text(json.dumps(state))
    return folder


def zipped(folder: Path) -> Path:
    made = folder.parent / "conversation.zip"
    with zipfile.ZipFile(made, "w") as archive:
        for path in sorted(folder.rglob("*.json")):
            archive.write(path, path.relative_to(folder.parent).as_posix())
    return made


def test_openhands_v1_keeps_a_folder_with_a_file_an_event(tmp_path: Path) -> None:
    """Whichever file is opened, the folder, or a zip file of it: one conversation, each call with what it used."""
    folder = openhands_folder(tmp_path)
    event = next((folder / "events").glob("event-00003-*"))
    for path in (folder / "base_state.json", event, folder, tmp_path, zipped(folder)):
        session = open_transcript(path)
        assert (session.format, session.id, session.held) == ("openhands-v1", "0123-abcd", ())
        assert prompts(session.main) == [(300, 0, 9), (400, 250, 9)]
        assert buffers(session.main) == [["user: List."], ["user: List.", "user: There is a.py."]]
        assert (session.main.prompt.system, session.main.requests[0].window) == ("Be brief.", 64_000)
        assert [
            (call.kind, call.before_request, call.usage.prompt if call.usage else 0) for call in session.side_calls
        ] == [
            ("condenser", 1, 350),
            ("answer not in file", 2, 500),
        ]


def test_openhands_v1_folder_is_followed(tmp_path: Path) -> None:
    folder = openhands_folder(tmp_path)
    *_, last = sorted((folder / "events").iterdir())
    told = last.read_text()
    last.unlink()
    seen: list[Session] = []
    follower = Follower(folder / "base_state.json", seen.append)
    follower.look()
    assert len(seen[-1].main.requests) == 1
    last.write_text(told)
    deadline = monotonic() + 60
    while len(seen[-1].main.requests) < 2 and monotonic() < deadline:
        follower.look()
    assert prompts(seen[-1].main) == [(300, 0, 9), (400, 250, 9)]


def test_openhands_v1_without_the_state_beside_its_events(tmp_path: Path) -> None:
    folder = openhands_folder(tmp_path)
    (folder / "base_state.json").unlink()
    session = open_transcript(next((folder / "events").glob("event-00000-*")))
    assert prompts(session.main) == [None, None]
    assert buffers(session.main)[1] == ["user: List.", "user: There is a.py."]


def test_openhands_log_is_all_its_files() -> None:
    """Whichever is opened: the calls in the order of their times, with the window and the tools."""
    for number in (0, 1):
        session = opened(f"openhands-log/acorn__oak-2-176722560{number}.125.json")
        thread = session.main
        assert prompts(thread) == [(80, 0, 20), (130, 0, 20)]
        assert [len(request.view) for request in thread.requests] == [1, 4]
        assert {request.window for request in thread.requests} == {128_000}
        assert thread.prompt.tools is not None
        assert [tool.name for tool in thread.prompt.tools] == ["terminal"]
        assert thread.prompt.system == "You are OpenHands."


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
