"""The status line of Claude Code, within 150 ms: it reads a small index, and at most the end of the transcript.

This file loads nothing but the standard library, because the client waits for it after every message. What takes longer
(where the client compacts, how fast the buffer grows, which rules are in it) is measured by `statusline --refresh` in
another process, which writes the index into our configuration folder. The index holds numbers only.
"""

import json
import math
import os
import sys
import time
from collections.abc import Mapping

TYPE_CHECKING = False
"""Replaces `typing.TYPE_CHECKING`: importing `typing` would take a tenth of the time of a status line."""
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    _Fields: TypeAlias = Mapping[str, Any]

TAIL = 1 << 20
"""Bytes at the end of a transcript that are searched for the last reported usage."""
REST_S, SHARE = 20.0, 10
"""Seconds between two refreshes: at least REST_S, and at least SHARE times the duration of the last refresh."""
_USAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def index_folder() -> str:
    """Return the folder of all indexes. It need not exist.

    `resources.user_folder` returns the same folder, but needs pathlib, whose import takes a tenth of the time of a
    status line.
    """
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(home, "context-inspector", "statusline")


def index_path(transcript: str) -> str:
    """Return the path of the index of a transcript."""
    try:  # importing hashlib would load OpenSSL, which takes a tenth of the time of a status line
        from _sha1 import sha1  # type: ignore[import-not-found]
    except ImportError:  # a Python that is built without its own hash functions
        from hashlib import sha1

    name = sha1(
        os.path.abspath(transcript).encode("utf-8", "surrogateescape"), usedforsecurity=False
    ).hexdigest()
    return os.path.join(index_folder(), f"{name}.json")


def main() -> int:
    """Read the client's status as JSON on standard input, and print the line. Return the exit status."""
    try:
        status = json.loads(sys.stdin.buffer.read())
    except (ValueError, AttributeError):  # no JSON, or standard input is closed
        status = None
    transcript = status.get("transcript_path") if isinstance(status, dict) else None
    if not isinstance(transcript, str):
        sys.stderr.write(
            "context-inspector: statusline reads the status JSON of Claude Code on standard input.\n"
        )
        return 1
    index = read_index(transcript)
    # UTF-8 in every locale.
    sys.stdout.buffer.write(f"{status_words(status, transcript, index)}\n".encode())
    sys.stdout.flush()
    if needs_refresh(transcript, index):
        start_refresh(transcript)
    return 0


def read_index(transcript: str) -> "_Fields":
    """Return the index of a transcript; empty if there is none, or if it was made from a longer file."""
    try:
        with open(index_path(transcript), encoding="utf-8") as file:
            index = json.load(file)
        return index if index["bytes"] <= os.path.getsize(transcript) else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def status_words(status: "_Fields", transcript: str, index: "_Fields") -> str:
    """Return `61% · about 14 requests to compaction · 2 rules at risk`, with the parts that are known."""
    window_status = status.get("context_window")
    reported = window_status if isinstance(window_status, dict) else {}
    tokens = _sum_usage(reported.get("current_usage")) or _find_usage(transcript)
    window = index.get("window") or reported.get("context_window_size")
    if not tokens:
        return "no request yet"
    words = [f"{tokens:,} tokens"]
    if isinstance(window, int) and window > 0:
        words = [f"{round(100 * tokens / window)}%"]
    trigger = index.get("trigger")
    growth = index.get("growth")
    if trigger and tokens >= trigger:
        words.append("compaction is due")
    elif trigger and growth:
        requests = math.ceil((trigger - tokens) / growth)
        words.append(f"about {requests:,} request{'s' * (requests != 1)} to compaction")
    if rules := index.get("rules"):
        words.append(f"{rules} rule{'s' * (rules != 1)} at risk")
    return " · ".join(words)


def _sum_usage(usage: object) -> int:
    """Return the prompt tokens of a usage record, 0 if it has none."""
    if not isinstance(usage, dict):
        return 0
    counts = [usage.get(name) for name in _USAGE]
    return sum(count for count in counts if isinstance(count, int))


def _find_usage(transcript: str) -> int:
    """Return the last prompt tokens reported for the main thread in the end of a transcript, 0 if there are none."""
    try:
        with open(transcript, "rb") as file:
            file.seek(max(0, os.path.getsize(transcript) - TAIL))
            lines = file.read(TAIL).split(b"\n")
    except OSError:
        return 0
    for line in reversed(lines):
        if b'"usage"' not in line:
            continue
        try:
            record = json.loads(line)
            tokens = 0 if record.get("isSidechain") else _sum_usage(record["message"]["usage"])
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
        if tokens:
            return tokens
    return 0


def needs_refresh(transcript: str, index: "_Fields") -> bool:
    """Has the transcript grown since the index, and is the last refresh long enough ago?"""
    try:
        size = os.path.getsize(transcript)
        since_s = time.time() - os.path.getmtime(index_path(transcript))
    except OSError:
        return os.path.exists(transcript)
    if size == index.get("bytes"):
        return False
    rest_s = max(REST_S, SHARE * float(index.get("took_s") or 0))
    return since_s > rest_s


def start_refresh(transcript: str) -> None:
    """Start measuring the transcript in another process, unless a measurement of it is already running."""
    lock = index_path(transcript) + ".lock"
    try:
        os.makedirs(index_folder(), mode=0o700, exist_ok=True)
        if os.path.exists(lock) and time.time() - os.path.getmtime(lock) > 600:
            os.unlink(lock)
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        return
    command = [
        sys.executable,
        "-P",
        "-m",
        "inspector",
        "statusline",
        "--refresh",
        os.path.abspath(transcript),
    ]
    import subprocess

    nothing = subprocess.DEVNULL
    subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)
