"""Read the proxy's recordings: every exchange between agents and their providers, as sessions and threads."""

from inspector.core.formats.format import Contents, Format
from inspector.core.formats.proxy.reader import ProxyReader
from inspector.core.formats.signs import FileSign, FileSigns

_SIGNS = FileSigns(
    FileSign({"type": "proxy", "version": "<any>"}),  # first line of a recording
    FileSign(
        {"type": "request|response", "exchange": "<number>"}, "most", sure=0.95
    ),  # recording whose beginning was lost
)


FORMAT = Format(
    "proxy",
    title="recording of the proxy",
    sniff=_SIGNS,
    start=ProxyReader,
    grows=True,
    contents=Contents(tokens="yes", system="yes", tools="yes"),
)
