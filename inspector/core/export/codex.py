"""Codex rollout: a head, then the items of the Responses API as they were."""

from collections.abc import Iterator
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.dialects.openai_responses import write_body
from inspector.core.export.birth import Birth

VERSION = "0.169.0"


def records(buffer: Buffer, birth: Birth) -> Iterator[dict[str, Any]]:
    """The records, in order. Tool schemas are the client's own and not written."""
    head: dict[str, Any] = {
        "id": birth.session,
        "timestamp": birth.time,
        "cwd": birth.cwd,
        "originator": "codex_cli_rs",
        "cli_version": VERSION,
        "source": "cli",
        "model_provider": "openai",
    }
    if buffer.prompt.system is not None:
        head["base_instructions"] = {"text": buffer.prompt.system}
    yield _line("session_meta", head, birth)
    yield _line("turn_context", {"cwd": birth.cwd, "model": birth.model}, birth)
    for item in write_body(buffer, birth.model, 0)["input"]:
        yield _line("response_item", item, birth)


def _line(kind: str, payload: Any, birth: Birth) -> dict[str, Any]:
    return {"timestamp": birth.time, "type": kind, "payload": payload}
