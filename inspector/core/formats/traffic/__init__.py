"""What other tools captured between agents and their providers: read as a recording of our own proxy is."""

from collections.abc import Callable
from functools import partial

from inspector.core.formats.format import Contents, Format, Head
from inspector.core.formats.traffic import cassette, frames, har, logs
from inspector.core.formats.traffic.log import Capture, TrafficLog, TrafficReader


def _format(
    name: str, title: str, more: str, sniff: Callable[[Head], float], start: Callable[[TrafficLog], Capture]
) -> Format:
    reader = partial(TrafficReader, name, start)
    told = Contents(tokens="where there is a response", system="yes", tools="yes", more=more)
    return Format(name, title, sniff, reader, is_many=True, grows=start in _GROW, contents=told)


_GROW = (logs.ExchangeRows, frames.FrameRows)

FORMATS = (
    _format("exchange-log", "log of exchanges", "claude-tap's packets and lines", logs.sniff, logs.ExchangeRows),
    _format("frames", "log of WebSocket frames", "ccxray's", frames.sniff, frames.FrameRows),
    _format("har", "HTTP archive (HAR)", "also of Amazon Bedrock", har.sniff, har.HarEntries),
    _format("cassette", "VCR cassette", "YAML or JSON", cassette.sniff, cassette.Interactions),
)
