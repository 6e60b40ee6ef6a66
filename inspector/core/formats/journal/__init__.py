"""Journals: the transcripts of our own runs, written record by record as things happen."""

from collections.abc import Mapping
from typing import Any

from inspector.core.formats.format import Contents, Format, Head
from inspector.core.formats.journal.reader import NAME, JournalReader


def sniff(head: Head) -> float:
    """Sure where a journal begins; less so for what may be its middle."""
    if any(_is_header(value) for value in head.values[:1]):
        return 1.0
    told = sum(_is_record(value) for value in head.values)
    return 0.6 if told and 2 * told >= len(head.values) else 0.0


def _is_header(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("type") == NAME and isinstance(value.get("version"), int)


def _is_record(value: Any) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("thread"), str):
        return False
    return value.get("type") in ("message", "request", "answer", "tier", "running") and "time" in value


FORMAT = Format(
    NAME,
    "journal of a run",
    sniff,
    JournalReader,
    grows=True,
    contents=Contents(tokens="yes", system="yes", tools="yes", more="our own agent's"),
)
