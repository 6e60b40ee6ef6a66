"""Damage of every kind that a file can take: to its values, its lines, its bytes. The same seed does the same."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

LARGEST = 60_000
"""Bytes that a mutated file has at most."""
_NUMBERS: tuple[str, ...] = (
    "-1",
    "0",
    "1e12",
    "1000000000001",
    "1e30",
    "1e308",
    "1e400",
    "-1e999",
    "1" + "0" * 309,
    "9" * 25,
    "0.5",
)
_NUMBERS += (
    "NaN",
    "Infinity",
    "-Infinity",
    "-0.0",
    "9223372036854775808",
    "18446744073709551616",
    "1e-400",
)
_TEXTS: tuple[str, ...] = (
    "",
    "\0",
    "\ud800",
    "\u2028",
    "\u202e",
    "'",
    '"""',
    "\\",
    "\r",
    "{}",
    "[",
    "main",
    "user",
    "0",
    "a\nb",
    "é" * 50,
)
_TEXTS += (
    "x" * 3000,
    "{'a': 1}",
    "data: ",
    "../../etc",
    "%s%n",
    "\x1b[31m",
    "👨\u200d👩\u200d👧" * 20,
    "2026-13-45T99:99Z",
    "9" * 5000,
    "²",
    "٣",
)


class Raw(str):
    """Stands in the JSON as it is written here."""


def mutate(data: bytes, chance: Random, folder: Path) -> bytes:
    """One to four kinds of damage, one after the other."""
    for _ in range(chance.choice((1, 1, 1, 2, 3, 4))):
        data = _damage(data, chance, folder)
    return data[:LARGEST]


def _damage(data: bytes, chance: Random, folder: Path) -> bytes:
    if data.startswith(b"SQLite format 3\0") and chance.random() < 0.7:
        return _row_of(data, chance, folder)
    kinds: tuple[Callable[[bytes, Random], bytes], ...] = (
        _value,
        _value,
        _value,
        _value,
        _value,
        _lines,
        _bytes,
    )
    return chance.choice(kinds)(data, chance)


def _value(data: bytes, chance: Random) -> bytes:
    """Another value somewhere in one of the JSON values."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    try:
        value = json.loads(lines[at])
    except (ValueError, RecursionError):
        return _bytes(data, chance)
    if _depth(value) >= 200:
        return _bytes(data, chance)
    lines[at] = _written(_changed(value, chance))
    return b"\n".join(lines)


def _changed(value: Any, chance: Random) -> Any:
    inner = (
        list(value)
        if isinstance(value, dict)
        else list(range(len(value)))
        if _is_list(value)
        else []
    )
    if not inner or chance.random() < 0.12:
        return _odd(value, chance)
    key = chance.choice(inner)
    if isinstance(value, dict) and (chance_of := chance.random()) < 0.15:
        if chance_of < 0.05:
            return {other: one for other, one in value.items() if other != key}
        if chance_of < 0.1:
            return {
                chance.choice(_TEXTS) if other == key else other: one
                for other, one in value.items()
            }
        return {**value, chance.choice(inner): value[chance.choice(inner)]}
    if _is_list(value) and (chance_of := chance.random()) < 0.2:
        if chance_of < 0.1:
            return [*value[:key], *value[key + 1 :]]
        return [*value[:key], *[value[key]] * chance.choice((2, 3, 40)), *value[key:]]
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = _changed(copy[key], chance)
    return copy


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _odd(value: Any, chance: Random) -> Any:
    """What stands nowhere where something else belongs."""
    if type(value) in (int, float) and chance.random() < 0.6:
        return Raw(chance.choice(_NUMBERS))
    match chance.randrange(11):
        case 0:
            return None
        case 1 | 2:
            return Raw(chance.choice(_NUMBERS))
        case 3 | 4:
            return chance.choice(_TEXTS)
        case 5:
            return _deep(chance.choice((5, 60, 190, 199, 200, 201, 400, 700, 950, 1100)), chance)
        case 6 | 7 | 8:
            return chance.choice(
                ([], {}, [[]], {"": {}}, [None], True, [value, value], {"type": value})
            )
        case 9:
            return json.dumps(value)
        case _:
            return [value] if chance.random() < 0.5 else {"text": value, "content": value}


def _deep(levels: int, chance: Random) -> Raw:
    before, after = chance.choice(
        (("[", "]"), ('{"a":', "}"), ('[{"type":', "}]"), ('{"content":[', "]}"))
    )
    return Raw(before * levels + "1" + after * levels)


def _depth(value: Any) -> int:
    """Levels, as far as `_written` dares to go."""
    level, depth = [value], 0
    while level and depth < 300:
        level = [one for value in level if isinstance(value, dict | list) for one in _items(value)]
        depth += 1
    return depth


def _items(value: dict[str, Any] | list[Any]) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value


def _written(value: Any) -> bytes:
    """As JSON, raw pieces and lone surrogates as they are."""
    if isinstance(value, Raw):
        return value.encode()
    if isinstance(value, dict):
        pairs = (json.dumps(key).encode() + b":" + _written(one) for key, one in value.items())
        return b"{" + b",".join(pairs) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(map(_written, value)) + b"]"
    return json.dumps(value).encode()


def _lines(data: bytes, chance: Random) -> bytes:
    """Lines twice, gone, in another order, glued together, torn."""
    lines = data.split(b"\n")
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(7):
        case 0:
            lines[at:at] = [lines[other]] * chance.choice((1, 2, 30))
        case 1:
            del lines[min(at, other) : max(at, other)]
        case 2:
            chance.shuffle(lines)
        case 3:
            lines[at], lines[other] = lines[other], lines[at]
        case 4:
            lines[at] += lines[other]
        case 5:
            lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)]
        case _:
            lines.reverse()
    return b"\n".join(lines)


_PIECES = (
    b"\0",
    b"\n",
    b"\r\n",
    b"\xff",
    b"\xed\xa0\x80",
    b"[" * 300,
    b'"',
    b"}",
    b"\xef\xbb\xbf",
    b"\\ud800",
    b"1e999",
)


def _bytes(data: bytes, chance: Random) -> bytes:
    """Bytes changed, put in, cut off; the whole in another encoding."""
    at = chance.randrange(len(data) + 1)
    match chance.randrange(7):
        case 0:
            return data[:at]
        case 1:
            return data[at:]
        case 2:
            return data[:at] + chance.choice(_PIECES) + data[at:]
        case 3:
            return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        case 4:
            return data[:at] + data[at + chance.randrange(200) :]
        case 5:
            return data[:at] + bytes(chance.randrange(1, 400)) + data[at:]
        case _:
            text = data.decode("utf-8", errors="replace")
            return text.encode(chance.choice(("utf-16", "utf-8-sig", "utf-8")))


def _row_of(data: bytes, chance: Random, folder: Path) -> bytes:
    """Another value in the JSON of a row, or in another of its columns."""
    path = folder / "mutated.db"
    path.write_bytes(data)
    try:
        with sqlite3.connect(path) as database:
            database.execute("pragma journal_mode = delete")
            table, column = chance.choice(
                (("part", "data"), ("message", "data"), ("session", "revert"))
            )
            row, told = chance.choice(
                database.execute(f"select rowid, {column} from {table}").fetchall()
            )
            value: Any = _written(_changed(json.loads(told or "{}"), chance)).decode(
                "utf-8", errors="replace"
            )
            if chance.random() < 0.2:
                column, value = (
                    chance.choice(("id", "time_created")),
                    chance.choice(("", -1, 1 << 62, 1e300, b"\xff", "x")),
                )
            database.execute(
                f"update or ignore {table} set {column} = ? where rowid = ?", (value, row)
            )
        return path.read_bytes()
    except (sqlite3.Error, ValueError, RecursionError, IndexError):  # damaged by what came before
        return _bytes(data, chance)
    finally:
        database.close()
