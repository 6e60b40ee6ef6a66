"""GitHub Copilot CLI sessions: `events.jsonl`, an event a line, each named `group.what` with its `data`."""

from collections.abc import Mapping
from typing import Any

from inspector.core.formats.copilot_cli.reader import NAME, CopilotReader
from inspector.core.formats.format import AgentFolder, Contents, Format, Head

_GROUPS = ("session", "system", "user", "assistant", "tool", "hook", "permission", "subagent")


def sniff(head: Head) -> float:
    """Sure where the first event of a session stands; less so for events of its kind without it."""
    if any(_is_event(value) and value["type"] == "session.start" for value in head.values[:3]):
        return 1.0
    events = sum(_is_event(value) for value in head.values)
    return 0.9 if events and 2 * events >= len(head.values) else 0.0


def _is_event(value: Any) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("data"), Mapping) or "parentId" not in value:
        return False
    kind = value.get("type")
    return isinstance(kind, str) and kind.partition(".")[0] in _GROUPS


FORMAT = Format(
    NAME,
    "GitHub Copilot CLI session",
    sniff,
    CopilotReader,
    grows=True,
    folders=(AgentFolder("session-state/*/events.jsonl", ".copilot", "COPILOT_HOME"),),
    contents=Contents(
        tokens="only of a session with one call; else totals of the session", system="yes", more="`events.jsonl`"
    ),
)
