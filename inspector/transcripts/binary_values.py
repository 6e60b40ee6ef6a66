"""Write bytes in records (packed bodies of a cassette) as JSON: `{"$bytes": "..."}` in base64."""

import gzip
import io
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

from inspector.transcripts.unpack import GZIP, LONGEST_PACKED

_MARK = "$bytes"


def mark_bytes(value: Any) -> Any:
    """Return a value with its bytes replaced by objects that JSON can hold."""
    if isinstance(value, bytes):
        return {_MARK: b64encode(value).decode("ascii")}
    if isinstance(value, dict):
        return {name: mark_bytes(field) for name, field in value.items()}
    if isinstance(value, list):
        return [mark_bytes(item) for item in value]
    return value


def unmark_bytes(value: Any) -> Any:
    """Return a value with the objects of `mark_bytes` replaced by bytes."""
    if is_marked(value):
        return _decode(value)
    if isinstance(value, dict):
        return {name: unmark_bytes(field) for name, field in value.items()}
    if isinstance(value, list):
        return [unmark_bytes(item) for item in value]
    return value


def is_marked(value: Any) -> bool:
    """Does the value represent bytes?"""
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get(_MARK), str)


def has_bytes(written: str) -> bool:
    """Can a value given as JSON hold bytes? O(length); a text that contains the marker counts, too."""
    return _MARK in written


def read_marked_text(value: Any) -> str:
    """Return the text that marked bytes hold, unpacked; empty if they are not text."""
    return _read_text(_decode(value)) or ""


def change_marked_text(value: Any, change: Callable[[str], str]) -> Any:
    """Change the text that marked bytes hold, and pack it as before. Bytes that are not text are removed: they cannot
    be reviewed.
    """
    data = _decode(value)
    text = _read_text(data)
    if text is None:
        return mark_bytes(b"")
    changed = change(text).encode()
    if changed == text.encode():
        return value
    return mark_bytes(gzip.compress(changed, mtime=0) if data.startswith(GZIP) else changed)


def _decode(value: Any) -> bytes:
    try:
        return b64decode(value[_MARK], validate=True)
    except ValueError:
        return b""


def _read_text(data: bytes) -> str | None:
    try:
        if data.startswith(GZIP):
            with gzip.open(io.BytesIO(data)) as file:
                data = file.read(LONGEST_PACKED)
        return data.decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return None
