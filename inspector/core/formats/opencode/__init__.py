"""opencode sessions: the JSON of `opencode export`, or rows of its database as `transcripts.stores` reads them."""

from inspector.core.formats.format import AgentFolder, Contents, Format
from inspector.core.formats.opencode.reader import NAME, SECOND_TABLES, TABLES, OpencodeReader
from inspector.core.formats.signs import FileSign, FileSigns

_SIGNS = FileSigns(
    FileSign({"table": "|".join((*TABLES, *SECOND_TABLES)), "row": "<object>"}),
    FileSign({"info": {"id": "ses_*"}, "messages": []}),
    FileSign({"info": "<object>", "messages": [{"info": "<object>", "parts": []}]}, sure=0.95),
)


FORMAT = Format(
    NAME,
    title="opencode session",
    sniff=_SIGNS,
    start=OpencodeReader,
    grows=True,
    folders=(AgentFolder("opencode/opencode*.db", ".local/share", "XDG_DATA_HOME"),),
    contents=Contents(tokens="yes", more="export, or its database (1 and 2)"),
)
