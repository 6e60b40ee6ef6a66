"""What Codex says about an item beyond the item itself: who wrote it, and whether the model ever saw it."""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.core.message import Mark, Part, Role, Text

NEVER_SENT = ("ghost_snapshot", "other")
"""Items that are kept in the rollout for the client's own use."""

_CONTEXT = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<skills_instructions>",
    "<collaboration_mode>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<skill>",
    "# AGENTS.md instructions",
)
"""How the texts begin that the client writes in the user's name (versions without `content_item_kinds`)."""


def mark_of(item: Any, role: Role, parts: Sequence[Part]) -> Mark:
    """meta for what the client wrote in the user's name."""
    if role != "user":
        return ""
    kinds = _kinds(item)
    if kinds:
        return "" if any(kind.startswith(("user.", "unknown")) for kind in kinds) else "meta"
    first = parts[0] if parts else None
    return "meta" if isinstance(first, Text) and first.text.startswith(_CONTEXT) else ""


def summary_kind(item: Any) -> bool:
    """Newer versions name the summary of a compaction."""
    return "compaction.summary" in _kinds(item)


def _kinds(item: Any) -> list[str]:
    passed = item.get("internal_chat_message_metadata_passthrough") if isinstance(item, dict) else None
    kinds = passed.get("content_item_kinds") if isinstance(passed, dict) else None
    return [kind for kind in kinds if isinstance(kind, str)] if isinstance(kinds, list) else []


def is_compaction_output(record: Mapping[str, Any]) -> bool:
    """Written by the call that made a compaction's summary: a side call, not a step of the conversation."""
    metadata = record.get("metadata")
    return isinstance(metadata, dict) and metadata.get("compaction_output") is True
