"""What all connections of the proxy share."""

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.live.proxy.gate import Gate
from inspector.live.proxy.recorder import Recorder
from inspector.live.proxy.upstream import Upstream


@dataclass(frozen=True, slots=True)
class House:
    """`numbers` gives each exchange its own."""

    upstream: Upstream
    recorder: Recorder
    gate: Gate
    numbers: Iterator[int]
