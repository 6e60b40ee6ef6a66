"""A live run out of any transcript, by any provider: what had to be changed for it is said."""

from functools import cache
from pathlib import Path

import pytest

from inspector.agent.starting import Fork, fork
from inspector.agent.tools.toolbox import TOOLS
from inspector.core.answering import offline
from inspector.core.buffer import NOT_IN_FILE, Buffer, Prompt, Tool
from inspector.core.errors import InspectorError
from inspector.core.message import Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from inspector.core.needs import drive
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.roku import POLICY
from inspector.core.session import Session, Thread
from inspector.core.validity import find_refusals as refused
from inspector.simulated.server import SimulatedServer
from inspector.transcripts.files import open_transcript
from tests.agent.conftest import Planned
from tests.agent.running import call, finished, opened, running, script, texts
from tests.core.formats.feeding import check
from tests.providers.providing import WIRES
from tests.shared import transcripts

DATA = Path(__file__).resolve().parents[1] / "data"


def message(id: str, role: str, *parts: Part) -> Message:  # noqa: A002
    """A message of these parts."""
    return Message(id, role, parts)  # type: ignore[arg-type]


def forked(workspace: Path, *messages: Message, prompt: Prompt = NOT_IN_FILE) -> Fork:
    """Fork from a session whose end is this."""
    return fork(
        Session("pi", (Thread("main"),), path="old.jsonl"),
        Thread("main"),
        None,
        workspace,
        Buffer(messages, prompt),
    )


USER = message("u", "user", Text("Look."))


def test_what_is_well_stays_the_same_object(workspace: Path) -> None:
    said = message(
        "a", "assistant", Text("Let me see."), ToolCall("call_1", "Bash", {"command": "ls"})
    )
    result = message("t", "tool", ToolResult("call_1", "a.py"))
    found = forked(workspace, USER, said, result)
    assert all(
        one is other for one, other in zip(found.start.messages, (USER, said, result), strict=True)
    )


def test_the_tools_are_ours_and_the_prompt_is_its_own_or_ours(workspace: Path) -> None:
    theirs = Prompt("You are another agent.", (Tool("Bash", {}),))
    found = forked(workspace, USER, prompt=theirs)
    assert found.start.prompt == Prompt("You are another agent.", TOOLS)
    assert any("tools replace the 1 recorded tool" in one for one in found.changes)
    unknown = forked(workspace, USER)
    assert unknown.start.prompt.tools == TOOLS
    assert str(workspace) in (unknown.start.prompt.system or "")
    assert any("does not record the system prompt" in one for one in unknown.changes)


CALL = ToolCall("call_1", "Bash", {})
BROKEN = {
    "result-without-call": [
        USER,
        message("t", "tool", ToolResult("call_9", "x")),
        message("a", "assistant", Text("Yes.")),
    ],
    "call-without-result": [USER, message("a", "assistant", CALL)],
    "order": [
        USER,
        message("a", "assistant", CALL),
        message("u2", "user", Text("And?")),
        message("t", "tool", ToolResult("call_1", "x")),
    ],
    "duplicate-answer": [
        USER,
        message("a", "assistant", CALL),
        message("t", "tool", ToolResult("call_1", "x")),
        message("t2", "tool", ToolResult("call_1", "x")),
    ],
    "duplicate-call": [
        USER,
        message("a", "assistant", CALL),
        message("t", "tool", ToolResult("call_1", "x")),
        message("a2", "assistant", CALL),
        message("t2", "tool", ToolResult("call_1", "y")),
    ],
    "first-role": [message("a", "assistant", Text("Hello.")), USER],
    "empty-message": [
        USER,
        message("a", "assistant"),
        message("a1", "assistant", Thinking("hm")),
        message("u2", "user", Text("?")),
    ],
    "empty-text": [
        message("u0", "user", Text(" "), Text("Look.")),
        message("a", "assistant", Text("")),
        USER,
    ],
    "bad-id": [
        USER,
        message("a", "assistant", ToolCall("call_1|fc_2/" + "x" * 80, "Bash", {})),
        message("t", "tool", ToolResult("call_1|fc_2/" + "x" * 80, "x")),
    ],
    "foreign": [
        USER,
        message(
            "a",
            "assistant",
            Thinking("hm", "sig"),
            Opaque("compaction", {"encrypted": "x"}),
            Text("So."),
        ),
    ],
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("kind", BROKEN)
def test_what_a_provider_would_refuse_is_mended(
    planned: Planned, workspace: Path, monkeypatch: pytest.MonkeyPatch, wire: str, kind: str
) -> None:
    script(monkeypatch, [call("list_files")], "Done.")
    found = forked(workspace, *BROKEN[kind])
    assert not refused(found.start)
    assert len(found.changes) > 2  # tools and prompt are always said
    plan = planned("Go on.", wire=wire, start=found.start, forked_from=found.forked_from)
    heard, session = finished(plan)
    assert heard.all[-1].end == "done", heard.all[-1].error
    check(session)
    assert any("Forked from old.jsonl" in note for note in session.notes)
    assert all(change in session.notes for change in found.changes)


def test_each_result_stays_with_its_own_call(workspace: Path) -> None:
    """Where an id is used twice the first result is the first call's."""
    start = forked(workspace, *BROKEN["duplicate-call"]).start
    pairs = {one.id: one.name for message in start.messages for one in message.calls}
    assert len(pairs) == 2
    results = [message.result for message in start.messages if message.result]
    order = [one.id for message in start.messages for one in message.calls]
    assert [one.call_id for one in results] == order
    assert [one.content for one in results] == ["x", "y"]


def _some(pattern: str) -> list[Path]:
    return [path for path in transcripts(pattern) if path.stat().st_size < 1_500_000][:4]


SAMPLES = [
    DATA / "claude_code" / "with_agents.jsonl",
    DATA / "codex" / "turns.jsonl",
    DATA / "pi" / "v3-tree.jsonl",
    *[
        path
        for kind in ("claude-code", "codex", "pi", "clients")
        for path in _some(f"{kind}/**/*.jsonl")
    ],
]


open_once = cache(open_transcript)


def places_of(thread: Thread, wire: str) -> set[int | None]:
    """The end, and the first, a middle or the last request: another one with each wire."""
    last = len(thread.requests) - 1
    places = (0, len(thread.requests) // 2, last)
    return {None, places[WIRES.index(wire) % len(places)]} if thread.requests else {None}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem[:24])
def test_from_any_request_of_any_transcript(
    planned: Planned,
    simulated: SimulatedServer,
    workspace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wire: str,
    path: Path,
) -> None:
    """Each is answered, and works on with tools of ours."""
    simulated.world.window = 10_000_000
    session = open_once(path)
    thread = max(session.threads, key=lambda one: len(one.requests))
    for at in sorted(places_of(thread, wire), key=str):
        script(monkeypatch, [call("list_files")], "Done.")
        found = fork(session, thread, at, workspace)
        record = tmp_path / f"fork-{at}.jsonl"
        plan = planned(
            "Go on.", wire=wire, start=found.start, window=10_000_000, policy="none", record=record
        )
        heard, forked_session = finished(plan)
        assert heard.all[-1].end == "done", heard.all[-1].error
        check(forked_session)
        assert "Go on." in texts(forked_session.main.end.messages())


def test_from_a_buffer_that_was_compacted_by_hand(
    planned: Planned, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, "Done.")
    session = open_transcript(DATA / "codex" / "turns.jsonl")
    thread = session.main
    settings = POLICY.settings((), window=1_000)
    before = thread.requests[-1].buffer()
    after = drive(
        POLICY.tier("L1", PolicyContext(before, settings, POLICY.fresh(settings))), offline
    ).buffer
    assert len(after.messages) < len(before.messages)
    found = fork(session, thread, len(thread.requests) - 1, workspace, after)
    assert any("edited manually" in one for one in found.changes)
    plan = planned("Go on.", start=found.start, forked_from=found.forked_from)
    heard, journal = finished(plan)
    assert heard.all[-1].end == "done", heard.all[-1].error
    assert len(journal.main.requests[0].view) <= len(after.messages) + 2


def test_a_fork_of_a_run_is_a_run(
    planned: Planned, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, [call("list_files")], "Done.", "Done again.")
    plan = planned()
    finished(plan)
    session = opened(plan.record)
    found = fork(session, session.main, 1, workspace)
    assert found.changes == ()
    heard, _ = finished(planned("", start=found.start, record=plan.record.with_name("fork.jsonl")))
    assert heard.all[-1].end == "done"
    assert texts(heard.all[-1].buffer)[-1] == "Done again."


def test_a_fork_that_ends_with_an_answer_wants_a_task(planned: Planned, workspace: Path) -> None:
    found = forked(workspace, USER, message("a", "assistant", Text("Done.")))
    with pytest.raises(InspectorError, match="task"), running(planned("", start=found.start)):
        pass
