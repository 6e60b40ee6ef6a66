"""What differs between two runs of the same agent is covered: ids, times, numbers that follow from them. No more."""

import json
import re
import zlib
from base64 import b64decode
from binascii import Error

import zstandard

from tests.clients.playing import Wire

_COVERED = [
    (re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])"), "<uuid>"),
    (
        re.compile(r"\b(resp|msg|call|toolu|fc|cmp|chatcmpl|ctc|rs)([_-])[0-9a-f]{24}\d*"),
        r"\1\2<digest>",
    ),
    (re.compile(r"\b(ses|msg|prt)_[0-9a-f]{12}[0-9A-Za-z]{14}\b"), r"\1_<id>"),
    (re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{24})(?![0-9a-f])"), "<sum>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?"), "<time>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "<day>"),
    (
        re.compile(r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d+ +\d\d:\d\d\b"),
        "<listed>",
    ),
    (re.compile(r"(?<![\d.a-f])1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?(?![\da-f])"), "<epoch>"),
    (re.compile(r'((?:tokens|TokenCount)\\*"?: ?)\d+'), r"\1<n>"),
    (re.compile(r"Wall time: [\d.]+ seconds"), "Wall time: <s>"),
    (re.compile(r"Process Group PGID: \d+"), "Process Group PGID: <pid>"),
    (re.compile(r"Chunk ID: [0-9a-f]{6}"), "Chunk ID: <id>"),
    (re.compile(r"\b[0-9a-f]{32}-[0-9a-f]{16}\b"), "<trace>"),
]
_SEALED = re.compile(r'("encrypted_content": ?")([A-Za-z0-9+/=]{40,})"')
VOLATILE = {"host", "connection", "content-length", "date", "sec-websocket-key"}
"""Headers that a hop may change, or that follow from a body's length."""


def covered(text: str) -> str:
    """The text with the volatile in it covered."""
    text = _SEALED.sub(lambda found: f'{found[1]}{_opened(found[2])}"', text)
    for pattern, cover in _COVERED:
        text = pattern.sub(cover, text)
    return text


def _opened(sealed: str) -> str:
    try:
        return zlib.decompress(b64decode(sealed)).decode()
    except (Error, zlib.error, UnicodeDecodeError):
        return sealed


def body_of(wire: Wire) -> str:
    """What the client sent, unpacked."""
    received = wire.received
    if wire.headers.get("content-encoding") == "zstd":
        received = zstandard.ZstdDecompressor().stream_reader(received).read()
    return received.decode()


def seen(wire: Wire) -> tuple[str, str, int, dict[str, str], str, str]:
    """One exchange, to be compared with that of another run. Keys are put in order: Codex writes them as they come."""
    body = body_of(wire)
    if body.startswith("{"):
        body = json.dumps(json.loads(body), sort_keys=True, ensure_ascii=False)
    headers = {name: covered(value) for name, value in wire.headers.items() if name not in VOLATILE}
    return (
        wire.method,
        covered(wire.path),
        wire.status,
        headers,
        covered(body),
        covered(wire.sent.decode()),
    )
