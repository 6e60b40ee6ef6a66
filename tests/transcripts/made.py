"""Transcripts made for tests: small Claude Code sessions of any length."""

from collections.abc import Iterable
from pathlib import Path

from inspector.core.jsontext import dumps


def record(n: int, size: int = 40, *, session: str = "s1", sidechain: str = "") -> bytes:
    """Line `n` of a session: a prompt, an answer, a prompt, ... of `size` characters each, chained."""
    role = "assistant" if n % 2 else "user"
    text = f"{role} {n} " + "word " * (size // 5)
    message: dict[str, object] = {"role": role, "content": text}
    if role == "assistant":
        message |= {
            "id": f"msg_{sidechain}{n}",
            "type": "message",
            "model": "claude-opus-4-5",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 10 * n, "output_tokens": 5},
        }
    value: dict[str, object] = {
        "type": role,
        "uuid": f"{sidechain}u{n}",
        "parentUuid": f"{sidechain}u{n - 1}" if n else None,
        "sessionId": session,
        "isSidechain": bool(sidechain),
        "version": "2.1.219",
        "cwd": "/home/dev/project",
        "timestamp": f"2026-01-01T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}.000Z",
        "message": message,
    }
    if sidechain:
        value["agentId"] = sidechain
    if role == "assistant":
        value["requestId"] = f"req_{sidechain}{n}"
    return dumps(value).encode() + b"\n"


def lines_of(count: int, size: int = 40) -> list[bytes]:
    """The first `count` lines of a session."""
    return [record(n, size) for n in range(count)]


def write(folder: Path, lines: Iterable[bytes], name: str = "session.jsonl") -> Path:
    """A file of these lines."""
    path = folder / name
    path.write_bytes(b"".join(lines))
    return path
