"""Which thread is it: agents without keys that say the same, side calls before their thread, sub-agents by name."""

import json
from itertools import permutations
from typing import Any

import pytest

from inspector.core.session import Session
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

PI = {"user-agent": "pi (linux; x64)"}
HERE, THERE = (
    "You are a coding agent.\nCurrent folder: /a",
    "You are a coding agent.\nCurrent folder: /b",
)


def _by_system(session: Session) -> list[tuple[str | None, list[int]]]:
    """Of every thread the system prompt (all its requests must have the same), and how its buffers grew."""
    found = []
    for thread in session.threads:
        (system,) = {request.prompt.system for request in thread.requests}
        found.append((system, [request.view.length for request in thread.requests]))
    return found


ORDERS = sorted(set(permutations("abab")))


@pytest.mark.parametrize("order", ORDERS, ids="".join)
@pytest.mark.parametrize("late", [False, True], ids=["answers at once", "answers late"])
@pytest.mark.parametrize("keeps", [False, True], ids=["new connections", "one connection each"])
def test_the_same_words_in_two_folders_are_two_threads(
    order: tuple[str, ...], late: bool, keeps: bool
) -> None:
    """Whatever comes first, whatever is under way: each request stands in the thread of its own folder."""
    recording = Recording()
    systems, counts = {"a": HERE, "b": THERE}, {"a": 0, "b": 0}
    waiting: list[tuple[int, Any]] = []
    for n, who in enumerate(order):
        messages = [user("Fix the parser.")]
        answers = [said(text("I look."), call("read", k)) for k in range(2)]
        for k in range(counts[who]):
            messages += [assistant(answers[k]), result(k)]
        connection = {"a": 1, "b": 2}[who] if keeps else 10 + n
        number = recording.ask(
            body(messages, system=systems[who]), headers=PI, connection=connection
        )
        done = [one for one in waiting if keeps or not late]
        waiting = [] if done else waiting
        for other, answer in done:
            recording.reply(other, answer)
        waiting.append((number, answers[counts[who]]))
        if not late:
            recording.reply(*waiting.pop())
        counts[who] += 1
    for other, answer in waiting:
        recording.reply(other, answer)
    assert sorted(_by_system(recording.session())) == [(HERE, [1, 3]), (THERE, [1, 3])]


def test_the_same_words_in_one_folder_at_the_same_time_are_two_threads() -> None:
    """While an answer is under way, nobody else than another agent asks the same on another connection."""
    recording = Recording()
    answers = [said(text("I look."), call("read", k)) for k in range(2)]
    first = [recording.ask(body([user("Go.")]), headers=PI, connection=n) for n in (1, 2)]
    for number in first:
        recording.reply(number, answers[0])
    more = [user("Go."), assistant(answers[0]), result(0)]
    for n in (2, 1):
        recording.reply(recording.ask(body(more), headers=PI, connection=n), answers[1])
    assert [[r.view.length for r in thread.requests] for thread in recording.session().threads] == [
        [1, 3]
    ] * 2


def test_a_thread_goes_on_however_much_was_said_between_two_of_its_recorded_requests() -> None:
    """The proxy did not see ten turns: nothing of the last messages is known, but the first ones are."""
    recording = Recording()
    begun = turns(recording, 1, headers=PI)
    more = [
        message
        for n in range(1, 11)
        for message in (assistant(said(call("read", n))), result(n, f"text {n}"))
    ]
    recording.reply(recording.ask(body([*begun, *more]), headers=PI), said(text("done")))
    (thread,) = recording.session().threads
    assert [request.view.length for request in thread.requests] == [1, 23]


@pytest.mark.parametrize("ended", ["client closed", "upstream closed", "failed"])
def test_what_is_asked_again_after_it_broke_off_is_no_other_thread(ended: str) -> None:
    recording = Recording()
    number = recording.ask(body([user("Go.")]), headers=PI, connection=1)
    recording.reply(number, status=0, ended=ended, error="broken")
    recording.reply(
        recording.ask(body([user("Go.")]), headers=PI, connection=2), said(text("done"))
    )
    (thread,) = recording.session().threads
    assert [request.view.length for request in thread.requests] == [1]


def test_a_session_that_is_resumed_elsewhere_goes_on() -> None:
    """Another process, another date in its system prompt: the words are those of the thread."""
    recording = Recording()
    answer = said(text("It is done."))
    recording.reply(
        recording.ask(body([user("Fix it.")], system=HERE), headers=PI, connection=1), answer
    )
    again = [user("Fix it."), assistant(answer), user("And the tests?")]
    recording.reply(
        recording.ask(body(again, system=f"{HERE}, later"), headers=PI, connection=5),
        said(text("pass")),
    )
    (thread,) = recording.session().threads
    assert [request.view.length for request in thread.requests] == [1, 3]


# -- side calls that come before their thread --------------------------------------------------------------------------

SESSION = {"x-session-id": "ses_1", "user-agent": "opencode/1.18"}
TURN = {"session-id": "t-1", "thread-id": "t-1", "user-agent": "codex_exec/0.169.0"}
GEMINI = {"User-Agent": "GeminiCLI/0.61.0/gemini-3 (linux)"}
ROUTER = {
    "generationConfig": {
        "responseJsonSchema": {"properties": {"complexity_score": {"type": "integer"}}}
    }
}


def _gemini(words: str, connection: int, recording: Recording, **more: Any) -> int:
    contents = [
        {
            "role": "user",
            "parts": [{"text": "<session_context>the folder</session_context>"}, {"text": words}],
        }
    ]
    path = (
        PATHS["gemini"]
        if "tools" in more
        else PATHS["gemini"].replace("streamGenerateContent?alt=sse", "generateContent")
    )
    return recording.ask({"contents": contents, **more}, path, GEMINI, connection=connection)


def _record_provider_message(words: str) -> dict[str, Any]:
    return {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": words}]}, "finishReason": "STOP"}
        ]
    }


def test_opencodes_title_stands_with_the_thread_that_it_names() -> None:
    recording = Recording()
    for n, task in enumerate(("Fix the parser.", "Write the docs.")):
        headers = {**SESSION, "x-session-id": f"ses_{n}"}
        title = body(
            [user("Generate a title for this conversation:"), user(task)],
            tools=[],
            system="You name.",
        )
        recording.reply(recording.ask(title, headers=headers), said(text("A title")))
    for n, task in enumerate(("Fix the parser.", "Write the docs.")):
        headers = {**SESSION, "x-session-id": f"ses_{n}"}
        recording.reply(recording.ask(body([user(task)]), headers=headers), said(text("done")))
    session = recording.session()
    assert [(one.kind, one.thread, one.before_request) for one in session.side_calls] == [
        ("title", "main", 0),
        ("title", session.threads[1].id, 0),
    ]


def test_codex_prewarm_and_title_stand_with_their_thread() -> None:
    recording = Recording()
    warm = {
        "model": "gpt-x",
        "generate": False,
        "input": [user("You are Codex.") | {"role": "developer"}],
    }
    recording.reply(
        recording.ask(warm, PATHS["responses"], TURN),
        {"object": "response", "id": "r", "output": []},
    )
    task = user("Make the parser accept numbers.")
    work = {"model": "gpt-x", "tools": [{"type": "function", "name": "shell"}], "input": [task]}
    recording.reply(
        recording.ask(work, PATHS["responses"], TURN),
        {"object": "response", "id": "s", "output": []},
    )
    turn = json.dumps({"thread_source": "thread_title", "session_id": "t-9", "thread_id": "t-9"})
    named = {
        "session-id": "t-9",
        "thread-id": "t-9",
        "user-agent": TURN["user-agent"],
        "x-codex-turn-metadata": turn,
    }
    asked = {"model": "gpt-x", "input": [user("Name this: Make the parser accept numbers.")]}
    recording.reply(
        recording.ask(asked, PATHS["responses"], named),
        {"object": "response", "id": "u", "output": []},
    )
    session = recording.session()
    assert [thread.id for thread in session.threads] == ["main"]
    told = [(one.kind, one.thread, one.before_request) for one in session.side_calls]
    assert told == [("prewarm", "main", 0), ("title", "main", 1)]


@pytest.mark.parametrize(
    "tasks", [("Fix the parser.", "Write the docs."), ("Fix the parser.", "Fix the parser.")]
)
def test_geminis_router_stands_with_the_thread_that_it_routes(tasks: tuple[str, str]) -> None:
    """It comes first, and names nobody: its words are the thread's, or its connection is."""
    recording = Recording()
    tool = [{"functionDeclarations": [{"name": "ls"}]}]
    for n, task in enumerate(tasks):
        recording.reply(_gemini(task, n, recording, **ROUTER), _record_provider_message("{}"))
    for n, task in enumerate(tasks):
        recording.reply(_gemini(task, n, recording, tools=tool), _record_provider_message("done"))
    session = recording.session()
    first, second = session.threads
    assert [(one.kind, one.thread) for one in session.side_calls] == [
        ("router", first.id),
        ("router", second.id),
    ]


# -- sub-agents --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "title"),
    [
        (
            {"description": "Uses of the parser", "prompt": "Look for every use.\nAll."},
            "Uses of the parser",
        ),
        ({"prompt": "Look for every use.\nAll."}, "Look for every use."),
        (
            {"description": " ", "prompt": "<task>Look for every use.</task>"},
            "<task>Look for every use.</task>",
        ),
    ],
)
def test_a_subagent_is_called_by_what_it_was_started_for(given: dict[str, str], title: str) -> None:
    """Its first message begins with what its client has to say."""
    recording = Recording()
    started = said(call("Agent", 1, **given))
    recording.reply(recording.ask(body([user("Fix the parser.")]), headers=CLAUDE), started)
    told = {
        "role": "user",
        "content": [text("<system-reminder>Be kind.</system-reminder>"), text(given["prompt"])],
    }
    agent = {**CLAUDE, "x-claude-code-agent-id": "a1"}
    recording.reply(recording.ask(body([told]), headers=agent), said(text("none")))
    session = recording.session()
    assert [(thread.id, thread.parent, thread.title) for thread in session.threads] == [
        ("main", "", ""),
        ("a1", "main", title),
    ]


def test_a_subagent_that_inherits_a_conversation_is_not_called_by_its_first_words() -> None:
    recording = Recording()
    main = {"originator": "codex_exec", "session-id": "s-1", "thread-id": "s-1"}
    told = {"task_name": "count_uses", "message": "gAAAAA-sealed-task"}
    spawned = {
        "type": "function_call",
        "name": "spawn_agent",
        "call_id": "call-1",
        "arguments": json.dumps(told),
    }
    tools = [{"type": "function", "name": "spawn_agent"}]
    asked = recording.ask(
        {"model": "g", "tools": tools, "input": [user("Fix it.")]}, PATHS["responses"], main
    )
    recording.reply(
        asked, {"object": "response", "id": "r", "status": "completed", "output": [spawned]}
    )
    sealed = {"type": "encrypted_content", "encrypted_content": "gAAAAA-sealed-task"}
    task = {
        "type": "agent_message",
        "author": "/root",
        "recipient": "/root/count_uses",
        "content": [sealed],
    }
    done = {"type": "function_call_output", "call_id": "call-1", "output": "aborted"}
    agent = {**main, "thread-id": "t-2", "x-openai-subagent": "collab_spawn"}
    items = [user("Fix it."), spawned, done, task]
    asked = recording.ask({"model": "g", "tools": tools, "input": items}, PATHS["responses"], agent)
    recording.reply(asked, {"object": "response", "id": "s", "output": []})
    assert [thread.title for thread in recording.session().threads] == ["", "count_uses"]


def test_titles_of_two_sessions_with_the_same_task_stand_each_with_its_own() -> None:
    """The second comes while there is only one thread that it could be meant for by its words."""
    recording = Recording()
    for n in range(2):
        headers = {**SESSION, "x-session-id": f"ses_{n}"}
        title = body(
            [user("Generate a title for this conversation:"), user("Fix it.")],
            tools=[],
            system="You name.",
        )
        recording.reply(recording.ask(title, headers=headers), said(text("A title")))
        recording.reply(recording.ask(body([user("Fix it.")]), headers=headers), said(text("done")))
    session = recording.session()
    assert [one.thread for one in session.side_calls] == [thread.id for thread in session.threads]


def test_a_resumed_session_whose_client_tells_its_results_anew() -> None:
    """Gemini CLI leaves out signatures, tells results twice, looks at the folder again: its answers are the same."""
    recording = Recording()
    tools = [{"functionDeclarations": [{"name": "ls"}]}]
    contents: list[Any] = [
        {"role": "user", "parts": [{"text": "<session_context>as it was</session_context>"}]}
    ]
    for n in range(3):
        made = {"id": f"ls_{n}", "name": "ls", "args": {"n": n}}
        told = [{"text": f"I look, {n}."}, {"functionCall": made, "thoughtSignature": "sealed"}]
        path = PATHS["gemini"]
        number = recording.ask({"contents": contents, "tools": tools}, path, GEMINI, connection=1)
        answer = {
            "candidates": [{"content": {"role": "model", "parts": told}, "finishReason": "STOP"}]
        }
        recording.reply(number, answer)
        back = {
            "functionResponse": {"id": f"ls_{n}", "name": "ls", "response": {"output": f"file {n}"}}
        }
        contents = [*contents, {"role": "model", "parts": told}, {"role": "user", "parts": [back]}]
    again: list[Any] = [
        {"role": "user", "parts": [{"text": "<session_context>as it is now</session_context>"}]}
    ]
    for content in contents[1:]:
        parts = [
            {key: value for key, value in part.items() if key != "thoughtSignature"}
            for part in content["parts"]
        ]
        again.append({**content, "parts": parts * (2 if content["role"] == "user" else 1)})
    again.append({"role": "user", "parts": [{"text": "And now?"}]})
    number = recording.ask(
        {"contents": again, "tools": tools}, PATHS["gemini"], GEMINI, connection=7
    )
    recording.reply(number, _record_provider_message("done"))
    (thread,) = recording.session().threads
    assert len(thread.requests) == 4


@pytest.mark.parametrize("titled", [7, 150])
def test_among_many_threads_a_side_call_is_made_for_the_one_that_works(titled: int) -> None:
    """Also where that one began first, and hundreds of others after it."""
    recording = Recording(like=False)
    first = [user("Write the parser of dates.")]
    answer = said(text("I look."), call("read", 0))
    recording.reply(recording.ask(body(first), headers=PI, connection=0), answer)
    for n in range(1, 200):
        asked = recording.ask(
            body([user(f"Count the files of folder {n} please.")]), headers=PI, connection=n
        )
        recording.reply(asked, said(text(f"There are {n * 7}.")))
        if n == titled:
            title = [
                user("Generate a title for this conversation: Count the files of folder 7 please.")
            ]
            asked = recording.ask(
                {"model": "claude-x", "messages": title}, headers={**PI, "session_id": "titles"}
            )
            recording.reply(asked, said(text("Files")))
    went_on = body([*first, assistant(answer), result(0)])
    recording.reply(recording.ask(went_on, headers=PI, connection=0), said(text("It is written.")))
    system = "You are a context summarization assistant. Your task is to summarize."
    told = [
        user(
            "<conversation>\n[User]: Write the parser of dates.\n[Assistant]: I look.\n</conversation>"
        )
    ]
    asked = recording.ask(
        {"model": "claude-x", "system": system, "messages": told}, headers=PI, connection=500
    )
    recording.reply(asked, said(text("The parser of dates was asked for and is written now.")))
    session = recording.session()
    told_of = {one.kind: one.thread for one in session.side_calls}
    assert told_of["compaction"] == session.threads[0].id
    assert (
        session.thread(told_of["title"]).messages[0].text == "Count the files of folder 7 please."
    )
    assert [request.view.length for request in session.threads[0].requests] == [1, 3]
    assert len(session.threads) == 200
