"""Tasks of Cline and Roo Code: the log that the user sees, and the history that the model is sent, in two files."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from inspector.core.formats.cline import session
from inspector.core.formats.cline.reader import NAME, ClineReader, is_history, is_log
from inspector.core.formats.format import AgentFolder, Contents, Format, Head
from inspector.core.session import Session

_LOG, _HISTORY = "ui_messages.json", "api_conversation_history.json"


def sniff(head: Head) -> float:
    """Sure of the log; of the history as far as the client has left a sign in it."""
    if is_log(head.document):
        return 1.0
    if not is_history(head.document):
        return 0.0
    rows = [row for row in head.document[:40] if isinstance(row, Mapping)]
    if any("modelInfo" in row or "metrics" in row for row in rows):
        return 1.0
    return 0.95 if _is_task(rows[0]) or sum("ts" in row for row in rows) > len(rows) // 2 else 0.0


def _is_task(row: Mapping[str, Any]) -> bool:
    """Both clients wrap what was typed first."""
    content = row.get("content")
    first = content[0] if isinstance(content, list) and content else content
    text = first.get("text") if isinstance(first, Mapping) else first
    return isinstance(text, str) and text.startswith("<task>\n")


def companions(path: PurePath) -> Sequence[str]:
    """The other one of the two."""
    return (_LOG, _HISTORY)


def is_companion(head: Head, known: Session) -> bool:
    """Both lie in the folder of one task, and are told apart by what they hold."""
    return is_log(head.document) or is_history(head.document)


FORMAT = Format(
    NAME,
    "Cline or Roo Code task",
    sniff,
    ClineReader,
    companions,
    is_companion,
    grows=True,
    of_folder=(_LOG, _HISTORY, "task_metadata.json", "history_item.json", "context_history.json"),
    folders=(
        AgentFolder("*/User/globalStorage/*/tasks/*/ui_messages.json", ".config", "XDG_CONFIG_HOME"),
        AgentFolder("*/User/globalStorage/*/tasks/*/ui_messages.json", "Library/Application Support"),
        AgentFolder("data/tasks/*/ui_messages.json", ".cline"),
    ),
    contents=Contents(tokens="yes", more="`ui_messages.json` with `api_conversation_history.json`"),
)
FORMATS = (FORMAT, session.FORMAT)
