"""What was taken out of the heads that came by: taken out of every line of the recording, too, however it is spelled.

An error that quotes a key, a server that echoes headers, a debugging endpoint: a recording holds none of it. A value is
looked for as it is, percent-encoded, and in base64, there also in the middle of something longer.
"""

import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

from inspector.core.jsontext import NotJson, dumps, loads
from inspector.proxy.record.redact import REDACTED, is_secret, taken_from_head

_IS_KEY = re.compile(r"(?=.*\d).{6,}|\S*(?:[a-z].*[A-Z]|[^\w-])\S*(?<=\S{8})|.{12,}")
_IS_LONG = re.compile(r"(?=.*\d).{8,}|.{16,}")
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
_SPLIT = re.compile(r"[\s;,]+")
_KEPT = 64
_SHORTEST = 8
"""Of a key that is looked for in the middle of something in base64."""


class Secrets:
    """The values that came by lately: so many of those that are keys by their names, and of all others."""

    def __init__(self) -> None:
        self._keys: dict[str, tuple[str, ...]] = {}
        self._others: dict[str, tuple[str, ...]] = {}
        self._spelled: list[str] = []

    def learn(self, headers: Iterable[tuple[str, str]], path: str = "", *, is_answer: bool = False) -> None:
        """Keep in mind what is redacted in this head. Of an answer's only what is a key by its name."""
        for name, value in taken_from_head(headers, path):
            if is_secret(name):
                words = _words(name, value) if not _NO_KEY.search(name) else ()
                self._keep(self._keys, (word for word in words if _IS_KEY.fullmatch(word)))
            elif not is_answer and not _HARMLESS.search(name):
                self._keep(self._others, (word for word in _words(name, value) if _IS_LONG.fullmatch(word)))

    def _keep(self, known: dict[str, tuple[str, ...]], words: Iterable[str]) -> None:
        for word in words:
            spelled = known.pop(word, None)
            known[word] = spelled or tuple(_spellings(word))
            if spelled is None:
                self._spelled = []
        while len(known) > _KEPT:
            del known[next(iter(known))]

    def line(self, document: dict[str, Any]) -> str:
        """The document as a line of JSON, without them."""
        line = dumps(document)
        taken = self._taken_out(line)
        if taken == line:
            return line
        try:
            loads(taken.encode())
        except NotJson:  # what was found began in the middle of a number, or behind a backslash
            return dumps(self._walked(document))
        return taken

    def _taken_out(self, text: str) -> str:
        """Long ones first: a short one may stand in them."""
        if not self._spelled:
            every = {one for known in (self._keys, self._others) for spelled in known.values() for one in spelled}
            self._spelled = sorted(every, key=len, reverse=True)
        for one in self._spelled:
            if one in text:
                text = text.replace(one, REDACTED)
        return text

    def _walked(self, value: Any) -> Any:
        match value:
            case str():
                taken = self._taken_out(dumps(value)[1:-1])
                try:
                    return loads(f'"{taken}"'.encode())
                except NotJson:
                    return REDACTED
            case dict():
                return {self._walked(key): self._walked(one) for key, one in value.items()}
            case list() | tuple():
                return [self._walked(one) for one in value]
        return value


def _words(name: str, value: str) -> Iterator[str]:
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
        yield from _words(name, meant)


def _login(word: str) -> Iterator[str]:
    """`user:password` of Basic."""
    try:
        login = b64decode(word, validate=True).decode()
    except ValueError:
        return
    if login.isprintable() and ":" in login:
        yield login
        yield login.partition(":")[2]


def _spellings(word: str) -> Iterator[str]:
    """All the ways in which a line of JSON may hold it."""
    said = dumps(word)[1:-1]
    yield said
    for sign, escaped in (("/", "\\\\/"), ("+", "\\\\u002b"), ("+", "\\\\u002B")):  # JSON in a stream's text
        if sign in said:
            yield said.replace(sign, escaped)
    for encoded in {quote(word, safe=""), quote(word), quote_plus(word)} - {word}:
        yield encoded
        yield re.sub("%..", lambda found: found[0].lower(), encoded)
    data = word.encode()
    for encode in (b64encode, urlsafe_b64encode):
        yield encode(data).decode()
        for shift in range(3 if len(data) >= _SHORTEST else 0):
            # the signs that say the word alone, whatever stands before and after it
            yield encode(b"\0" * shift + data).decode()[-(-shift * 8 // 6) : (shift + len(data)) * 8 // 6]
