"""Pi's session entries for tests: the notation of the cut cases, and the lines of a real session file."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from inspector.core.formats.pi.messages import read_message, read_usage
from inspector.core.formats.reading import RecordPosition
from inspector.core.message import Message, Text, ToolResult
from inspector.core.policies.pi.context_size import make_summary_message
from inspector.core.policies.pi.entries import Entry, EntryKind
from inspector.core.policies.verdict import CallReport

_ROLES = {"U": "user", "A": "assistant", "T": "tool"}
_METADATA: Mapping[str, EntryKind] = {"mc": "model_change", "tl": "thinking_level_change"}
_ids: Iterator[int] = count()


def entry(sign: str) -> Entry:
    """U, A, T (100 tokens; U10 has 10), B = bash, CM = custom message, BS = branch summary, mc, tl, C = compaction.

    C2 is a compaction whose first kept entry has the id `e2`.
    """
    kind, tokens = sign.rstrip("0123456789"), int(sign.lstrip("UATBCMSmctl") or 100)
    text, name = "x" * (4 * tokens), f"n{next(_ids)}"
    if kind in _METADATA:
        return Entry(_METADATA[kind], name)
    if kind == "C":
        return Entry("compaction", name, make_summary_message("OLD", ()), first_kept=f"e{tokens}")
    if kind == "B":
        return Entry(
            "bashExecution", name, Message(name, "user", (Text("Ran it"),)), counted=4 * tokens
        )
    if kind in ("CM", "BS"):
        said = Message(name, "user", (Text(text),), mark="meta")
        return Entry("custom_message" if kind == "CM" else "branch_summary", name, said)
    part = ToolResult(name, text) if kind == "T" else Text(text)
    return Entry("message", name, Message(name, _ROLES[kind], (part,)))  # type: ignore[arg-type]


def entries(signs: str) -> list[Entry]:
    """`U A mc U` as entries with the ids e0, e1, ..."""
    made = [entry(sign) for sign in signs.split()]
    return [
        Entry(one.kind, f"e{n}", one.message, one.counted, one.first_kept)
        for n, one in enumerate(made)
    ]


@dataclass(frozen=True)
class RealSession:
    """A v1 session file: every line after the header is an entry."""

    lines: int
    entries: list[Entry]
    reports: tuple[CallReport, ...]

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(one.message for one in self.entries if one.message is not None)


def read_session(path: Path) -> RealSession:
    """Entries are numbered from 0: the first line after the header."""
    values = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    found = [_read(n, value) for n, value in enumerate(values[1:])]
    reports = [
        _report(n, value["message"])
        for n, value in enumerate(values[1:])
        if value["type"] == "message"
    ]
    return RealSession(len(values), found, tuple(one for one in reports if one is not None))


def _read(n: int, value: Any) -> Entry:
    if value["type"] != "message":
        return Entry(value["type"], f"e{n}")
    return Entry("message", f"e{n}", read_message(value["message"], RecordPosition(f"e{n}", n, "")))


def _report(n: int, message: Any) -> CallReport | None:
    usage = read_usage(message) if message["role"] == "assistant" else None
    return (
        CallReport(f"e{n}", usage, message.get("stopReason", ""), message.get("model", ""))
        if usage
        else None
    )
