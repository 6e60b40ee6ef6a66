"""One small whole file of every format that can be read: what the mutations start from."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from inspector.agent.journal import Journal
from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.needs import Answer, ProviderFailure
from inspector.core.outcome import Event, Outcome
from inspector.core.usage import Usage
from tests.core.formats import opencode_rows, test_gemini_cli, test_opencode
from tests.core.formats.recordings import CLAUDE, PATHS, Recording, body, said, text, turns, user
from tests.core.formats.samples import samples as format_samples
from tests.transcripts import opencode_made

_DATA = Path(__file__).resolve().parent.parent / "data"
_KINDS = (".json", ".jsonl", ".ndjson", ".har", ".yaml", ".traj", ".history")
_ARGUMENTS = json.dumps({"path": "a.py", "lines": [1, 2]})


def samples(folder: Path) -> dict[str, bytes]:
    """By name, whose ending the file keeps. `folder` is for those that must be written to be made."""
    files = [path for path in sorted(_DATA.glob("*/*")) if path.suffix in _KINDS]
    found = {f"{path.parent.name}-{path.name}": path.read_bytes() for path in files}
    found |= {name: json.dumps(value).encode() for name, value in _documents().items()}
    found |= {name: _lines(*values) for name, values in _rows().items()}
    found |= _sessions_of_formats()
    found["journal.jsonl"] = _journal(folder / "journal.jsonl")
    found["opencode.db"] = _database(folder / "opencode.db")
    return found


def _sessions_of_formats() -> dict[str, bytes]:
    """Return the sessions that the readers' own tests make, and those that lie in folders: the main file of each."""
    found: dict[str, bytes] = {}
    for sample in format_samples():
        values = [value for _, value, file in sample.fed if not file]
        has_file = "/" in sample.name and sample.name.count("/") == 1
        if not has_file and all(isinstance(value, dict | list) for value in values):
            name = sample.name.replace("/", "-").removesuffix(".jsonl").removesuffix(".json")
            found[f"{sample.format}-{name}.jsonl"] = _lines(*values)
    return found


def _lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


@cache
def _documents() -> Mapping[str, Any]:
    parts: list[dict[str, Any]] = [
        {"role": "user", "parts": [{"text": "look"}]},
        {
            "role": "model",
            "parts": [
                {"functionCall": {"name": "read", "args": {"path": "a"}}, "thoughtSignature": "s"}
            ],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "read", "response": {"output": "text"}}}],
        },
    ]
    gemini = {
        "systemInstruction": {"parts": [{"text": "sys"}]},
        "contents": parts,
        "generationConfig": {},
    }
    return {
        "anthropic.json": body(
            [user("one"), _called(), _result(), user("three", cache_control={"type": "ephemeral"})]
        ),
        "chat.json": {"model": "gpt-x", "tools": [], "messages": _chat()},
        "responses.json": {
            "model": "gpt-x",
            "instructions": "sys",
            "input": _items(),
            "store": False,
        },
        "gemini.json": gemini,
        "gemini-cli.json": {
            **test_gemini_cli.HEAD,
            "messages": test_gemini_cli.FIRST[2:3] + test_gemini_cli.FIRST[4:],
        },
        "opencode.json": opencode_rows.export(
            test_opencode.ASKED,
            test_opencode.pruned(25),
            opencode_rows.user("q1", 40, test_opencode.compaction(tail_start_id="m2")),
            test_opencode.SUMMARY,
        ),
    }


@cache
def _rows() -> Mapping[str, list[Any]]:
    whole = Recording()
    turns(whole, 3, headers=CLAUDE)
    number = whole.ask(body([user("again")]), headers=CLAUDE)
    whole.send(number, body([user("other")]))
    whole.reply(number, None, stream=_STREAM)
    chat = {"model": "gpt-x", "messages": _chat()}
    whole.reply(whole.ask(chat, PATHS["chat"]), _CHAT_ANSWER)
    responses = {"model": "gpt-x", "input": _items()}
    whole.reply(whole.ask(responses, PATHS["responses"]), _RESPONSE)
    contents = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    whole.reply(whole.ask(contents, PATHS["gemini"]), [_GEMINI_ANSWER])
    return {
        "recording.jsonl": whole.records,
        "chat.jsonl": [
            {"request": chat, "response": _CHAT_ANSWER, "timestamp": "2026-01-01T00:00:00Z"}
        ],
        "responses.jsonl": [
            {"request": responses, "response": _RESPONSE},
            {**responses, "previous_response_id": "r1"},
        ],
        "anthropic.jsonl": [
            {"request": body([user("one")]), "response": said(text("two"))},
            body([user("one")]),
        ],
        "gemini.jsonl": [{"request": contents, "response": _GEMINI_ANSWER}],
        "messages.jsonl": _chat(),
        "gemini-cli.jsonl": test_gemini_cli.FIRST,
        "gemini-cli-compacted.jsonl": test_gemini_cli.COMPACTED,
        "opencode.jsonl": opencode_rows.rows(
            test_opencode.ASKED, test_opencode.CALLED, test_opencode.SAID
        ),
    }


def _called() -> dict[str, Any]:
    use = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.py"}}
    return {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, use],
    }


def _result() -> dict[str, Any]:
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
    }
    inner = [{"type": "text", "text": "def f(): ..."}, image]
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": inner}],
    }


def _chat() -> list[dict[str, Any]]:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": _ARGUMENTS}}
    return [
        {"role": "system", "content": "sys"},
        {"role": "user", "content": [{"type": "text", "text": "one"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "def f(): ..."},
        {"role": "assistant", "content": "two"},
    ]


def _items() -> list[dict[str, Any]]:
    return [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]},
        {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "xyz"},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": _ARGUMENTS},
        {"type": "function_call_output", "call_id": "c1", "output": "def f(): ..."},
    ]


_CHAT_ANSWER = {
    "id": "a1",
    "object": "chat.completion",
    "model": "gpt-x",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "two"}}
    ],
    "usage": {
        "prompt_tokens": 50,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 20},
    },
}
_RESPONSE = {
    "id": "r1",
    "object": "response",
    "status": "completed",
    "model": "gpt-x",
    "output": [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "two"}],
        }
    ],
    "usage": {
        "input_tokens": 50,
        "input_tokens_details": {"cached_tokens": 20},
        "output_tokens": 5,
    },
}
_GEMINI_ANSWER = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": "two"}]}, "finishReason": "STOP"}
    ],
    "usageMetadata": {
        "promptTokenCount": 50,
        "cachedContentTokenCount": 20,
        "candidatesTokenCount": 5,
    },
    "modelVersion": "gemini-x",
}
_EVENTS = (
    {"type": "message_start", "message": {**said(), "content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "two"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
)
_STREAM = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _EVENTS)


def _journal(path: Path) -> bytes:
    prompt = Prompt("You work.", (Tool("read_file", {"name": "read_file"}),))
    asked = Message("u0", "user", (Text("look"),))
    answer = Message(
        "a0", "assistant", (Text("I look."), ToolCall("t1", "read_file", {"path": "a.py"}))
    )
    result = Message("r0", "tool", (ToolResult("t1", "def f(): ..."),))
    summary = Message("s0", "user", (Text("what was"),), summary=True)
    writer = Journal(path, new=True)
    writer.begin(
        {"id": "1", "model": "m", "window": 1000, "policy": "roku", "task": "look"}, prompt
    )
    writer.thread("main", Buffer((asked,), prompt), title="t", parent="", parent_call="")
    writer.request("main", model="m")
    writer.answer("main", Answer(messages=(answer,), usage=Usage(100, 20, 5, 7), finish="tool_use"))
    writer.sync("main", (asked, answer, result))
    writer.tier(
        "main",
        Outcome(
            "L1",
            Buffer((summary,), prompt),
            None,
            (Event("Ran", {"n": 1}),),
            changed={"u0": "summarised"},
        ),
        90,
        9,
    )
    writer.running("main", 1, {"history": [{"step": 1}], "scale": 1.0})
    writer.request("main", model="m")
    writer.failed("main", ProviderFailure("busy", 429), None)
    writer.thread("sub", Buffer((asked,), prompt), title="sub", parent="main", parent_call="t1")
    writer.close()
    return path.read_bytes()


def _database(path: Path) -> bytes:
    writer = opencode_made.made(path)
    opencode_made.put(writer, test_opencode.ASKED, test_opencode.CALLED, test_opencode.SAID)
    writer.execute("pragma wal_checkpoint(truncate)")
    writer.close()
    return path.read_bytes()
