"""Whose request is it? The client, its session and its thread, by the keys that the client itself sends along.

A key is *strong* where it names one conversation (a session id); weak where several may share it (a cache key, a tag of
the launch): then what the buffers share decides. Measured on the wire: shared/clients.md, section 4.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from inspector.core.quick import quick
from inspector.core.untyped import object_in, object_of

_HIDDEN = "(redacted)"


def read_headers(value: Any) -> Mapping[str, str]:
    """Name to value, of `[[name, value], ...]`; the first of several. Never raises."""
    found: dict[str, str] = {}
    for pair in value if isinstance(value, list) else ():
        name, told = pair if isinstance(pair, list) and len(pair) == 2 else (None, None)
        if isinstance(name, str) and isinstance(told, str) and told != _HIDDEN:
            found.setdefault(name.lower(), told)
    return found


@quick
@dataclass(frozen=True, slots=True)
class ClientKey:
    """To whom an exchange belongs, as far as the client says. Empty = it does not."""

    client: str = ""
    """`claude-code`, `codex`, `pi`, ...; else the first word of the user agent."""
    session: str = ""
    thread: str = ""
    """Of a sub-agent; empty for the session's own thread."""
    parent: str = ""
    """The thread that started the sub-agent, where it is not the session's own."""
    strong: bool = False
    """Does `session` name one conversation?"""
    sub: bool = False
    """It is a sub-agent's, whether or not its thread is named."""


def key_of(headers: Mapping[str, str], body: Mapping[str, Any], tag: str = "", system: str = "") -> ClientKey:
    """The key of a request. `headers` by lower-case name; `system` is the beginning of the system prompt."""
    client = client_of(headers)
    key = _claude_code(client, headers, body, system) or _codex(client, headers, body)
    if key := key or _opencode(client, headers):
        return key
    if session := _first(*map(headers.get, ("session_id", "session-id", "conversation_id"))):  # pi over Responses
        return ClientKey(client, session, strong=True)
    name = body.get("prompt_cache_key")
    return ClientKey(client, name if isinstance(name, str) and name else f"tag {tag}" if tag else "")


_AGENTS = (
    (re.compile(r"(?i)claude-(?:cli|code)"), "claude-code"),
    (re.compile(r"(?i)codex"), "codex"),
    (re.compile(r"(?i)opencode"), "opencode"),
    (re.compile(r"(?i)gemini-?cli"), "gemini-cli"),
    (re.compile(r"(?i)litellm"), "litellm"),
    (re.compile(r"(?i)aider"), "aider"),
    (re.compile(r"(?:^|[/ ])pi(?:-coding-agent)?/"), "pi"),
)


def client_of(headers: Mapping[str, str]) -> str:
    """The client's name, by its user agent and by headers that only it sends; empty where nothing shows it."""
    if "x-claude-code-session-id" in headers:
        return "claude-code"
    if "x-codex-turn-metadata" in headers or "x-codex-window-id" in headers:
        return "codex"
    return _agent(f"{headers.get('originator', '')} {headers.get('user-agent', '')}".strip())


@lru_cache(maxsize=64)
def _agent(told: str) -> str:
    for pattern, name in _AGENTS:
        if pattern.search(told):
            return name
    return re.split(r"[/ ]", told, maxsplit=1)[0]


_USER = re.compile(r"_session_([0-9A-Za-z-]{8,})$")


def _claude_code(client: str, headers: Mapping[str, str], body: Mapping[str, Any], system: str) -> ClientKey | None:
    """Header, or the session inside `metadata.user_id`: a JSON string, a plain one of old."""
    session = headers.get("x-claude-code-session-id", "")
    if not session:
        user = object_of(body, "metadata").get("user_id")
        inside = object_in(user).get("session_id")
        old = _USER.search(user) if isinstance(user, str) else None
        session = inside if isinstance(inside, str) else old[1] if old else ""
    if not session:
        return None
    agent = headers.get("x-claude-code-agent-id", "")
    sub = bool(agent) or "cc_is_subagent=true" in system
    parent = headers.get("x-claude-code-parent-agent-id", "")
    return ClientKey(client or "claude-code", session, agent, parent, strong=True, sub=sub)


def _codex(client: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> ClientKey | None:
    """Session and thread in headers, in the turn's metadata, in the body's `client_metadata`."""
    inner = object_of(body, "client_metadata")
    turn = turn_metadata(headers, body)
    thread = _first(headers.get("thread-id"), turn.get("thread_id"), inner.get("thread_id"), inner.get("thread-id"))
    session = _first(headers.get("session-id"), turn.get("session_id"), inner.get("session_id"), thread)
    if not session and client == "codex":  # before 0.99
        session = _first(headers.get("session_id"), headers.get("conversation_id"), body.get("prompt_cache_key"))
    if not session:
        return None
    parent = _first(headers.get("x-codex-parent-thread-id"), turn.get("parent_thread_id"))
    sub = bool(parent or headers.get("x-openai-subagent")) or turn.get("thread_source") == "subagent"
    own = thread if sub and thread != session else ""
    if not own and headers.get("x-openai-subagent") == "collab_spawn":  # before 0.99: a session of its own
        own = session
    return ClientKey(client or "codex", session, own, "" if parent == session else parent, strong=True, sub=bool(own))


def turn_metadata(headers: Mapping[str, str], body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What Codex says of a turn: in the body, else in a header (over a WebSocket that is about its first frame)."""
    if "client_metadata" not in body and "x-codex-turn-metadata" not in headers:
        return {}
    inside = object_of(body, "client_metadata")
    return object_in(inside.get("x-codex-turn-metadata")) or object_in(headers.get("x-codex-turn-metadata"))


def _opencode(client: str, headers: Mapping[str, str]) -> ClientKey | None:
    """A sub-agent has a session of its own that names its parent."""
    session = _first(*map(headers.get, ("x-session-id", "x-session-affinity", "x-opencode-session")))
    if not session:
        return None
    if parent := headers.get("x-parent-session-id", ""):
        return ClientKey(client or "opencode", parent, session, strong=True, sub=True)
    return ClientKey(client or "opencode", session, strong=True)


def _first(*values: Any) -> str:
    return next((value for value in values if value and isinstance(value, str)), "")
