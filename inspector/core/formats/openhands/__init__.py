"""OpenHands: events of a conversation (V0: a list, or a run a line; V1: a line each), and its log of completions."""

from functools import partial

from inspector.core.formats.format import Contents, Format
from inspector.core.formats.many import ManyReader
from inspector.core.formats.openhands import events, log, v1

FORMATS = (
    Format(
        events.NAME,
        "OpenHands event log (V0)",
        events.sniff,
        partial(ManyReader, events.NAME, events.split, events.OpenHandsReader),
        is_many=True,
        grows=True,
        contents=Contents(
            "where the answer is kept", "in newer files", "as the prompt", "also `output.jsonl`, a session a line"
        ),
    ),
    Format(
        v1.NAME,
        "OpenHands event log (V1)",
        v1.sniff,
        v1.OpenHandsV1Reader,
        grows=True,
        contents=Contents("yes, from running sums", "yes", "yes"),
    ),
    Format(
        log.NAME,
        "OpenHands completion log",
        log.sniff,
        log.OpenHandsLogReader,
        log.companions,
        log.is_companion,
        grows=True,
        contents=Contents("yes", "yes", "yes", "all files of a conversation"),
    ),
)
