"""Records of SQLite: numbers of variable length, columns by their serial types, and the names of a table's columns."""

from collections.abc import Mapping, Sequence
from struct import unpack

Value = str | bytes | int | float | None


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at `at`, and what comes after it. IndexError where the bytes end."""
    value = data[at]
    if value < 0x80:
        return value, at + 1
    value &= 0x7F
    for n in range(1, 8):
        byte = data[at + n]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + n + 1
    return value << 8 | data[at + 8], at + 9


def columns(payload: bytes, wanted: Sequence[int]) -> list[Value]:
    """The values of these columns (ascending). None where the record has fewer, as after ALTER TABLE ADD COLUMN.

    `payload` may be cut off behind them. IndexError where it is shorter.
    """
    end, at = varint(payload, 0)
    body, column, found = end, 0, list[Value]()
    for want in wanted:
        while at < end and column < want:
            kind, at = varint(payload, at)
            body += _length(kind)
            column += 1
        if at >= end:
            found.append(None)
            continue
        kind, at = varint(payload, at)
        length = _length(kind)
        if body + length > len(payload):
            raise IndexError("the record ends before its columns do")
        found.append(_value(kind, payload[body : body + length]))
        body += length
        column += 1
    return found


_LENGTHS = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)


def _length(kind: int) -> int:
    return _LENGTHS[kind] if kind < 12 else (kind - 12) // 2


def _value(kind: int, data: bytes) -> Value:
    if kind >= 12:
        return data if kind % 2 == 0 else data.decode("utf-8", errors="replace")
    if kind == 7:
        return float(unpack(">d", data)[0])
    if 1 <= kind <= 6:
        return int.from_bytes(data, "big", signed=True)
    return {8: 0, 9: 1}.get(kind)


_CONSTRAINTS = frozenset(("constraint", "primary", "unique", "foreign", "check"))
_QUOTES: Mapping[str, str] = {'"': '"', "`": "`", "[": "]", "'": "'"}


def column_names(sql: str) -> list[str]:
    """The columns that a CREATE TABLE or CREATE INDEX names, in order. The text is only read, never run."""
    names = []
    for piece in _pieces(sql):
        word = _first_word(piece)
        if word and (piece.lstrip()[:1] in _QUOTES or word.lower() not in _CONSTRAINTS):
            names.append(word)
    return names


def _pieces(sql: str) -> list[str]:
    """What stands between the commas inside the first parentheses."""
    pieces, depth, start, at = list[str](), 0, 0, 0
    while at < len(sql):
        mark = sql[at]
        if mark in _QUOTES and not (mark == "[" and depth == 0):
            at = sql.find(_QUOTES[mark], at + 1)
            if at < 0:
                break
        elif mark == "(":
            depth += 1
            start = at + 1 if depth == 1 else start
        elif mark == ")" or (mark == "," and depth == 1):
            if depth == 1:
                pieces.append(sql[start:at])
                start = at + 1
            depth -= mark == ")"
            if depth == 0:
                break
        at += 1
    return pieces


def _first_word(piece: str) -> str:
    piece = piece.strip()
    if piece[:1] in _QUOTES and piece:
        return piece[1:].partition(_QUOTES[piece[0]])[0]
    return piece.split(None, 1)[0].partition("(")[0] if piece else ""
