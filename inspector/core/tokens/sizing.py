"""The one measure of every number that is shown at a place: what is there, what a tier would free, what would be left.

A `Sizer` belongs to a place of a thread: a request, or the end. The buffer that stands there has the size that was
reported or predicted for it, to the token; any other buffer - after a step, in a preview, of another policy - has the
size that the next prompt would have if it were sent instead.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor

from inspector.core.buffer import Buffer, Prompt, View
from inspector.core.message import Message
from inspector.core.tokens.estimators import Estimator, count, messages_weight, prompt_tokens
from inspector.core.tokens.prediction import Scale
from inspector.core.tokens.pressure import Pressure, PressureKind, Pressures


@dataclass(frozen=True, slots=True)
class Sizer:
    """Sizes at one place, in the provider's tokens as far as it reported any."""

    estimator: Estimator
    pressure: Pressure
    """Of the buffer that stands there."""
    scale: Scale

    @property
    def kind(self) -> PressureKind:
        """Of sizes other than the buffer's own: predicted, counted, estimated."""
        return "predicted" if self.pressure.kind in ("reported", "predicted") else self.estimator.kind

    def counted(self, messages: View | Iterable[Message], prompt: Prompt) -> int:
        """The weight of all that the transcript holds."""
        return self.estimator.tokens(messages_weight(self.estimator, messages)) + sum(
            prompt_tokens(self.estimator, prompt)
        )

    def tokens(self, buffer: Buffer) -> int:
        """Of a whole buffer, the unseen part included. O(messages)."""
        return self.scale.tokens(self.counted(buffer.messages, buffer.prompt))

    def pressure_of(self, buffer: Buffer) -> Pressure:
        """Of a buffer that would be sent instead of the one that stands there. O(messages)."""
        counted = self.counted(buffer.messages, buffer.prompt)
        if self.kind != "predicted":
            return Pressure(self.scale.tokens(counted), self.kind, counted)
        found = self.scale.predict(counted)
        return Pressure(found.tokens, "predicted", counted, None, found)

    def pressure_beside(self, buffer: Buffer, own: Buffer) -> Pressure:
        """Of a buffer, where `own` is the one that stands there: what is known of that holds as long as no message is
        another. O(messages)."""
        return self.pressure if buffer.messages == own.messages else self.pressure_of(buffer)

    def rows(self, messages: Iterable[Message]) -> int:
        """Of some messages by themselves."""
        return self.scale.rows(self.estimator.tokens(messages_weight(self.estimator, messages)))

    def row(self, message: Message) -> int:
        """Of one message."""
        return self.scale.rows(count(self.estimator, message))

    def text(self, text: str) -> int:
        """Of a text by itself."""
        return self.scale.rows(self.estimator.text(text))


def sizer(pressures: Pressures, at: int | None) -> Sizer:
    """Of request `at`; None (or the number of requests) = of the buffer after the last record."""
    return Sizer(pressures.by, pressures.at(at), pressures.scale(at))


def rounded(values: Sequence[float], total: int) -> list[int]:
    """The values as whole numbers that add up to `total`, which is their sum, nearly: what is left over or missing goes
    where rounding took or gave most."""
    found = [floor(value) for value in values]
    left = total - sum(found)
    if not found:
        return found
    each, rest = divmod(left, len(found))
    by_remainder = sorted(range(len(found)), key=lambda n: found[n] - values[n])
    for place, at in enumerate(by_remainder):
        found[at] += each + (place < rest)
    return found
