"""OpenHands: the events of conversations (V0 and V1), and the log of completions."""

from functools import partial

from inspector.core.formats.format import AgentFolder, Contents, DocumentReader, Format
from inspector.core.formats.many import ManyReader
from inspector.core.formats.openhands import events, log, v1

FORMATS = (
    Format(
        events.NAME,
        title="OpenHands event log (V0)",
        sniff=events.SIGNS,
        start=partial(ManyReader, events.NAME, events.split_conversations, events.read),
        is_many=True,
        grows=True,
        contents=Contents(
            "if the answer is kept",
            system="in newer files",
            tools="as the prompt",
            more="also `output.jsonl`, a session a line",
        ),
    ),
    Format(
        v1.NAME,
        title="OpenHands event log (V1)",
        sniff=v1.SIGNS,
        start=partial(DocumentReader, v1.read),
        companions=v1.companions,
        is_companion=v1.is_companion,
        grows=True,
        of_folder=(v1.STATE, v1.EVENTS),
        folders=(
            AgentFolder(
                "*/base_state.json", ".openhands/conversations", "OPENHANDS_CONVERSATIONS_DIR"
            ),
        ),
        contents=Contents(
            "yes, from running sums or the state",
            system="yes",
            tools="yes",
            more="lines, or the folder of a conversation",
        ),
    ),
    Format(
        log.NAME,
        title="OpenHands completion log",
        sniff=log.SIGNS,
        start=partial(DocumentReader, log.read),
        companions=log.companions,
        is_companion=log.is_companion,
        grows=True,
        contents=Contents("yes", system="yes", tools="yes", more="all files of a conversation"),
    ),
)
