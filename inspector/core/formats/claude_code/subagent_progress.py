"""Sub-agents as their parent's file tells of them, in `agent_progress` records (2.0.7x to 2.1.6x).

Each such record repeats the agent's last message, and in a list all those before it; lines of text stand in the list
only.
"""

from typing import Any

from inspector.core.formats.claude_code.records import text


def told(data: dict[str, Any], seen: set[str]) -> list[dict[str, Any]]:
    """The agent's records that were not told before, in order. Adds their uuids to `seen`."""
    listed = data.get("normalizedMessages")
    new: list[dict[str, Any]] = []
    for inner in reversed(listed) if isinstance(listed, list) else ():
        if text(inner, "uuid") in seen:
            break
        new.append(inner)
    return [inner for inner in [*reversed(new), data.get("message")] if _is_fresh(inner, seen)]


def _is_fresh(inner: Any, seen: set[str]) -> bool:
    uuid = text(inner, "uuid")
    fresh = bool(uuid) and uuid not in seen and text(inner, "type") in ("user", "assistant")
    seen.add(uuid)
    return fresh
