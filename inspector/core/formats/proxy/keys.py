"""Read the keys that a client sends: they name the client, its session and its thread.

A key is *strong* if it names one conversation (a session id). It is weak if several conversations may share it (a
cache key, a tag given when the client was launched): then the buffers are compared to find the conversation.
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
    """Read `[[name, value], ...]` into a mapping by lower-case name. The first of equal names counts. Never raises."""
    headers: dict[str, str] = {}
    for pair in value if isinstance(value, list) else ():
        if not isinstance(pair, list) or len(pair) != 2:
            continue
        name, text = pair
        if isinstance(name, str) and isinstance(text, str) and text != _HIDDEN:
            headers.setdefault(name.lower(), text)
    return headers


@quick
@dataclass(frozen=True, slots=True)
class ClientKey:
    """The client, session and thread of an exchange, as the client names them. Empty fields are unknown."""

    client: str = ""
    """`claude-code`, `codex`, `pi`, ...; else the first word of the user agent."""
    session: str = ""
    thread: str = ""
    """Id of a sub-agent's thread; empty for the session's own thread."""
    parent: str = ""
    """Id of the thread that started the sub-agent; empty if that is the session's own thread."""
    strong: bool = False
    """Does `session` name one conversation?"""
    sub: bool = False
    """Does the request come from a sub-agent, whether or not its thread is named?"""


def key_of(
    headers: Mapping[str, str], body: Mapping[str, Any], tag: str = "", system: str = ""
) -> ClientKey:
    """Return the key of a request.

    Args:
        headers: The request's headers by lower-case name.
        body: The request body.
        tag: The tag given to the proxy when the client was launched; empty if none.
        system: The beginning of the system prompt.
    """
    client = name_client(headers)
    key = _claude_code(client, headers, body, system) or _codex(client, headers, body)
    if key := key or _opencode(client, headers):
        return key
    # Pi over Responses.
    if session := _first_text(*map(headers.get, ("session_id", "session-id", "conversation_id"))):
        return ClientKey(client, session, strong=True)
    if cache_key := _first_text(body.get("prompt_cache_key")):
        return ClientKey(client, cache_key)
    return ClientKey(client, f"tag {tag}" if tag else "")


_AGENTS = (
    (re.compile(r"(?i)claude-(?:cli|code)"), "claude-code"),
    (re.compile(r"(?i)codex"), "codex"),
    (re.compile(r"(?i)opencode"), "opencode"),
    (re.compile(r"(?i)gemini-?cli"), "gemini-cli"),
    (re.compile(r"(?i)litellm"), "litellm"),
    (re.compile(r"(?i)aider"), "aider"),
    (re.compile(r"(?:^|[/ ])pi(?:-coding-agent)?/"), "pi"),
)


def name_client(headers: Mapping[str, str]) -> str:
    """Return the client's name, from its user agent or from headers that only this client sends; empty if unknown."""
    if "x-claude-code-session-id" in headers:
        return "claude-code"
    if "x-codex-turn-metadata" in headers or "x-codex-window-id" in headers:
        return "codex"
    return _agent(f"{headers.get('originator', '')} {headers.get('user-agent', '')}".strip())


@lru_cache(maxsize=64)
def _agent(user_agent: str) -> str:
    for pattern, name in _AGENTS:
        if pattern.search(user_agent):
            return name
    return re.split(r"[/ ]", user_agent, maxsplit=1)[0]


_USER = re.compile(r"_session_([0-9A-Za-z-]{8,})$")


def _claude_code(
    client: str, headers: Mapping[str, str], body: Mapping[str, Any], system: str
) -> ClientKey | None:
    session = headers.get("x-claude-code-session-id", "") or _session_of_user(
        object_of(body, "metadata").get("user_id")
    )
    if not session:
        return None
    agent = headers.get("x-claude-code-agent-id", "")
    is_sub_agent = bool(agent) or "cc_is_subagent=true" in system
    parent = headers.get("x-claude-code-parent-agent-id", "")
    return ClientKey(
        client or "claude-code", session, thread=agent, parent=parent, strong=True, sub=is_sub_agent
    )


def _session_of_user(user_id: Any) -> str:
    """Return the session id in Claude Code's `metadata.user_id`: a JSON string, in older versions a plain string."""
    session = object_in(user_id).get("session_id")
    if isinstance(session, str):
        return session
    older = _USER.search(user_id) if isinstance(user_id, str) else None
    return older[1] if older else ""


def _codex(client: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> ClientKey | None:
    """Return Codex's key; None if the request has none.

    Session and thread are in headers, in the turn's metadata, or in the body's `client_metadata`.
    """
    inner = object_of(body, "client_metadata")
    turn = turn_metadata(headers, body)
    thread = _first_text(
        headers.get("thread-id"),
        turn.get("thread_id"),
        inner.get("thread_id"),
        inner.get("thread-id"),
    )
    session = _first_text(
        headers.get("session-id"), turn.get("session_id"), inner.get("session_id"), thread
    )
    if not session and client == "codex":  # before 0.99
        session = _first_text(
            headers.get("session_id"), headers.get("conversation_id"), body.get("prompt_cache_key")
        )
    if not session:
        return None
    parent = _first_text(headers.get("x-codex-parent-thread-id"), turn.get("parent_thread_id"))
    role = headers.get("x-openai-subagent")
    is_sub_agent = bool(parent or role) or turn.get("thread_source") == "subagent"
    own_thread = thread if is_sub_agent and thread != session else ""
    if not own_thread and role == "collab_spawn":  # before 0.99: a session for each sub-agent
        own_thread = session
    other_parent = "" if parent == session else parent
    return ClientKey(
        client or "codex", session, own_thread, other_parent, strong=True, sub=bool(own_thread)
    )


def turn_metadata(headers: Mapping[str, str], body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return Codex's metadata of a turn, from the body, else from a header.

    Over a WebSocket, the header describes only the first frame.
    """
    if "client_metadata" not in body and "x-codex-turn-metadata" not in headers:
        return {}
    inside = object_of(body, "client_metadata")
    return object_in(inside.get("x-codex-turn-metadata")) or object_in(
        headers.get("x-codex-turn-metadata")
    )


def _opencode(client: str, headers: Mapping[str, str]) -> ClientKey | None:
    """Return OpenCode's key; None if the request has none. A sub-agent's session names the parent's session."""
    session = _first_text(
        *map(headers.get, ("x-session-id", "x-session-affinity", "x-opencode-session"))
    )
    if not session:
        return None
    if parent := headers.get("x-parent-session-id", ""):
        return ClientKey(client or "opencode", parent, session, strong=True, sub=True)
    return ClientKey(client or "opencode", session, strong=True)


def _first_text(*values: Any) -> str:
    return next((value for value in values if value and isinstance(value, str)), "")
