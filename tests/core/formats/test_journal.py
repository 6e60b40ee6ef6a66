"""Journals: what is written is what is read, whatever happens to a buffer; foreign and torn lines are told."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.agent.journal import Journal
from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.errors import UnknownFormat
from inspector.core.formats import journal
from inspector.core.formats.detect import FORMATS, detect
from inspector.core.formats.journal.reader import JournalReader, read_shape, write_shape
from inspector.core.jsontext import loads
from inspector.core.message import (
    Image,
    Json,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from inspector.core.needs import Answer, ContextWindowExceeded, ProviderFailure
from inspector.core.outcome import Event, Outcome
from inspector.core.tokens.windows import Window, find_window
from inspector.core.usage import Usage
from tests.core.formats.feeding import check
from tests.core.formats.heads import head_of

PROMPT = Prompt("You work.", (Tool("read_file", {"name": "read_file"}),))


ROLES: list[Role] = ["user", "assistant", "tool", "system"]


def said(id: str, text: str = "x", **more: Any) -> Message:  # noqa: A002
    return Message(id, "user", (Text(text),), **more)


def bare(messages: object) -> list[Message]:
    """Without where they stand."""
    return [replace(one, line=0, time="") for one in messages]  # type: ignore[attr-defined]


PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, st.text(max_size=20)),
    st.builds(Thinking, st.text(max_size=9), st.text(max_size=9), st.none() | st.integers(0, 99)),
    st.builds(
        ToolCall,
        st.text(min_size=1, max_size=5),
        st.text(max_size=5),
        st.dictionaries(st.text(), st.integers(0, 9)),
    ),
    st.builds(ToolResult, st.text(min_size=1, max_size=5), st.text(max_size=20), st.booleans()),
    st.builds(Image, st.just("image/png"), st.just("AAAA"), st.text(max_size=5)),
    st.builds(
        Opaque,
        st.just("reasoning"),
        st.dictionaries(st.text(), st.text()),
        st.integers(0, 9),
        st.none(),
    ),
)


@given(st.data())
@settings(max_examples=60)
def test_whatever_happens_to_a_buffer_is_read_as_it_was(data: st.DataObject) -> None:
    """Messages come, tiers and people change the buffer, calls are answered or fail: at every line the same stands."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j.jsonl"
        writer, reader = Journal(path, new=True), JournalReader()
        writer.begin({"id": "1", "window": 100}, PROMPT)
        held: tuple[Message, ...] = ()
        writer.thread("main", Buffer(held, PROMPT), title="", parent="", parent_call="")
        read = fresh = requests = 0
        for _ in range(data.draw(st.integers(1, 12))):
            match data.draw(st.sampled_from(["add", "tier", "edit", "call", "fail", "sync"])):
                case "add":
                    parts = tuple(data.draw(st.lists(PARTS, min_size=1, max_size=3)))
                    role = data.draw(st.sampled_from(ROLES))
                    held = (
                        *held,
                        Message(f"m{fresh}", role, parts, summary=data.draw(st.booleans())),
                    )
                    fresh += 1
                    writer.sync("main", held)
                case "tier":
                    after, fresh = _changed(data, held, fresh)
                    outcome = Outcome("L9", Buffer(after, PROMPT), None, (Event("Ran", {"n": 1}),))
                    writer.tier("main", outcome, 10, 5)
                    held = after
                case "edit":
                    held, fresh = _changed(data, held, fresh)
                    writer.edit("main", "by hand", held, {})
                case "sync":
                    held, fresh = _changed(data, held, fresh)
                    writer.sync("main", held)
                case "call":
                    writer.request("main", model="m")
                    new = (said(f"m{fresh}"),)
                    fresh += 1
                    requests += 1
                    writer.answer("main", Answer("x", new, Usage(input=7, output=2), "stop"))
                    held = (*held, *new)
                case "fail":
                    writer.request("main", model="m")
                    writer.failed("main", ProviderFailure("no", 529), 1.0)
            lines = path.read_bytes().splitlines()
            for n, line in enumerate(lines[read:], read + 1):
                reader.feed(n, loads(line))
            read = len(lines)
            session = reader.session()
            assert bare(session.main.end.messages()) == bare(held)
            assert len(session.main.requests) == requests
            assert session.problems == ()
            check(session)
        writer.close()


def _changed(
    data: st.DataObject, held: tuple[Message, ...], fresh: int
) -> tuple[tuple[Message, ...], int]:
    """Some dropped, some changed, some put in, in another order perhaps."""
    found: list[Message] = []
    for message in held:
        match data.draw(st.sampled_from(["keep", "keep", "drop", "change", "before"])):
            case "keep":
                found.append(message)
            case "change":
                found.append(replace(message, parts=(Text(f"changed {fresh}"),)))
                fresh += 1
            case "before":
                found += [said(f"m{fresh}"), message]
                fresh += 1
    if data.draw(st.booleans()):
        found.reverse()
    return tuple(found), fresh


def test_a_shape_costs_what_changed_not_what_stayed() -> None:
    before = [said(f"m{n}", "word " * 100) for n in range(1000)]
    after = [*before[:500], said("new"), *before[510:]]
    shape = write_shape(before, after)
    assert shape["of"] == 1000
    assert len(shape["parts"]) == 3
    same, rest = read_shape(shape, before, 1)
    assert same == 500
    assert rest[1] is before[510]


def feed(*records: Json) -> JournalReader:
    reader = JournalReader()
    for n, record in enumerate(records, 1):
        reader.feed(n, record)
    return reader


HEAD = {
    "type": "journal",
    "version": 1,
    "id": "1",
    "model": "m",
    "window": 1000,
    "time": "2026-01-01T00:00:00Z",
}
JUNK: list[Json] = [
    None,
    7,
    "text",
    [],
    {},
    {"type": 7},
    {"type": "message"},
    {"type": "message", "thread": "main", "message": 7},
    {"type": "message", "thread": 5, "message": {"role": "user", "parts": 5}},
    {"type": "answer", "thread": "main", "answer": {"error": "http"}},
    {"type": "answer", "thread": "main", "answer": {"usage": {"input": "many"}}},
    {"type": "answer", "thread": "main"},
    {"type": "tier", "thread": "main", "buffer": {"parts": [[5]]}},
    {"type": "tier", "thread": "main", "buffer": {"parts": [[-1, True]]}},
    {
        "type": "tier",
        "thread": "main",
        "buffer": {"parts": [[3, 900]]},
        "fates": [],
        "tokens_before": "x",
    },
    {"type": "tier", "thread": "main"},
    {"type": "edit", "thread": "main", "buffer": 7, "by": []},
    {"type": "running", "thread": "main", "running": [], "more": 7, "turn": "x"},
    {"type": "thread", "id": 5, "prompt": {"tools": [5]}},
    {"type": "failed", "failure": 7},
    {"type": "permission", "answer": "always", "covers": 7},
    {"type": "end", "why": 7},
    {"type": "something-new", "thread": "main"},
    {**HEAD},
]


@pytest.mark.parametrize("junk", JUNK, ids=lambda one: str(one)[:60])
def test_foreign_lines_are_passed_over_or_told(junk: Json) -> None:
    good = {
        "type": "message",
        "thread": "main",
        "time": "",
        "message": {"id": "a", "role": "user", "parts": []},
    }
    session = feed(
        HEAD, good, junk, {**good, "message": {"id": "b", "role": "user", "parts": []}}
    ).session()
    ids = [one.id for one in session.main.end.messages()]
    assert "b" in ids
    assert len(session.problems) <= 1
    check(session)


@given(st.lists(st.sampled_from([*JUNK, HEAD]), max_size=8))
def test_nothing_makes_it_raise(records: list[Json]) -> None:
    feed(*records).session()


def test_a_journal_is_known_by_its_beginning() -> None:
    assert detect(head_of(HEAD)).name == "journal"
    assert detect(head_of(HEAD, {"type": "message"})).name == "journal"
    middle = {
        "type": "message",
        "thread": "main",
        "time": "",
        "message": {"id": "a", "role": "user", "parts": []},
    }
    assert detect(head_of(middle, middle)).name == "journal"
    others = [one for one in FORMATS if one.name != "journal"]
    assert all(one.sniff(head_of(HEAD, middle)) < 1 for one in others)
    assert journal.FORMAT.sniff(head_of({"type": "session", "id": "x", "version": 3})) == 0
    with pytest.raises(UnknownFormat):
        detect(head_of({"type": "journal"}))


def test_a_refused_request_is_one_and_a_failed_one_is_none(tmp_path: Path) -> None:
    writer = Journal(tmp_path / "j.jsonl", new=True)
    writer.begin({"id": "1", "window": 100}, PROMPT)
    writer.thread("main", Buffer((said("a"),), PROMPT), title="t", parent="", parent_call="")
    for failure in (ProviderFailure("busy", 429), ContextWindowExceeded("too long")):
        writer.request("main", model="m")
        writer.failed("main", failure, None)
    writer.request("main", model="m")
    writer.close()
    reader = JournalReader()
    for n, line in enumerate((tmp_path / "j.jsonl").read_bytes().splitlines(), 1):
        reader.feed(n, loads(line))
    thread = reader.session().main
    assert [(one.finish, one.usage, one.window) for one in thread.requests] == [
        ("context_window_exceeded", None, 100),
        ("", None, 100),  # the one that has no answer yet
    ]
    assert os.stat(tmp_path / "j.jsonl").st_mode & 0o777 == 0o600


def test_running_state_is_told_by_what_changed(tmp_path: Path) -> None:
    writer, reader = Journal(tmp_path / "j.jsonl", new=True), JournalReader()
    writer.begin({"id": "1"}, PROMPT)
    writer.thread("main", Buffer((), PROMPT), title="", parent="", parent_call="")
    history = [{"step": n, "text": "word " * 200} for n in range(50)]
    for n in range(50):
        writer.running(
            "main", n, {"history": history[:n], "scale": 1.0, "summary": "x" * (n // 25)}
        )
    writer.running("main", 51, {"history": history[:3], "scale": 2.0, "summary": ""})
    data = (tmp_path / "j.jsonl").read_bytes()
    assert len(data) < 3 * 50 * 1_100
    for n, line in enumerate(data.splitlines(), 1):
        reader.feed(n, loads(line))
    assert reader.threads["main"].running == {"history": history[:3], "scale": 2.0, "summary": ""}
    assert reader.threads["main"].turn == 51
    writer.close()


def test_what_tiers_told_stands_before_the_request_behind_them(tmp_path: Path) -> None:
    """Of those that failed and changed nothing, too."""
    journal_ = Journal(tmp_path / "j.jsonl", new=True)
    journal_.begin({"id": "1", "model": "m", "window": 100}, PROMPT)
    one, two = said("u0"), said("u1")
    journal_.thread("main", Buffer((one, two), PROMPT), title="", parent="", parent_call="")
    journal_.request("main", model="m")
    journal_.answer(
        "main", Answer(messages=(Message("a0", "assistant", (Text("x"),)),), finish="stop")
    )
    held = Buffer((one, two, Message("a0", "assistant", (Text("x"),))), PROMPT)
    failed = Outcome(
        "L3a",
        held,
        None,
        (Event("CompactTriggered", {"step": 1}),),
        succeeded=False,
        error="timeout",
    )
    journal_.tier("main", failed, 90, 90)
    journal_.tier(
        "main", Outcome("L1", Buffer((two,), PROMPT), None, (Event("MidCompactLayer1Ran"),)), 90, 9
    )
    journal_.request("main", model="m")
    journal_.close()
    reader = JournalReader()
    for n, line in enumerate((tmp_path / "j.jsonl").read_bytes().splitlines(), 1):
        reader.feed(n, loads(line))
    thread = reader.session().main
    told = [(one.before_request, one.tier, one.event) for one in thread.events]
    assert told == [
        (1, "L3a", Event("CompactTriggered", {"step": 1})),
        (1, "L1", Event("MidCompactLayer1Ran")),
    ]
    assert len(thread.compactions) == 1


def test_the_window_is_known_before_the_first_call(tmp_path: Path) -> None:
    """A run that pauses there is to be stepped by the window that it has; and one that was resumed by its newest."""
    writer, reader = Journal(tmp_path / "j.jsonl", new=True), JournalReader()
    writer.begin({"id": "1", "model": "m", "window": 258_400}, PROMPT)
    writer.thread("main", Buffer((said("a"),), PROMPT), title="t", parent="", parent_call="")
    writer.close()
    for n, line in enumerate((tmp_path / "j.jsonl").read_bytes().splitlines(), 1):
        reader.feed(n, loads(line))
    session = reader.session()
    assert find_window(session, session.main) == Window(258_400, "recorded")
    reader.feed(9, {"type": "request", "thread": "main", "model": "m"})
    reader.feed(10, {"type": "resumed", "plan": {"window": 50_000}})
    session = reader.session()
    assert find_window(session, session.main).tokens == 50_000
    assert find_window(session, session.main, 0).tokens == 258_400
