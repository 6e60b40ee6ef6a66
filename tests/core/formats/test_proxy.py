"""The proxy's recording as sessions: bodies told by what they share, what was held, dropped and changed."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.core.formats.detect import detect
from inspector.core.formats.format import Head
from inspector.core.formats.proxy import FORMAT
from inspector.core.session import Session
from inspector.core.usage import Usage
from tests.core.formats.recordings import (
    CLAUDE,
    PATHS,
    Recording,
    assistant,
    body,
    call,
    read,
    result,
    said,
    text,
    texts,
    turns,
    user,
)


@pytest.mark.parametrize("like", [True, False], ids=["told by what they share", "told whole"])
def test_a_session_is_the_same_however_it_is_told(like: bool) -> None:
    recording = Recording(like)
    turns(recording, 4)
    session = recording.session()
    (thread,) = session.threads
    assert [request.view.length for request in thread.requests] == [1, 3, 5, 7]
    assert texts(session, 2) == ["go", "go 0", "text", "go 1", "text"]
    assert len({id(request.view.stretch) for request in thread.requests}) == 1
    assert len({id(request.prompt) for request in thread.requests}) == 1
    assert [request.usage.prompt for request in thread.requests if request.usage] == [
        100,
        110,
        120,
        130,
    ]
    assert thread.end.messages()[-1].text == "go 3"
    assert len(thread.messages) == 8
    assert not session.problems


def test_what_only_the_wire_sees_is_no_change() -> None:
    """Cache marks move from message to message."""
    recording = Recording()
    first = [user("one", cache_control={"type": "ephemeral"})]
    recording.reply(recording.ask(body(first)), answer := said(text("two")))
    more = [user("one"), assistant(answer), user("three", cache_control={"type": "ephemeral"})]
    recording.reply(recording.ask(body(more)), said(text("four")))
    one, other = recording.session().main.requests
    assert one.view.stretch is other.view.stretch
    assert texts(recording.session(), 1) == ["one", "two", "three"]


@pytest.mark.parametrize("whole", [True, False])
def test_a_stream_tells_what_it_wrote_for_an_hour(whole: bool) -> None:
    lives = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 900}
    usage = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 1000,
        "cache_creation": lives,
        "output_tokens": 1,
    }
    start = {
        "type": "message_start",
        "message": {"id": "m", "role": "assistant", "content": [], "usage": usage},
    }
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 8},
    }
    events = [start, end, {"type": "message_stop"}] if whole else [start]
    tape = Recording()
    asked = tape.ask({"model": "claude-opus-5", "messages": [{"role": "user", "content": "Go"}]})
    tape.reply(asked, stream="".join(f"data: {json.dumps(event)}\n\n" for event in events))
    (request,) = tape.session().main.requests
    assert request.usage == Usage(
        3, 0, 1000, 8 if whole else 1, output_is_final=whole, cache_write_1h=900
    )


def test_a_request_on_its_way_has_no_usage() -> None:
    recording = Recording()
    number = recording.ask(body([user("one")]))
    (request,) = recording.session().main.requests
    assert (request.usage, request.finish) == (None, "")
    recording.reply(number, said(text("two")))
    (request,) = recording.session().main.requests
    assert request.usage
    assert request.finish == "end_turn"


def test_what_was_handed_out_does_not_change() -> None:
    recording = Recording()
    turns(recording, 2)
    reader = FORMAT.start()
    handed = []
    for line, record in enumerate(recording.records, 1):
        reader.feed(line, record)
        session = reader.session()
        handed.append(
            (
                session,
                [(r.index, r.view.length, r.usage) for t in session.threads for r in t.requests],
            )
        )
    for session, then in handed:
        assert [
            (r.index, r.view.length, r.usage) for t in session.threads for r in t.requests
        ] == then


def test_answers_come_in_any_order() -> None:
    """Three agents at once, their answers the other way round."""
    recording = Recording()
    numbers = [recording.ask(body([user(f"agent {n}")]), tag=f"t{n}") for n in range(3)]
    for number in reversed(numbers):
        recording.reply(number, said(text(f"for {number}"), tokens=number + 1))
    session = recording.session()
    assert [texts(session, 0, thread.id) for thread in session.threads] == [
        [f"agent {n}"] for n in range(3)
    ]
    assert [thread.end.messages()[-1].text for thread in session.threads] == [
        "for 0",
        "for 1",
        "for 2",
    ]
    assert [thread.parent for thread in session.threads] == ["", "", ""]


def test_the_next_request_before_the_answer() -> None:
    """What the client repeats is the answer that comes later in the file."""
    recording = Recording()
    first = recording.ask(body([user("one")]))
    answer = said(text("two"))
    recording.reply(
        recording.ask(body([user("one"), assistant(answer), user("three")])), said(text("four"))
    )
    recording.reply(first, answer)
    session = recording.session()
    assert [len(request.view) for request in session.main.requests] == [1, 3]
    assert [request.usage is not None for request in session.main.requests] == [True, True]
    assert [message.text for message in session.main.end] == ["one", "two", "three", "four"]


def test_a_body_that_cannot_be_made_whole() -> None:
    recording = Recording()
    turns(recording, 2)
    records = [record for record in recording.records if record.get("exchange") != 0]
    session = read(records)
    assert [problem.line for problem in session.problems] == [2]
    assert "exchange 0" in session.problems[0].what
    assert session.main.requests


@pytest.mark.parametrize(
    "record",
    [
        None,
        7,
        "text",
        [],
        {"exchange": 1},
        {"type": "request"},
        {"type": "request", "exchange": "0"},
        {"type": "response", "exchange": 99, "status": 200},
        {"type": "sent", "exchange": 99, "body": {}},
        {"type": "request", "exchange": 0, "method": "POST", "path": "/v1/messages", "body": {}},
    ],
)
def test_foreign_records_are_problems(record: Any) -> None:
    recording = Recording()
    turns(recording, 1)
    session = read([*recording.records, record])
    assert [problem.line for problem in session.problems] == [len(recording.records) + 1]
    assert len(session.main.requests) == 1


def test_what_is_not_known_is_passed_over() -> None:
    recording = Recording()
    recording.records += [
        {"type": "frame", "connection": 1, "from": "client"},
        {"type": "later", "x": 1},
    ]
    recording.records.append({"type": "note", "what": "The disk was full for a while."})
    turns(recording, 1)
    session = recording.session()
    assert not session.problems
    assert "The disk was full for a while." in session.notes


def test_another_run_of_the_proxy_counts_anew() -> None:
    recording, other = Recording(), Recording()
    turns(recording, 2)
    turns(other, 2, word="again")
    session = read([*recording.records, *other.records])
    assert not session.problems
    assert [len(thread.requests) for thread in session.threads] == [2, 2]


# -- what the proxy did ------------------------------------------------------------------------------------------------


def test_the_buffer_is_what_was_sent() -> None:
    recording = Recording()
    messages = turns(recording, 3)
    number = recording.ask(body(messages))
    recording.records.append({"type": "held", "exchange": number, "why": "watermark"})
    assert any("is held: watermark" in note for note in recording.session().notes)
    recording.records.append({"type": "released", "exchange": number, "how": "changed"})
    cut = [user("What was before, in short."), messages[-2], messages[-1]]
    recording.send(number, body(cut))
    recording.reply(number, answer := said(text("on")))
    again = [*messages, assistant(answer), user("more")]
    number = recording.ask(body(again))
    # Cut again, then changed again: the last one went.
    for tail in ([user("more"), user("or less")], [user("more")]):
        recording.send(number, body([*cut, assistant(answer), *tail]))
    recording.reply(number, said(text("end")))
    session = recording.session()
    (thread,) = session.threads
    assert texts(session, 3) == ["What was before, in short.", "go 2", "text"]
    assert texts(session, 4) == ["What was before, in short.", "go 2", "text", "on", "more"]
    assert thread.requests[4].view.stretch is thread.requests[3].view.stretch
    assert [(one.before_request, one.trigger) for one in thread.compactions] == [(3, "proxy")]
    assert [note for note in session.notes if "forwarded" in note] == [
        "2 requests were not forwarded as the client sent them: exchange 3 (line 8), 7 messages became 3, to exchange "
        "4 (line 13), 9 messages became 5."
    ]


def test_a_call_for_a_summary_behind_which_system_messages_stand() -> None:
    """Claude Code moves what it has to say of agents and skills to the end."""
    recording = Recording()
    messages = turns(recording, 2, CLAUDE)
    asks = {
        **messages[-1],
        "content": [*messages[-1]["content"], text("CRITICAL: Respond with TEXT ONLY. Do NOT")],
    }
    aside = {"role": "system", "content": "Available agent types for the Agent tool: none"}
    recording.reply(
        recording.ask(body([*messages[:-1], asks, aside]), headers=CLAUDE),
        said(text("Goal: to go on.")),
    )
    after = [
        user("This session is being continued from a previous conversation. Goal: to go on."),
        *messages[-2:],
        aside,
    ]
    recording.reply(recording.ask(body(after), headers=CLAUDE), said(text("done")))
    session = recording.session()
    (thread,) = session.threads
    assert [request.view.length for request in thread.requests] == [1, 3, 4]
    assert [(side.kind, side.made) for side in session.side_calls] == [("compaction", 0)]


def test_two_clients_without_keys_that_say_the_same_are_told_apart_by_their_connections() -> None:
    recording = Recording()
    messages: list[Any] = [user("go")]
    for n in range(3):
        answer = said(text(f"go {n}"), call("read", n))
        for connection in (1, 2):
            recording.reply(recording.ask(body(messages), connection=connection), answer)
        messages += [assistant(answer), result(n)]
    session = recording.session()
    assert [[request.view.length for request in thread.requests] for thread in session.threads] == [
        [1, 3, 5]
    ] * 2


@pytest.mark.parametrize(
    "lead", ["[Conversation summary]\n", "[Mid-tier context collapse — 4 messages compacted]\n"]
)
def test_a_summary_that_the_proxy_put_in_is_one(lead: str) -> None:
    """By whatever tier of whatever policy."""
    recording = Recording()
    messages = turns(recording, 3)
    number = recording.ask(body(messages))
    recording.send(number, body([messages[0], user(f"{lead}Goal: go"), *messages[-2:]]))
    recording.reply(number, said(text("on")))
    (thread,) = recording.session().threads
    assert [(one.before_request, one.trigger, one.kind) for one in thread.compactions] == [
        (3, "proxy", "summary")
    ]
    assert thread.compactions[0].summary is not None


def test_a_dropped_request_is_no_step() -> None:
    recording = Recording()
    messages = turns(recording, 1)
    number = recording.ask(body(messages))
    recording.records.append({"type": "held", "exchange": number, "why": "each"})
    recording.records.append({"type": "released", "exchange": number, "how": "dropped"})
    session = recording.session()
    assert [len(thread.requests) for thread in session.threads] == [1]
    assert [one.kind for one in session.side_calls] == ["dropped"]


# -- detection, and anything at all ------------------------------------------------------------------------------------


def test_detected_by_its_first_line_and_without_it() -> None:
    recording = Recording()
    turns(recording, 2)
    assert detect(Head(recording.records)).name == "proxy"
    assert detect(Head(recording.records[1:])).name == "proxy"
    assert FORMAT.sniff(Head([{"type": "request", "id": 1}, {"type": "response"}])) == 0


_KEYS = (
    "messages",
    "input",
    "contents",
    "role",
    "content",
    "parts",
    "text",
    "type",
    "tools",
    "system",
    "like",
    "model",
)
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 9)
    | st.sampled_from(["user", "assistant", "text", "tool_use", "", "x"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=5)
    ),
    max_leaves=20,
)
_LIKE = st.none() | st.fixed_dictionaries(
    {
        "exchange": st.integers(0, 4),
        "all": st.lists(st.sampled_from(_KEYS), max_size=4),
        "first": st.dictionaries(st.sampled_from(_KEYS), st.integers(-1, 4), max_size=3),
    }
)
_RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                ["request", "request", "response", "sent", "held", "released", "note", "proxy", "z"]
            ),
            "exchange": st.integers(0, 5),
            "path": st.sampled_from(
                [*PATHS.values(), "/v1/responses/compact", "/v1/messages/count_tokens", "/x"]
            ),
            "method": st.just("POST"),
            "body": st.dictionaries(st.sampled_from(_KEYS), _JSON, max_size=5) | _JSON,
            "like": _LIKE,
        },
        optional={
            "status": st.sampled_from([200, 400, None, "x"]),
            "stream": st.sampled_from(
                ["", "data: {}\n\n", 'data: {"type":"message_start","message":3}\n\n']
            ),
            "frames": st.lists(_JSON, max_size=3),
            "headers": _JSON,
            "tag": st.sampled_from(["a", "b", 3]),
            "how": st.sampled_from(["dropped", "changed", None]),
        },
    )
    | _JSON,
    max_size=9,
)


@settings(max_examples=300)
@given(records=_RECORDS)
def test_anything_is_read(records: list[Any]) -> None:
    """Never an exception; every request's buffer can be laid out, and asking early changes nothing."""
    reader = FORMAT.start()
    for line, record in enumerate(records, 1):
        reader.feed(line, record)
        reader.session()
    session = reader.session()
    assert _laid_out(session) == _laid_out(read(records))


def _laid_out(session: Session) -> list[Any]:
    return [
        (
            thread.id,
            thread.parent,
            [(r.index, [m.id for m in r.view]) for r in thread.requests],
            len(thread.end),
        )
        for thread in session.threads
    ]


def test_a_request_says_how_long_its_answer_took() -> None:
    recording = Recording()
    recording.reply(recording.ask(body([user("Go.")])), said(text("Done.")), elapsed_ms=1250.5)
    session = recording.session()
    assert session.main.requests[0].elapsed_ms == 1250.5
    assert session.exchanges[0].elapsed_ms == 1250.5
