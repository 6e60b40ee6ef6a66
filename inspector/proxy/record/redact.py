"""Redact the head of a request or answer: only values of allowed headers and query fields are recorded.

Keys pass through the proxy and are never stored. A name that is not on the list stays in the recording without its
value. A part of a path that looks like a key is removed, too.
"""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote, unquote_plus

from inspector.proxy.record.records import Pairs
from inspector.safety.header_names import is_kept_header, is_kept_query, is_secret
from inspector.safety.redact_text import REDACTED, redacted_text

_PLAIN = re.compile(r"[\w.,:*+/|~-]*")
"""Matches a value that contains no other pair; `alt=sse;key=...` is how a careless client joins two."""


_KEY = re.compile(
    r"(?i)(?:sk|pk|rk)[-_]\S{4,}|(?=.*\d)(?:api[-_]?key|key|token|bearer|secret|auth)[-_=:.~]\S{4,}"
    r"|(?:gh[pousr]|github_pat|gsk|hf|xai|glpat|nvapi|r8|pplx|ya29)[-_.][\w.-]{6,}"
    r"|(?-i:AIza[\w-]{10,}|A[KS]IA[A-Z0-9]{8,}|eyJ[\w-]{8,}[\w.-]*)"
    r"|[0-9a-f]{32,}"
    r"|(?-i:(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[\w-]{20,})"
)
"""Matches a part of a path that looks like a key: a known prefix, hexadecimal, or mixed capitals and digits."""
_ID = re.compile(
    r"(?:resp|msg|msgbatch|batch|file|thread|run|asst|conv|vs|chatcmpl|req|call|toolu|gen|item|session|proj|org)[-_]"
)
_HOLDERS = frozenset(
    ("key", "keys", "token", "tokens", "secret", "auth", "api-key", "apikey", "virtual-key")
)
_NAMED = frozenset(
    ("models", "model", "deployments", "projects", "locations", "publishers", "engines")
)
"""Names in a path after which the next part is always a key, or never one."""


_ADDRESSES = frozenset(("http-referer", "origin"))
"""Allowed headers whose value is an address."""


def redacted_headers(headers: Iterable[tuple[str, str]]) -> Pairs:
    """Return the headers with the same names in the same order, and the values of unlisted names replaced."""
    return tuple((name, _redacted_header(name, value)) for name, value in headers)


def _redacted_header(name: str, value: str) -> str:
    if not is_kept_header(name):
        return REDACTED
    return redacted_address(value) if name.lower() in _ADDRESSES else redacted_text(value)


def redacted_from_head(headers: Iterable[tuple[str, str]], path: str) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of everything that is redacted in a head.

    Values of a query are given as they were written and decoded, and without a fragment, which a server ignores.
    """
    for name, value in headers:
        if not is_kept_header(name):
            yield name, value
        elif name.lower() in _ADDRESSES:
            yield from _taken_from_path(value)
    yield from _taken_from_path(path)


def _taken_from_path(path: str) -> Iterator[tuple[str, str]]:
    place, _, query = path.partition("?")
    for pair in query.split("&"):
        if _redacted_pair(pair) != pair:
            name, mark, value = pair.partition("=")
            held = value if mark else name
            for spelled in {held, unquote_plus(held), held.partition("#")[0]} - {""}:
                yield name if mark else "key", spelled
    parts = place.split("/")
    for part, redacted in zip(parts, _redacted_parts(parts), strict=True):
        if part != redacted:
            for spelled in {
                part,
                unquote(part),
                part.rpartition("=")[2],
                part.partition("#")[0],
            } - {""}:
                yield "key", spelled


def redacted_path(path: str) -> str:
    """Return a path and query with keys in the path and unlisted query values replaced; the rest is unchanged."""
    place, mark, query = path.partition("?")
    place = "/".join(_redacted_parts(place.split("/")))
    return place + mark + "&".join(map(_redacted_pair, query.split("&"))) if mark else place


def _redacted_parts(parts: list[str]) -> list[str]:
    return [
        _redacted_part(part, before.lower())
        for part, before in zip(parts, ["", *parts], strict=False)
    ]


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
    is_known = is_kept_query(name) and _PLAIN.fullmatch(value) is not None
    if is_known or (mark and not value) or not pair:
        return pair
    return f"{name}={REDACTED}" if mark else REDACTED


_HOST = re.compile(r"(?:[^:/@]*|\[[0-9a-fA-F:.]*\])(?::\d*)?")


def redacted_address(url: str) -> str:
    """Return an address without user and password, with path and query as in `redacted_path`."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        return redacted_path(url)
    host, slash, path = rest.partition("/")
    if not slash:
        host, slash, path = rest.partition("?")
    host = host.rpartition("@")[2]
    if not _HOST.fullmatch(host):  # a password that contains a slash looks like a port
        return REDACTED
    return scheme + mark + host + redacted_path(slash + path)


def redacted_url(url: str) -> str:
    """Return an upstream's address without user, password, query and keys in its path."""
    scheme, mark, rest = url.partition("://")
    place = rest.partition("?")[0].partition("#")[0]
    host, slash, path = place.partition("/")
    return scheme + mark + host.rpartition("@")[2] + redacted_path(slash + path)
