"""Captures of other tools, for tests."""

import json
from typing import Any

from inspector.core.session import Session, Thread
from inspector.transcripts.yamltext import parse_yaml as yaml
from tests.core.formats.feeding import DATA, records

HERE = DATA / "traffic"


def values(name: str) -> list[tuple[int, Any]]:
    """As they are fed: a document on line 1, or a value a line."""
    path = HERE / name
    if path.suffix in (".jsonl", ".ndjson"):
        return records(path)
    data = path.read_bytes()
    return [(1, yaml(data) if path.suffix == ".yaml" else json.loads(data))]


def buffers(thread: Thread) -> list[list[str]]:
    """What stood in the buffer of each request: role and what it says."""
    return [
        [f"{m.role}: {m.result.content if m.result else m.text or m.calls[0].name}" for m in r.view]
        for r in thread.requests
    ]


def prompts(session: Session) -> list[list[tuple[int, int] | None]]:
    """(prompt, output) of each request of each thread."""
    return [
        [(r.usage.prompt, r.usage.output) if r.usage else None for r in one.requests]
        for one in session.threads
    ]
