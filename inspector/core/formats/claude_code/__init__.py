"""Claude Code session JSONL, versions 1.0.98 to 2.1.330, and its sub-agents' files.

`reader` routes records to agents; `chain` puts a record into an agent's `chain_state`: what its next call sends;
`chain_nodes` stand or fall together in it; `attachments` and `records` read single kinds of records; `unrecorded`:
rules by which something leaves the buffer without a record; `sent` lays the buffers that the file says were sent,
`pieces` finds the records of their messages.
"""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from inspector.core.formats.claude_code.reader import NAME, ClaudeCodeReader
from inspector.core.formats.format import AgentFolder, Contents, Format, Head
from inspector.core.session import Session

_TELLING = frozenset({"file-history-snapshot", "queue-operation", "custom-title", "last-prompt", "mode"})


def _sniff(head: Head) -> float:
    return max((_sureness(value) for value in head.values), default=0.0)


def _sureness(value: Any) -> float:
    if not isinstance(value, dict):
        return 0.0
    kind = value.get("type")
    if "parentUuid" in value and "uuid" in value:
        return 1.0
    if kind in ("user", "assistant") and isinstance(value.get("message"), dict):
        return 0.9 if "uuid" in value or "sessionId" in value else 0.7
    if isinstance(kind, str) and (kind in _TELLING or (kind == "summary" and "leafUuid" in value)):
        return 0.8
    return 0.0


def _companions(path: PurePath) -> Sequence[str]:
    """Sub-agents lie in a folder called like the session, or, in older versions, beside it."""
    if path.name.startswith("agent-"):
        return ()
    folder = path.name.partition(".")[0]
    return (f"{folder}/subagents/**/agent-*.jsonl", f"{folder}/subagents/**/agent-*.meta.json", "agent-*.jsonl")


def _is_companion(head: Head, session: Session) -> bool:
    """An agent's file names the session of its parent; what an agent was started with names nobody."""
    values = [value for value in head.values if isinstance(value, dict)]
    ids = {value["sessionId"] for value in values if isinstance(value.get("sessionId"), str)}
    return session.id in ids if ids else any("agentType" in value for value in values)


FORMAT = Format(
    name=NAME,
    title="Claude Code session",
    sniff=_sniff,
    start=ClaudeCodeReader,
    companions=_companions,
    is_companion=_is_companion,
    grows=True,
    repeated=("data", "normalizedMessages"),  # all that a sub-agent said, with every step of it
    folders=(AgentFolder("projects/*/*.jsonl", ".claude", "CLAUDE_CONFIG_DIR"),),
    contents=Contents(tokens="yes"),
)
