"""What may be written down: header and query values by an allow-list, and nowhere else what was taken out there.

Keys pass through the proxy and are never stored. A name that is not on the list keeps its place in the recording, and
loses its value; so does a part of a path that looks like a key. A client may repeat its key where nobody looks for one:
in a URL of its body, in an error that echoes headers. So what was taken out of a head is looked for in every line: as
it is, with any of its signs escaped for a URL, for JSON or for HTML, in hexadecimal and in base64, there also in the
middle of something longer.
"""

import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from html import unescape
from typing import Any
from urllib.parse import unquote, unquote_plus

from inspector.core.jsontext import NotJson, dumps, loads
from inspector.proxy.record.records import Pairs

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


_KEY = re.compile(
    r"(?i)(?:sk|pk|rk)[-_]\S{4,}|(?=.*\d)(?:api[-_]?key|key|token|bearer|secret|auth)[-_=:.~]\S{4,}"
    r"|(?:gh[pousr]|github_pat|gsk|hf|xai|glpat|nvapi|r8|pplx|ya29)[-_.][\w.-]{6,}"
    r"|(?-i:AIza[\w-]{10,}|A[KS]IA[A-Z0-9]{8,}|eyJ[\w-]{8,}[\w.-]*)"
    r"|[0-9a-f]{32,}"
    r"|(?-i:(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[\w-]{20,})"
)
"""A part of a path that is a key by its look: as known ones begin, hexadecimal, or capitals and digits mixed."""
_ID = re.compile(
    r"(?:resp|msg|msgbatch|batch|file|thread|run|asst|conv|vs|chatcmpl|req|call|toolu|gen|item|session|proj|org)[-_]"
)
_HOLDERS = frozenset(("key", "keys", "token", "tokens", "secret", "auth", "api-key", "apikey", "virtual-key"))
_NAMED = frozenset(("models", "model", "deployments", "projects", "locations", "publishers", "engines"))
"""What comes next in a path is certainly a key, or certainly none."""


def redacted_headers(headers: Iterable[tuple[str, str]]) -> Pairs:
    """The same names in the same order; the values of those that are not on the list are taken out."""
    return tuple((name, value if _is_kept(name) else REDACTED) for name, value in headers)


def _is_kept(name: str) -> bool:
    name = name.lower()
    return name in _HEADERS or (name.startswith(_FAMILIES) and not is_secret(name))


def is_secret(name: str) -> bool:
    """Is a header or a query value of this name a key by its name?"""
    return _SECRET.search(name) is not None


def taken_from_head(headers: Iterable[tuple[str, str]], path: str) -> Iterator[tuple[str, str]]:
    """(name, value) of all that is redacted in a head; of a query both as it was spelled and as it was meant, and
    without a fragment, which a server leaves off."""
    for name, value in headers:
        if not _is_kept(name):
            yield name, value
    place, _, query = path.partition("?")
    for pair in query.split("&"):
        if _redacted_pair(pair) != pair:
            name, mark, value = pair.partition("=")
            held = value if mark else name
            for spelled in {held, unquote_plus(held), held.partition("#")[0]} - {""}:
                yield name if mark else "key", spelled
    parts = place.split("/")
    for part, shown in zip(parts, _redacted_parts(parts), strict=True):
        if part != shown:
            for spelled in {part, unquote(part), part.rpartition("=")[2], part.partition("#")[0]} - {""}:
                yield "key", spelled


def redacted_path(path: str) -> str:
    """Path and query, keys in the path taken out, values of the query by the list; spelled as it came otherwise."""
    place, mark, query = path.partition("?")
    place = "/".join(_redacted_parts(place.split("/")))
    return place + mark + "&".join(map(_redacted_pair, query.split("&"))) if mark else place


def _redacted_parts(parts: list[str]) -> list[str]:
    return [_redacted_part(part, before.lower()) for part, before in zip(parts, ["", *parts], strict=False)]


def _redacted_part(part: str, before: str) -> str:
    plain = unquote(part)
    name, mark, value = plain.partition(";")[2].partition("=")
    if mark and value and is_secret(name):
        return f"{part.partition(';')[0]};{name}={REDACTED}"
    held = before in _HOLDERS and len(plain) >= 6 and any(map(str.isdigit, plain))
    looks = before not in _NAMED and not _ID.match(plain) and _KEY.match(plain) is not None
    return REDACTED if held or looks else part


def _redacted_pair(pair: str) -> str:
    name, mark, value = pair.partition("=")
    is_known = name.lower() in _QUERY and _PLAIN.fullmatch(value) is not None
    if is_known or (mark and not value) or not pair:
        return pair
    return f"{name}={REDACTED}" if mark else REDACTED


def redacted_url(url: str) -> str:
    """An upstream's address without what may be secret: user, password, query, keys in its path."""
    scheme, mark, rest = url.partition("://")
    place = rest.partition("?")[0].partition("#")[0]
    host, slash, path = place.partition("/")
    return scheme + mark + host.rpartition("@")[2] + redacted_path(slash + path)


_IS_KEY = re.compile(r".{12,}|(?=.*\d).{6,}|\S*(?:[a-z].*[A-Z]|[^\w-])\S*(?<=\S{8})", re.DOTALL)
_IS_LONG = re.compile(r".{16,}|(?=.*\d).{8,}", re.DOTALL)
"""Values of headers that are named as a key, and of all others. A word such as `none`, `simulated` or `lm-studio` is no
key: it may stand in any text."""
_NO_KEY = re.compile(r"provider$|version$|www-authenticate", re.IGNORECASE)
_HARMLESS = re.compile(
    r"forwarded|ip$|host$|model|version|date$|time$|-type|accept|^sec-(?:ch|fetch)-|platform|language|encoding"
    r"|modified|^if-|^dnt$",
    re.IGNORECASE,
)
"""Names that look like a key's, or are not on the list of what may be kept, and yet what they say stands in many
texts: addresses, models, dates."""
_IN_JSON = re.compile(r"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|([\"'/]))")
_ESCAPE = re.compile(rf"%[0-9a-fA-F]{{2}}|&(?:#|[a-zA-Z]{{2,6}};)|{_IN_JSON.pattern}")
_WORD = re.compile(r"""(?:^|(?<=[\s"])|(?<=\\[^u/]))(?:[^\s"\\]|(?<!\\)\\++(?:u[0-9a-fA-F]{4}|/))++""")
"""A word of a line of JSON in which any sign may be escaped."""
_FOLDED = re.compile(r"\\\\?n(?=[\w+/])(?:(?<=[\w+/]{20}\\n)|(?<=[\w+/]{20}\\\\n))", re.ASCII)
"""An end of line in base64, of which 76 signs stand in one; in a stream's JSON, too."""
_TIMES = 3
"""So often one escape may stand in another."""
_SPLIT = re.compile(r"[\s;,]+")
_KEPT, _MOST = 64, 1_000
"""So many are known of all heads that came by, so many of one: cookies go first."""
_SHORTEST = 8
"""Of a key that is looked for in the middle of something in base64."""


class Secrets:
    """The values that came by lately: so many of those that are keys by their names, and of all others."""

    def __init__(self) -> None:
        self._keys: dict[str, tuple[str, ...]] = {}
        self._others: dict[str, tuple[str, ...]] = {}
        self._spelled: list[str] = []
        self._signs: list[str] = []
        """Of which one stands where a sign of a key is escaped."""

    def learn(self, headers: Iterable[tuple[str, str]], path: str = "", *, is_answer: bool = False) -> None:
        """Keep in mind what is redacted in this head. Of an answer's only what is a key by its name."""
        keys, others = list[str](), list[str]()
        for name, value in sorted(taken_from_head(headers, path), key=lambda taken: "cookie" not in taken[0].lower()):
            if is_secret(name):
                words = _key_words(name, value) if not _NO_KEY.search(name) else ()
                keys += (word for word in words if _IS_KEY.fullmatch(word))
            elif not is_answer and not _HARMLESS.search(name):
                others += (word for word in _key_words(name, value) if _IS_LONG.fullmatch(word))
        self._keep(self._keys, keys)
        self._keep(self._others, others)

    def _keep(self, known: dict[str, tuple[str, ...]], words: list[str]) -> None:
        for word in words:
            spelled = known.pop(word, None)
            known[word] = spelled or tuple(_spellings(word))
            if spelled is None:
                self._spelled = []
        while len(known) > max(_KEPT, min(len(words), _MOST)):
            del known[next(iter(known))]

    def line(self, document: dict[str, Any]) -> str:
        """The document as a line of JSON, without them."""
        line = dumps(document)
        taken, is_all = self._taken_out(line)
        if is_all and taken == line:
            return line
        try:
            loads(taken.encode())
        except NotJson:  # what was found began in the middle of a number, or after a backslash
            is_all = False
        return taken if is_all else dumps(self._walked(document))

    def _taken_out(self, text: str) -> tuple[str, bool]:
        """The text without them, and whether none is left. Long ones first: a short one may stand in them."""
        if not self._spelled:
            every = {one for known in (self._keys, self._others) for spelled in known.values() for one in spelled}
            self._spelled = sorted(every, key=len, reverse=True)
            plain = "".join((*self._keys, *self._others))
            self._signs = ["%", "&", "\\/", "\\u00" if plain.isascii() else "\\u"]
            self._signs += [f"\\{sign}" for sign in "\"'" if sign in plain]
        for one in self._spelled:
            if one in text:
                text = text.replace(one, REDACTED)
        if not self._names_one(text):
            return text, True
        text = _WORD.sub(self._shown, text)
        return text, not self._names_one(text)

    def _names_one(self, text: str) -> bool:
        """Does it hold a key of which some sign is escaped, or one in base64 that goes over an end of line?"""
        folded = _FOLDED.sub("", text)
        if folded != text and any(one in folded for one in self._spelled):
            return True
        for _ in range(_TIMES):
            if not any(sign in text for sign in self._signs) or not _ESCAPE.search(text):
                return False
            text = unescape(unquote(_IN_JSON.sub(_sign, text)))
            if any(one in text for known in (self._keys, self._others) for one in known):
                return True
        return False

    def _shown(self, found: re.Match[str]) -> str:
        return REDACTED if self._names_one(found[0]) else found[0]

    def _walked(self, value: Any) -> Any:
        match value:
            case str():
                taken, is_all = self._taken_out(dumps(value)[1:-1])
                try:
                    return loads(f'"{taken}"'.encode()) if is_all else REDACTED
                except NotJson:
                    return REDACTED
            case dict():
                return {self._walked(key): self._walked(one) for key, one in value.items()}
            case list() | tuple():
                return [self._walked(one) for one in value]
        return value


def _key_words(name: str, value: str) -> Iterator[str]:
    """The whole, and what it is made of: `Bearer KEY`, `Credential=KEY/..., Signature=...`, `a=KEY; b=...`."""
    value = value.partition(";")[0] if name.lower() == "set-cookie" else value  # what follows is no secret
    words = [word for word in _SPLIT.split(value) if word]
    if len(words) > 1 and name.lower().endswith("authorization"):
        words = words[1:]  # how it is said, not what
        yield from _login(words[0])
    elif len(words) > 1:
        yield value
    for word in words:
        yield word
        said = word.partition("=")[2].strip('"')
        if said.strip("="):
            yield said
        for part in (said or word).split("/") if is_secret(name) else ():
            if len(part) >= 16 and part != word:
                yield part
        if name.lower() == "sec-websocket-protocol":
            yield word.partition(".")[2]
    try:
        meant = value.encode("latin-1").decode()
    except UnicodeError:
        return
    if meant != value:
        yield from _key_words(name, meant)


def _login(word: str) -> Iterator[str]:
    """`user:password` of Basic."""
    try:
        login = b64decode(word, validate=True).decode()
    except ValueError:
        return
    if login.isprintable() and ":" in login:
        yield login
        yield login.partition(":")[2]


def _sign(escaped: re.Match[str]) -> str:
    return escaped[2] or chr(int(escaped[1], 16))


def _spellings(word: str) -> Iterator[str]:
    """All the ways in which a line of JSON may hold it whole, but for single signs that are escaped."""
    yield dumps(word)[1:-1]
    data = word.encode()
    yield from (data.hex(), data.hex().upper())
    for encode in (b64encode, urlsafe_b64encode):
        yield encode(data).decode()
        for shift in range(3 if len(data) >= _SHORTEST else 0):
            # the signs that say the word alone, whatever stands before and after it
            yield encode(b"\0" * shift + data).decode()[-(-shift * 8 // 6) : (shift + len(data)) * 8 // 6]
