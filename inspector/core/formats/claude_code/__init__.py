"""Claude Code session JSONL, versions 1.0.98 to 2.1.330, and its sub-agents' files.

`reader` routes records to agents; `chain` puts a record into an agent's `chain_state`: what its next call sends;
`chain_nodes` stand or fall together in it; `attachments` and `records` read single kinds of records; `unrecorded`:
rules by which something leaves the buffer without a record; `sent` lays the buffers that the file says were sent,
`pieces` finds the records of their messages.
"""

from collections.abc import Sequence
from pathlib import PurePath

from inspector.core.formats.claude_code.reader import NAME, ClaudeCodeReader
from inspector.core.formats.format import AgentFolder, Contents, Format, Head
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.session import Session

_SIGNS = FileSigns(
    FileSign({"parentUuid": "<any>", "uuid": "<any>"}, "any", 0.96),
    FileSign({"type": "user|assistant", "message": "<object>", "uuid": "<any>"}, "any", 0.9),
    FileSign({"type": "user|assistant", "message": "<object>", "sessionId": "<any>"}, "any", 0.9),
    FileSign({"type": "assistant", "message": {"id": "<any>", "content": "<any>"}}, "any", 0.7),
    FileSign({"type": "summary", "leafUuid": "<any>"}, "any", 0.8),
    FileSign(
        {"type": "file-history-snapshot|queue-operation|custom-title|last-prompt|mode"}, "any", 0.8
    ),
)


def _companions(path: PurePath) -> Sequence[str]:
    """Sub-agents lie in a folder called like the session, or, in older versions, beside it."""
    if path.name.startswith("agent-"):
        return ()
    folder = path.name.partition(".")[0]
    return (
        f"{folder}/subagents/**/agent-*.jsonl",
        f"{folder}/subagents/**/agent-*.meta.json",
        "agent-*.jsonl",
    )


def _is_companion(head: Head, session: Session) -> bool:
    """An agent's file names the session of its parent; what an agent was started with names no session."""
    values = [value for value in head.values if isinstance(value, dict)]
    ids = {value["sessionId"] for value in values if isinstance(value.get("sessionId"), str)}
    return session.id in ids if ids else any("agentType" in value for value in values)


FORMAT = Format(
    name=NAME,
    title="Claude Code session",
    sniff=_SIGNS,
    start=ClaudeCodeReader,
    companions=_companions,
    is_companion=_is_companion,
    grows=True,
    repeated=("data", "normalizedMessages"),  # all that a sub-agent said, with every step of it
    folders=(AgentFolder("projects/*/*.jsonl", ".claude", "CLAUDE_CONFIG_DIR"),),
    contents=Contents(tokens="yes"),
)
