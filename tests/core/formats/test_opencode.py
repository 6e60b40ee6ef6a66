"""opencode sessions: exports and rows, steps, tools in every state, summaries, pruning, turns taken back, any value."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.formats.format import Reader
from inspector.core.formats.opencode import FORMAT
from inspector.core.formats.opencode.content import CLEARED, INTERRUPTED, QUESTION, read_step_usage
from inspector.core.message import Image, Text, Thinking, ToolResult
from inspector.core.session import Request, Session, Thread
from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.fit import fit
from tests.core.formats.feeding import check, deep, laid_out, numbered, spoilt, told
from tests.core.formats.heads import head_of
from tests.core.formats.opencode_rows import SESSION, assistant, export, rows, session, tool, user
from tests.shared import ARE_REAL, transcripts


def read(*messages: dict[str, Any], **more: Any) -> Thread:
    opened = told(FORMAT, [(1, export(*messages, **more))])
    check(opened)
    assert not opened.problems
    assert laid_out(opened) == laid_out(told(FORMAT, numbered(rows(*messages, **more))))
    return opened.main


def ids(request: Request) -> list[str]:
    return [message.id for message in request.view]


def results(thread: Thread) -> list[tuple[str, bool]]:
    return [(one.result.content, one.result.is_error) for one in thread.end if one.result]


ASKED = user("m1", 10, "look around")
CALLED = assistant("m2", 20, 100, "I look.", tool("a"), tool("b"))
SAID = assistant("m3", 30, 120, "Done.")


def test_a_message_of_the_assistant_is_a_call() -> None:
    main = read(ASKED, CALLED, SAID)
    assert [ids(request) for request in main.requests] == [
        ["m1"],
        ["m1", "m2", "prt_m2_002", "prt_m2_003"],
    ]
    assert [request.usage and request.usage.prompt for request in main.requests] == [100, 120]
    assert [request.finish for request in main.requests] == ["stop", "stop"]
    assert main.requests[0].time == "1970-01-01T00:00:00.020+00:00"
    together = {message.together for message in main.messages if message.role == "tool"}
    assert len(together) == 1
    assert (main.title, main.model) == ("title of ses_1", "claude-x")


def test_tools_in_every_state() -> None:
    states: tuple[Any, ...] = (
        tool("a"),
        tool("b", "error"),
        tool("c", "error", metadata={"interrupted": True, "output": "half"}),
        tool("d", "running"),
        tool("e", "pending"),
        tool(
            "f",
            attachments=[
                {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"}
            ],
        ),
    )
    called = assistant("m2", 20, 100, *states, done=False)
    running = read(ASKED, called)
    assert len(results(running)) == 4  # what still runs has no answer
    assert len(running.requests) == 1  # the call is there before it has ended
    assert running.requests[0].usage is None
    later = read(ASKED, called, user("m3", 30, "go on"))
    said = [
        ("output of a", False),
        ("it failed", True),
        ("half", False),
        (INTERRUPTED, True),
        (INTERRUPTED, True),
    ]
    assert results(later) == [*said, ("output of f", False)]
    assert later.end.messages()[-2].parts[1] == Image("image/png", "AAAA")


def test_several_steps_in_one_message() -> None:
    """As older versions write them."""
    tokens = {"input": 50, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    two = assistant("m2", 20, 70, "first", tool("a"), {"type": "step-finish", "reason": "tool-calls", "tokens": tokens},
                    {"type": "step-start"}, "second")  # fmt: skip
    main = read(ASKED, two)
    assert [ids(request) for request in main.requests] == [["m1"], ["m1", "m2", "prt_m2_002"]]
    assert [request.usage and request.usage.prompt for request in main.requests] == [50, 70]
    assert [message.id for message in main.end] == ["m1", "m2", "prt_m2_002", "m2.1"]


def test_a_step_ends_where_its_tools_begin() -> None:
    def timed(kind: str, start: int, end: int) -> dict[str, Any]:
        return {"type": kind, "text": kind, "time": {"start": start, "end": end}}

    second = (
        {"type": "step-start"},
        timed("text", 2_950, 2_990),
        {"type": "step-finish", "reason": "stop"},
    )
    first = (
        timed("reasoning", 1_200, 1_250),
        timed("text", 1_300, 1_400),
        tool("c1", time={"start": 1_450, "end": 2_900}),
    )
    thread = read(
        user("u", 900, "go"),
        assistant("a", 1_000, 100, *first, *second),
        assistant("b", 3_000, 120, "done"),
    )
    times = [(one.time[17:23], one.first_byte_ms, one.elapsed_ms) for one in thread.requests]
    assert times == [("01.000", 200.0, 450.0), ("02.900", 50.0, 90.0), ("03.000", None, 1.0)]


def test_a_step_that_broke_off_is_tried_again_with_what_it_was_sent() -> None:
    """What came of it is sent later, but not with the second try."""
    twice = assistant("m2", 20, 70, "half", tool("a"), {"type": "step-start"}, "whole")
    main = read(ASKED, twice, user("m3", 30, "go on"), assistant("m4", 40, 90, "done"))
    assert [ids(request) for request in main.requests] == [
        ["m1"],
        ["m1"],
        ["m1", "m2", "prt_m2_002", "m2.1", "m3"],
    ]
    assert [request.usage and request.usage.prompt for request in main.requests] == [None, 70, 90]


def test_what_is_no_call_and_what_is_not_sent() -> None:
    info = {"id": "m2", "role": "assistant", "time": {"created": 20, "completed": 21}}
    shell = {"info": info, "parts": [{"id": "p", **tool("ls")}]}
    failed = assistant("m3", 30, 0, "never", done=False, error={"name": "APIError"})
    aborted = assistant("m4", 40, 0, "half", done=False, error={"name": "MessageAbortedError"})
    thought = assistant(
        "m5",
        50,
        0,
        {"type": "reasoning", "text": "hm"},
        done=False,
        error={"name": "MessageAbortedError"},
    )
    main = read(user("m1", 10, "!ls"), shell, failed, aborted, thought)
    assert not main.requests
    assert [message.id for message in main.end] == ["m1", "m2", "p", "m4"]
    assert {"m3", "m5"} < {message.id for message in main.messages}


def test_what_the_user_attached_and_the_client_wrote() -> None:
    file = {"type": "file", "mime": "image/png", "url": "https://x/y.png"}
    plain = {"type": "file", "mime": "text/plain", "url": "file:///x"}
    ignored = {"type": "text", "text": "not for the model", "ignored": True}
    synthetic = {"type": "text", "text": "Continue", "synthetic": True}
    one, two, three = read(
        user("m1", 1, "see", file, plain, ignored),
        user("m2", 2, synthetic),
        user("m3", 3, {"type": "subtask"}),
    ).end
    assert one.parts == (Text("see"), Image("image/png", "", "https://x/y.png"))
    assert [message.mark for message in (one, two, three)] == ["", "meta", "meta"]


def test_reasoning_with_its_signature_and_tokens() -> None:
    thought = {"type": "reasoning", "text": "hm", "metadata": {"anthropic": {"signature": "SIG"}}}
    assert read(ASKED, assistant("m2", 20, 9, thought)).end.messages()[1].parts == (
        Thinking("hm", "SIG"),
    )
    tokens = {"input": 1, "output": 2, "reasoning": 5, "cache": {"read": 3, "write": 4}}
    usage = read_step_usage({"tokens": tokens | {"total": 15}})
    assert usage
    assert (usage.prompt, usage.output, usage.reasoning) == (8, 7, 5)
    inside = read_step_usage({"tokens": {**tokens, "output": 6, "total": 14}})
    assert inside
    assert inside.output == 6


# --- summaries


def compaction(**more: Any) -> dict[str, Any]:
    return {"type": "compaction", "auto": True, **more}


SUMMARY = assistant("s1", 50, 40, "all that was", summary=True, mode="compaction", parentID="q1")
GO_ON = user("m5", 60, {"type": "text", "text": "Continue", "synthetic": True})


def test_a_summary_takes_the_place_of_what_was() -> None:
    main = read(
        ASKED,
        CALLED,
        SAID,
        user("q1", 40, compaction()),
        SUMMARY,
        GO_ON,
        assistant("m6", 70, 30, "so"),
    )
    assert len(main.requests) == 3  # the call that wrote the summary is none of the thread's
    assert ids(main.requests[2]) == ["q1", "s1", "m5"]
    assert main.requests[2].view.messages()[0].text == QUESTION
    (one,) = main.compactions
    assert (one.before_request, one.trigger, one.kept) == (2, "auto", 0)
    assert one.summary
    assert one.summary.summary
    assert [message.summary for message in main.messages if message.id == "s1"] == [True]


def test_a_tail_stays_behind_the_summary() -> None:
    asked = user("q1", 40, compaction(auto=False, tail_start_id="m3"))
    main = read(ASKED, CALLED, SAID, asked, SUMMARY, GO_ON, assistant("m6", 70, 30, "so"))
    assert ids(main.requests[2]) == ["q1", "s1", "m3", "m5"]
    assert [(one.trigger, one.kept) for one in main.compactions] == [("manual", 1)]
    again = [user("q2", 80, compaction(overflow=True, tail_start_id="m5")),
             assistant("s2", 90, 1, "shorter", summary=True, parentID="q2"), user("m7", 99, "?")]  # fmt: skip
    twice = read(ASKED, CALLED, SAID, asked, SUMMARY, GO_ON, assistant("m6", 70, 30, "so"), *again)
    assert [message.id for message in twice.end] == ["q2", "s2", "m5", "m6", "m7"]
    assert [one.trigger for one in twice.compactions] == ["manual", "overflow"]


def test_a_summary_that_failed_or_is_not_done_changes_nothing() -> None:
    failed = assistant(
        "s1", 50, 0, "all", done=False, summary=True, parentID="q1", error={"name": "APIError"}
    )
    half = assistant("s1", 50, 0, "all", done=False, summary=True, parentID="q1")
    for summary in (failed, half):
        main = read(ASKED, SAID, user("q1", 40, compaction()), summary)
        assert not main.compactions
        assert [message.id for message in main.end] == ["m1", "m3", "q1"]


def test_calls_that_wrote_summaries_are_side_calls() -> None:
    opened = told(FORMAT, [(1, export(ASKED, SAID, user("q1", 40, compaction()), SUMMARY))])
    (call,) = opened.side_calls
    assert call.usage
    assert (call.kind, call.thread, call.before_request, call.made, call.usage.prompt) == (
        "compaction",
        "main",
        1,
        0,
        40,
    )


# --- pruning


def pruned(at: int) -> dict[str, Any]:
    return assistant(
        "m2", 20, 100, "I look.", tool("a", time={"start": 1, "end": 2, "compacted": at}), tool("b")
    )


def test_pruned_answers_are_cleared_for_the_calls_since() -> None:
    main = read(ASKED, pruned(25), SAID)
    assert [message.result.content for message in main.requests[1].view if message.result] == [
        CLEARED,
        "output of b",
    ]
    (one,) = main.compactions
    assert (one.kind, one.trigger, one.before_request, one.cleared) == (
        "micro",
        "prune",
        1,
        ("prt_m2_002",),
    )
    assert main.messages[2].parts == (ToolResult("a", "output of a"),)  # the file still holds it
    later = read(ASKED, pruned(35), SAID)
    assert (
        next(message.result.content for message in later.requests[1].view if message.result)
        == "output of a"
    )
    assert [one.before_request for one in later.compactions] == [2]
    assert results(later)[0] == (CLEARED, False)


def test_pruned_while_it_is_followed() -> None:
    reader = FORMAT.start()
    feed(reader, rows(ASKED, CALLED, SAID))
    before = reader.session().main
    feed(reader, rows(pruned(35)))
    after = reader.session().main
    assert results(before)[0] == ("output of a", False)
    assert results(after)[0] == (CLEARED, False)
    assert after.requests[0].view.messages() == before.requests[0].view.messages()


def feed(reader: Reader, values: list[dict[str, Any]]) -> None:
    for value in values:
        reader.feed(0, value)


# --- taken back, sub-agents, several sessions


def test_turns_taken_back() -> None:
    main = read(
        ASKED,
        SAID,
        user("m4", 40, "else"),
        assistant("m5", 50, 60, "x"),
        revert={"messageID": "m4"},
    )
    assert [message.id for message in main.end] == ["m1", "m3"]
    assert len(main.requests) == 2


def test_sub_agents_are_threads() -> None:
    reader = FORMAT.start()
    started = tool("call", metadata={"sessionId": "ses_2"})
    reader.feed(
        0,
        {
            "table": "database",
            "row": {"session": SESSION, "held": [session(SESSION), session("ses_9")]},
        },
    )
    feed(
        reader,
        rows(user("c1", 1, "help"), assistant("c2", 2, 5, "ok"), name="ses_2", parent_id=SESSION),
    )
    feed(reader, rows(ASKED, assistant("m2", 20, 100, started)))
    opened = reader.session()
    assert [(thread.id, thread.parent, thread.parent_call) for thread in opened.threads] == [
        ("main", "", ""),
        ("ses_2", "main", "call"),
    ]
    assert opened.id == SESSION
    assert [(one.id, one.title) for one in opened.held][1:] == [("ses_9", "title of ses_9")]


def test_any_order_and_any_number_of_times() -> None:
    """A database is read while it is written: a row may come again and again, and before what it belongs to."""
    messages = (
        ASKED,
        pruned(25),
        SAID,
        user("q1", 40, compaction(tail_start_id="m3")),
        SUMMARY,
        GO_ON,
    )
    wanted = laid_out(told(FORMAT, [(1, export(*messages, assistant("m6", 70, 30, "so")))]))
    values = rows(*messages, assistant("m6", 70, 30, "so"))
    for seed in range(60):
        shuffled = [*values, *values]
        random.Random(seed).shuffle(shuffled)
        reader = FORMAT.start()
        for n, value in enumerate(shuffled):
            reader.feed(0, value)
            if n % 3 == seed % 3:
                check(reader.session())
        assert laid_out(reader.session()) == wanted


def test_half_written_messages_are_completed() -> None:
    reader = FORMAT.start()
    feed(reader, rows(ASKED, assistant("m2", 20, 0, "I", tool("a", "running"), done=False)))
    assert reader.session().main.requests[0].usage is None
    feed(reader, rows(CALLED))
    feed(reader, rows(SAID))
    main = reader.session().main
    assert [request.usage and request.usage.prompt for request in main.requests] == [100, 120]
    first = main.requests[0]
    feed(reader, rows(user("m4", 40, "more")))
    assert reader.session().main.requests[0] is first


def test_an_old_message_that_says_something_else() -> None:
    reader = FORMAT.start()
    feed(reader, rows(ASKED, CALLED, SAID))
    before = reader.session().main
    feed(reader, rows(user("m1", 10, "look elsewhere")))
    assert [
        main.requests[1].view.messages()[0].text for main in (before, reader.session().main)
    ] == [
        "look around",
        "look elsewhere",
    ]


def test_how_sure_it_is() -> None:
    assert FORMAT.sniff(head_of(export(ASKED))) == 1.0
    assert FORMAT.sniff(head_of(*rows(ASKED))) == 1.0
    assert FORMAT.sniff(head_of({"info": {"id": "x"}, "messages": [ASKED]})) == 0.95
    assert FORMAT.sniff(head_of({"info": {}, "messages": []})) == 0.0


def test_spoilt_records_never_raise() -> None:
    whole = export(
        ASKED,
        pruned(25),
        user("q1", 40, compaction(tail_start_id="m2")),
        SUMMARY,
        revert={"messageID": "m1"},
    )
    spoils: list[Any] = [None, 7, -1e300, "x", [], {}, deep(200)]
    for bad in spoils:
        for values in spoilt(numbered(rows(*whole["messages"])), bad):
            check(told(FORMAT, values))
        for values in spoilt([(1, whole)], bad):
            check(told(FORMAT, values))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["table", "row", "id", "data", "info", "messages", "parts", "type"]),
            inner,
        )
    ),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=8))
def test_any_values(values: list[Any]) -> None:
    check(told(FORMAT, numbered(values)))


# --- real ones


@pytest.mark.parametrize(
    "path", [*transcripts("clients/opencode*.json")], ids=lambda path: path.name
)
def test_real_ones(path: Path) -> None:
    opened: Session = told(FORMAT, [(1, json.loads(path.read_bytes()))])
    check(opened)
    assert not opened.problems
    main = opened.main
    assert [(one.before_request, one.kept) for one in main.compactions] == (
        [(5, 2)] if ARE_REAL else []
    )
    line = fit(main, estimator("chars4")).line
    assert line
    assert line.r2 is not None
    assert line.r2 > 0.999
    assert 0.9 < line.slope < 1.1
