"""OpenClaw sessions, which are pi sessions with additional records, and the trajectory files beside them."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from inspector.core.formats import pi
from inspector.core.formats.format import AgentFolder, Contents, Format, Head
from inspector.core.formats.openclaw.reader import NAME, OpenClawReader, entry_of, is_row
from inspector.core.formats.openclaw.trajectory import SCHEMA, TRAJECTORY, TrajectoryReader
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.session import Session


def sniff(head: Head) -> float:
    """Return 1.0 for rows of OpenClaw's database and for a pi session with a record of OpenClaw, else 0.0."""
    if any(map(is_row, head.values[:1])):
        return 1.0
    return 1.0 if any(_is_mark(value) for value in head.values) and pi.sniff(head) else 0.0


def _is_mark(value: Any) -> bool:
    if not isinstance(value, Mapping) or value.get("type") != "custom":
        return False
    kind = value.get("customType")
    return isinstance(kind, str) and (kind == "model-snapshot" or kind.startswith("openclaw"))


_TRAJECTORY_SIGNS = FileSigns(FileSign({"traceSchema": SCHEMA}))


def companions(path: PurePath) -> Sequence[str]:
    """Return the names of the session's trajectory and of the index of all sessions of the agent."""
    return (f"{path.name.partition('.')[0]}.trajectory.jsonl", "sessions.json")


def is_companion(head: Head, session: Session) -> bool:
    """Is the file the trajectory of the session, or an index that names the session?"""
    if entry_of(head.document, session.id):
        return True
    return bool(_TRAJECTORY_SIGNS(head)) and head.values[0].get("sessionId") == session.id


FORMATS = (
    Format(
        NAME,
        title="OpenClaw session",
        sniff=sniff,
        start=OpenClawReader,
        companions=companions,
        is_companion=is_companion,
        grows=True,
        folders=(
            AgentFolder(
                "agents/*/sessions/????????-????-????-????-????????????.jsonl",
                ".openclaw",
                "OPENCLAW_STATE_DIR",
            ),
            AgentFolder("agents/*/agent/openclaw-agent.sqlite", ".openclaw", "OPENCLAW_STATE_DIR"),
        ),
        contents=Contents(
            tokens="if reported",
            system="of the trajectory beside it",
            tools="as the prompt",
            more="pi's v3 with additional records: files, or its database",
        ),
    ),
    Format(
        TRAJECTORY,
        title="OpenClaw trajectory",
        sniff=_TRAJECTORY_SIGNS,
        start=TrajectoryReader,
        grows=True,
        contents=Contents(
            tokens="yes", system="yes", tools="yes", more="each run as it was compiled"
        ),
    ),
)
