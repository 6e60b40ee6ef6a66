"""Names of headers and of values in a query: which may be written down with their value, and which say `key`."""

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
"""Headers whose names begin so."""
_QUERY = _words("""
    alt beta fault api-version client_version limit after before after_id before_id order page pagesize pagetoken
    stream starting_after include include[] version model $alt prettyprint
""")
_SECRET = re.compile(r"token$|key|secret|auth|cookie|password|credential|signature", re.IGNORECASE)
"""Words that no header of a family above may hold: those belong to counters (`...-tokens`) and ids."""


def is_kept_header(name: str) -> bool:
    """Is the value of a header of this name written down?"""
    name = name.lower()
    return name in _HEADERS or (name.startswith(_FAMILIES) and not is_secret(name))


def is_kept_query(name: str) -> bool:
    """Is a value of this name in a query written down?"""
    return name.lower() in _QUERY


def is_secret(name: str) -> bool:
    """Is a header or a query value of this name a key by its name?"""
    return _SECRET.search(name) is not None
