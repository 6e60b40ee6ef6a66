"""What the simulated provider remembers: its window, its prompt cache, the faults that wait, what it was asked."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from time import monotonic

from inspector.core.validity import ANTHROPIC
from inspector.simulated.cache import Counts, PromptCache
from inspector.simulated.call import Call, Said, Spent
from inspector.simulated.faults import FaultQueue
from inspector.simulated.wire_log import WireLog

WINDOW = 200_000
STEP = 128
"""OpenAI caches in steps of so many tokens."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it arrived. Keys are left out of the headers."""

    path: str
    headers: Mapping[str, str]
    body: bytes


class World:
    """The state behind one server. `window` in tokens; `pause_s` between the events of a stream.

    `remember` requests are kept in `seen`, newest last: for tests, 0 otherwise. `scale`: how heavy a token is, so that
    windows fill sooner. `websocket`: is it spoken? `log`: the bytes that came and went.
    `compactions`: so many remote ones are made, then there is no such endpoint any more; None = it stays.
    """

    def __init__(
        self,
        window: int = WINDOW,
        pause_s: float = 0.0,
        remember: int = 0,
        ttl_s: float = 300.0,
        clock: Callable[[], float] = monotonic,
        scale: float = 1.0,
        websocket: bool = True,
        log: WireLog | None = None,
        compactions: int | None = None,
    ) -> None:
        self.window = window
        self.scale = scale
        self.websocket = websocket
        self.log = log
        self.compactions = compactions
        self.pause_s = pause_s
        self.faults = FaultQueue()
        self.seen: deque[Seen] = deque(maxlen=remember)
        self._counts = Counts()
        self._cache = PromptCache(ttl_s, clock)

    def forget(self) -> None:
        """Begin anew: no faults wait, nothing is cached, nothing was seen."""
        self.faults.clear()
        self.seen.clear()
        self._cache.clear()

    def may_compact(self) -> bool:
        """Is there an endpoint for remote compaction? Counts the request."""
        if self.compactions is None:
            return True
        self.compactions -= 1
        return self.compactions >= 0

    def prompt_tokens(self, call: Call) -> int:
        """Tokens of a prompt: system, tools, messages."""
        return self._scaled(self._counts.prefixes(call)[-1].tokens)

    def _scaled(self, tokens: int) -> int:
        return round(tokens * self.scale)

    def spend(self, dialect: str, call: Call, said: Said, key: str) -> Spent:
        """What a call costs. Fills the cache."""
        prefixes = self._counts.prefixes(call)
        prompt = prefixes[-1].tokens
        scope = sha256(f"{dialect} {call.model} {call.session} {key}".encode("utf-8", "replace")).hexdigest()
        cached = prefixes[: call.cached_upto + 1] if call.cached_upto else []
        read, written = self._cache.use(scope, cached)
        if dialect != ANTHROPIC:
            whole = (read + written) // STEP * STEP
            read = read // STEP * STEP
            written = whole - read
        parts = [self._scaled(tokens) for tokens in (prompt - read - written, read, written)]
        return Spent(sum(parts), self._scaled(said.tokens), *parts[1:])
