"""pi coding agent sessions: v1 (a line of records), v2 and v3 (a tree)."""

from collections.abc import Mapping
from typing import Any

from inspector.core.formats.format import AgentFolder, Contents, Format, Head
from inspector.core.formats.pi.reader import NAME, PiReader

_ROLES = ("user", "assistant", "toolResult", "bashExecution", "system", "custom")


def sniff(head: Head) -> float:
    """Sure where the session header stands; less so for records of the tree without it."""
    if any(_is_header(value) for value in head.values[:3]):
        return 1.0
    records = sum(_is_record(value) for value in head.values)
    return 0.6 if records and 2 * records >= len(head.values) else 0.0


def _is_header(value: Any) -> bool:
    if not isinstance(value, Mapping) or value.get("type") != "session" or not isinstance(value.get("id"), str):
        return False
    return "trace_id" not in value and ("cwd" in value or "version" in value)


def _is_record(value: Any) -> bool:
    if not isinstance(value, Mapping) or "parentId" not in value:
        return False
    message = value.get("message")
    return value.get("type") == "message" and isinstance(message, Mapping) and message.get("role") in _ROLES


FORMAT = Format(
    NAME,
    "pi session",
    sniff,
    PiReader,
    grows=True,
    folders=(AgentFolder("sessions/*/*.jsonl", ".pi/agent", "PI_CODING_AGENT_DIR"),),
    contents=Contents(tokens="yes", system="since v3, where pi wrote it", tools="as the prompt"),
)
