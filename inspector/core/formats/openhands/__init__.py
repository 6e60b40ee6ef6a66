"""OpenHands: the events of conversations (V0 and V1), and the log of completions."""

from functools import partial

from inspector.core.formats.format import AgentFolder, Contents, DocumentReader, Format
from inspector.core.formats.many import ManyReader
from inspector.core.formats.openhands import events, log, v1

FORMATS = (
    Format(
        events.NAME,
        "OpenHands event log (V0)",
        events.SIGNS,
        partial(ManyReader, events.NAME, events.split_conversations, events.read),
        is_many=True,
        grows=True,
        contents=Contents(
            "if the answer is kept",
            "in newer files",
            "as the prompt",
            "also `output.jsonl`, a session a line",
        ),
    ),
    Format(
        v1.NAME,
        "OpenHands event log (V1)",
        v1.SIGNS,
        partial(DocumentReader, v1.read),
        v1.companions,
        v1.is_companion,
        grows=True,
        of_folder=(v1.STATE, v1.EVENTS),
        folders=(
            AgentFolder(
                "*/base_state.json", ".openhands/conversations", "OPENHANDS_CONVERSATIONS_DIR"
            ),
        ),
        contents=Contents(
            "yes, from running sums or the state",
            "yes",
            "yes",
            "lines, or the folder of a conversation",
        ),
    ),
    Format(
        log.NAME,
        "OpenHands completion log",
        log.SIGNS,
        partial(DocumentReader, log.read),
        log.companions,
        log.is_companion,
        grows=True,
        contents=Contents("yes", "yes", "yes", "all files of a conversation"),
    ),
)
