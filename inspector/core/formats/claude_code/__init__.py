"""Claude Code session JSONL, versions 1.0.98 to 2.1.330, and its sub-agents' files.

`reader` routes each record to its agent. `chain` adds the record to the agent's `chain_state`, which holds what the
agent's next call sends, as a chain of `chain_nodes`. `attachments` and `records` read single kinds of records.
`unrecorded` holds the rules by which messages leave the buffer without a record. `sent` rebuilds the buffers of
requests that the file records, and `pieces` finds the records of their messages.
"""

from collections.abc import Sequence
from pathlib import PurePath

from inspector.core.formats.claude_code.reader import NAME, ClaudeCodeReader
from inspector.core.formats.format import AgentFolder, Contents, Format, Head
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.session import Session

_SIGNS = FileSigns(
    FileSign({"parentUuid": "<any>", "uuid": "<any>"}, "any", sure=0.96),
    FileSign({"type": "user|assistant", "message": "<object>", "uuid": "<any>"}, "any", sure=0.9),
    FileSign(
        {"type": "user|assistant", "message": "<object>", "sessionId": "<any>"}, "any", sure=0.9
    ),
    FileSign(
        {"type": "assistant", "message": {"id": "<any>", "content": "<any>"}}, "any", sure=0.7
    ),
    FileSign({"type": "summary", "leafUuid": "<any>"}, "any", sure=0.8),
    FileSign(
        {"type": "file-history-snapshot|queue-operation|custom-title|last-prompt|mode"},
        "any",
        sure=0.8,
    ),
)


def _companions(path: PurePath) -> Sequence[str]:
    """Return globs for sub-agents' files, in a folder named after the session or in the folder of the session."""
    if path.name.startswith("agent-"):
        return ()
    folder = path.name.partition(".")[0]
    return (
        f"{folder}/subagents/**/agent-*.jsonl",
        f"{folder}/subagents/**/agent-*.meta.json",
        "agent-*.jsonl",
    )


def _is_companion(head: Head, session: Session) -> bool:
    """Does the file name this session, or is it the metadata of a sub-agent, which names no session?"""
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
    repeated=("data", "normalizedMessages"),  # every step repeats all messages
    folders=(AgentFolder("projects/*/*.jsonl", ".claude", "CLAUDE_CONFIG_DIR"),),
    contents=Contents(tokens="yes"),
)
