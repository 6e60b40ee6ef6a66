"""JSON in and out, tolerant of what real transcripts hold.

In: orjson for speed, the standard library where orjson is too strict (lone surrogates, NaN, a byte-order mark).
Lone surrogates become U+FFFD on the way in, so that everything behind can encode to UTF-8. Out: compact, non-ASCII
left as it is.
"""

import json
import math
import re
from typing import Any

import orjson

_LONE = re.compile("[\ud800-\udfff]")
_ESCAPES = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
"""An escaped backslash, a surrogate pair, or (group 1) a lone surrogate."""


class NotJson(ValueError):
    """The bytes are not a JSON value. `str(error)` says why, in a few words."""


def loads(data: bytes | bytearray | memoryview) -> Any:
    """Parse one JSON value. Raises NotJson; never RecursionError, never UnicodeDecodeError."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as strict:
        return _tolerant(bytes(data), str(strict))


def _tolerant(data: bytes, why: str) -> Any:
    if "recursion" in why or "depth" in why:
        raise NotJson("nested deeper than 1,024 levels")
    if data.startswith(b"\xef\xbb\xbf"):
        return loads(data[3:])
    if b"\\u" in data:
        mended = _ESCAPES.sub(lambda m: b"\\ufffd" if m.group(1) else m.group(0), data)
        if mended != data:
            return loads(mended)
    try:
        text = data.decode("utf-8", errors="replace")
        value = json.loads(text)
    except RecursionError:
        raise NotJson("nested deeper than 1,000 levels") from None
    except ValueError as error:
        raise NotJson(str(error)) from None
    return value


def dumps(value: object) -> str:
    """Compact JSON: no spaces, non-ASCII left as is (spec 0.2). Any depth; NaN and infinity become null."""
    try:
        return orjson.dumps(value).decode()
    except (TypeError, orjson.JSONEncodeError):
        pass
    try:
        plain = json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str, allow_nan=False)
        return without_surrogates(plain)
    except (RecursionError, ValueError):
        return _dumps_deep(value)


def _dumps_deep(value: object) -> str:
    """As dumps, with a stack of our own."""
    out: list[str] = []
    stack: list[object] = [value]
    marks = {id(mark): mark for mark in (_Raw(","), _Raw(":"), _Raw("]"), _Raw("}"))}
    comma, colon, close_list, close_map = marks.values()
    while stack:
        item = stack.pop()
        if isinstance(item, _Raw):
            out.append(item.text)
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


class _Raw:
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def without_surrogates(text: str) -> str:
    """The text with each lone surrogate replaced by U+FFFD."""
    return _LONE.sub("�", text) if not text.isascii() else text
