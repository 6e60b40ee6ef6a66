"""Find keys in any string, by the name, scheme or query in front of them, or by their form.

A recording holds code, prose and documents that speak of keys without holding one. So a name in front of a value is
enough only if the value is quoted (`"api_key": "..."`) or looks like a key (eight characters or more, with a digit).
The form alone is enough only if it is that of a known issuer. `redact_values` does this for every string of a JSON
value, and also replaces whole values because of the names of their fields.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from inspector.safety.header_names import is_kept_header

REDACTED = "(redacted)"

# -- names

_NAMES = (
    r"(?:authorization|api[-_. ]?key|credentials?|password|passwd|passphrase|(?:set-)?cookies?|secret"
    r"|(?:authorization|auth|access|refresh|id|session|security|bearer|api|csrf|xsrf|jwt)[-_. ]?token"
    r"|(?:secret|private|access|subscription|signing|encryption|master|functions)[-_. ]?(?:access[-_. ]?)?key"
    r"(?:[-_. ]?id)?)"
)
"""Matches the end of names whose values are secret.

Names of counters, caches and schemas (`max_tokens`, `prompt_cache_key`, `authorization_url`) end differently.
"""
_IS_SECRET = re.compile(rf"{_NAMES}$", re.IGNORECASE)
_IN_ATTRIBUTE = re.compile(
    r"authorization|api[._-]?key|cookie|secret|password|passwd|credential"
    r"|(?:auth|access|refresh|session|security|bearer|private)[._-]?(?:token|key)(?!s|[._-]?(?:count|type))"
    r"|(?:^|[._-])token$",
    re.IGNORECASE,
)
_HEADER_ATTRIBUTE = re.compile(r"http\.(?:request|response)\.header\.(.+)")
_HARMLESS = frozenset(
    (
        *(
            "none",
            "null",
            "true",
            "false",
            "yes",
            "no",
            "string",
            "required",
            "optional",
            "redacted",
            "header",
        ),
        *(
            "bearer",
            "basic",
            "token",
            "api_key",
            "apikey",
            "x-api-key",
            "authorization",
            "password",
            "secret",
            "cookie",
        ),
    )
)
"""Words that are written instead of a key."""


@lru_cache(1 << 12)
def is_secret_name(name: str) -> bool:
    """Is a value with this name a key, wherever it occurs? (`x-api-key`, `OPENAI_API_KEY`, `accessToken`)"""
    return _IS_SECRET.search(name) is not None


def is_secret_attribute(name: str) -> bool:
    """Is a span attribute with this name a key? Here any part of the name may indicate it (`app.secret.value`)."""
    if header := _HEADER_ATTRIBUTE.fullmatch(name):
        return not is_kept_header(header[1].replace("_", "-"))
    return _IN_ATTRIBUTE.search(name) is not None or is_secret_name(name)


# -- texts


@dataclass(frozen=True, slots=True)
class _Key:
    """A possible key in a text, and what surrounds it."""

    before: str
    """The lower-case characters before it, up to and including the word that indicates a key."""
    text: str
    after: str
    """The character after it; empty at the end of the text."""


def _is_value(key: _Key) -> bool:
    """Is the text a real value, and not a placeholder word, a template field or a call?"""
    text = key.text
    return (
        len(text) > 2
        and text[0] not in "${<%*("
        and text.lower() not in _HARMLESS
        and key.after not in ("(", "[")
    )


def _is_named(key: _Key) -> bool:
    return _is_value(key) and _IS_SECRET.search(key.before) is not None


def _is_header(key: _Key) -> bool:
    return (
        _is_value(key)
        and re.search(r"(?:authorization|-key|-token|cookie)$", key.before) is not None
    )


def _is_option(key: _Key) -> bool:
    return _is_value(key) and re.search(r"(?:^|\s)--?[\w-]*$", key.before) is not None


def _is_in_query(key: _Key) -> bool:
    is_word = key.text.isalpha() and len(key.text) < _SHORTEST
    return (
        _is_value(key)
        and not is_word
        and re.search(r"(?:[?&;]|%3f|%26)[\w.\[\]$-]*$", key.before) is not None
    )


def _has_digits(key: _Key) -> bool:
    return sum(map(str.isdigit, key.text)) >= (1 if len(key.text) >= 20 else 3)


def _is_login(key: _Key) -> bool:
    """Is the text `user:password` in base64?"""
    try:
        return ":" in b64decode(key.text + "=" * (-len(key.text) % 4), validate=True).decode()
    except ValueError:
        return False


_LOOK_BACK = 40


@dataclass(frozen=True, slots=True)
class _KeyPattern:
    """Finds keys. Each pattern is listed with the text that it begins with, which is fast to search for."""

    patterns: tuple[tuple[str, re.Pattern[str]], ...]
    is_key: Callable[[_Key], bool]
    is_exact: bool
    """Match the text itself, not its lower-case form."""

    def spans(self, text: str, low: str, window: slice) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of each key."""
        searched = text if self.is_exact else low
        for sign, pattern in self.patterns:
            if searched.find(sign, window.start, window.stop) >= 0:
                for match in pattern.finditer(searched, window.start, window.stop):
                    start, end = match.span("key")
                    before = low[max(0, match.start() - _LOOK_BACK) : match.start()]
                    word = "" if self.is_exact else sign
                    if self.is_key(_Key(before + word, text[start:end], text[end : end + 1])):
                        yield start, end


def _after(signs: str, pattern: str, is_key: Callable[[_Key], bool]) -> _KeyPattern:
    """Return a pattern for a key after one of these words."""
    patterns = tuple((sign, re.compile(re.escape(sign) + pattern)) for sign in signs.split())
    return _KeyPattern(patterns, is_key, is_exact=False)


def _issued_key_pattern(
    signs: str, pattern: str, is_key: Callable[[_Key], bool] = _is_value
) -> _KeyPattern:
    """Return a pattern for a key that begins with one of these prefixes at the start of a word, not within base64."""

    def compile_pattern(sign: str) -> re.Pattern[str]:
        sign = re.escape(sign)
        return re.compile(rf"(?P<key>{sign}(?<![\w+-]{sign}){pattern})")

    return _KeyPattern(
        tuple((sign, compile_pattern(sign)) for sign in signs.split()), is_key, is_exact=True
    )


_WORDS = "authorization key token password passwd passphrase secret credential credentials cookie cookies"
_QUOTE = r"""\\*["']"""
"""Matches a quote, also in JSON inside a JSON string."""
_QUOTED = rf"""[bru]?{_QUOTE}(?P<key>(?:[^"'\\\r\n]|\\(?!["'nr]))+)"""
_LOOKS_LIKE_KEY = r"(?P<key>(?=[\w+/=.~%-]{0,200}\d)[\w+/=.~%-]{8,})"
_SCHEMES = "bearer|basic|token|apikey|digest|negotiate"
_RULES = (
    # "x-api-key": "KEY"
    _after(_WORDS, rf"{_QUOTE}\s*(?::|=>?)\s*{_QUOTED}", _is_named),
    # ["x-api-key", "KEY"]
    _after("authorization key token cookie", rf"{_QUOTE}\s*,\s*{_QUOTED}", _is_header),
    # X-Auth-Token: KEY, OPENAI_API_KEY=KEY, api_key = "KEY"
    _after(_WORDS, rf"\s*[:=]\s*(?:[bru]?{_QUOTE})?{_LOOKS_LIKE_KEY}", _is_named),
    # --auth-token KEY
    _after("key token secret password", rf"[ =]+(?:{_QUOTE})?{_LOOKS_LIKE_KEY}", _is_option),
    # Authorization: Bearer KEY
    _after(
        "authorization", rf"""\W{{1,12}}?(?:{_SCHEMES})\s+(?P<key>[^\s"'\\,;<>)]+)""", _is_value
    ),
    _after("bearer", rf"\s+{_LOOKS_LIKE_KEY}", _is_value),
    _after("basic", r"\s+(?P<key>[a-z0-9+/]{8,}={0,2})", _is_login),
    # Cookie: a=KEY; b=KEY
    _after("cookie", r"""\s*:\s*(?P<key>[^\s"'\\=;]+=[^\s"'\\][^\r\n"'\\]*)""", _is_value),
    # https://host/?key=KEY
    _after(
        "key token secret auth password passwd pwd credential signature sig jwt session_id sessionid",
        r"""(?:=|%3d)(?P<key>[^&#\s"'<>\\{}$()]+)""",
        _is_in_query,
    ),
    # https://user:KEY@host
    _after("://", r"""[^\s/?#@:"'\\]*:(?P<key>[^\s/?#@"'\\]+)@""", _is_value),
    _after("signature=", r"(?P<key>[0-9a-f]{32,})", _is_value),
    _after(
        "-----begin", r"[a-z ]* private key-----(?P<key>(?:[^-]|-(?!----)){16,})-----end", _is_value
    ),
    # keys of known issuers
    _issued_key_pattern("sk-ant- sk-proj- sk-or- sk-svcacct- sk-admin-", r"[\w-]{6,}"),
    _issued_key_pattern("sk-", r"[\w-]{8,}", _has_digits),
    _issued_key_pattern("sk_live_ sk_test_ pk_live_ pk_test_ rk_live_ rk_test_", r"\w{8,}"),
    _issued_key_pattern("ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\w{20,}"),
    _issued_key_pattern("glpat- nvapi- pplx- xai-", r"[\w-]{12,}", _has_digits),
    _issued_key_pattern("xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", r"[\w-]{12,}", _has_digits),
    _issued_key_pattern("hf_ gsk_ npm_ r8_ dop_v1_ lsv2_pt_ lsv2_sk_", r"\w{12,}", _has_digits),
    _issued_key_pattern("ya29. AIza", r"[\w-]{12,}"),
    _issued_key_pattern("AKIA ASIA", r"[A-Z0-9]{16}(?![\w+/=])"),
    _issued_key_pattern("eyJ", r"[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
)
_SIGNS = re.compile(
    "|".join({re.escape(sign.lower()) for rule in _RULES for sign, _ in rule.patterns})
)
_WINDOW, _LONGEST_KEY = 1 << 19, 1 << 14
"""Characters searched at a time, so that other threads are not delayed; and the maximum length of a key with its
context.
"""
_SHORTEST, _LONG = 8, 2_000
"""Shortest text that can hold a key; and the length up to which a text is first checked for any sign of a key.

Longer texts usually contain some sign, so the check would only cost time.
"""


def redacted_text(text: str) -> str:
    """Return the text with the keys in it replaced."""
    if len(text) < _SHORTEST:
        return text
    low = _small_letters(text)
    if len(text) < _LONG and not _SIGNS.search(low):
        return text
    windows = [slice(at, at + _WINDOW + _LONGEST_KEY) for at in range(0, len(text), _WINDOW)]
    spans = sorted(
        {span for window in windows for rule in _RULES for span in rule.spans(text, low, window)}
    )
    if not spans:
        return text
    pieces = list[str]()
    at = 0
    for start, end in spans:
        if start >= at:
            pieces += (text[at:start], REDACTED)
        at = max(at, end)
    return "".join((*pieces, text[at:]))


def _small_letters(text: str) -> str:
    """Return the text with lower-case ASCII letters, of the same length."""
    if text.isascii():
        return text.lower()
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


# -- values


def redact_values(value: Any) -> list[tuple[str, str]]:
    """Replace the keys in every string of a JSON value, in place.

    Returns:
        The name and the text of each value that was removed because of its name.
    """
    secrets: list[tuple[str, str]] = []
    holders = [value]
    while holders:
        holder = holders.pop()
        if isinstance(holder, dict):
            _redact_object(holder, secrets)
            holders += holder.values()
        elif isinstance(holder, list):
            _redact_list(holder, secrets)
            holders += holder
    return secrets


def _redact_object(fields: dict[str, Any], secrets: list[tuple[str, str]]) -> None:
    _redact_attribute(fields, secrets)
    for name, value in fields.items():
        if isinstance(value, str):
            fields[name] = _redacted_field(name, value, secrets)
        elif isinstance(value, list) and is_secret_name(name):
            fields[name] = [
                _redacted_field(name, item, secrets) if isinstance(item, str) else item
                for item in value
            ]
    for name in [name for name in fields if _redacted_name(name) != name]:
        fields[_redacted_name(name)] = fields.pop(name)


@lru_cache(1 << 12)
def _redacted_name(name: str) -> str:
    return redacted_text(name)


def _redacted_field(name: str, value: str, secrets: list[tuple[str, str]]) -> str:
    if not (is_secret_name(name) and _is_value(_Key(name, value, ""))):
        return redacted_text(value)
    secrets.append((name, value))
    return REDACTED


def _redact_attribute(fields: dict[str, Any], secrets: list[tuple[str, str]]) -> None:
    """Redact a span attribute (`{"key": ..., "value": {...}}`), or a header or variable (`{"name": ..., ...}`)."""
    value = fields.get("value")
    key = fields.get("key")
    name = fields.get("name")
    if isinstance(value, dict) and isinstance(key, str) and is_secret_attribute(key):
        secrets += [(key, text) for text in texts_in(value)]
        fields["value"] = {"stringValue": REDACTED}
    elif isinstance(value, str) and isinstance(name or key, str):
        fields["value"] = _redacted_field(str(name or key), value, secrets)


def _redact_list(items: list[Any], secrets: list[tuple[str, str]]) -> None:
    match items:
        case [str(name), str(value)] if ("-" in name or name.istitle()) and is_secret_name(name):
            items[1] = _redacted_field(name, value, secrets)  # a header and its value
        case _:
            for index, item in enumerate(items):
                if isinstance(item, str):
                    items[index] = redacted_text(item)


def texts_in(value: Any) -> Iterator[str]:
    """Yield all strings of a JSON value, except the names of fields."""
    holders = [value]
    while holders:
        holder = holders.pop()
        if isinstance(holder, str):
            yield holder
        elif isinstance(holder, dict):
            holders += holder.values()
        elif isinstance(holder, list):
            holders += holder
