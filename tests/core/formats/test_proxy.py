"""The proxy's recording as sessions: bodies told by what they share, threads, side calls, what was held."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.core.formats.detect import detect
from inspector.core.formats.format import Head
from inspector.core.formats.proxy import FORMAT
from inspector.core.message import Opaque
from inspector.core.session import Session
from inspector.core.usage import Usage
from tests.core.formats.recordings import PATHS, Recording, read, texts

TOOL = {"name": "read", "input_schema": {"type": "object"}}
CLAUDE = {"x-claude-code-session-id": "s-1", "user-agent": "claude-cli/2.1.330"}


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text, **more}]}


def said(*blocks: dict[str, Any], tokens: int = 100, **more: Any) -> dict[str, Any]:
    """A whole answer of Anthropic's."""
    usage = {"input_tokens": tokens, "output_tokens": 5}
    told = {"type": "message", "role": "assistant", "model": "claude-x", "usage": usage, "stop_reason": "end_turn"}
    return {**told, "content": list(blocks), **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, number: int, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"call-{number}", "name": name, "input": arguments}


def result(number: int, content: str = "text") -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": f"call-{number}", "content": content}
    return {"role": "user", "content": [block]}


def body(messages: list[Any], **more: Any) -> dict[str, Any]:
    return {"model": "claude-x", "max_tokens": 10, "system": "sys", "tools": [TOOL], "messages": list(messages), **more}


def assistant(answer: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": answer["content"]}


def turns(recording: Recording, count: int, headers: dict[str, str] | None = None, word: str = "go") -> list[Any]:
    """So many turns of an agent with a tool. Returns the conversation that it ends with."""
    messages: list[Any] = [user(word)]
    for n in range(count):
        answer = said(text(f"{word} {n}"), call("read", n), tokens=100 + 10 * n)
        recording.reply(recording.ask(body(messages), headers=headers), answer)
        messages += [assistant(answer), result(n)]
    return messages


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
    assert [request.usage.prompt for request in thread.requests if request.usage] == [100, 110, 120, 130]
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
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 1000, "cache_creation": lives, "output_tokens": 1}
    start = {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": usage}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 8}}
    events = [start, end, {"type": "message_stop"}] if whole else [start]
    tape = Recording()
    asked = tape.ask({"model": "claude-opus-5", "messages": [{"role": "user", "content": "Go"}]})
    tape.reply(asked, stream="".join(f"data: {json.dumps(event)}\n\n" for event in events))
    (request,) = tape.session().main.requests
    assert request.usage == Usage(3, 0, 1000, 8 if whole else 1, output_is_final=whole, cache_write_1h=900)


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
        handed.append((session, [(r.index, r.view.length, r.usage) for t in session.threads for r in t.requests]))
    for session, then in handed:
        assert [(r.index, r.view.length, r.usage) for t in session.threads for r in t.requests] == then


def test_answers_come_in_any_order() -> None:
    """Three agents at once, their answers the other way round."""
    recording = Recording()
    numbers = [recording.ask(body([user(f"agent {n}")]), tag=f"t{n}") for n in range(3)]
    for number in reversed(numbers):
        recording.reply(number, said(text(f"for {number}"), tokens=number + 1))
    session = recording.session()
    assert [texts(session, 0, thread.id) for thread in session.threads] == [[f"agent {n}"] for n in range(3)]
    assert [thread.end.messages()[-1].text for thread in session.threads] == ["for 0", "for 1", "for 2"]
    assert [thread.parent for thread in session.threads] == ["", "", ""]


def test_the_next_request_before_the_answer() -> None:
    """What the client repeats is the answer that comes later in the file."""
    recording = Recording()
    first = recording.ask(body([user("one")]))
    answer = said(text("two"))
    recording.reply(recording.ask(body([user("one"), assistant(answer), user("three")])), said(text("four")))
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
    recording.records += [{"type": "frame", "connection": 1, "from": "client"}, {"type": "later", "x": 1}]
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


# -- who it was --------------------------------------------------------------------------------------------------------


def test_subagents_by_their_own_keys() -> None:
    recording = Recording()
    task = "Look for every use of the parser."
    messages = [user("Fix the parser.")]
    answer = said(call("Task", 1, prompt=task))
    recording.reply(recording.ask(body(messages), headers=CLAUDE), answer)
    inner = {**CLAUDE, "x-claude-code-agent-id": "a1"}
    deeper = {**inner, "x-claude-code-agent-id": "a2", "x-claude-code-parent-agent-id": "a1"}
    recording.reply(recording.ask(body([user(task)]), headers=inner), said(call("Task", 2, prompt="And in the tests.")))
    recording.reply(recording.ask(body([user("And in the tests.")]), headers=deeper), said(text("none")))
    messages += [assistant(answer), result(1, "three uses")]
    recording.reply(recording.ask(body(messages), headers=CLAUDE), said(text("done")))
    session = recording.session()
    told = [(thread.id, thread.parent, thread.parent_call, len(thread.requests)) for thread in session.threads]
    assert told == [("main", "", "", 2), ("a1", "main", "call-1", 1), ("a2", "a1", "call-2", 1)]
    assert (session.id, session.client) == ("s-1", "claude-code")
    assert session.threads[0].compactions == []


def test_subagents_that_are_told_the_same() -> None:
    """Each has its own call: of the thread that it names as its parent, in the order in which they began."""
    recording = Recording()
    first, second = "Look for every use.", "Look for every test."
    started = said(call("Task", 1, prompt=first), call("Task", 2, prompt=second))
    recording.reply(recording.ask(body([user("Fix the parser.")]), headers=CLAUDE), started)
    for n, task in enumerate((first, second)):
        headers = {**CLAUDE, "x-claude-code-agent-id": f"a{n}"}
        both = said(call("Task", 10 + n, prompt="Read the notes."), call("Task", 20 + n, prompt="Read the notes."))
        recording.reply(recording.ask(body([user(task)]), headers=headers), both)
    for n in range(4):
        named = {"x-claude-code-agent-id": f"b{n}", "x-claude-code-parent-agent-id": f"a{n % 2}"}
        asked = recording.ask(body([user("Read the notes.")]), headers={**CLAUDE, **named})
        recording.reply(asked, said(text("read")))
    told = [(thread.id, thread.parent, thread.parent_call) for thread in recording.session().threads]
    assert told[1:3] == [("a0", "main", "call-1"), ("a1", "main", "call-2")]
    assert told[3:5] == [("b0", "a0", "call-10"), ("b1", "a1", "call-11")]
    assert told[5:] == [("b2", "a0", "call-20"), ("b3", "a1", "call-21")]


def test_subagents_of_two_sessions_that_are_told_the_same() -> None:
    """A sub-agent is started in its own session, whatever was said in another one."""
    recording = Recording()
    for n in range(2):
        headers = {**CLAUDE, "x-claude-code-session-id": f"s-{n}"}
        started = said(call("Task", n, prompt="Read the notes."))
        recording.reply(recording.ask(body([user("Fix it.")]), headers=headers), started)
    for n in (1, 0):
        headers = {**CLAUDE, "x-claude-code-session-id": f"s-{n}", "x-claude-code-agent-id": f"a{n}"}
        recording.reply(recording.ask(body([user("Read the notes.")]), headers=headers), said(text("read")))
    told = {thread.id: (thread.parent, thread.parent_call) for thread in recording.session().threads}
    assert told == {"main": ("", ""), "s-1": ("", ""), "a1": ("s-1", "call-1"), "a0": ("main", "call-0")}


def test_a_subagent_of_a_subagent_that_names_its_session_alone() -> None:
    """opencode: each has a session of its own, and says whose."""
    recording = Recording()
    for session, parent, words in (("s-1", "", "Fix it."), ("s-2", "s-1", "Read."), ("s-3", "s-2", "Count.")):
        headers = {"x-session-id": session, **({"x-parent-session-id": parent} if parent else {})}
        recording.reply(recording.ask(body([user(words)]), headers=headers), said(text("read")))
    told = [(thread.id, thread.parent) for thread in recording.session().threads]
    assert told == [("main", ""), ("s-2", "main"), ("s-3", "s-2")]


def _spawn(number: int, **arguments: Any) -> dict[str, Any]:
    told = {"type": "function_call", "name": "spawn_agent", "call_id": f"call-{number}"}
    return {**told, "arguments": json.dumps(arguments)}


def _output(*items: dict[str, Any]) -> dict[str, Any]:
    return {"object": "response", "id": "resp_x", "model": "gpt-x", "status": "completed", "output": list(items)}


def _codex(*items: dict[str, Any]) -> dict[str, Any]:
    return {"model": "gpt-x", "tools": [{"type": "function", "name": "spawn_agent"}], "input": list(items)}


def test_subagents_that_have_a_session_of_their_own_and_name_no_other() -> None:
    """Codex before 0.99 says only that it was spawned: by whom stands in the call."""
    recording = Recording()
    main, agent = {"originator": "codex_exec", "session_id": "s-1"}, {"originator": "codex_exec", "session_id": "s-2"}
    spawned = _output(_spawn(1, message="Read all of the notes."))
    recording.reply(recording.ask(_codex(user("Fix it.")), PATHS["responses"], main), spawned)
    agent |= {"x-openai-subagent": "collab_spawn"}
    asked = recording.ask(
        _codex(user("# AGENTS.md instructions"), user("Read all of the notes.")), PATHS["responses"], agent
    )
    recording.reply(asked, _output())
    session = recording.session()
    told = [(thread.id, thread.parent, thread.parent_call, thread.title) for thread in session.threads]
    assert told == [("main", "", "", ""), ("s-2", "main", "call-1", "Read all of the notes.")]
    assert session.notes == ()


def test_a_subagent_that_inherits_the_conversation() -> None:
    """Codex: the task comes last, sealed as it is in the call."""
    recording = Recording()
    main = {"originator": "codex_exec", "session-id": "s-1", "thread-id": "s-1"}
    first = user("Fix it.")
    calls = [_spawn(n, task_name=f"helper_{n}", message=f"gAAAAA-sealed-{n}") for n in (1, 2)]
    recording.reply(recording.ask(_codex(first), PATHS["responses"], main), _output(*calls))
    done = [{"type": "function_call_output", "call_id": f"call-{n}", "output": "aborted"} for n in (1, 2)]
    for n in (2, 1):
        sealed = {"type": "encrypted_content", "encrypted_content": f"gAAAAA-sealed-{n}"}
        lead = {"type": "input_text", "text": "Message Type: NEW_TASK"}
        task = {"type": "agent_message", "author": "/root", "recipient": f"/root/helper_{n}", "content": [lead, sealed]}
        headers = {**main, "thread-id": f"t-{n}", "x-openai-subagent": "collab_spawn"}
        asked = recording.ask(_codex(first, *calls, *done, task), PATHS["responses"], headers)
        recording.reply(asked, _output())
    told = [(thread.id, thread.parent, thread.parent_call) for thread in recording.session().threads]
    assert told == [("main", "", ""), ("t-2", "main", "call-2"), ("t-1", "main", "call-1")]


def test_subagents_without_keys() -> None:
    """What the user says to it stands in a call of another thread."""
    recording = Recording()
    answer = said(call("task", 1, description="short", prompt="Count all the lines of the sources."))
    recording.reply(recording.ask(body([user("How large is it?")])), answer)
    recording.reply(recording.ask(body([user("Count all the lines of the sources.")])), said(text("12")))
    recording.reply(recording.ask(body([user("How large is it?"), assistant(answer), result(1)])), said(text("12")))
    session = recording.session()
    assert [(thread.parent, thread.parent_call) for thread in session.threads] == [("", ""), ("main", "call-1")]
    assert [len(thread.requests) for thread in session.threads] == [2, 1]


def test_several_sessions_say_whose_they_are() -> None:
    recording = Recording()
    turns(recording, 1, CLAUDE, "the first")
    turns(recording, 2, {"session_id": "p-1", "user-agent": "pi/1"}, "the second")
    turns(recording, 2, None, "the third")
    session = recording.session()
    assert [thread.id for thread in session.threads] == ["main", "p-1", "thread-3"]
    assert [thread.parent for thread in session.threads] == ["", "", ""]
    titles = [thread.title for thread in session.threads]
    assert titles == ["claude-code s-1: the first", "pi p-1: the second", "the third"]
    assert session.client == "claude-code, pi"
    assert any("several sessions" in note for note in session.notes)


def test_the_same_words_in_another_launch() -> None:
    recording = Recording()
    for tag in ("one", "two"):
        recording.reply(recording.ask(body([user("hello")]), tag=tag), said(text("hi")))
    assert len(recording.session().threads) == 2


# -- side calls --------------------------------------------------------------------------------------------------------


def test_side_calls_are_told_and_are_no_steps() -> None:
    recording = Recording()
    schema = {"format": {"type": "json_schema", "schema": {"properties": {"title": {"type": "string"}}}}}
    title = body([user("fix it")], tools=[], output_config=schema)
    recording.reply(recording.ask(title, headers=CLAUDE), said(text('{"title": "x"}'), tokens=40))
    recording.reply(recording.ask(None, "/", method="HEAD"), status=200)
    recording.reply(recording.ask(body([user("quota")], tools=[], max_tokens=1), headers=CLAUDE), said(text("#")))
    messages = turns(recording, 2, CLAUDE)
    count = recording.ask(body(messages), PATHS["anthropic"].replace("messages", "messages/count_tokens"), CLAUDE)
    recording.reply(count, {"input_tokens": 4321})
    fetched = body([user("Web page content: ...")], tools=[])
    recording.reply(recording.ask(fetched, headers=CLAUDE), said(text("about parsers")))
    session = recording.session()
    assert [(one.kind, one.thread, one.before_request) for one in session.side_calls] == [
        ("title", "main", 0),
        ("connection check", "", 0),
        ("quota probe", "main", 0),
        ("token count", "main", 2),
        ("call without tools", "main", 2),
    ]
    assert session.side_calls[0].usage
    assert session.side_calls[3].what == "4,321 tokens"
    assert [len(thread.requests) for thread in session.threads] == [2]


def test_a_compaction_and_the_call_that_made_it() -> None:
    recording = Recording()
    messages = turns(recording, 3, CLAUDE)
    ask = user("CRITICAL: Respond with TEXT ONLY. Create a detailed summary of the conversation so far.")
    summary = "The parser was read in three parts; numbers are missing in the second one."
    answer = said(text(f"<analysis>hm</analysis>\n<summary>\n{summary}\n</summary>"), tokens=900)
    recording.reply(recording.ask(body([*messages, ask]), headers=CLAUDE), answer)
    after = [user(f"This session is being continued from a previous conversation.\nSummary:\n{summary}"), user("go on")]
    recording.reply(recording.ask(body(after), headers=CLAUDE), said(text("yes"), tokens=50))
    session = recording.session()
    (thread,) = session.threads
    (compaction,) = thread.compactions
    (side,) = session.side_calls
    assert (compaction.before_request, compaction.kind, compaction.kept) == (3, "summary", 0)
    assert compaction.summary
    assert compaction.summary.text.endswith(summary)
    assert (side.kind, side.thread, side.before_request, side.made) == ("compaction", "main", 3, 0)


def test_a_summary_in_words_of_its_own_is_known_by_the_call_that_made_it() -> None:
    """A client nobody knows: what its call was answered stands in the buffer, in whatever frame."""
    recording = Recording()
    turns(recording, 3)
    told = "## Notes\nParts one to three of the parser were read, nothing was changed so far."
    asked = body([user("...")], tools=[], system="You are a context summarization assistant for this tool.")
    recording.reply(recording.ask(asked), said(text(told)))
    after = [user(f"<memo>{told}</memo>"), user("go on")]
    recording.reply(recording.ask(body(after)), said(text("yes")))
    session = recording.session()
    (thread,) = session.threads
    assert [(one.before_request, one.kind) for one in thread.compactions] == [(3, "summary")]
    assert thread.requests[3].view.messages()[0].summary
    assert [one.made for one in session.side_calls] == [0]


@pytest.mark.parametrize("status", [400, 429, 500, 529])
def test_a_refused_request_is_a_side_call(status: int) -> None:
    recording = Recording()
    error = {"type": "error", "error": {"type": "x", "message": "prompt is too long: 9 tokens > 8 maximum"}}
    recording.reply(recording.ask(body([user("one")])), error, status=status)
    recording.reply(recording.ask(body([user("one")])), said(text("two")))
    session = recording.session()
    assert [len(thread.requests) for thread in session.threads] == [1]
    (side,) = session.side_calls
    assert (side.kind, side.thread, side.status) == ("refused", "main", status)
    assert side.what.endswith("prompt is too long: 9 tokens > 8 maximum")


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
    for tail in ([user("more"), user("or less")], [user("more")]):  # cut again, then changed again: the last one went
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
    asks = {**messages[-1], "content": [*messages[-1]["content"], text("CRITICAL: Respond with TEXT ONLY. Do NOT")]}
    aside = {"role": "system", "content": "Available agent types for the Agent tool: none"}
    recording.reply(recording.ask(body([*messages[:-1], asks, aside]), headers=CLAUDE), said(text("Goal: to go on.")))
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
    assert [[request.view.length for request in thread.requests] for thread in session.threads] == [[1, 3, 5]] * 2


@pytest.mark.parametrize("lead", ["[Conversation summary]\n", "[Mid-tier context collapse — 4 messages compacted]\n"])
def test_a_summary_that_the_proxy_put_in_is_one(lead: str) -> None:
    """By whatever tier of whatever policy."""
    recording = Recording()
    messages = turns(recording, 3)
    number = recording.ask(body(messages))
    recording.send(number, body([messages[0], user(f"{lead}Goal: go"), *messages[-2:]]))
    recording.reply(number, said(text("on")))
    (thread,) = recording.session().threads
    assert [(one.before_request, one.trigger, one.kind) for one in thread.compactions] == [(3, "proxy", "summary")]
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


# -- dialects ----------------------------------------------------------------------------------------------------------


def item(role: str, words: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


def ask(items: list[Any], **more: Any) -> dict[str, Any]:
    return {
        "model": "gpt-x",
        "instructions": "sys",
        "input": items,
        "tools": [{"type": "function", "name": "f"}],
        **more,
    }


def frames(name: str, *output: dict[str, Any], tokens: int = 10) -> list[dict[str, Any]]:
    usage = {"input_tokens": tokens, "output_tokens": 2}
    done = [{"type": "response.output_item.done", "output_index": n, "item": one} for n, one in enumerate(output)]
    whole = {"id": name, "model": "gpt-x", "status": "completed", "output": [], "usage": usage}
    return [
        {"type": "response.created", "response": {"id": name}},
        *done,
        {"type": "response.completed", "response": whole},
    ]


def test_a_websocket_sends_only_what_is_new() -> None:
    recording = Recording()
    socket: dict[str, Any] = {"transport": "websocket"}
    warm = recording.ask(
        {"type": "response.create", **ask([item("user", "env")], generate=False)}, PATHS["responses"], **socket
    )
    recording.reply(warm, frames=frames("r0"), status=101)
    first = ask([item("user", "do it")], previous_response_id="r0")
    thought = {"type": "reasoning", "summary": [], "encrypted_content": "x"}
    made = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    number = recording.ask({"type": "response.create", **first}, PATHS["responses"], **socket)
    recording.reply(number, frames=frames("r1", thought, made, tokens=30), status=101)
    came = {"type": "function_call_output", "call_id": "c1", "output": "7"}
    number = recording.ask(
        {"type": "response.create", **ask([came], previous_response_id="r1")}, PATHS["responses"], **socket
    )
    recording.reply(number, frames=frames("r2", item("assistant", "seven"), tokens=40), status=101)
    session = recording.session()
    assert [one.kind for one in session.side_calls] == ["prewarm"]
    assert [[message.role for message in request.view] for request in session.main.requests] == [
        ["user", "user"],
        ["user", "user", "assistant", "tool"],
    ]
    assert [request.usage.prompt for request in session.main.requests if request.usage] == [30, 40]
    assert session.main.end.messages()[-1].text == "seven"
    assert not session.notes


def test_a_chain_whose_beginning_is_missing() -> None:
    recording = Recording()
    number = recording.ask(ask([item("user", "and?")], previous_response_id="gone"), PATHS["responses"])
    session = recording.session()
    assert any("is not in the file" in note for note in session.notes)
    recording.reply(number, {"id": "r1", "output": [item("assistant", "so")], "usage": {"input_tokens": 5}})
    assert texts(recording.session(), 0) == ["and?"]


def test_a_chain_whose_answer_comes_late() -> None:
    recording = Recording()
    first = recording.ask(ask([item("user", "one")]), PATHS["responses"])
    recording.ask(ask([item("user", "three")], previous_response_id="r1"), PATHS["responses"])
    whole = {"id": "r1", "status": "completed", "output": [item("assistant", "two")], "usage": {"input_tokens": 5}}
    recording.reply(first, whole)
    session = recording.session()
    assert not [note for note in session.notes if "not in the file" in note]
    assert ["one", "two", "three"] in [texts(session, len(t.requests) - 1, t.id) for t in session.threads]


@pytest.mark.parametrize("remote", ["trigger", "endpoint"])
def test_remote_compaction_of_responses(remote: str) -> None:
    recording = Recording()
    sealed = {"type": "compaction", "encrypted_content": "sealed"}
    items = [item("user", "one")]
    recording.reply(
        recording.ask(ask(items), PATHS["responses"]),
        {"id": "r1", "status": "completed", "output": [item("assistant", "two")], "usage": {"input_tokens": 500}},
    )
    items += [item("assistant", "two"), item("user", "three")]
    if remote == "trigger":
        told = ask([*items, {"type": "compaction_trigger"}])
        answer = {"id": "r2", "status": "completed", "output": [sealed], "usage": {"input_tokens": 510}}
        recording.reply(recording.ask(told, PATHS["responses"]), answer)
    else:
        path = PATHS["responses"] + "/compact"
        recording.reply(recording.ask(ask(items), path), {"output": [item("user", "one"), sealed]})
    items = [item("user", "one"), sealed, item("user", "four")]
    recording.reply(
        recording.ask(ask(items), PATHS["responses"]),
        {"id": "r3", "status": "completed", "output": [item("assistant", "five")], "usage": {"input_tokens": 90}},
    )
    session = recording.session()
    (thread,) = session.threads
    (compaction,) = thread.compactions
    assert compaction.before_request == 1
    assert compaction.summary
    assert isinstance(compaction.summary.parts[0], Opaque)
    assert [(one.kind, one.made) for one in session.side_calls] == [("compaction", 0)]
    assert len(thread.requests) == 2


def test_a_cut_inside_what_the_model_said_at_once() -> None:
    """Items of one answer are one message; a later body may share only some of them."""
    recording = Recording()
    calls = [{"type": "function_call", "call_id": f"c{n}", "name": "f", "arguments": "{}"} for n in range(3)]
    came = [{"type": "function_call_output", "call_id": f"c{n}", "output": "x"} for n in range(3)]
    recording.ask(ask([item("user", "one"), *calls, *came]), PATHS["responses"])
    other = [item("user", "one"), calls[0], item("assistant", "rather not"), came[0]]
    recording.ask(ask(other), PATHS["responses"])
    assert recording.records[-1]["like"]["first"]["input"] == 2
    told = [request.view.messages() for thread in recording.session().threads for request in thread.requests]
    shapes = [[(message.role, len(message.parts)) for message in view] for view in told]
    assert [("user", 1), ("assistant", 2), ("tool", 1)] in shapes
    whole = Recording(like=False)
    whole.ask(ask(other), PATHS["responses"])
    alone = [(message.id, message.parts) for message in whole.session().main.requests[0].view]
    assert alone in [[(message.id, message.parts) for message in view] for view in told]


def test_chat_with_its_prompt_among_the_messages() -> None:
    recording = Recording()
    told: dict[str, Any] = {"model": "gpt-x", "tools": [{"type": "function", "function": {"name": "f"}}]}
    messages: list[Any] = [{"role": "system", "content": "sys"}, {"role": "user", "content": "one"}]
    chunks = [
        {"id": "x", "model": "gpt-x", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "tw"}}]},
        {"choices": [{"index": 0, "delta": {"content": "o"}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 1}},
    ]
    stream = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    recording.reply(recording.ask({**told, "messages": messages}, PATHS["chat"]), stream=stream)
    messages = [*messages, {"role": "assistant", "content": "two"}, {"role": "user", "content": "three"}]
    recording.ask({**told, "messages": messages}, PATHS["chat"])
    session = recording.session()
    assert [texts(session, n) for n in (0, 1)] == [["one"], ["one", "two", "three"]]
    assert {request.prompt.system for request in session.main.requests} == {"sys"}
    assert session.main.requests[0].usage
    assert session.main.requests[0].usage.prompt == 20
    assert session.main.requests[0].finish == "stop"


def test_gemini_calls_without_ids_are_paired() -> None:
    recording = Recording()
    told = {"tools": [{"functionDeclarations": [{"name": "f"}]}], "systemInstruction": {"parts": [{"text": "sys"}]}}
    contents: list[Any] = [{"role": "user", "parts": [{"text": "one"}]}]
    for n in range(3):
        made = {"functionCall": {"name": "f", "args": {"same": True}}}
        chunk = {"candidates": [{"content": {"role": "model", "parts": [made]}, "finishReason": "STOP"}]}
        usage = {"usageMetadata": {"promptTokenCount": 10 + n, "candidatesTokenCount": 1}, "modelVersion": "gemini-x"}
        number = recording.ask({**told, "contents": list(contents)}, PATHS["gemini"])
        recording.reply(number, stream=f"data: {json.dumps({**chunk, **usage})}\r\n\r\n")
        came = {"functionResponse": {"name": "f", "response": {"output": f"{n}"}}}
        contents += [{"role": "model", "parts": [made]}, {"role": "user", "parts": [came]}]
    recording.ask({**told, "contents": contents}, PATHS["gemini"])
    session = recording.session()
    view = session.main.requests[-1].view
    calls = [one.id for message in view for one in message.calls]
    assert len(set(calls)) == 3
    assert [message.result.call_id for message in view if message.result] == calls
    assert [request.usage.prompt for request in session.main.requests[:3] if request.usage] == [10, 11, 12]
    assert session.main.model == "gemini-x"
    assert len({id(request.view.stretch) for request in session.main.requests}) == 1


# -- streams -----------------------------------------------------------------------------------------------------------


def test_a_stream_that_broke_off_keeps_what_came() -> None:
    events = [
        {
            "type": "message_start",
            "message": {**said(), "content": [], "stop_reason": None, "usage": {"input_tokens": 77}},
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "half a sen"}},
    ]
    stream = "".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in events) + 'data: {"type": "cont'
    recording = Recording()
    recording.reply(recording.ask(body([user("one")])), stream=stream, ended="upstream closed")
    (request,) = recording.session().main.requests
    assert request.finish == "cut"
    assert request.usage
    assert (request.usage.prompt, request.usage.output_is_final) == (77, False)
    assert recording.session().main.end.messages()[-1].text == "half a sen"


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
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=5),
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
            "path": st.sampled_from([*PATHS.values(), "/v1/responses/compact", "/v1/messages/count_tokens", "/x"]),
            "method": st.just("POST"),
            "body": st.dictionaries(st.sampled_from(_KEYS), _JSON, max_size=5) | _JSON,
            "like": _LIKE,
        },
        optional={
            "status": st.sampled_from([200, 400, None, "x"]),
            "stream": st.sampled_from(["", "data: {}\n\n", 'data: {"type":"message_start","message":3}\n\n']),
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
        (thread.id, thread.parent, [(r.index, [m.id for m in r.view]) for r in thread.requests], len(thread.end))
        for thread in session.threads
    ]
