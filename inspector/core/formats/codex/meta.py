"""The head of a rollout: which thread it is, who started it, and which of its records are a copy."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Meta:
    """`session_meta`, as far as we need it."""

    id: str
    instructions: str | None
    version: str = ""
    parent: str = ""
    """Thread that started this one as its sub-agent."""
    title: str = ""
    root: str = ""
    """Thread that the user talks to, where the file names it."""
    copied_before: int | None = None
    """Records with a smaller ordinal are a copy of the parent's."""
    forked_at: str = ""
    """Where the thread is a fork: records written before then are a copy."""

    @property
    def copied(self) -> bool:
        """May any of the records be a copy?"""
        return self.copied_before is not None or bool(self.forked_at)

    def inherits(self, ordinal: Any, time: str) -> bool:
        """Was this record copied from the thread that this one came out of?"""
        if self.copied_before is not None and type(ordinal) is int:
            return ordinal < self.copied_before
        return bool(self.forked_at and time) and time < self.forked_at


def read_meta(payload: Mapping[str, Any]) -> Meta:
    """Of the payload of a `session_meta` record."""
    base = payload.get("base_instructions")
    text = base.get("text") if isinstance(base, Mapping) else None
    forked = bool(_str(payload.get("forked_from_id")))
    parent, title = parent_of(payload)
    return Meta(
        id=_str(payload.get("id")),
        instructions=text if isinstance(text, str) else None,
        version=_str(payload.get("cli_version")),
        parent=parent,
        title=title,
        root=_str(payload.get("session_id")),
        copied_before=_copied_before(payload),
        forked_at=_str(payload.get("timestamp")) if forked else "",
    )


def parent_of(payload: Mapping[str, Any]) -> tuple[str, str]:
    """(parent thread, title) of a sub-agent; ("", title) where the parent is not named; ("", "") for the user's own."""
    source = payload.get("source")
    started: Any = source.get("subagent") if isinstance(source, Mapping) else None
    spawn: Mapping[str, Any] = {}
    if isinstance(started, Mapping):
        spawn = next((one for one in started.values() if isinstance(one, Mapping)), {})
    parent = _str(payload.get("parent_thread_id")) or _str(spawn.get("parent_thread_id"))
    if started is None and not parent:
        return "", ""
    names = [_str(payload.get("agent_nickname"))]
    names += [_str(spawn.get(key)) for key in ("agent_nickname", "agent_role", "agent_path")]
    return parent, next(filter(None, [*names, _str(started)]), "sub-agent")


def _copied_before(payload: Mapping[str, Any]) -> int | None:
    base = payload.get("history_base")
    own = payload.get("subagent_history_start_ordinal")
    copied = base.get("end_ordinal_exclusive") if isinstance(base, Mapping) else None
    return next((value for value in (own, copied) if type(value) is int), None)


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""
