"""How large any buffer would have been at a request of a recorded session.

Where the buffer is the recorded one, its reported size. Else the reported size of the recorded buffer of the same
request, plus the estimate of what the other holds more, less the estimate of what it lacks: so that everything the
file does not hold (system prompt, tools, hidden thinking) is there in every buffer. The estimate is characters over 4,
times what the session itself says such a token weighs: the growth that was reported, over the growth that was
estimated, of all requests that merely appended. Where nothing was reported, the estimate alone.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from inspector.core.buffer import NOT_IN_FILE, Prompt
from inspector.core.message import Message
from inspector.core.session import Thread
from inspector.core.tokens.characters import Pi
from inspector.core.tokens.estimators import messages_weight
from inspector.core.tokens.pressure import is_prefix

SizeKind: TypeAlias = Literal["reported", "calibrated", "estimated"]
LOWEST, HIGHEST = 0.5, 3.0
"""What a token by characters can weigh. Denser than 3: Chinese, at most; what lies outside is no text's doing."""
ENOUGH = 500
"""Tokens of growth that say something about the weight."""
_RECENT = 4
_CHARACTERS = Pi()


@dataclass(frozen=True, slots=True)
class _Sample:
    request: int
    reported: int
    weight: int
    """Estimated tokens of the recorded buffer."""


class Sizes:
    """Of one thread. Made once, used for every policy."""

    def __init__(self, thread: Thread) -> None:
        self._prompt: tuple[Prompt, int] = (NOT_IN_FILE, 0)
        self._recent = deque[tuple[tuple[Message, ...], int]]([((), 0)], _RECENT)
        weights = [self.weigh_prompt(one.prompt) + messages_weight(_CHARACTERS, one.view) for one in thread.requests]
        samples = [
            _Sample(n, one.usage.prompt, weights[n])
            for n, one in enumerate(thread.requests)
            if one.usage is not None and one.usage.prompt > 0
        ]
        self.scale = _scale(thread, samples)
        """Tokens that an estimated token of this session weighs."""
        self._nearest = _nearest(samples, len(thread.requests))
        self._own = {one.request for one in samples}

    def weigh(self, messages: Iterable[Message]) -> int:
        """Estimated tokens. Additive."""
        return messages_weight(_CHARACTERS, messages)

    def weigh_buffer(self, messages: tuple[Message, ...]) -> int:
        """Estimated tokens of a whole buffer. Quick for one of the last, and for one that begins with the last."""
        for known, weight in self._recent:
            if known is messages:
                return weight
        known, weight = self._recent[-1]
        if known and messages[: len(known)] == known:
            weight += self.weigh(messages[len(known) :])
        else:
            weight = self.weigh(messages)
        self._recent.append((messages, weight))
        return weight

    def weigh_prompt(self, prompt: Prompt) -> int:
        """Estimated tokens of the system prompt, where the file holds it."""
        if prompt is not self._prompt[0]:
            self._prompt = (prompt, _CHARACTERS.text(prompt.system or ""))
        return self._prompt[1]

    def tokens(self, weight: int) -> int:
        """Tokens of something by itself, not of a whole buffer."""
        return round(weight * self.scale)

    def size(self, index: int, weight: int, recorded: bool) -> tuple[int, SizeKind]:
        """(tokens, how we know) of a buffer of that weight, sent at request `index`. `recorded`: it is the very one."""
        near = self._nearest[index]
        if near is None:
            return weight, "estimated"
        if recorded and index in self._own:
            return near.reported, "reported"
        overhead = near.reported - near.weight * self.scale
        if overhead >= 0:
            return round(overhead + weight * self.scale), "calibrated"
        return round(weight * near.reported / near.weight), "calibrated"  # the estimator counts more than there is


def _scale(thread: Thread, samples: list[_Sample]) -> float:
    grown = estimated = 0
    for before, after in pairwise(samples):
        if is_prefix(thread.requests[before.request].view, thread.requests[after.request].view):
            grown += after.reported - before.reported
            estimated += after.weight - before.weight
    return min(HIGHEST, max(LOWEST, grown / estimated)) if estimated >= ENOUGH else 1.0


def _nearest(samples: list[_Sample], requests: int) -> list[_Sample | None]:
    """For each request its own sample, else that of the last request before it that has one, else of the first."""
    by_request = {one.request: one for one in samples}
    last = samples[0] if samples else None
    found = []
    for n in range(requests):
        last = by_request.get(n, last)
        found.append(last)
    return found
