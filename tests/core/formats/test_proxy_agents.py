"""Whose request it is, in a recording: sub-agents by their keys, sessions, launches; side calls; refusals."""

import json
from typing import Any

import pytest

from tests.core.formats.recordings import (
    CLAUDE,
    PATHS,
    Recording,
    assistant,
    body,
    call,
    result,
    said,
    text,
    turns,
    user,
)


def test_subagents_by_their_own_keys() -> None:
    recording = Recording()
    task = "Look for every use of the parser."
    messages = [user("Fix the parser.")]
    answer = said(call("Task", 1, prompt=task))
    recording.reply(recording.ask(body(messages), headers=CLAUDE), answer)
    inner = {**CLAUDE, "x-claude-code-agent-id": "a1"}
    deeper = {**inner, "x-claude-code-agent-id": "a2", "x-claude-code-parent-agent-id": "a1"}
    recording.reply(
        recording.ask(body([user(task)]), headers=inner),
        said(call("Task", 2, prompt="And in the tests.")),
    )
    recording.reply(
        recording.ask(body([user("And in the tests.")]), headers=deeper), said(text("none"))
    )
    messages += [assistant(answer), result(1, "three uses")]
    recording.reply(recording.ask(body(messages), headers=CLAUDE), said(text("done")))
    session = recording.session()
    told = [
        (thread.id, thread.parent, thread.parent_call, len(thread.requests))
        for thread in session.threads
    ]
    assert told == [("main", "", "", 2), ("a1", "main", "call-1", 1), ("a2", "a1", "call-2", 1)]
    assert (session.id, session.client) == ("s-1", "claude-code")
    assert session.threads[0].compactions == []


SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
INNER = [
    (
        "web search",
        body(
            [user("Perform a web search for the query: goats")],
            system="You search.",
            tools=[SEARCH],
        ),
    ),
    ("web search", body([user("Suche nach: Ziegen")], system="You search.", tools=[SEARCH])),
]


@pytest.mark.parametrize(("kind", "inner"), INNER, ids=["search", "search in other words"])
def test_the_inner_call_of_a_web_tool_when_recorded_is_no_turn(
    kind: str, inner: dict[str, Any]
) -> None:
    recording = Recording()
    messages = turns(recording, 4, headers=CLAUDE)
    recording.reply(
        recording.ask(inner, headers=CLAUDE), said(text("a list of links"), tokens=37_000)
    )
    recording.reply(recording.ask(body(messages), headers=CLAUDE), said(text("done"), tokens=150))
    session = recording.session()
    [main] = session.threads
    assert [request.usage.prompt for request in main.requests if request.usage] == [
        100,
        110,
        120,
        130,
        150,
    ]
    assert [
        (side.kind, side.thread, side.usage and side.usage.prompt) for side in session.side_calls
    ] == [(kind, "main", 37_000)]


def test_a_chat_that_offers_only_the_providers_search_when_recorded_is_a_conversation() -> None:
    recording = Recording()
    recording.reply(
        recording.ask(body([user("What is new?")], tools=[SEARCH])), said(text("nothing"))
    )
    assert len(recording.session().main.requests) == 1


def test_subagents_that_are_told_the_same() -> None:
    """Each has its own call: of the thread that it names as its parent, in the order in which they began."""
    recording = Recording()
    first, second = "Look for every use.", "Look for every test."
    started = said(call("Task", 1, prompt=first), call("Task", 2, prompt=second))
    recording.reply(recording.ask(body([user("Fix the parser.")]), headers=CLAUDE), started)
    for n, task in enumerate((first, second)):
        headers = {**CLAUDE, "x-claude-code-agent-id": f"a{n}"}
        both = said(
            call("Task", 10 + n, prompt="Read the notes."),
            call("Task", 20 + n, prompt="Read the notes."),
        )
        recording.reply(recording.ask(body([user(task)]), headers=headers), both)
    for n in range(4):
        named = {"x-claude-code-agent-id": f"b{n}", "x-claude-code-parent-agent-id": f"a{n % 2}"}
        asked = recording.ask(body([user("Read the notes.")]), headers={**CLAUDE, **named})
        recording.reply(asked, said(text("read")))
    told = [
        (thread.id, thread.parent, thread.parent_call) for thread in recording.session().threads
    ]
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
        headers = {
            **CLAUDE,
            "x-claude-code-session-id": f"s-{n}",
            "x-claude-code-agent-id": f"a{n}",
        }
        recording.reply(
            recording.ask(body([user("Read the notes.")]), headers=headers), said(text("read"))
        )
    told = {
        thread.id: (thread.parent, thread.parent_call) for thread in recording.session().threads
    }
    assert told == {
        "main": ("", ""),
        "s-1": ("", ""),
        "a1": ("s-1", "call-1"),
        "a0": ("main", "call-0"),
    }


def test_a_subagent_of_a_subagent_that_names_its_session_alone() -> None:
    """opencode: each has a session of its own, and says whose."""
    recording = Recording()
    for session, parent, words in (
        ("s-1", "", "Fix it."),
        ("s-2", "s-1", "Read."),
        ("s-3", "s-2", "Count."),
    ):
        headers = {"x-session-id": session, **({"x-parent-session-id": parent} if parent else {})}
        recording.reply(recording.ask(body([user(words)]), headers=headers), said(text("read")))
    told = [(thread.id, thread.parent) for thread in recording.session().threads]
    assert told == [("main", ""), ("s-2", "main"), ("s-3", "s-2")]


def _spawn(number: int, **arguments: Any) -> dict[str, Any]:
    told = {"type": "function_call", "name": "spawn_agent", "call_id": f"call-{number}"}
    return {**told, "arguments": json.dumps(arguments)}


def _output(*items: dict[str, Any]) -> dict[str, Any]:
    return {
        "object": "response",
        "id": "resp_x",
        "model": "gpt-x",
        "status": "completed",
        "output": list(items),
    }


def _codex(*items: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": "gpt-x",
        "tools": [{"type": "function", "name": "spawn_agent"}],
        "input": list(items),
    }


def test_subagents_that_have_a_session_of_their_own_and_name_no_other() -> None:
    """Codex before 0.99 says only that it was spawned: by whom stands in the call."""
    recording = Recording()
    main, agent = (
        {"originator": "codex_exec", "session_id": "s-1"},
        {"originator": "codex_exec", "session_id": "s-2"},
    )
    spawned = _output(_spawn(1, message="Read all of the notes."))
    recording.reply(recording.ask(_codex(user("Fix it.")), PATHS["responses"], main), spawned)
    agent |= {"x-openai-subagent": "collab_spawn"}
    asked = recording.ask(
        _codex(user("# AGENTS.md instructions"), user("Read all of the notes.")),
        PATHS["responses"],
        agent,
    )
    recording.reply(asked, _output())
    session = recording.session()
    told = [
        (thread.id, thread.parent, thread.parent_call, thread.title) for thread in session.threads
    ]
    assert told == [("main", "", "", ""), ("s-2", "main", "call-1", "Read all of the notes.")]
    assert session.notes == ()


def test_a_subagent_that_inherits_the_conversation() -> None:
    """Codex: the task comes last, sealed as it is in the call."""
    recording = Recording()
    main = {"originator": "codex_exec", "session-id": "s-1", "thread-id": "s-1"}
    first = user("Fix it.")
    calls = [_spawn(n, task_name=f"helper_{n}", message=f"gAAAAA-sealed-{n}") for n in (1, 2)]
    recording.reply(recording.ask(_codex(first), PATHS["responses"], main), _output(*calls))
    done = [
        {"type": "function_call_output", "call_id": f"call-{n}", "output": "aborted"}
        for n in (1, 2)
    ]
    for n in (2, 1):
        sealed = {"type": "encrypted_content", "encrypted_content": f"gAAAAA-sealed-{n}"}
        lead = {"type": "input_text", "text": "Message Type: NEW_TASK"}
        task = {
            "type": "agent_message",
            "author": "/root",
            "recipient": f"/root/helper_{n}",
            "content": [lead, sealed],
        }
        headers = {**main, "thread-id": f"t-{n}", "x-openai-subagent": "collab_spawn"}
        asked = recording.ask(_codex(first, *calls, *done, task), PATHS["responses"], headers)
        recording.reply(asked, _output())
    told = [
        (thread.id, thread.parent, thread.parent_call) for thread in recording.session().threads
    ]
    assert told == [("main", "", ""), ("t-2", "main", "call-2"), ("t-1", "main", "call-1")]


def test_subagents_without_keys() -> None:
    """What the user says to it stands in a call of another thread."""
    recording = Recording()
    answer = said(
        call("task", 1, description="short", prompt="Count all the lines of the sources.")
    )
    recording.reply(recording.ask(body([user("How large is it?")])), answer)
    recording.reply(
        recording.ask(body([user("Count all the lines of the sources.")])), said(text("12"))
    )
    recording.reply(
        recording.ask(body([user("How large is it?"), assistant(answer), result(1)])),
        said(text("12")),
    )
    session = recording.session()
    assert [(thread.parent, thread.parent_call) for thread in session.threads] == [
        ("", ""),
        ("main", "call-1"),
    ]
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


def test_side_calls_are_told_and_are_no_steps() -> None:
    recording = Recording()
    schema = {
        "format": {"type": "json_schema", "schema": {"properties": {"title": {"type": "string"}}}}
    }
    title = body([user("fix it")], tools=[], output_config=schema)
    recording.reply(recording.ask(title, headers=CLAUDE), said(text('{"title": "x"}'), tokens=40))
    recording.reply(recording.ask(None, "/", method="HEAD"), status=200)
    recording.reply(
        recording.ask(body([user("quota")], tools=[], max_tokens=1), headers=CLAUDE),
        said(text("#")),
    )
    messages = turns(recording, 2, CLAUDE)
    count = recording.ask(
        body(messages), PATHS["anthropic"].replace("messages", "messages/count_tokens"), CLAUDE
    )
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
    ask = user(
        "CRITICAL: Respond with TEXT ONLY. Create a detailed summary of the conversation so far."
    )
    summary = "The parser was read in three parts; numbers are missing in the second one."
    answer = said(text(f"<analysis>hm</analysis>\n<summary>\n{summary}\n</summary>"), tokens=900)
    recording.reply(recording.ask(body([*messages, ask]), headers=CLAUDE), answer)
    after = [
        user(f"This session is being continued from a previous conversation.\nSummary:\n{summary}"),
        user("go on"),
    ]
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
    asked = body(
        [user("...")], tools=[], system="You are a context summarization assistant for this tool."
    )
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
    error = {
        "type": "error",
        "error": {"type": "x", "message": "prompt is too long: 9 tokens > 8 maximum"},
    }
    recording.reply(recording.ask(body([user("one")])), error, status=status)
    recording.reply(recording.ask(body([user("one")])), said(text("two")))
    session = recording.session()
    assert [len(thread.requests) for thread in session.threads] == [1]
    (side,) = session.side_calls
    assert (side.kind, side.thread, side.status) == ("refused", "main", status)
    assert side.what.endswith("prompt is too long: 9 tokens > 8 maximum")
