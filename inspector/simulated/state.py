"""The state of the simulated provider: its window, its prompt cache, queued faults, and the requests it received.

The cache holds the prefixes of prompts that were sent before, separately for each model and key, for `ttl_s` seconds
after the last use. A prompt reads the longest common prefix of its messages. Only hashes are kept.
"""

import os
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps
from inspector.core.message import Message
from inspector.core.tokens.counted import Tiktoken, TokenizerRefused
from inspector.core.validity import ANTHROPIC
from inspector.simulated.call import COUNTED, SimulatedAnswer, SimulatedCall, TokensSpent
from inspector.simulated.faults import FaultQueue

# -- the wire log


class WireLog:
    """Logs the received and sent bytes without keys, as one line of JSON per exchange. Only its owner can read the
    file.

    Raises InspectorError.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise InspectorError(f"{path} cannot be written: {error.strerror or error}") from None

    def add(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        received: bytes,
        status: int,
        sent: bytes,
    ) -> None:
        """Log one exchange: both sides as they were sent, before any unpacking."""
        document = {"method": method, "path": path, "headers": dict(headers), "status": status}
        line = dumps({**document, "received": _bytes(received), "sent": _bytes(sent)}) + "\n"
        os.write(self._file, line.encode("utf-8", "replace"))

    def close(self) -> None:
        """Close the file. Nothing may be added afterwards."""
        os.close(self._file)


def _bytes(data: bytes) -> dict[str, Any]:
    return {
        "size": len(data),
        "sha256": sha256(data).hexdigest(),
        "base64": b64encode(data).decode(),
    }


# -- the prompt cache

SMALLEST = 1_024
"""Smallest prefix, in tokens, that the providers cache."""
LARGEST = 20_000
"""Largest number of prefixes and counts that are kept; the oldest are removed first."""


@dataclass(frozen=True, slots=True)
class PromptPrefix:
    """A beginning of a prompt: its hash, and its size in tokens."""

    digest: str
    tokens: int


class PromptCounts:
    """Counts the tokens of prompts. A message is counted only once, however often it is sent."""

    def __init__(self, counted: Tiktoken = COUNTED) -> None:
        self._counted = counted
        self._known: dict[str, int] = {}

    def prefixes(self, call: SimulatedCall) -> list[PromptPrefix]:
        """Return the prefixes of the prompt: system and tools, then one more message each. The last is the whole
        prompt.
        """
        prompt = call.buffer.prompt
        digest = sha256(repr((call.model, prompt)).encode("utf-8", "replace")).hexdigest()
        prefixes = [
            PromptPrefix(digest, self._count(digest, lambda: self._counted.weigh_prompt(prompt)))
        ]
        for message in call.buffer.messages:
            own = sha256(repr((message.role, message.parts)).encode("utf-8", "replace")).hexdigest()
            tokens = self._count(own, lambda message=message: self._weigh(message))  # type: ignore[misc]
            digest = sha256(f"{digest} {own}".encode()).hexdigest()
            prefixes.append(PromptPrefix(digest, prefixes[-1].tokens + tokens))
        return prefixes

    def _weigh(self, message: Message) -> int:
        try:
            return self._counted.weigh(message)
        except TokenizerRefused:
            return len(message.text) // 4

    def _count(self, digest: str, weigh: Callable[[], int]) -> int:
        if digest not in self._known:
            self._known[digest] = weigh()
            _forget(self._known)
        return self._known[digest]


class PromptCache:
    """The prefixes that were sent, and the time until which each is cached."""

    def __init__(self, ttl_s: float = 300.0, clock: Callable[[], float] = monotonic) -> None:
        self._ttl_s = ttl_s
        self._clock = clock
        self._until: dict[str, float] = {}

    def clear(self) -> None:
        self._until.clear()

    def use(self, scope: str, prefixes: Sequence[PromptPrefix]) -> tuple[int, int]:
        """Return (tokens read, tokens written) for a prompt that may be cached up to the last of `prefixes`."""
        if not prefixes or prefixes[-1].tokens < SMALLEST:
            return 0, 0
        now = self._clock()
        read = next(
            (
                prefix.tokens
                for prefix in reversed(prefixes)
                if self._until.get(scope + prefix.digest, 0) > now
            ),
            0,
        )
        read = read if read >= SMALLEST else 0
        for prefix in prefixes:
            self._until.pop(scope + prefix.digest, None)
            self._until[scope + prefix.digest] = now + self._ttl_s
        _forget(self._until)
        return read, prefixes[-1].tokens - read


def _forget(cache: dict[str, int] | dict[str, float]) -> None:
    while len(cache) > LARGEST:
        del cache[next(iter(cache))]


# -- the whole state

WINDOW = 200_000
STEP = 128
"""OpenAI caches prefixes in multiples of this many tokens."""


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request as it arrived. Keys are left out of the headers."""

    path: str
    headers: Mapping[str, str]
    body: bytes


class SimulatedServerState:
    """The state of one server.

    Args:
        window: The window in tokens.
        pause_s: Seconds between the events of a stream.
        remember: Number of requests kept in `seen`, newest last (for tests).
        scale: Factor on all token counts, so that windows fill sooner.
        websocket: Accept WebSocket connections.
        log: Records the received and sent bytes.
        compactions: Number of remote compactions that succeed before the endpoint disappears; None: no limit.
    """

    def __init__(
        self,
        window: int = WINDOW,
        pause_s: float = 0.0,
        remember: int = 0,
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
        self.seen: deque[SeenRequest] = deque(maxlen=remember)
        self._counts = PromptCounts()
        self._cache = PromptCache()

    def forget(self) -> None:
        """Reset the state: remove faults, cache and requests."""
        self.faults.clear()
        self.seen.clear()
        self._cache.clear()

    def may_compact(self) -> bool:
        """Is the endpoint for remote compaction still available? Counts the request."""
        if self.compactions is None:
            return True
        self.compactions -= 1
        return self.compactions >= 0

    def prompt_tokens(self, call: SimulatedCall) -> int:
        return self._scale_tokens(self._counts.prefixes(call)[-1].tokens)

    def _scale_tokens(self, tokens: int) -> int:
        return round(tokens * self.scale)

    def spend(
        self, dialect: str, call: SimulatedCall, spoken: SimulatedAnswer, key: str
    ) -> TokensSpent:
        """Return the tokens of a call, and update the cache."""
        prefixes = self._counts.prefixes(call)
        prompt = prefixes[-1].tokens
        scope = sha256(
            f"{dialect} {call.model} {call.session} {key}".encode("utf-8", "replace")
        ).hexdigest()
        cached = prefixes[: call.cached_upto + 1] if call.cached_upto else []
        read, written = self._cache.use(scope, cached)
        if dialect != ANTHROPIC:
            whole = (read + written) // STEP * STEP
            read = read // STEP * STEP
            written = whole - read
        parts = [self._scale_tokens(tokens) for tokens in (prompt - read - written, read, written)]
        return TokensSpent(sum(parts), self._scale_tokens(spoken.tokens), *parts[1:])
