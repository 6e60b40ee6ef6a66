"""Journals: the transcripts that our own agent writes during a run, record by record."""

from inspector.core.formats.format import Contents, Format
from inspector.core.formats.journal.reader import NAME, JournalReader
from inspector.core.formats.signs import FileSign, FileSigns

_SIGNS = FileSigns(
    FileSign({"type": NAME, "version": "<number>"}),
    FileSign(
        {"type": "message|request|answer|tier|running", "thread": "<text>", "time": "<any>"},
        "most",
        sure=0.6,
    ),
)


FORMAT = Format(
    NAME,
    title="journal of a run",
    sniff=_SIGNS,
    start=JournalReader,
    grows=True,
    contents=Contents(tokens="yes", system="yes", tools="yes", more="our own agent's"),
)
