"""What the gate remembers of each conversation: its cuts, how large it was, what its provider said about that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inspector.core.buffer import EMPTY_VIEW
from inspector.core.cuts import Cut
from inspector.core.formats.proxy.keys import client_of
from inspector.core.session import Request, Session, Thread
from inspector.core.tokens.windows import Window, find_window
from inspector.core.usage import Usage
from inspector.proxy.holds.predicting import Learned

REARMED = 0.95
"""A mark is told of again once the conversation was below this share of it: not for wavering about it."""


@dataclass(slots=True)
class Standing:
    """One conversation. Changed on the proxy's loop only."""

    cuts: list[Cut] = field(default_factory=list)
    lost: int = 0
    """Cuts that do not fit any more, as was told."""
    learned: Learned = field(default_factory=Learned)
    usage: Usage | None = None
    """What the last answer cost."""
    largest: int = 0
    told: float = 0
    """The highest mark, in tokens, that was told of and still stands."""

    def reached(self, tokens: int, marks: Sequence[float]) -> bool:
        """Has the conversation got to a mark that it was not told of? Each is told once, until it was well below."""
        highest = max((mark for mark in marks if tokens >= mark), default=0.0)
        is_new = highest > self.told
        still = max((mark for mark in marks if tokens >= REARMED * mark), default=0.0)
        self.told = max(highest, min(self.told, still))
        return is_new

    def window(self, model: str, headers: Mapping[str, str], user: int | None, models: Mapping[str, int]) -> Window:
        """The model's window: the user's word, the client's, what the conversation gives away, the tables'."""
        if user is None and "context-1m" in headers.get("anthropic-beta", ""):
            return Window(1_000_000, "inferred")
        request = Request(0, EMPTY_VIEW, usage=Usage(input=self.largest), model=model)
        thread = Thread("main", model=model, requests=(request,), client=client_of(headers))
        return find_window(Session("proxy", (thread,)), thread, user=user, models=models)
