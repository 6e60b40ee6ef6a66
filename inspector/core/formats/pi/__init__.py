"""Sessions of the pi coding agent: v1 (a sequence of records), v2 and v3 (a tree of records)."""

from inspector.core.formats.format import AgentFolder, Contents, Format
from inspector.core.formats.pi.reader import NAME, PiReader
from inspector.core.formats.signs import FileSign, FileSigns

_ROLES = "user|assistant|toolResult|bashExecution|system|custom"
sniff = FileSigns(
    FileSign({"type": "session", "id": "<text>", "cwd": "<any>", "trace_id": "<absent>"}, "any"),
    FileSign(
        {"type": "session", "id": "<text>", "version": "<any>", "trace_id": "<absent>"},
        "any",
        sure=0.9,
    ),
    FileSign(
        {"type": "message", "parentId": "<any>", "message": {"role": _ROLES}}, "most", sure=0.6
    ),
)


FORMAT = Format(
    NAME,
    title="pi session",
    sniff=sniff,
    start=PiReader,
    grows=True,
    folders=(AgentFolder("sessions/*/*.jsonl", ".pi/agent", "PI_CODING_AGENT_DIR"),),
    contents=Contents(tokens="yes", system="since v3, if pi wrote it", tools="as the prompt"),
)
