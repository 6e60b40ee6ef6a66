"""Claude Code 2.1.330 writes down what it sent: the buffers are those, message by message, in their order."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.core.buffer import Stretch
from inspector.core.dialects.anthropic import read_wire_messages, same_wire_message
from inspector.core.message import Message, Part, Role
from inspector.core.session import Session
from tests.core.formats.claude_lines import read_values, values
from tests.core.formats.sending import Lines, Sender, reminder
from tests.shared import ARE_REAL, transcripts

Said = list[list[tuple[Role, Part]]]


def opened(sender: Sender) -> Session:
    return read_values(list(enumerate(sender.lines, 1)))


def wire(messages: tuple[Message, ...]) -> Said:
    """What each wire message says."""
    found: Said = []
    before: Message | None = None
    for message in messages:
        pieces = [(message.role, part) for part in message.parts]
        if before is not None and same_wire_message(before, message):
            found[-1] += pieces
        else:
            found.append(pieces)
        before = message
    return found


def body(messages: Lines) -> Said:
    return [
        piece
        for one in messages
        for piece in wire(read_wire_messages(one["role"], one["content"], id="w"))
    ]


def rebuilt(session: Session) -> list[Said]:
    return [wire(request.view.messages()) for request in session.main.requests]


def sent(sender: Sender) -> list[Said]:
    return [body(messages) for messages in sender.bodies]


# ---- single cases --------------------------------------------------------------------------------------------------


def test_injected_items_are_one_system_item_and_reminders_in_front_of_the_prompt() -> None:
    sender = Sender()
    sender.prompt("Look around.", ["git status: clean"], ["the environment", "the skills"])
    sender.answer("Hello.", [])
    first = opened(sender).main.requests[0].view.messages()

    assert [(message.id, message.role, message.mark, message.text) for message in first] == [
        ("u2", "user", "attachment", reminder("git status: clean") + "\n"),
        ("u1", "user", "", "Look around."),
        ("u3", "system", "attachment", "the environment\n\nthe skills"),
    ]
    assert first[0].together == first[1].together != first[2].together


def test_a_summary_comes_behind_the_file_that_is_attached_again() -> None:
    sender = Sender()
    sender.prompt("Look around.", [], [])
    sender.answer("I read.", ["Read"])
    sender.results([])
    sender.compact("We read a file.", "notes.txt: first line")
    sender.answer("Done.", [])
    main = opened(sender).main

    assert [message.text for message in main.requests[1].view] == [
        reminder("notes.txt: first line"),
        "We read a file.",
    ]
    assert [message.summary for message in main.requests[1].view] == [False, True]
    assert [message.text for message in main.end] == [
        reminder("notes.txt: first line"),
        "We read a file.",
        "Done.",
    ]
    assert len(main.compactions) == 1


def test_what_a_record_says_keeps_its_name_where_the_wire_says_it_otherwise() -> None:
    sender = Sender()
    sender.prompt("Look.", [], [])
    sender.answer("I read.", ["Read", "Bash"])
    sender.results([])
    sender.answer("Go on.", ["Read"])
    sender.clear()
    sender.results([])
    sender.answer("Done.", [])
    requests = opened(sender).main.requests
    before, after = requests[1].view.messages(), requests[2].view.messages()

    assert [message.id for message in after[: len(before)]] == [message.id for message in before]
    changed = [new for old, new in zip(before, after, strict=False) if old != new]
    assert [message.result.content for message in changed if message.result] == ["[cleared]"]


def test_a_request_that_nobody_answered_is_a_base_all_the_same() -> None:
    sender = Sender()
    sender.prompt("Look.", ["reminded"], [])
    sender.send()
    sender.prompt("Well?", [], ["late"])
    sender.send()
    sender.answer("Hello.", [])
    assert rebuilt(opened(sender)) == sent(sender)


@pytest.mark.parametrize("lost", ["base", "hash"])
def test_what_the_file_does_not_hold_is_what_the_records_say(lost: str) -> None:
    sender = Sender()
    sender.prompt("Look.", ["reminded"], [])
    sender.answer("I read.", ["Read"])
    sender.results([])
    sender.answer("Done.", [])
    if lost == "base":
        lines = [line for line in sender.lines if line["type"] != "api-request" or "base" in line]
    else:
        lines = [line for line in sender.lines if line["type"] != "api-request-blob"]
    last = read_values(list(enumerate(lines, 1))).main.requests[1].view.messages()
    assert [
        message.text or (message.result and message.result.content)
        for message in last
        if message.mark == ""
    ] == [
        "Look.",
        "I read.",
        last[-1].result and last[-1].result.content,
    ]
    assert last[-1].result


def test_a_resumed_session_sends_all_again_and_holds_it_once() -> None:
    """A new process knows of no earlier request: it names every wire message anew."""
    sender = Sender()
    for n in range(150):
        sender.prompt(f"Prompt {n}", [], ["the same hook each time"])
        sender.answer(f"Answer {n}", ["Read"])
        sender.results([])
        sender.answer(f"Done {n}", [])
        sender.resume()
    main = opened(sender).main

    assert rebuilt(opened(sender)) == sent(sender)
    assert _held(main.requests) == len(main.requests[-1].view), "each wire message is there once"
    assert {message.id for message in main.messages} == {message.id for message in main.end}


def test_a_reminder_that_moves_to_the_end_each_time_costs_no_copy_of_the_buffer() -> None:
    sender = Sender()
    for n in range(200):
        sender.prompt(f"Prompt {n}", [], ["moving"])
        sender.answer(f"Answer {n}", [])
        sender.withdraw()
    assert rebuilt(opened(sender)) == sent(sender)
    assert _held(opened(sender).main.requests) <= 4 * 200


def _held(requests: Any) -> int:
    """Messages in all stretches that the requests stand on."""
    stretches: dict[int, Stretch] = {}
    for request in requests:
        stretch = request.view.stretch
        while id(stretch) not in stretches:
            stretches[id(stretch)] = stretch
            stretch = stretch.base.stretch if stretch.base else stretch
    return sum(
        len(stretch) - (stretch.base.length if stretch.base else 0)
        for stretch in stretches.values()
    )


# ---- any session ---------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    ["the environment", "the skills", "git status: clean", "a reminder", "another one"]
)
SOME = st.lists(WORDS, max_size=2, unique=True)
TURN = st.tuples(
    SOME, SOME, st.lists(st.tuples(st.sampled_from(["", "Read", "Bash"]), SOME), max_size=3)
)
BETWEEN = st.sampled_from(["", "", "", "resume", "compact", "unanswered", "clear"])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(TURN, BETWEEN), min_size=1, max_size=6))
def test_every_buffer_is_the_body_that_was_sent(turns: list[tuple[Any, str]]) -> None:
    sender = Sender()
    number = 0
    happens: dict[str, Callable[[], None]] = {
        "resume": sender.resume,
        "unanswered": sender.send,
        "clear": sender.clear,
        "compact": lambda: sender.compact(f"So far {number}.", f"a file, read {number}"),
    }
    for (before, behind, steps), then in turns:
        number += 1
        sender.prompt(f"Prompt {number}", before, behind)
        for step, (tool, reminders) in enumerate(steps):
            sender.answer(f"Step {number}.{step}", [tool, f"{tool}2"] if tool else ["Glob"])
            sender.results(reminders)
        sender.answer(f"Done {number}", [])
        if then:
            happens[then]()
    session = opened(sender)

    assert rebuilt(session) == sent(sender)
    for request in session.main.requests:
        ids = [message.id for message in request.view]
        assert len(set(ids)) == len(ids)
    ids = [message.id for message in session.main.messages]
    assert len(set(ids)) == len(ids)


# ---- sessions at hand ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", list(transcripts("clients/claude-2.1.330*/*.jsonl")), ids=lambda path: path.stem[:8]
)
def test_real_sessions_have_the_messages_that_were_sent(path: Path) -> None:
    lines = [value for _, value in values(path)]
    counts: dict[str, int] = {}
    for line in lines:
        if line["type"] == "api-request":
            assert line["keep"] <= counts.get(line.get("base", ""), 0)
            counts[line["id"]] = line["keep"] + len(line["tail"])
    references = list(dict.fromkeys(line["requestRef"] for line in lines if "requestRef" in line))
    main = read_values(list(enumerate(lines, 1))).main

    assert [len(wire(request.view.messages())) for request in main.requests] == [
        counts[one] for one in references
    ]
    for request in main.requests:
        roles = [message.role for message in request.view]
        assert roles.count("system") == 1 or not ARE_REAL
        prompt = next(
            n
            for n, message in enumerate(request.view)
            if message.mark == "" and message.role == "user"
        )
        assert {message.mark for message in request.view.messages()[:prompt]} <= {"attachment"}
