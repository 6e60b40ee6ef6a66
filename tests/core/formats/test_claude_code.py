"""Claude Code sessions, rule by rule, on small samples: what each request was sent, and what it reported."""

from copy import deepcopy

import pytest

from inspector.core.usage import Usage
from inspector.core.validity import find_refusals
from tests.core.formats.claude_code_samples import BUFFERS
from tests.core.formats.claude_lines import DATA, buffers, read, read_values, shown, sniffed, values


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
    # The rest is shared.
    assert main.requests[2].view.messages()[1] is main.requests[1].view.messages()[1]


def test_a_result_too_large_to_send_is_what_was_sent_instead() -> None:
    result = read("replaced.jsonl").main.requests[1].view.messages()[2].result
    assert result is not None
    assert result.content == "<persisted-output>"
