"""Codex rollouts, up to 0.169: one JSONL file per thread, with items in list order and no links between records.

A sub-agent's thread is a separate file in the folder of its parent's file. Its first record names the parent.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from inspector.core.formats.codex.reader import NAME, CodexReader
from inspector.core.formats.codex.rollout import subagent_origin
from inspector.core.formats.format import AgentFolder, Contents, Format, Head
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.session import Session

_SIGNS = FileSigns(
    FileSign(
        {"id": "<any>", "timestamp": "<any>", "instructions": "<any>", "type": "<absent>"}
    ),  # the first line of the oldest rollouts
    FileSign({"type": "session_meta", "payload": "<object>"}, "any"),
    FileSign(
        {"type": "response_item|event_msg|turn_context|compacted", "payload": "<object>"},
        "most",
        sure=0.95,
    ),
)


def _payload(value: Any) -> Mapping[str, Any] | None:
    payload = value.get("payload") if isinstance(value, Mapping) else None
    return payload if isinstance(payload, Mapping) else None


def companions(path: PurePath) -> Sequence[str]:
    """Return globs for rollouts of sub-agents in the same folder. Codex packs files unused for a week."""
    return (
        ("rollout-*.jsonl", "rollout-*.jsonl.gz", "rollout-*.jsonl.zst")
        if path.name.startswith("rollout-")
        else ()
    )


def is_companion(head: Head, session: Session) -> bool:
    """Was this thread started, directly or not, by one of the session's threads?"""
    first = head.values[0] if head.values else None
    payload = _payload(first)
    if (
        payload is None
        or not isinstance(first, Mapping)
        or first.get("type") != "session_meta"
        or not session.id
    ):
        return False
    parent, title = subagent_origin(payload)
    if payload.get("id") == session.id or not (parent or title):
        return False
    threads = {session.id, *(thread.id for thread in session.threads)}
    return parent in threads or payload.get("session_id") == session.id


FORMAT = Format(
    NAME,
    title="Codex rollout",
    sniff=_SIGNS,
    start=CodexReader,
    companions=companions,
    is_companion=is_companion,
    grows=True,
    folders=tuple(
        AgentFolder(f"{inside}/rollout-*.jsonl{packed}", ".codex", "CODEX_HOME")
        for inside in ("sessions/*/*/*", "archived_sessions")
        for packed in ("", ".zst")
    ),
    contents=Contents(tokens="yes", system="yes"),
)
