"""What all connections of the proxy share."""

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.proxy.gate import Gate
from inspector.proxy.record.recorder import Recorder
from inspector.proxy.relay.upstream import Upstream


@dataclass(frozen=True, slots=True)
class House:
    """`numbers` gives each exchange its own."""

    upstream: Upstream
    recorder: Recorder
    gate: Gate
    numbers: Iterator[int]
