"""Crush sessions: rows of its database, as `transcripts.stores` reads them."""

from collections.abc import Mapping

from inspector.core.formats.crush.reader import NAME, TABLES, CrushReader
from inspector.core.formats.format import AgentFolder, Contents, Format, Head


def sniff(head: Head) -> float:
    """Sure of its rows."""
    first = next(iter(head.values), None)
    return float(isinstance(first, Mapping) and first.get("table") in TABLES and isinstance(first.get("row"), Mapping))


FORMAT = Format(
    NAME,
    "Crush session",
    sniff,
    CrushReader,
    grows=True,
    folders=(AgentFolder("crush/projects.json", ".local/share", "XDG_DATA_HOME"),),
    contents=Contents(tokens="of the last call, with its answer", more="its database"),
)
