"""Claude Code sessions, rule by rule, on small samples: what each request was sent, and what it reported."""

from copy import deepcopy
from typing import Any

import pytest

from inspector.core.buffer import NOT_IN_FILE
from inspector.core.message import Image, Text, Thinking
from inspector.core.session import BEGINS_LATE
from inspector.core.usage import Usage
from inspector.core.validity import find_refusals
from tests.core.formats.claude_lines import DATA, buffers, read, read_values, shown, sniffed, values

BUFFERS = {
    "plain.jsonl": [["u1"], ["u1", "m1", "r1"]],
    "placeholders.jsonl": [["u1"], ["u1", "m1", "u2"]],
    # results stand behind the whole answer, wherever they were written
    "interleaved.jsonl": [["u1"], ["u1", "m1", "r1", "r2", "x1"]],
    "broken_parent.jsonl": [["u1"], ["u1", "m1", "u2"]],
    "rewind.jsonl": [["u1"], ["u1", "m1", "u2"], ["u1", "m1", "u3"], ["u4"]],
    # the withdrawn prompt is not sent; an answer that the client wrote itself is, but is no call
    "withdrawn.jsonl": [
        ["u1"],
        ["u1", "m1", "u3"],
        ["u1", "m1", "u3", "m2", "u4", "u5", "m3", "u6"],
    ],
    "attachments.jsonl": [["u1", "x1", "x2"], ["u1", "x1", "x2", "m1", "r1", "x5", "x6", "x8"]],
    "boundary.jsonl": [["u1"], ["u1", "m1", "r1"], ["c1"]],
    # summary, what was kept, then what came later; the kept tail as parent does not bring the old buffer back
    "boundary_keeps.jsonl": [
        ["u1"],
        ["u1", "m1", "r1", "x1"],
        ["c1", "m1", "r1", "x1", "m2", "u2"],
    ],
    "boundary_segment.jsonl": [["u1"], ["u1", "m1", "u2"], ["c1", "u2", "m2", "u3"]],
    "boundary_repeats.jsonl": [["u1"], ["c1", "m1", "r1"]],
    "boundary_early.jsonl": [["u1"], ["c1", "u2", "u3", "u4", "u5"]],
    "boundary_alone.jsonl": [["u1"], ["c1"], ["x1", "c2"]],
    "micro.jsonl": [["u1"], ["u1", "m1", "r1"], ["u1", "m1", "r1", "m2", "r2"]],
    # errors are no calls; the refused answer is one, but the fallback was not sent it
    "no_calls.jsonl": [["u1", "u2"], ["u1", "u2"]],
    "copies.jsonl": [["u1"], ["u1", "m1", "r1"], ["u1", "m1", "r1", "m2", "u2"]],
    "suffix.jsonl": [["u1"], ["u1", "m1", "r1"]],
    "odd.jsonl": [["u1"], ["u1", "a1", "line-15"]],
    "inline_agents.jsonl": [["u1"], ["u1", "m1", "r1", "r2"]],
    "told_agent.jsonl": [["u1"], ["u1", "m1", "r1"]],
    "with_agents.jsonl": [["u1"], ["u1", "m1", "r1"]],
    "agent-f00.jsonl": [["c1"], ["c1", "m3", "c3"]],
    "wire.jsonl": [["u1"], ["u1", "m1", "u2"]],
    "replaced.jsonl": [["u1"], ["u1", "m1", "r1"]],
    "iflow.jsonl": [["u1"], ["u1", "response-1"], ["u1", "response-1", "r1"]],
}


@pytest.mark.parametrize("name", BUFFERS)
def test_each_request_was_sent_these_messages(name: str) -> None:
    assert buffers(read(name).main) == BUFFERS[name]


def test_every_sample_is_in_a_table() -> None:
    assert {path.name for path in DATA.glob("*.jsonl")} == set(BUFFERS) | {
        "agent-f01.jsonl",
        "agent-f02.jsonl",
    }


@pytest.mark.parametrize("name", BUFFERS)
def test_the_format_is_told_by_content(name: str) -> None:
    assert sniffed(name) >= 0.7


@pytest.mark.parametrize(
    "name", sorted(set(BUFFERS) - {"suffix.jsonl", "odd.jsonl", "iflow.jsonl"})
)
def test_buffers_are_ones_a_provider_takes(name: str) -> None:
    for request in read(name).main.requests:
        assert not find_refusals(request.buffer())


@pytest.mark.parametrize("name", BUFFERS)
def test_the_session_is_the_same_at_any_time(name: str) -> None:
    """What was there stays: asking after every line changes nothing, and requests only ever grow."""
    lines = values(DATA / name)
    for end in range(len(lines)):
        earlier, later = read_values(lines[:end]).main, read_values(lines).main
        settled = len(earlier.requests) - 1
        assert buffers(earlier)[:settled] == buffers(later)[: max(settled, 0)]


# ---- answers and their figures -------------------------------------------------------------------------------------


def test_the_lines_of_an_answer_are_one_message() -> None:
    main = read("plain.jsonl").main
    assert [shown(message) for message in main.messages] == [
        "user:text",
        "assistant:thinking+text+call",
        "tool:result",
        "assistant:text",
    ]
    assert main.messages[1].line == 3
    result = main.messages[2].result
    assert result is not None
    assert result.content == "ok"  # not the client's own copy


def test_usage_is_counted_once_a_call() -> None:
    assert [request.usage for request in read("plain.jsonl").main.requests] == [
        Usage(input=10, cache_read=0, cache_write=1000, output=42),
        Usage(input=5, cache_read=1010, cache_write=60, output=9),
    ]


def test_what_is_written_for_an_hour_is_told_apart() -> None:
    lines = [(number, deepcopy(value)) for number, value in values(DATA / "plain.jsonl")]
    for _, value in lines:
        usage = value.get("message", {}).get("usage")
        if usage:
            written = usage["cache_creation_input_tokens"]
            usage["cache_creation"] = {
                "ephemeral_5m_input_tokens": 10,
                "ephemeral_1h_input_tokens": written - 10,
            }
    usages = [request.usage for request in read_values(lines).main.requests]
    assert [(one.cache_write, one.cache_write_5m, one.cache_write_1h) for one in usages if one] == [
        (1000, 10, 990),
        (60, 10, 50),
    ]


def test_a_placeholder_is_no_output() -> None:
    first, second = (request.usage for request in read("placeholders.jsonl").main.requests)
    assert first is not None
    assert second is not None
    assert (first.output, first.output_is_final) == (1, False)
    assert (second.output, second.output_is_final) == (8, True)


def test_a_call_of_several_rounds_costs_their_sum_and_sent_the_last() -> None:
    usage = read("no_calls.jsonl").main.requests[1].usage
    assert usage == Usage(input=300, cache_read=79, cache_write=0, output=132, context=229)


def test_requests_name_model_time_line_and_end() -> None:
    refused, answered = read("no_calls.jsonl").main.requests
    assert (refused.finish, refused.model, refused.line) == ("refusal", "claude-opus-5", 5)
    assert (answered.finish, answered.model, answered.line) == ("end_turn", "claude-opus-4-8", 7)
    assert answered.time == "2026-03-01T10:00:00.000Z"


def test_results_of_one_answer_travelled_together() -> None:
    last = read("interleaved.jsonl").main.requests[1].buffer()
    assert [message.together for message in last.messages] == ["", "", "r1", "r1", "r1"]


# ---- reminders and prompts -----------------------------------------------------------------------------------------


def test_attachments_become_the_text_that_was_sent() -> None:
    by_id = {message.id: message for message in read("attachments.jsonl").main.messages}
    assert (by_id["x1"].role, by_id["x1"].text) == (
        "system",
        "<system-reminder>\nlinux\n</system-reminder>",
    )
    assert by_id["x2"].text.endswith("- skill: does things")
    assert by_id["x8"].text == "File b.py:\n7\tone\n8\ttwo"
    assert {id_: by_id[id_].mark for id_ in ("x1", "x2", "x6", "x8")} == dict.fromkeys(
        ("x1", "x2", "x6", "x8"), "attachment"
    )
    assert (by_id["x5"].text, by_id["x5"].mark) == ("and hurry", "")  # a prompt like any other


def test_an_unknown_attachment_is_listed_once() -> None:
    assert [(problem.line, problem.what) for problem in read("attachments.jsonl").problems] == [
        (10, "unknown attachment 'never_heard_of'")
    ]


def test_what_the_client_wrote_is_marked() -> None:
    marks = {message.id: message.mark for message in read("withdrawn.jsonl").main.messages}
    assert marks["u4"] == "meta"
    assert marks["u1"] == ""


# ---- compactions ---------------------------------------------------------------------------------------------------


def test_a_boundary_is_a_compaction() -> None:
    main = read("boundary.jsonl").main
    (compaction,) = main.compactions
    assert (compaction.kind, compaction.trigger, compaction.before_request) == (
        "summary",
        "auto",
        2,
    )
    assert (compaction.tokens_before, compaction.tokens_after, compaction.kept) == (155000, None, 0)
    assert compaction.summary is not None
    assert (compaction.summary.id, compaction.summary.summary, compaction.line) == ("c1", True, 5)


def test_kept_messages_are_counted_and_missing_ones_told() -> None:
    session = read("boundary_keeps.jsonl")
    (compaction,) = session.main.compactions
    assert (compaction.trigger, compaction.tokens_after, compaction.kept) == ("manual", 18101, 4)
    assert [(p.line, p.what) for p in session.problems] == [
        (7, "1 of 5 records that the compaction kept are not in this file")
    ]


def test_of_a_kept_answer_only_the_kept_lines_stay() -> None:
    requests = read("boundary_keeps.jsonl").main.requests
    before = {message.id: shown(message) for message in requests[1].view}
    after = {message.id: shown(message) for message in requests[2].view}
    assert (before["m1"], after["m1"]) == ("assistant:text+call", "assistant:call")


@pytest.mark.parametrize("name", [name for name in BUFFERS if name.startswith("boundary")])
def test_messages_are_listed_once(name: str) -> None:
    ids = [message.id for message in read(name).main.messages]
    assert len(ids) == len(set(ids))


def test_a_summary_without_a_boundary_is_a_compaction_and_one_behind_a_boundary_is_no_second() -> (
    None
):
    found = read("boundary_alone.jsonl").main.compactions
    assert [(c.trigger, c.before_request, c.tokens_before) for c in found] == [
        ("", 1, None),
        ("manual", 2, 77),
    ]
    assert [c.summary.id for c in found if c.summary] == ["c1", "c2"]


def test_micro_compaction_leaves_a_placeholder_from_then_on() -> None:
    main = read("micro.jsonl").main
    (compaction,) = main.compactions
    assert (compaction.kind, compaction.before_request, compaction.cleared) == ("micro", 2, ("r1",))
    assert compaction.tokens_before is None  # its preTokens count tool results only
    before, after = (
        {message.id: message for message in main.requests[n].view}["r1"].result for n in (1, 2)
    )
    assert before is not None
    assert after is not None
    assert (before.content, after.content) == (
        "a very long text",
        "[Old tool result content cleared]",
    )
    assert main.requests[2].view.messages()[2].mark == "placeholder"
    assert (
        main.requests[2].view.messages()[1] is main.requests[1].view.messages()[1]
    )  # the rest is shared


def test_a_result_too_large_to_send_is_what_was_sent_instead() -> None:
    result = read("replaced.jsonl").main.requests[1].view.messages()[2].result
    assert result is not None
    assert result.content == "<persisted-output>"


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
    assert any("`claude -p` printed" in note for note in session.notes)


def test_a_file_with_a_hole_says_so() -> None:
    lines = values(DATA / "plain.jsonl")
    assert not read_values(lines).notes
    hung_on = next(value["parentUuid"] for _, value in reversed(lines) if value.get("parentUuid"))
    cut = [(line, value) for line, value in lines if value.get("uuid") != hung_on]
    later = next(line for line, value in cut if value.get("parentUuid") == hung_on)
    (note,) = read_values(cut).notes
    assert note.startswith(
        f"1 of the records on which others hang is not in this file (line {later})"
    )
    late = [*cut, *((line, value) for line, value in lines if value.get("uuid") == hung_on)]
    assert not read_values(late).notes
