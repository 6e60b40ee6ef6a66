"""Made-up sessions of every format that is read, for what holds of all of them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from inspector.core.formats.detect import FORMATS
from inspector.core.formats.format import Format, Head
from inspector.core.session import Session
from inspector.transcripts import yamltext
from tests.core.formats.feeding import DATA, records
from tests.core.formats.opencode_rows import rows as opencode_rows
from tests.core.formats.recordings import Recording, body, said, text, turns, user
from tests.core.formats.test_cline import HISTORY, LOG
from tests.core.formats.test_cline_session import ROWS as CLINE_ROWS
from tests.core.formats.test_cline_session import messages as cline_session
from tests.core.formats.test_copilot_cli import TURNS
from tests.core.formats.test_crush import ROWS as CRUSH_ROWS
from tests.core.formats.test_gemini_cli import FIRST as GEMINI_LINES
from tests.core.formats.test_openclaw import LINES as OPENCLAW_LINES
from tests.core.formats.test_openclaw import RUNS
from tests.core.formats.test_opencode import ASKED, CALLED, SAID
from tests.core.formats.test_opencode_second import ROWS as OPENCODE_SECOND
from tests.core.formats.test_qwen_code import COMPACTED as QWEN_LINES

Fed: TypeAlias = tuple[int, Any, str]
"""What a reader is fed: line, value, name of the companion file (empty = the transcript)."""


@dataclass(frozen=True)
class Sample:
    """One session of a format, as its reader is fed it."""

    format: str
    name: str
    fed: Sequence[Fed]

    @property
    def head(self) -> Head:
        """What detection sees of the main file."""
        own = [value for _, value, file in self.fed if not file]
        data = "\n".join(own).encode() if own and isinstance(own[0], str) else b""
        return Head([] if data else own[:60], own[0] if len(own) == 1 and not data else None, data)

    def read(self) -> Session:
        """The session of it."""
        return read(self.format, self.fed)


def format_named(name: str) -> Format:
    """The format of that name."""
    return next(known for known in FORMATS if known.name == name)


def read(name: str, fed: Iterable[Fed]) -> Session:
    """The session that the format's reader makes of these values."""
    reader = format_named(name).start()
    for line, value, file in fed:
        reader.feed(line, value, file)
    return reader.session()


def _of_values(*values: Any) -> list[Fed]:
    return [(line, value, "") for line, value in enumerate(values, 1)]


def _of_file(name: str, *companions: str) -> list[Fed]:
    path = DATA / name
    fed = [(line, value, "") for line, value in _values(path)]
    for companion in companions:
        beside = path.parent / companion
        fed += [(line, value, companion) for line, value in _values(beside)]
    return fed


def _values(path: Path) -> list[tuple[int, Any]]:
    match path.suffix:
        case ".jsonl" | ".ndjson":
            return records(path)
        case ".yaml":
            return [(1, yamltext.parse_yaml(path.read_bytes()))]
        case ".history":
            return list(enumerate(path.read_text(encoding="utf-8").splitlines(), 1))
        case _:
            return [(1, json.loads(path.read_bytes()))]


_FILES: Sequence[tuple[str, tuple[str, ...]]] = (
    *(("claude-code", (f"claude_code/{path.name}",)) for path in sorted((DATA / "claude_code").glob("[!a]*.jsonl"))),
    ("claude-code", ("claude_code/with_agents.jsonl", "agent-f00.jsonl", "agent-f01.jsonl")),
    ("codex", ("codex/turns.jsonl",)),
    ("codex", ("codex/counts-first.jsonl",)),
    ("codex", ("codex/rollout-boss.jsonl", "rollout-child.jsonl")),
    ("pi", ("pi/v1.jsonl",)),
    ("pi", ("pi/v3-tree.jsonl",)),
    ("mini-swe-agent", ("harnesses/mini-swe-agent.traj.json",)),
    ("swe-agent", ("harnesses/swe-agent.traj",)),
    ("swe-agent", ("harnesses/swe-agent-query.traj",)),
    ("tau-bench", ("harnesses/tau-bench.json",)),
    ("openhands", ("harnesses/openhands.json",)),
    ("openhands", ("harnesses/openhands-output.jsonl",)),
    ("openhands-v1", ("harnesses/openhands-v1.jsonl",)),
    ("openhands-log", ("harnesses/openhands-log/acorn__oak-2-1767225600.125.json",)),
    ("inspect", ("harnesses/inspect.json",)),
    (
        "atif",
        ("harnesses/atif/trajectory.json", "trajectory.summary.json", "trajectory.questions.json",
         "trajectory.cont-1.json"),
    ),
    ("atif-traces", ("harnesses/atif-traces.json",)),
    ("vscode-chat", ("exports/vscode-chat.json",)),
    ("vscode-chat", ("exports/vscode-chat.jsonl",)),
    ("vibe", ("exports/vibe/messages.jsonl", "meta.json")),
    (
        "vscode-debug-log",
        ("exports/vscode-debug-log/main.jsonl", "runSubagent-Explore-call_1.jsonl", "system_prompt_0.json",
         "tools_0.json", "models.json"),
    ),
    ("aider", ("exports/aider.llm.history",)),
    ("gemini", ("exports/gemini-contents.json",)),
    ("otel", ("traces/otel.jsonl",)),
    ("openinference", ("traces/openinference.json",)),
    ("langfuse", ("traces/langfuse.json",)),
    ("langsmith", ("traces/langsmith.json",)),
    ("openai-agents", ("traces/openai-agents.json",)),
    ("vscode-replay", ("traces/vscode-replay.json",)),
    ("exchange-log", ("traffic/exchanges.jsonl",)),
    ("exchange-log", ("traffic/packets.json",)),
    ("frames", ("traffic/frames.ndjson",)),
    ("har", ("traffic/archive.har",)),
    ("cassette", ("traffic/cassette.yaml",)),
)  # fmt: skip


def _journal() -> list[Any]:
    def message(name: str, role: str, *parts: Any) -> dict[str, Any]:
        return {
            "type": "message",
            "thread": "main",
            "time": "t",
            "message": {"id": name, "role": role, "parts": [*parts]},
        }

    call = {"type": "tool_call", "id": "c1", "name": "read_file", "arguments": {"path": "a.py"}}
    done = {"type": "tool_result", "call_id": "c1", "content": "x = 1", "is_error": False}
    answers = [
        {
            "messages": [{"id": f"a{n}", "role": "assistant", "parts": parts}],
            "usage": {"input": 90 + n, "output": 4},
        }
        for n, parts in enumerate(([text("I look."), call], [text("It is 1.")]))
    ]
    about = {"thread": "main", "time": "t"}
    return [
        {
            "type": "journal",
            "version": 1,
            "id": "j",
            "time": "t",
            "policy": "roku",
            "model": "oak-2",
            "window": 1000,
        },
        {
            "type": "thread",
            "id": "main",
            "time": "t",
            "prompt": {"system": "Be brief.", "tools": []},
        },
        message("u1", "user", text("What is x?")),
        {"type": "request", **about, "model": "oak-2"},
        {"type": "answer", **about, "answer": answers[0]},
        message("r1", "tool", done),
        {"type": "request", **about, "model": "oak-2"},
        {"type": "answer", **about, "answer": answers[1]},
    ]


def _recorded() -> list[Any]:
    recording = Recording()
    turns(recording, 3)
    return recording.records


def _second_opencode() -> list[Any]:
    def row(name: str, **columns: Any) -> dict[str, Any]:
        return {"table": f"opencode2.{name}", "row": columns}

    messages = [
        row(
            "session_message",
            id=f"msg_{seq}",
            session_id="ses_1",
            type=kind,
            seq=seq,
            time_created=seq,
            data=data,
        )
        for seq, (kind, data) in enumerate(OPENCODE_SECOND)
    ]
    return [row("database", session="ses_1"), row("session_v2", id="ses_1", title="t"), *messages]


def _payloads() -> dict[str, list[Any]]:
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "look", "arguments": '{"at": "barn"}'},
    }
    result = {"role": "tool", "tool_call_id": "c1", "content": "a goat"}
    asked = {"role": "user", "content": "What is in the barn?"}
    items = [
        {"type": "message", **asked},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "a goat"},
    ]
    chat = [
        {"role": "system", "content": "Be brief."},
        asked,
        {"role": "assistant", "tool_calls": [call]},
        result,
    ]
    recording = Recording()
    answer = said(text("Look."), {"type": "tool_use", "id": "c1", "name": "look", "input": {}})
    return {
        "anthropic": [body(turns(recording, 2))],
        "openai-chat": [
            {"model": "oak-2", "max_completion_tokens": 9, "messages": chat, "tools": [tool]}
        ],
        "openai-responses": [
            {"model": "oak-2", "instructions": "Be brief.", "store": False, "input": items}
        ],
        "anthropic with a response": [{"request": body([user("Hello.")]), "response": answer}],
    }


@cache
def samples() -> tuple[Sample, ...]:
    """At least one session of every format."""
    opencode = {"info": {"id": "ses_1", "title": "t"}, "messages": [ASKED, CALLED, SAID]}
    values: list[tuple[str, str, list[Any]]] = [
        ("cline", "history", [HISTORY]),
        ("cline", "log", [LOG]),
        ("cline-session", "messages", [cline_session(CLINE_ROWS)]),
        ("copilot-cli", "events", TURNS),
        ("crush", "rows", CRUSH_ROWS),
        ("gemini-cli", "log", GEMINI_LINES),
        ("gemini-cli", "document", [_gemini_document()]),
        ("qwen-code", "lines", QWEN_LINES),
        ("openclaw", "session", OPENCLAW_LINES),
        ("openclaw-trajectory", "runs", RUNS),
        ("opencode", "export", [opencode]),
        ("opencode", "rows", opencode_rows(ASKED, CALLED, SAID)),
        ("opencode", "rows of opencode 2", _second_opencode()),
        ("journal", "run", _journal()),
        ("proxy", "recording", _recorded()),
        *((name.partition(" ")[0], name, rows) for name, rows in _payloads().items()),
    ]
    made = [Sample(name, what, _of_values(*rows)) for name, what, rows in values]
    return (*made, *(Sample(name, files[0], _of_file(*files)) for name, files in _FILES))


def _gemini_document() -> dict[str, Any]:
    messages = [value for value in GEMINI_LINES if "type" in value]
    last = {value["id"]: value for value in messages}
    return {
        "sessionId": "s",
        "projectHash": "ab",
        "startTime": "t",
        "messages": list(last.values()),
    }
