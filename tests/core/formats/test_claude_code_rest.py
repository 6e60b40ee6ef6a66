"""Claude Code sessions: sub-agents, the wire, images, copies and holes."""

from typing import Any

from inspector.core.buffer import NOT_IN_FILE
from inspector.core.message import Image, Text, Thinking
from inspector.core.session import BEGINS_LATE
from tests.core.formats.claude_code_samples import BUFFERS
from tests.core.formats.claude_lines import DATA, buffers, read, read_values, shown, values

# ---- sub-agents ----------------------------------------------------------------------------------------------------


def test_inline_runs_are_threads_of_their_own() -> None:
    main, counter, namer = read("inline_agents.jsonl").threads
    assert buffers(counter) == [["c1"], ["c1", "m2", "c3"]]
    assert buffers(namer) == [["n1"]]
    assert (counter.parent, counter.parent_call, counter.title) == ("main", "t1", "explore: count")
    assert (namer.parent, namer.parent_call) == ("main", "t2")
    assert len(main.requests) == 2


def test_an_agent_told_by_its_parent_is_a_thread_and_no_call_of_the_parent() -> None:
    main, told = read("told_agent.jsonl").threads
    assert len(main.requests) == 2
    assert [shown(message) for message in told.messages] == ["user:text", "assistant:text+call"]
    assert (told.id, told.parent, told.parent_call) == ("f00", "main", "t1")


def test_an_agents_own_file_goes_before_what_its_parent_told() -> None:
    session = read("told_agent.jsonl", "agent-f00.jsonl")
    assert [thread.id for thread in session.threads] == ["main", "f00"]
    assert buffers(session.thread("f00")) == BUFFERS["agent-f00.jsonl"]


def test_files_of_agents_are_threads_nested_as_they_were_started() -> None:
    session = read("with_agents.jsonl", "agent-f02.jsonl", "agent-f01.jsonl", "agent-f00.jsonl")
    threads = {thread.id: thread for thread in session.threads}
    assert set(threads) == {"main", "f00", "f01", "f02"}
    assert (threads["f00"].parent, threads["f00"].parent_call, threads["f00"].title) == (
        "main",
        "t1",
        "general: count",
    )
    assert (threads["f01"].parent, threads["f01"].parent_call) == ("f00", "t2")
    assert threads["f02"].title.startswith("Warmup")
    assert sum(len(thread.requests) for thread in session.threads) == 6


def test_what_an_agent_was_started_with_may_lie_beside_it() -> None:
    session = read("with_agents.jsonl", "agent-f00.jsonl")
    from inspector.core.formats.claude_code.reader import ClaudeCodeReader

    reader = ClaudeCodeReader()
    for number, value in values(DATA / "agent-f01.jsonl"):
        reader.feed(number, value, "subagents/agent-f01.jsonl")
    reader.feed(
        1,
        {"agentType": "explore", "toolUseId": "t9", "description": "look"},
        "subagents/agent-f01.meta.json",
    )
    thread = reader.session().threads[0]
    assert thread.id == "main"
    assert thread.title == "explore: look"
    assert session.main.id == "main"


def test_a_file_of_an_agent_alone_opens_as_the_main_thread() -> None:
    session = read("agent-f00.jsonl")
    assert [thread.id for thread in session.threads] == ["main"]
    assert session.main.parent == ""


# ---- the rest ------------------------------------------------------------------------------------------------------


def test_the_wire_records_give_system_prompt_and_tools() -> None:
    main = read("wire.jsonl").main
    first, second = main.requests
    assert (first.prompt.system, [tool.name for tool in first.prompt.tools or ()]) == (
        "You are an agent.\n\nBe good.",
        ["Bash"],
    )
    assert (second.prompt.system, second.prompt.tools) == ("You are an agent.", ())
    assert main.prompt == second.prompt
    assert read("plain.jsonl").main.prompt == NOT_IN_FILE


def test_thinking_knows_its_tokens_where_they_were_reported() -> None:
    assert read("wire.jsonl").main.messages[1].parts == (Thinking("", "c2ln", 50), Text("Hello."))


def test_a_file_that_begins_in_the_middle_says_so() -> None:
    assert read("suffix.jsonl").notes == (BEGINS_LATE,)
    assert read("plain.jsonl").notes == ()


def test_the_client_is_named_with_its_versions() -> None:
    assert read("placeholders.jsonl").client == "Claude Code 2.1.20 to 2.1.62"


def test_what_cannot_be_understood_is_a_problem_with_its_line() -> None:
    problems = [(problem.line, problem.what) for problem in read("odd.jsonl").problems]
    assert problems == [
        (1, "not a record with a type"),
        (2, "not a record with a type"),
        (3, "not a record with a type"),
        (4, "not a record with a type"),
        (5, "not a record with a type"),
        (6, "unknown record type 'brand-new'"),
        (9, "user record without content"),
        (10, "user record without content"),
        (11, "assistant record without content"),
        (13, "unknown attachment ''"),
    ]


def test_iflow_results_are_kept_as_they_are() -> None:
    result = read("iflow.jsonl").main.messages[2].result
    assert result is not None
    assert "a.py" in result.content


def test_images_in_prompts_and_results_are_kept() -> None:
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
    }
    said = {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"content": [image]}}
    attached = {
        "type": "attachment",
        "uuid": "x1",
        "parentUuid": "u1",
        "attachment": {
            "type": "file",
            "filename": "a.png",
            "content": {"type": "image", "file": {"base64": "BBBB", "type": "image/png"}},
        },
    }
    messages = read_values([(1, said), (2, attached)]).main.messages
    assert [message.parts[-1] for message in messages] == [
        Image("image/png", "AAAA"),
        Image("image/png", "BBBB"),
    ]


def _turn(number: int, parent: str | None) -> list[Any]:
    time = "2026-01-01T00:00:00.000Z"
    said = {"role": "user", "content": "continue"}
    answer = {
        "id": f"m{number}",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": f"{number}"}],
    }
    return [
        {
            "type": "user",
            "uuid": f"u{number}",
            "parentUuid": parent,
            "timestamp": time,
            "message": said,
        },
        {
            "type": "assistant",
            "uuid": f"a{number}",
            "parentUuid": f"u{number}",
            "timestamp": time,
            "message": answer,
        },
    ]


def test_the_same_words_at_the_same_time_are_no_copy_where_they_hang_elsewhere() -> None:
    """Times may be cut off or made up; a copy hangs where the first one hangs."""
    lines = [*_turn(0, None), *_turn(1, "a0"), *_turn(2, "a1")]
    main = read_values(enumerate(lines, 1)).main
    assert buffers(main) == [["u0"], ["u0", "m0", "u1"], ["u0", "m0", "u1", "m1", "u2"]]


def test_a_history_copied_under_new_uuids_is_read_once() -> None:
    lines = [*_turn(0, None), *_turn(1, "a0")]
    copied = [{**line, "uuid": line["uuid"] + "x"} for line in lines]
    for line in copied:
        line["parentUuid"] = line["parentUuid"] and line["parentUuid"] + "x"
    lines += [*copied, *_turn(2, "a1x")]
    main = read_values(enumerate(lines, 1)).main
    assert buffers(main)[-1] == ["u0", "m0", "u1", "m1", "u2"]
    assert len(main.requests) == 3


def test_what_a_run_printed_has_its_sub_agents_apart() -> None:
    def said(name: str, *blocks: dict[str, Any], agent: str | None = None) -> dict[str, Any]:
        message = {
            "id": name,
            "role": "assistant",
            "model": "m",
            "content": list(blocks),
            "usage": {"input_tokens": 9},
        }
        return {
            "type": "assistant",
            "message": message,
            "parent_tool_use_id": agent,
            "session_id": "s",
            "uuid": name,
        }

    def came(call: str, agent: str | None = None) -> dict[str, Any]:
        content = [{"type": "tool_result", "tool_use_id": call, "content": f"result of {call}"}]
        about = {"parent_tool_use_id": agent, "session_id": "s", "uuid": f"r-{call}"}
        return {"type": "user", "message": {"role": "user", "content": content}, **about}

    def used(call: str, tool: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": call, "name": tool, "input": {"prompt": "look"}}

    lines = [
        {
            "type": "system",
            "subtype": "init",
            "session_id": "s",
            "tools": ["Task", "Read"],
            "uuid": "i",
            "claude_code_version": "2.1.126",
        },
        {
            "type": "rate_limit_event",
            "rate_limit_info": {"status": "allowed"},
            "session_id": "s",
            "uuid": "r",
        },
        {"type": "stream_event", "event": {}, "session_id": "s"},
        {
            "type": "system",
            "subtype": "thinking_tokens",
            "estimated_tokens": 50,
            "session_id": "s",
            "uuid": "t",
        },
        {
            "type": "control_request",
            "request_id": "q",
            "request": {"subtype": "can_use_tool", "tool_name": "Read"},
        },
        {"type": "control_response", "response": {"subtype": "success", "request_id": "q"}},
        said("m1", used("c1", "Task")),
        said("m2", used("c2", "Read"), agent="c1"),
        came("c2", "c1"),
        said("m3", {"type": "text", "text": "found"}, agent="c1"),
        came("c1"),
        said("m4", {"type": "text", "text": "done"}),
        {"type": "result", "subtype": "success", "session_id": "s", "num_turns": 2},
    ]
    session = read_values(list(enumerate(lines, 1)))
    assert (session.id, session.client, session.problems) == ("s", "Claude Code 2.1.126", ())
    main, agent = session.threads
    assert (agent.parent, agent.parent_call) == ("main", "c1")
    assert (buffers(main), buffers(agent)) == ([[], ["m1", "r-c1"]], [[], ["m2", "r-c2"]])
    assert any("output of `claude -p`" in note for note in session.notes)


def test_a_file_with_a_hole_says_so() -> None:
    lines = values(DATA / "plain.jsonl")
    assert not read_values(lines).notes
    hung_on = next(value["parentUuid"] for _, value in reversed(lines) if value.get("parentUuid"))
    cut = [(line, value) for line, value in lines if value.get("uuid") != hung_on]
    later = next(line for line, value in cut if value.get("parentUuid") == hung_on)
    (note,) = read_values(cut).notes
    assert note.startswith(
        f"1 of the records that others follow is not in this file (line {later})"
    )
    late = [*cut, *((line, value) for line, value in lines if value.get("uuid") == hung_on)]
    assert not read_values(late).notes
