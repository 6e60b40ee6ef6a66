"""OpenHands: events of a conversation (V0: a list, or a run a line; V1: a line each), and its log of completions."""

from functools import partial

from inspector.core.formats.format import Format
from inspector.core.formats.many import ManyReader
from inspector.core.formats.openhands import events, log, v1

FORMATS = (
    Format(
        events.NAME,
        "OpenHands event log (V0)",
        events.sniff,
        partial(ManyReader, events.NAME, events.split, events.OpenHandsReader),
        choose=partial(ManyReader, events.NAME, events.split, events.OpenHandsReader),
    ),
    Format(v1.NAME, "OpenHands event log (V1)", v1.sniff, v1.OpenHandsV1Reader),
    Format(log.NAME, "OpenHands completion log", log.sniff, log.OpenHandsLogReader, log.companions, log.is_companion),
)
