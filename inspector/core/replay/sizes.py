"""How large any buffer would have been at a request of a recorded session.

Where the buffer is the recorded one, the size that was reported for it. Else the size that the next prompt would have
had if it were sent instead, by the measure that all numbers on the screen come from (`tokens.sizing`).
"""

from collections import deque
from collections.abc import Iterable

from inspector.core.buffer import Prompt
from inspector.core.message import Message
from inspector.core.session import Thread
from inspector.core.tokens.estimators import Estimator, estimator, messages_weight, prompt_tokens
from inspector.core.tokens.pressure import PressureKind, known_pressures

_RECENT = 4


class Sizes:
    """Of one thread. Made once, used for every policy."""

    def __init__(self, thread: Thread, by: Estimator | None = None) -> None:
        self._estimator = by or estimator("roku")
        self._pressures = known_pressures(thread, self._estimator)
        self._recent = deque[tuple[tuple[Message, ...], int]]([((), 0)], _RECENT)
        self.slope = self._pressures.scale(None).slope
        """Tokens that a counted token of this session weighs."""

    def weigh(self, messages: Iterable[Message]) -> int:
        """Counted weight. Additive."""
        return messages_weight(self._estimator, messages)

    def weigh_buffer(self, messages: tuple[Message, ...]) -> int:
        """Counted weight of a whole buffer. Quick for one of the last, and for one that begins with the last."""
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

    def text(self, text: str) -> int:
        """Tokens of a text by itself."""
        return round(self.slope * self._estimator.text(text))

    def tokens(self, weight: int) -> int:
        """Tokens of some messages by themselves, not of a whole buffer."""
        return round(self.slope * self._estimator.tokens(weight))

    def size(self, index: int, weight: int, prompt: Prompt, recorded: bool) -> tuple[int, PressureKind]:
        """(tokens, how we know) of messages of that weight with that prompt, sent at request `index`. `recorded`: it is
        the very buffer that was."""
        pressure = self._pressures[index]
        if recorded and pressure.tokens is not None:
            return pressure.tokens, pressure.kind
        counted = self._estimator.tokens(weight) + sum(prompt_tokens(self._estimator, prompt))
        known = pressure.kind in ("reported", "predicted")
        return self._pressures.scale(index).tokens(counted), "predicted" if known else self._estimator.kind
