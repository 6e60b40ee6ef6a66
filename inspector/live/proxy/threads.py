"""What the gate remembers of each conversation: its cuts, how large it was, what its provider said about that."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from inspector.core.buffer import EMPTY_VIEW
from inspector.core.cuts import Cut
from inspector.core.formats.proxy.keys import client_of
from inspector.core.session import Request, Session, Thread
from inspector.core.tokens.calibration import Calibration
from inspector.core.tokens.windows import Window, find_window
from inspector.core.usage import Usage


@dataclass(slots=True)
class Standing:
    """One conversation. Changed on the proxy's loop only."""

    cuts: list[Cut] = field(default_factory=list)
    lost: int = 0
    """Cuts that do not fit any more, as was told."""
    calibration: Calibration = field(default_factory=Calibration)
    raw: int = 0
    """The raw estimate of the last request that was answered ..."""
    reported: int = 0
    """... and what the provider said about it."""
    largest: int = 0
    is_over: bool = False
    """The last request was over the line: it is told of once each time it gets there."""

    def tokens(self, raw: int) -> int:
        """The size of a buffer: what was reported last and the calibrated estimate of what came since."""
        if self.reported and raw >= self.raw:
            return self.reported + self.calibration.apply(raw - self.raw)
        return self.calibration.apply(raw)

    def learn(self, raw: int, reported: int) -> None:
        """The provider has said how large a request was."""
        if raw > 0 and reported > 0:
            self.calibration = self.calibration.update(raw, reported)
            self.raw, self.reported = raw, reported
            self.largest = max(self.largest, reported)

    def passes(self, tokens: int, line: float | None) -> tuple[bool, bool]:
        """(is a buffer of that size over the line, has the conversation just got there?). No line, no."""
        over = line is not None and tokens >= line
        got_there, self.is_over = over and not self.is_over, over
        return over, got_there

    def window(self, model: str, headers: Mapping[str, str], user: int | None, models: Mapping[str, int]) -> Window:
        """The model's window: the user's word, the client's, what the conversation gives away, the tables'."""
        if user is None and "context-1m" in headers.get("anthropic-beta", ""):
            return Window(1_000_000, "inferred")
        request = Request(0, EMPTY_VIEW, usage=Usage(input=self.largest), model=model)
        thread = Thread("main", model=model, requests=(request,), client=client_of(headers))
        return find_window(Session("proxy", (thread,)), thread, user=user, models=models)
