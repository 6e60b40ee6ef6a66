"""The prompt cache: what of a prompt was sent before, by the longest common prefix of its messages.

Kept a model and key apart, for `ttl_s` seconds after the last use. Only hashes are kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from time import monotonic

from inspector.core.message import Message
from inspector.core.tokens.counted import Tiktoken
from inspector.core.tokens.tokenizer import TokenizerRefused
from inspector.simulated.call import COUNTED, Call

SMALLEST = 1_024
"""Tokens below which neither provider caches a prefix."""
LARGEST = 20_000
"""Prefixes and counts that are kept at most: the oldest go first."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A beginning of a prompt: its hash, and its tokens."""

    digest: str
    tokens: int


class Counts:
    """Tokens of prompts. A message is counted once, however often it is sent."""

    def __init__(self, counted: Tiktoken = COUNTED) -> None:
        self._counted = counted
        self._known: dict[str, int] = {}

    def prefixes(self, call: Call) -> list[Prefix]:
        """The prompt (system and tools), then one prefix more for each message. Never empty; the last is all of it."""
        prompt = call.buffer.prompt
        digest = sha256(repr((call.model, prompt)).encode("utf-8", "replace")).hexdigest()
        found = [Prefix(digest, self._count(digest, lambda: self._counted.weigh_prompt(prompt)))]
        for message in call.buffer.messages:
            own = sha256(repr((message.role, message.parts)).encode("utf-8", "replace")).hexdigest()
            tokens = self._count(own, lambda message=message: self._weigh(message))  # type: ignore[misc]
            digest = sha256(f"{digest} {own}".encode()).hexdigest()
            found.append(Prefix(digest, found[-1].tokens + tokens))
        return found

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
    """What was sent, and until when it is remembered."""

    def __init__(self, ttl_s: float = 300.0, clock: Callable[[], float] = monotonic) -> None:
        self._ttl_s = ttl_s
        self._clock = clock
        self._until: dict[str, float] = {}

    def clear(self) -> None:
        """Forget all."""
        self._until.clear()

    def use(self, scope: str, prefixes: Sequence[Prefix]) -> tuple[int, int]:
        """(tokens read, tokens written) for a prompt that may be cached up to the last of `prefixes`."""
        if not prefixes or prefixes[-1].tokens < SMALLEST:
            return 0, 0
        now = self._clock()
        read = next((one.tokens for one in reversed(prefixes) if self._until.get(scope + one.digest, 0) > now), 0)
        read = read if read >= SMALLEST else 0
        for one in prefixes:
            self._until.pop(scope + one.digest, None)
            self._until[scope + one.digest] = now + self._ttl_s
        _forget(self._until)
        return read, prefixes[-1].tokens - read


def _forget(known: dict[str, int] | dict[str, float]) -> None:
    while len(known) > LARGEST:
        del known[next(iter(known))]
