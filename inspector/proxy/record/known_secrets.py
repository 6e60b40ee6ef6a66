"""Remove keys that were seen from every line that repeats them.

A client may repeat its key in an unexpected place: in a URL of its body, in an error that echoes headers. So every
value that was removed because of its name is searched for in every line: unchanged; with any of its characters escaped
for a URL, JSON or HTML; in hexadecimal; and in base64, also in the middle of a longer text.
"""

import re
import threading
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from math import ceil
from typing import Any
from urllib.parse import unquote

from inspector.core.jsontext import WRAPPED, NotJson, dumps, loads
from inspector.proxy.record.redact import redacted_from_head
from inspector.safety.header_names import is_secret
from inspector.safety.redact_text import REDACTED

_IS_KEY = re.compile(r".{12,}|(?=.*\d).{6,}|\S*(?:[a-z].*[A-Z]|[^\w-])\S*(?<=\S{8})", re.DOTALL)
_IS_LONG = re.compile(r".{16,}|(?=.*\d).{8,}", re.DOTALL)
"""Match values long enough to count as keys: for headers named like a key, and for all other headers.

A word such as `none`, `simulated` or `lm-studio` is not a key, because any text may hold it.
"""
_NO_KEY = re.compile(r"provider$|version$|www-authenticate", re.IGNORECASE)
_HARMLESS = re.compile(
    r"forwarded|ip$|host$|model|version|date$|time$|-type|accept|^sec-(?:ch|fetch)-|platform|language|encoding"
    r"|modified|^if-|^dnt$",
    re.IGNORECASE,
)
"""Matches names of headers whose values are not treated as keys, although the names resemble a key's or are unknown.

Their values (addresses, models, dates) occur in many texts.
"""
_IN_JSON = re.compile(r"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|([\"'/]))")
_ESCAPE = re.compile(rf"%[0-9a-fA-F]{{2}}|&(?:#|[a-zA-Z]{{2,6}};)|{_IN_JSON.pattern}")
_WORD = re.compile(
    r"""(?:^|(?<=[\s"])|(?<=\\[^u/]))(?:[^\s"\\]|(?<!\\)\\++(?:u[0-9a-fA-F]{4}|/))++"""
)
"""Matches a word in a line of JSON in which any character may be escaped."""
_FOLDED = re.compile(r"\\\\?n(?=[\w+/])(?:(?<=[\w+/]{20}\\n)|(?<=[\w+/]{20}\\\\n))", re.ASCII)
"""Matches a line break inside base64, which has 76 characters per line; also escaped for the JSON of a stream."""
_TIMES = 3
"""How many levels of nested escapes are decoded."""
_LONGEST_SIGN = 24
"""Maximum number of characters that one character takes after that many levels of escaping."""
_WINDOW = 1 << 16
_SPLIT = re.compile(r"[\s;,]+")
_KEPT, _MOST = 64, 1_000
"""Maximum number of keys that are remembered in total, and of one request; cookies are dropped first."""
_SHORTEST = 8
"""Length in bytes of the shortest key that is searched for in the middle of base64."""


class KnownSecrets:
    """The most recently seen keys, in two bounded groups: keys by their name, and other values.

    May be used by several threads.
    """

    def __init__(self) -> None:
        self._keys: dict[str, tuple[str, ...]] = {}
        self._others: dict[str, tuple[str, ...]] = {}
        self._lock = threading.Lock()
        self._finder: _KeyFinder | None = None
        """Finds all known keys; None until it is needed."""

    def learn_head(
        self, headers: Iterable[tuple[str, str]], path: str = "", *, is_answer: bool = False
    ) -> None:
        """Remember the values that are redacted in this head; for an answer, only those whose name indicates a key."""
        keys, others = list[str](), list[str]()
        for name, value in sorted(
            redacted_from_head(headers, path), key=lambda secret: "cookie" not in secret[0].lower()
        ):
            if is_secret(name):
                words = _key_words(name, value) if not _NO_KEY.search(name) else ()
                keys += (word for word in words if _IS_KEY.fullmatch(word))
            elif not is_answer and not _HARMLESS.search(name):
                others += (word for word in _key_words(name, value) if _IS_LONG.fullmatch(word))
        self._keep(self._keys, keys)
        self._keep(self._others, others)

    def learn_fields(self, fields: Iterable[tuple[str, str]]) -> None:
        """Remember the values that were removed from a body because of these names."""
        words = [
            word
            for name, value in fields
            for word in _key_words(name, value)
            if _IS_LONG.fullmatch(word)
        ]
        if words:
            self._keep(self._keys, words)

    def _keep(self, words_by_key: dict[str, tuple[str, ...]], words: list[str]) -> None:
        with self._lock:
            for word in words:
                spellings = words_by_key.pop(word, None)
                words_by_key[word] = spellings or tuple(_spellings(word))
                if spellings is None:
                    self._finder = None
            while len(words_by_key) > max(_KEPT, min(len(words), _MOST)):
                del words_by_key[next(iter(words_by_key))]

    def line(self, document: dict[str, Any]) -> str:
        """Return the document as a line of JSON without the known keys."""
        with self._lock:
            if self._finder is None:
                self._finder = _KeyFinder({**self._keys, **self._others})
            finder = self._finder
        line = dumps(document)
        redacted, is_clean = finder.redacted(line)
        if is_clean and redacted == line:
            return line
        try:
            loads(redacted.encode(), deepest=WRAPPED)
        except NotJson:  # a key began in the middle of a number, or after a backslash
            is_clean = False
        return redacted if is_clean else dumps(finder.walked(document))


class _KeyFinder:
    """Finds keys in texts. `initial` holds each key with its spellings."""

    def __init__(self, initial: Mapping[str, tuple[str, ...]]) -> None:
        self._words = tuple(initial)
        self._spellings = sorted(
            {word for spellings in initial.values() for word in spellings}, key=len, reverse=True
        )
        """All spellings, longest first, because a short one may be part of a longer one."""
        self._reach = _LONGEST_SIGN * max(map(len, initial), default=0)
        """Maximum number of characters that the longest key may take when it is escaped."""
        signs = "".join(initial)
        self._signs = ["%", "&", "\\/", "\\u00" if signs.isascii() else "\\u"]
        """Character sequences of which at least one occurs in every text with an escaped key."""
        self._signs += [f"\\{sign}" for sign in "\"'" if sign in signs]

    def redacted(self, text: str) -> tuple[str, bool]:
        """Return the text without the keys, and whether no key is left."""
        for spelling in self._spellings:
            if spelling in text:
                text = text.replace(spelling, REDACTED)
        if not self._is_in(text):
            return text, True
        text = _WORD.sub(lambda word: REDACTED if self._is_in(word[0]) else word[0], text)
        return text, not self._is_in(text)

    def walked(self, value: Any) -> Any:
        """Return the value with every string redacted; a string that cannot be cleaned is removed as a whole."""
        match value:
            case str():
                redacted, is_clean = self.redacted(dumps(value)[1:-1])
                try:
                    return loads(f'"{redacted}"'.encode()) if is_clean else REDACTED
                except NotJson:
                    return REDACTED
            case dict():
                return {self.walked(key): self.walked(item) for key, item in value.items()}
            case list() | tuple():
                return [self.walked(item) for item in value]
        return value

    def _is_in(self, text: str) -> bool:
        """Does the text hold a key with escaped characters, or a key in base64 across a line break?

        A long text is searched in windows, because unescaping it as a whole would take 60 times its size.
        """
        if not self._words:
            return False
        windows = (
            text[start : start + _WINDOW + self._reach] for start in range(0, len(text), _WINDOW)
        )
        return any(map(self._is_in_window, windows))

    def _is_in_window(self, text: str) -> bool:
        folded = _FOLDED.sub("", text)
        if folded != text and any(spelling in folded for spelling in self._spellings):
            return True
        for _ in range(_TIMES):
            if not any(sign in text for sign in self._signs) or not _ESCAPE.search(text):
                return False
            text = unescape(unquote(_IN_JSON.sub(_sign, text)))
            if any(word in text for word in self._words):
                return True
        return False


def _key_words(name: str, value: str) -> Iterator[str]:
    """Yield a key and its parts: of `Bearer KEY`, `Credential=KEY/..., Signature=...`, `a=KEY; b=...`."""
    if name.lower() == "set-cookie":
        value = value.partition(";")[0]  # its attributes are not secret
    words = [word for word in _SPLIT.split(value) if word]
    if len(words) > 1 and name.lower().endswith("authorization"):
        words = words[1:]  # without the scheme
        yield from _login(words[0])
    elif len(words) > 1:
        yield value
    for word in words:
        yield from _parts_of_word(name, word)
    try:
        as_utf8 = value.encode("latin-1").decode()
    except UnicodeError:
        return
    if as_utf8 != value:
        yield from _key_words(name, as_utf8)


def _parts_of_word(name: str, word: str) -> Iterator[str]:
    """Yield a word of a header's value, and the parts of it that may be keys: after `=`, and between slashes."""
    yield word
    assigned = word.partition("=")[2].strip('"')
    if assigned.strip("="):
        yield assigned
    if is_secret(name):
        for part in (assigned or word).split("/"):
            if len(part) >= 16 and part != word:
                yield part
    if name.lower() == "sec-websocket-protocol":
        yield word.partition(".")[2]


def _login(word: str) -> Iterator[str]:
    """Yield `user:password` and the password from the base64 of Basic authentication."""
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
    """Yield the ways in which a line of JSON may contain the word, except those with single escaped characters."""
    yield dumps(word)[1:-1]
    data = word.encode()
    yield from (data.hex(), data.hex().upper())
    shifts = range(3) if len(data) >= _SHORTEST else range(0)
    for encode in (b64encode, urlsafe_b64encode):
        yield encode(data).decode()
        for shift in shifts:
            # Base64 writes 6 bits as a character. These are the characters that depend on this word alone, whatever
            # surrounds it.
            first = ceil(shift * 8 / 6)
            end = (shift + len(data)) * 8 // 6
            yield encode(b"\0" * shift + data).decode()[first:end]
