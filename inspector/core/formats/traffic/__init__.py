"""Read what other tools captured between agents and their providers, as if our own proxy had recorded it."""

from collections.abc import Callable
from functools import partial

from inspector.core.formats.format import Contents, Format, Head
from inspector.core.formats.traffic import archives, frames, logs
from inspector.core.formats.traffic.log import TrafficReader


def _format(
    name: str,
    title: str,
    more: str,
    sniff: Callable[[Head], float],
    reader: type[TrafficReader],
    *,
    grows: bool = False,
) -> Format:
    contents = Contents(tokens="of a response", system="yes", tools="yes", more=more)
    return Format(
        name,
        title,
        sniff,
        start=partial(reader, name),
        is_many=True,
        grows=grows,
        contents=contents,
    )


FORMATS = (
    _format(
        "exchange-log",
        "log of exchanges",
        "claude-tap's packets and lines",
        logs.sniff,
        logs.ExchangeRows,
        grows=True,
    ),
    _format(
        "frames", "log of WebSocket frames", "ccxray's", frames.SIGNS, frames.FrameRows, grows=True
    ),
    _format(
        "har",
        "HTTP archive (HAR)",
        "also of Amazon Bedrock",
        archives.sniff_har,
        archives.HarReader,
    ),
    _format(
        "cassette", "VCR cassette", "YAML or JSON", archives.sniff_cassette, archives.CassetteReader
    ),
)
