"""What all connections of the proxy share."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inspector.live.proxy.gate import Gate
from inspector.live.proxy.recorder import Recorder
from inspector.live.proxy.upstream import Upstream

if TYPE_CHECKING:  # httpx2 is heavy: it is imported where a provider speaks HTTP/2
    from inspector.live.proxy.h2 import Http2


@dataclass(slots=True)
class House:
    """`numbers` gives each exchange its own."""

    upstream: Upstream
    recorder: Recorder
    gate: Gate
    numbers: Iterator[int]
    _h2: "Http2 | None" = field(default=None, init=False)

    def h2(self) -> "Http2":
        """The one connection to a provider that speaks HTTP/2."""
        if self._h2 is None:
            from inspector.live.proxy.h2 import Http2

            self._h2 = Http2(self.upstream.origin)
        return self._h2

    async def close(self) -> None:
        """End it."""
        if self._h2 is not None:
            await self._h2.close()
