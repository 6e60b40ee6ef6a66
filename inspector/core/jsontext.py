"""Read and write JSON, tolerant of the errors in real transcripts.

Reading uses orjson for speed, and the standard library if orjson is too strict (lone surrogates, NaN, a byte-order
mark). Lone surrogates become U+FFFD, so that every text can be encoded to UTF-8 later. Values from `loads` are bounded:
nested at most `DEEPEST` levels (because `str`, `repr` and `==` recurse), integers of at most 64 bits, other numbers
finite. Written JSON is compact, with non-ASCII characters unescaped.
"""

import json
import math
import re
import sys
from gc import get_referents
from typing import Any

import orjson

_LONE = re.compile("[\ud800-\udfff]")
_ESCAPES = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
"""An escaped backslash, a surrogate pair, or (group 1) a lone surrogate."""


DEEPEST = 200
"""Most levels to which lists and objects may be nested."""
WRAPPED = DEEPEST + 50
"""Most levels in files that this program writes, which wrap such a value in objects of their own."""


_NOT_COUNTED = bytes(set(range(256)) - set(b'"[{,'))
_BLOCK = 1 << 16


class NotJson(ValueError):
    """The bytes are not JSON, or exceed the bounds of this module. `str(error)` says why, in a few words."""


def loads(
    data: bytes | bytearray | memoryview, sentences: list[str] | None = None, deepest: int = DEEPEST
) -> Any:
    """Parse one JSON value. Raises NotJson; never RecursionError, never UnicodeDecodeError.

    A number that is too large for a float becomes the largest float; NaN and Infinity become null. A sentence about
    each such change is added to `sentences`.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as strict:
        return _tolerant(bytes(data), why=str(strict), sentences=sentences, deepest=deepest)
    if len(data) > 2 * deepest and is_deeper(value, deepest):
        raise _too_deep(deepest)
    return value


def has_more_values(data: bytes, most: int) -> bool:
    """Would `loads` return more than `most` values (a key and its value count as one)?

    Counts commas and brackets without parsing. A value takes up to 240 bytes of memory, but may be two bytes of JSON.
    """
    if data.count(b",") + data.count(b"[") + data.count(b"{") < most:
        return False
    data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    count = 0
    is_text = False
    for at in range(0, len(data), _BLOCK):
        first, *others = data[at : at + _BLOCK].translate(None, _NOT_COUNTED).split(b'"')
        for piece in (first, *others):
            count += 0 if is_text else len(piece)
            is_text = not is_text
        is_text = not is_text
        if count >= most:
            return True
    return False


def is_deeper(value: Any, levels: int) -> bool:
    """Are lists and objects nested deeper than `levels`?

    The garbage collector returns the contents of each level, so that no Python loop goes over the items.
    """
    level = get_referents(value)
    for _ in range(levels - 1):
        if not level:
            return False
        level = get_referents(*level)
    return any(isinstance(inner, list | dict) for inner in level)


def _too_deep(deepest: int) -> NotJson:
    return NotJson(f"nested deeper than {deepest} levels")


def _tolerant(data: bytes, why: str, sentences: list[str] | None, deepest: int) -> Any:
    if "recursion" in why or "depth" in why:
        raise _too_deep(deepest)
    if data.startswith(b"\xef\xbb\xbf"):
        return loads(data[3:], sentences, deepest)
    if b"\\u" in data:
        mended = _ESCAPES.sub(lambda m: b"\\ufffd" if m.group(1) else m.group(0), data)
        if mended != data:
            return loads(mended, sentences, deepest)
    numbers = _Numbers()
    try:
        text = data.decode("utf-8", errors="replace")
        value = json.loads(
            text, parse_int=numbers.whole, parse_float=numbers.broken, parse_constant=numbers.none
        )
    except RecursionError:
        raise _too_deep(deepest) from None
    except ValueError as error:
        raise NotJson(str(error)) from None
    if is_deeper(value, deepest):
        raise _too_deep(deepest)
    if sentences is not None:
        sentences += numbers.told
    return value


class _Numbers:
    """Converts the numbers that the standard library's parser finds to the bounds of orjson."""

    def __init__(self) -> None:
        self.told: dict[str, None] = {}

    def whole(self, digits: str) -> int | float:
        value = int(digits) if len(digits) <= 20 else 1 << 64
        return value if -1 << 63 <= value < 1 << 64 else self.broken(digits)

    def broken(self, digits: str) -> float:
        value = float(digits)
        if math.isfinite(value):
            return value
        self.told["a number is too large; it was read as the largest possible number"] = None
        return math.copysign(sys.float_info.max, value)

    def none(self, word: str) -> None:
        self.told[f"{word} is no number in JSON; it was read as null"] = None


def dumps(value: object) -> str:
    """Return compact JSON: no spaces, non-ASCII characters unescaped. Any depth; NaN and infinity become null."""
    return dumped(value).decode()


def dumped(value: object) -> bytes:
    """Write a value as JSON, in UTF-8."""
    try:
        return orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):
        return _plain(value).encode("utf-8", errors="replace")


def _plain(value: object) -> str:
    try:
        plain = json.dumps(
            value, separators=(",", ":"), ensure_ascii=False, default=str, allow_nan=False
        )
        return without_surrogates(plain)
    except (RecursionError, ValueError):
        return _dumps_deep(value)


def _dumps_deep(value: object) -> str:
    """Return the same as `dumps` for values of any depth, with a stack instead of recursion."""
    out: list[str] = []
    stack: list[object] = [value]
    comma, colon, close_list, close_map = map(_Raw, ",:]}")
    while stack:
        item = stack.pop()
        if isinstance(item, _Raw):
            out.append(item)
        elif isinstance(item, dict):
            out.append("{")
            stack.append(close_map)
            for n, (key, inner) in enumerate(reversed(item.items())):
                stack += [comma] * (n > 0) + [inner, colon, str(key)]
        elif isinstance(item, list | tuple):
            out.append("[")
            stack.append(close_list)
            for n, inner in enumerate(reversed(item)):
                stack += [comma] * (n > 0) + [inner]
        elif isinstance(item, float) and not math.isfinite(item):
            out.append("null")
        else:
            out.append(json.dumps(item, ensure_ascii=False, default=str))
    return without_surrogates("".join(out))


class _Raw(str):
    """A piece of JSON that is written unchanged."""

    __slots__ = ()


def without_surrogates(text: str) -> str:
    """Return the text with each lone surrogate replaced by U+FFFD."""
    return _LONE.sub("�", text) if not text.isascii() else text
