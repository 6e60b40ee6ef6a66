"""Names of headers and query fields: which may be recorded with their value, and which indicate a key."""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HEADERS = _words("""
    accept accept-charset accept-encoding accept-language accept-ranges age allow alt-svc cache-control connection
    content-disposition content-encoding content-language content-length content-type date expect expires host
    keep-alive last-modified origin pragma priority range retry-after retry-after-ms server te trailer transfer-encoding
    upgrade user-agent vary via x-accel-buffering sec-websocket-extensions sec-websocket-version
    anthropic-version anthropic-beta anthropic-dangerous-direct-browser-access openai-beta openai-version
    openai-processing-ms openai-model openai-originator originator version x-app x-client-request-id x-request-id
    request-id x-should-retry x-api-version x-goog-api-client x-goog-request-params x-title http-referer
    x-session-id x-session-affinity x-parent-session-id session-id session_id thread-id thread_id conversation_id
    conversation-id x-openai-subagent x-openai-actor x-initiator x-interaction-id x-agent-task-id x-cloud-trace-context
    x-context-inspector-tag cf-ray cf-cache-status server-timing x-envoy-upstream-service-time x-served-by
    x-reasoning-included x-models-etag etag
""")
_FAMILIES = (
    "x-stainless-",
    "x-claude-code-",
    "x-claude-remote-",
    "x-codex-",
    "x-opencode-",
    "x-gemini-",
    "anthropic-ratelimit-",
    "anthropic-fast-",
    "x-ratelimit-",
    "ratelimit-",
    "x-simulate",
)
"""Prefixes of headers that may be recorded."""
_QUERY = _words("""
    alt beta fault api-version client_version limit after before after_id before_id order page pagesize pagetoken
    stream starting_after include include[] version model $alt prettyprint
""")
_SECRET = re.compile(r"token$|key|secret|auth|cookie|password|credential|signature", re.IGNORECASE)
"""Words that no header with such a prefix may contain. `token` counts only at the end: `...-tokens` are counters."""


def is_kept_header(name: str) -> bool:
    """May the value of a header with this name be recorded?"""
    name = name.lower()
    return name in _HEADERS or (name.startswith(_FAMILIES) and not is_secret(name))


def is_kept_query(name: str) -> bool:
    """May the value of a query field with this name be recorded?"""
    return name.lower() in _QUERY


def is_secret(name: str) -> bool:
    """Does the name of a header or query field indicate a key?"""
    return _SECRET.search(name) is not None
