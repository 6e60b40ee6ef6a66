"""opencode sessions: the JSON of `opencode export`, and rows of its database as `transcripts.stores` reads them."""

from collections.abc import Mapping
from typing import Any

from inspector.core.formats.format import AgentFolder, Contents, Format, Head
from inspector.core.formats.opencode.reader import NAME, SECOND_TABLES, TABLES, OpencodeReader


def sniff(head: Head) -> float:
    """Sure of rows, and of an export whose session is called as opencode calls them."""
    first = head.document if head.document is not None else next(iter(head.values), None)
    if not isinstance(first, Mapping):
        return 0.0
    if first.get("table") in (*TABLES, *SECOND_TABLES) and isinstance(first.get("row"), Mapping):
        return 1.0
    info, messages = first.get("info"), first.get("messages")
    if not isinstance(info, Mapping) or not isinstance(messages, list):
        return 0.0
    if str(info.get("id", "")).startswith("ses_"):
        return 1.0
    return 0.95 if messages and _is_message(messages[0]) else 0.0


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, Mapping) and isinstance(value.get("info"), Mapping) and isinstance(value.get("parts"), list)
    )


FORMAT = Format(
    NAME,
    "opencode session",
    sniff,
    OpencodeReader,
    grows=True,
    folders=(AgentFolder("opencode/opencode*.db", ".local/share", "XDG_DATA_HOME"),),
    contents=Contents(tokens="yes", more="export, or its database (1 and 2)"),
)
