"""A generated Claude Code session of any size: prompts, tool calls with real-sized results, compactions, usage."""

import random
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase

from inspector.core.jsontext import dumps

_CODE = "def reading(path: str) -> list[str]:\n    # Zeilen, 行, lines\n    return open(path).read().splitlines()\n\n"
_PER_COMPACTION = 150
"""Requests between two compactions."""


def make_session(path: Path, megabytes: int, per_compaction: int = _PER_COMPACTION) -> Path:
    """Write a session of about so many megabytes (10^6 bytes), with a compaction after so many requests."""
    written = 0
    with path.open("wb") as file:
        for line in session_lines(per_compaction):
            written += file.write(dumps(line).encode() + b"\n")
            if written >= megabytes * 1_000_000:
                return path
    raise AssertionError("the lines never end")


def session_lines(per_compaction: int = _PER_COMPACTION) -> Iterator[dict[str, object]]:
    """Yield the records of a session that never ends."""
    number = 0
    parent: str | None = None

    def record(kind: str, **more: object) -> dict[str, object]:
        nonlocal number, parent
        number += 1
        uuid = f"{number:08x}-0000-4000-8000-{number:012x}"
        line: dict[str, object] = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/dev/project",
            "sessionId": "5e551011-0000-4000-8000-000000000000",
            "version": "2.1.219",
            "gitBranch": "main",
            "type": kind,
            "uuid": uuid,
            "timestamp": f"2026-01-{number // 86400 + 1:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:00.000Z",
        }
        line |= more
        parent = uuid
        return line

    request = 0
    while True:
        yield record(
            "user", message={"role": "user", "content": f"Please look at part {request}. " * 8}
        )
        for _ in range(per_compaction):
            request += 1
            yield from _turn(record, request)  # type: ignore[arg-type]
        before, parent = parent, None
        meta = {"trigger": "auto", "preTokens": 155_000}
        yield record(
            "system", subtype="compact_boundary", logicalParentUuid=before, compactMetadata=meta
        )
        told = "This session is being continued from a previous conversation. " + _CODE * 40
        yield record("user", isCompactSummary=True, message={"role": "user", "content": told})


def make_instructed_session(path: Path, megabytes: int) -> Path:
    """Write a session in which the user asks for something else all the time, in words that hardly come again."""
    some, written = random.Random(26), 0
    with path.open("wb") as file:
        for line in session_lines(66):
            written += file.write(dumps(_reworded(line, some)).encode() + b"\n")
            if written >= megabytes * 1_000_000:
                return path
    raise AssertionError("the lines never end")


def _reworded(line: dict[str, object], some: random.Random) -> dict[str, object]:
    """The same record with new words of the same length: prompts and some results bring instructions."""
    message = line.get("message")
    if not isinstance(message, dict):
        return line
    content = message["content"]
    if isinstance(content, str):
        blocks: list[dict[str, object]] = [
            {"type": "text", "text": _instructions(some) + _sentences(some, len(content))}
        ]
    else:
        blocks = [_reworded_block(block, some) for block in content]
        if message["role"] == "user" and not some.randrange(4):
            blocks.append({"type": "text", "text": _instructions(some)})
    return line | {"message": message | {"content": blocks}}


def _reworded_block(block: dict[str, object], some: random.Random) -> dict[str, object]:
    names = {"text": "text", "thinking": "thinking", "tool_result": "content"}
    name = names.get(str(block["type"]))
    return block if name is None else block | {name: _sentences(some, len(str(block[name])))}


def _instructions(some: random.Random) -> str:
    return f"Never change {_words(some, 5)} in {_words(some, 2)}. Please add {_words(some, 3)} to {_words(some, 2)}. "


def _sentences(some: random.Random, length: int) -> str:
    return "\n".join(f"{_words(some, 9)}." for _ in range(1 + length // 60))


def _words(some: random.Random, count: int) -> str:
    return " ".join(
        "".join(some.choices(ascii_lowercase, k=some.randint(3, 9))) for _ in range(count)
    )


class _Record:
    def __call__(self, kind: str, **more: object) -> dict[str, object]:
        raise NotImplementedError


def _turn(record: _Record, request: int) -> Iterator[dict[str, object]]:
    """One answer in three lines (thinking, text, tool call), and the tool's result."""
    usage = {
        "input_tokens": 12,
        "cache_creation_input_tokens": 900,
        "cache_read_input_tokens": 18_000 + 900 * (request % _PER_COMPACTION),
        "output_tokens": 300,
    }
    call = f"toolu_{request:024}"
    for block in (
        {
            "type": "thinking",
            "thinking": "I should read that file first. " * 12,
            "signature": "c2ln" * 150,
        },
        {"type": "text", "text": f"Reading part {request} now. " * 6},
        {
            "type": "tool_use",
            "id": call,
            "name": "Read",
            "input": {"file_path": f"/home/dev/project/part{request}.py"},
        },
    ):
        message = {
            "id": f"msg_{request:024}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-4-5-20251101",
            "content": [block],
            "stop_reason": "tool_use",
            "usage": usage,
        }
        yield record("assistant", requestId=f"req_{request:024}", message=message)
    text = f"# part {request}\n" + _CODE * (20 + request * 7 % 90)
    result = {"type": "tool_result", "tool_use_id": call, "content": text}
    copy = {
        "type": "text",
        "file": {"filePath": f"/home/dev/project/part{request}.py", "content": text},
    }
    yield record("user", toolUseResult=copy, message={"role": "user", "content": [result]})
