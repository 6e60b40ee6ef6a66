"""Claude Code: what holds for every file, real ones, hostile ones and made-up ones."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.core.formats.claude_code.reader import ClaudeCodeReader
from inspector.core.jsontext import loads
from inspector.core.session import Session, Thread
from inspector.core.validity import find_refusals
from tests.core.formats.claude_lines import DATA, buffers, read_values, values
from tests.shared import transcripts

REAL = [
    *transcripts("claude-code/**/*.jsonl"),
    *transcripts("clients/claude-*.jsonl"),
    *transcripts("clients/claude-*/**/*.jsonl"),
    *transcripts("derived-merged/**/*.jsonl"),
    *transcripts("fixtures-synthetic/**/*.jsonl"),
]
SAMPLES = sorted(DATA.glob("*.jsonl"))


def each(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "path", paths, ids=lambda path: f"{path.parent.name}-{path.name}"[-60:]
    )


@each(REAL)
def test_a_real_session_keeps_the_invariants(path: Path) -> None:
    lines = values(path)
    session = read_values(lines)
    assert session.threads
    ids = [thread.id for thread in session.threads]
    assert len(ids) == len(set(ids))
    for thread in session.threads:
        keeps_the_invariants(thread)
    assert len(session.main.requests) == calls_in(lines, sidechain=ids == ["main"])


def keeps_the_invariants(thread: Thread) -> None:
    ids = [message.id for message in thread.messages]
    assert len(ids) == len(set(ids))
    known = set(ids)
    for n, request in enumerate(thread.requests):
        assert request.index == n
        sent = [message.id for message in request.view]
        assert len(sent) == len(set(sent)) == request.view.length
        assert known.issuperset(sent)
    for compaction in thread.compactions:
        assert 0 <= compaction.before_request <= len(thread.requests)
        if compaction.kind == "summary" and compaction.before_request < len(thread.requests):
            after = thread.requests[compaction.before_request].view.messages()
            assert compaction.summary is not None
            assert after[0].id == compaction.summary.id


def calls_in(lines: list[tuple[int, Any]], *, sidechain: bool) -> int:
    """Model calls of the main thread, counted the plain way: distinct message ids."""
    ids = set()
    for _, value in lines:
        if not isinstance(value, dict) or value.get("type") != "assistant":
            continue
        message = value.get("message")
        if not isinstance(message, dict) or not isinstance(message.get("content"), list):
            continue
        if message.get("model") != "<synthetic>" and (sidechain or not value.get("isSidechain")):
            ids.add(message.get("id") or value.get("requestId") or value.get("uuid"))
    return len(ids)


@each(REAL)
def test_calls_and_results_of_a_real_session_pair(path: Path) -> None:
    """Only where the file lacks a record may a buffer hold a call without its result, or the reverse."""
    lines = values(path)
    calls, results = (
        named_in(lines, "tool_use", "id"),
        named_in(lines, "tool_result", "tool_use_id"),
    )
    thread = read_values(lines).main
    for request in thread.requests[:: max(1, len(thread.requests) // 40)]:
        for invalid in find_refusals(request.buffer()):
            # It was answered.
            assert invalid.rule not in ("empty-message", "empty-text"), (invalid, request.index)
            message = next(m for m in request.view if m.id == invalid.message)
            asked = {call.id for call in message.calls}
            answered = {message.result.call_id} if message.result else set()
            if "call" in invalid.rule or "result" in invalid.rule:
                assert asked - results or answered - calls, (invalid, request.index)


def named_in(lines: list[tuple[int, Any]], kind: str, key: str) -> set[str]:
    found = set()
    for _, value in lines:
        message = value.get("message") if isinstance(value, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict) and block.get("type") == kind:
                found.add(str(block.get(key)))
    return found


def summed_up(session: Session) -> Any:
    """All that a session says, as plain values."""
    return [*map(thread_summed_up, session.threads), list(session.problems), session.notes]


def thread_summed_up(thread: Thread) -> Any:
    return (
        (thread.id, thread.title, thread.model, thread.parent, thread.parent_call, thread.prompt),
        (buffers(thread), list(thread.messages), list(thread.end), list(thread.compactions)),
        [
            (request.usage, request.finish, request.line, request.model)
            for request in thread.requests
        ],
    )


@each(SAMPLES + REAL[:6])
def test_spaces_do_not_matter(path: Path) -> None:
    lines = values(path)
    spaced = [
        (n, loads(json.dumps(value, indent=1, ensure_ascii=True).encode())) for n, value in lines
    ]
    assert summed_up(read_values(lines)) == summed_up(read_values(spaced))


@each(SAMPLES + REAL[:4])
def test_asking_in_between_changes_nothing(path: Path) -> None:
    reader = ClaudeCodeReader()
    lines = values(path)
    earlier: list[tuple[Session, Any]] = []
    for n, (number, value) in enumerate(lines):
        reader.feed(number, value)
        if n % max(1, len(lines) // 20) == 0:
            session = reader.session()
            earlier.append((session, summed_up(session)))
    assert summed_up(reader.session()) == summed_up(read_values(lines))
    for session, then in earlier:  # what was handed out does not change
        assert summed_up(session) == then


@each(REAL[:8])
def test_lines_in_any_order_lose_no_message(path: Path) -> None:
    lines = [(n, value) for n, value in values(path) if isinstance(value, dict)]
    random.Random(7).shuffle(lines)
    results = named_in(lines, "tool_result", "tool_use_id")
    session = read_values(lines)
    found = {m.result.call_id for thread in session.threads for m in thread.messages if m.result}
    assert found >= results


def test_bad_lines_in_between_do_not_lose_the_rest() -> None:
    lines = values(DATA / "interleaved.jsonl")
    odd: list[Any] = [
        None,
        7,
        "x",
        [],
        {},
        {"type": 5},
        {"type": "user"},
        {"type": "assistant", "message": []},
    ]
    mixed = [(n * 10 + k, value) for n, line in lines for k, value in enumerate([*odd, line])]
    assert buffers(read_values(mixed).main) == buffers(read_values(lines).main)


# ---- long ----------------------------------------------------------------------------------------------------------


def made(n: int) -> list[tuple[int, Any]]:
    """n records, each hanging on the one before: prompt, answer, prompt, ..."""
    lines: list[tuple[int, Any]] = []
    for k in range(n):
        role = "user" if k % 2 == 0 else "assistant"
        message: dict[str, Any] = {
            "role": role,
            "content": [{"type": "text", "text": f"number {k}"}],
        }
        if role == "assistant":
            message |= {
                "id": f"m{k}",
                "usage": {"input_tokens": k, "output_tokens": 1},
                "model": "claude-opus-5",
            }
        parent = f"u{k - 1}" if k else None
        lines.append(
            (k + 1, {"type": role, "uuid": f"u{k}", "parentUuid": parent, "message": message})
        )
    return lines


def test_a_chain_of_20000_records() -> None:
    session = read_values(made(20_000))
    assert len(session.main.requests) == 10_000
    assert len(session.main.requests[-1].view) == 19_999
    assert len(session.main.end) == 20_000


def test_the_requests_share_their_messages() -> None:
    """Memory is proportional to messages: all requests are views of one stretch."""
    requests = read_values(made(2_000)).main.requests
    assert len({id(request.view.stretch) for request in requests}) == 1


@pytest.mark.parametrize("kind", ["progress", "user", "attachment", "compact", "rewind", "line"])
def test_20000_of_anything(kind: str) -> None:
    """Neither deep nor slow: it would not come back in time."""
    lines = made(2)
    for k in range(20_000):
        uuid, parent = f"x{k}", f"x{k - 1}" if k else "u1"
        value: dict[str, Any] = {"type": kind, "uuid": uuid, "parentUuid": parent}
        match kind:
            case "user":
                value["message"] = {"content": f"word {k}"}
            case "attachment":
                value["attachment"] = {"type": "nested_memory", "content": {"content": "x"}}
            case "compact":
                value |= {"type": "system", "subtype": "compact_boundary", "parentUuid": None}
            case "rewind":
                value |= {
                    "type": "assistant",
                    "parentUuid": "u0",
                    "message": {"id": f"r{k}", "content": "again"},
                }
            case "line":
                block = {"type": "tool_use", "id": f"t{k}", "name": "Bash", "input": {}}
                value |= {"type": "assistant", "message": {"id": "m1", "content": [block]}}
        lines.append((k + 3, value))
    session = read_values(lines)
    assert not session.problems
    assert session.main.end.length >= 0


def test_many_unknown_records_are_one_problem() -> None:
    session = read_values([(n + 1, {"type": "new-thing", "n": n}) for n in range(5_000)])
    assert [(problem.line, problem.what) for problem in session.problems] == [
        (1, "unknown record type 'new-thing'")
    ]


# ---- made up -------------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    ["u1", "u2", "u3", "a1", "m1", "m2", "t1", "t2", "f00", "", "side.x", "Task", "Warmup"]
)
LEAF = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(allow_nan=False),
    WORDS,
    st.text(max_size=5),
)
NAMES = """
    type uuid parentUuid message content id usage model isSidechain agentId sessionId attachment subtype data
    compactMetadata preservedMessages preservedSegment uuids headUuid tailUuid microcompactMetadata compactedToolIds
    isMeta isCompactSummary toolUseResult tool_use_id name input prompt iterations version rendered requestRef
    normalizedMessages parentToolUseID shape shapeHash output_tokens stop_reason replacements hash base keep tail role
"""
KEYS = st.sampled_from(NAMES.split())
JSON: st.SearchStrategy[Any] = st.recursive(
    LEAF,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=6)),
    max_leaves=12,
)
KINDS = "user assistant system attachment progress summary other"
WIRE = ["api-request-shape", "api-request", "api-request-blob"]
TYPES = st.sampled_from([*KINDS.split(), *WIRE, "content-replacement"])
BLOCKS = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": WORDS}),
    st.fixed_dictionaries({"type": st.just("tool_use"), "id": WORDS, "name": WORDS, "input": JSON}),
    st.fixed_dictionaries({"type": st.just("tool_result"), "tool_use_id": WORDS, "content": JSON}),
    st.fixed_dictionaries({"type": st.just("thinking"), "thinking": WORDS, "signature": JSON}),
    JSON,
)
MESSAGES = st.fixed_dictionaries(
    {"content": st.one_of(WORDS, st.lists(BLOCKS, max_size=3))},
    optional={
        "id": WORDS,
        "model": st.sampled_from(["claude-opus-5", "<synthetic>"]),
        "usage": JSON,
    },
)
META = st.fixed_dictionaries(
    {},
    optional={
        "preservedMessages": st.fixed_dictionaries({"uuids": st.lists(WORDS, max_size=4)}),
        "preservedSegment": st.fixed_dictionaries({"headUuid": WORDS, "tailUuid": WORDS}),
        "compactedToolIds": st.lists(WORDS, max_size=3),
        "preTokens": LEAF,
    },
)
RECORDS = st.fixed_dictionaries(
    {"type": TYPES},
    optional={
        "uuid": WORDS,
        "parentUuid": st.one_of(st.none(), WORDS),
        "message": st.one_of(MESSAGES, JSON),
        "isSidechain": st.booleans(),
        "isMeta": st.booleans(),
        "isCompactSummary": st.booleans(),
        "agentId": st.one_of(WORDS, JSON),
        "subtype": st.sampled_from(["compact_boundary", "microcompact_boundary", "other"]),
        "compactMetadata": META,
        "microcompactMetadata": META,
        "attachment": JSON,
        "data": st.one_of(
            st.fixed_dictionaries(
                {"type": st.just("agent_progress"), "agentId": WORDS, "normalizedMessages": JSON}
            ),
            JSON,
        ),
        "toolUseResult": JSON,
        "sessionId": WORDS,
        "id": WORDS,
        "base": WORDS,
        "keep": st.integers(-1, 4),
        "tail": st.lists(WORDS, max_size=3),
        "hash": WORDS,
        "requestRef": WORDS,
        "timestamp": st.one_of(WORDS, LEAF),
    },
)


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(
            st.one_of(RECORDS, JSON),
            st.sampled_from(["", "", "agent-a.jsonl", "agent-a.meta.json"]),
        )
    )
)
def test_nothing_fed_in_any_order_raises_or_breaks_the_invariants(
    fed: list[tuple[Any, str]],
) -> None:
    reader = ClaudeCodeReader()
    for n, (value, file) in enumerate(fed, 1):
        reader.feed(n, value, file)
        reader.session()
    session = reader.session()
    for thread in session.threads:
        for n, request in enumerate(thread.requests):
            assert request.index == n
            assert len(request.view.messages()) == request.view.length
        assert len(thread.end.messages()) == thread.end.length
        ids = [message.id for message in thread.messages]
        assert len(ids) == len(set(ids))


def test_records_that_share_one_uuid_are_kept_and_told() -> None:
    """As a publisher's redactor leaves them: nothing may be dropped in silence."""
    for names in (("uuid",), ("uuid", "parentUuid")):
        lines = [(line, value) for line, value in values(DATA / "plain.jsonl")]
        wanted = read_values(lines)
        shared = [
            (line, {**value, **dict.fromkeys(names, "REDACTED")} if "uuid" in value else value)
            for line, value in lines
        ]
        session = read_values(shared)
        assert len(session.main.requests) == len(wanted.main.requests)
        said = [
            [(message.role, message.parts) for message in one.view] for one in session.main.requests
        ]
        assert said == [
            [(message.role, message.parts) for message in one.view] for one in wanted.main.requests
        ]
        assert [problem.what[:7] for problem in session.problems] == ["records"]
