"""What of a request may be written down: header values and query values by an allow-list, nothing else.

Keys pass through the proxy and are never stored. A name that is not on the list keeps its place in the recording, and
loses its value. Where a body says a key again (an error that quotes it, a server that echoes), it is taken out there.
"""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl

from inspector.core.jsontext import dumps
from inspector.live.proxy.gate import Pairs

REDACTED = "(redacted)"


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
_SECRET = re.compile(r"token$|key|secret|auth|cookie|password|credential|signature", re.IGNORECASE)
"""Words that no header of a family above may hold: those belong to counters (`...-tokens`) and ids."""
_QUERY = _words(
    "alt beta fault api-version client_version limit after before after_id before_id order page pagesize pagetoken"
    " stream starting_after include include[] version model $alt prettyprint"
)
_PLAIN = re.compile(r"[\w.,:*+/|~-]*")
"""A value that holds no other pair: `alt=sse;key=...` is how a careless client joins two."""


def redacted_headers(headers: Iterable[tuple[str, str]]) -> Pairs:
    """The same names in the same order; the values of those that are not on the list are taken out."""
    return tuple((name, value if _is_kept(name.lower()) else REDACTED) for name, value in headers)


def _is_kept(name: str) -> bool:
    return name in _HEADERS or (name.startswith(_FAMILIES) and not _SECRET.search(name))


def redacted_path(path: str) -> str:
    """Path and query, values of the query by the list; spelled as it came otherwise."""
    place, mark, query = path.partition("?")
    return place + mark + "&".join(map(_redacted_pair, query.split("&"))) if mark else path


def _redacted_pair(pair: str) -> str:
    name, mark, value = pair.partition("=")
    is_known = name.lower() in _QUERY and _PLAIN.fullmatch(value) is not None
    if is_known or (mark and not value) or not pair:
        return pair
    return f"{name}={REDACTED}" if mark else REDACTED


def redacted_url(url: str) -> str:
    """An upstream's address without what may be secret: user, password, query."""
    scheme, mark, rest = url.partition("://")
    place = rest.partition("?")[0].partition("#")[0]
    host, slash, path = place.partition("/")
    return scheme + mark + host.rpartition("@")[2] + slash + path


_CREDENTIAL = re.compile(r"authorization$|api-?key$|token$|cookie$|secret|password|^key$", re.IGNORECASE)
_IS_KEY = re.compile(r"(?=.*\d)\S{8,}|\S{16,}")
"""A word such as `none` or `simulated` is no key: it may stand in any text."""
_KEPT = 64


class Secrets:
    """The keys that came by lately."""

    def __init__(self) -> None:
        self._known: dict[str, None] = {}

    def learn(self, headers: Iterable[tuple[str, str]], path: str) -> None:
        """Keep in mind what a request is allowed by."""
        for word in _credentials(headers, path):
            if _IS_KEY.fullmatch(word):
                spelled = dumps(word)[1:-1]
                self._known.pop(spelled, None)
                self._known[spelled] = None
        while len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]

    def taken_out(self, line: str) -> str:
        """The line without them."""
        for word in self._known:
            line = line.replace(word, REDACTED)
        return line


def _credentials(headers: Iterable[tuple[str, str]], path: str) -> Iterator[str]:
    for name, value in (*headers, *parse_qsl(path.partition("?")[2])):
        if _CREDENTIAL.search(name) and name.lower() not in _QUERY:
            yield from value.replace(";", " ").split()
