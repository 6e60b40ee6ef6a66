"""Spans of OpenTelemetry as tests write them, and what their requests say."""

import json
from typing import Any

from inspector.core.formats.traces import FORMATS
from inspector.core.session import Session


def span(number: int, said: list[Any], **more: Any) -> dict[str, Any]:
    """A call as the Python SDK writes it."""
    attributes = (
        {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(said)} if said else {}
    )
    return {
        "name": "chat",
        "context": {"trace_id": "0xa", "span_id": f"0x{number}"},
        "parent_id": more.pop("parent", None),
        "start_time": f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}Z",
        "end_time": more.pop("end", "2026-01-01T00:01:00Z"),
        "attributes": {**attributes, **more},
    }


def words(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


TURN = [words("user", "one"), words("assistant", "two"), words("user", "three")]
TOKENS = "gen_ai.usage.input_tokens"


def texts(session: Session, at: int) -> list[str]:
    return [one.text for one in session.main.requests[at].view]


def by_name(name: str) -> Any:
    return next(one for one in FORMATS if one.name == name)
