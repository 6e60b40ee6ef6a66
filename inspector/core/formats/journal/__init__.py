"""Journals: the transcripts of our own runs, written record by record as things happen."""

from inspector.core.formats.format import Contents, Format, Head
from inspector.core.formats.journal.reader import NAME, JournalReader
from inspector.core.untyped import first_of, objects_of


def sniff(head: Head) -> float:
    """Sure where a journal begins; less so for what may be its middle."""
    first = first_of(list(head.values))
    if first.get("type") == NAME and isinstance(first.get("version"), int):
        return 1.0
    rows = (row for row in objects_of(list(head.values)) if isinstance(row.get("thread"), str) and "time" in row)
    told = sum(row.get("type") in ("message", "request", "answer", "tier", "running") for row in rows)
    return 0.6 if told and 2 * told >= len(head.values) else 0.0


FORMAT = Format(
    NAME,
    "journal of a run",
    sniff,
    JournalReader,
    grows=True,
    contents=Contents(tokens="yes", system="yes", tools="yes", more="our own agent's"),
)
