"""Computes every size that is shown at a request: of its buffer, and of the buffers that tiers would leave.

A `Sizer` belongs to one request of a thread, or to the end of the thread. The buffer of that request has exactly the
size that was reported or predicted for it. Any other buffer (after a step, in a preview, of another policy) has the
size that the next prompt would have if that buffer were sent instead.
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
    """Computes sizes at one request, in the provider's tokens if it reported any."""

    estimator: Estimator
    pressure: Pressure
    """The pressure of the request's own buffer."""
    scale: Scale

    @property
    def kind(self) -> PressureKind:
        """Return the kind of sizes other than that of the request's own buffer: predicted, counted, estimated."""
        return (
            "predicted" if self.pressure.kind in ("reported", "predicted") else self.estimator.kind
        )

    def counted(self, messages: View | Iterable[Message], prompt: Prompt) -> int:
        """Return the weight of the messages and the recorded prompt."""
        return self.estimator.tokens(messages_weight(self.estimator, messages)) + sum(
            prompt_tokens(self.estimator, prompt)
        )

    def tokens(self, buffer: Buffer) -> int:
        """Return the tokens of a whole buffer, with those that are not in the file. O(messages)."""
        return self.scale.tokens(self.counted(buffer.messages, buffer.prompt))

    def pressure_of(self, buffer: Buffer) -> Pressure:
        """Return the pressure of a buffer that would be sent instead of the request's own. O(messages)."""
        counted = self.counted(buffer.messages, buffer.prompt)
        if self.kind != "predicted":
            return Pressure(self.scale.tokens(counted), self.kind, counted)
        prediction = self.scale.predict(counted)
        return Pressure(prediction.tokens, kind="predicted", counted=counted, predicted=prediction)

    def pressure_beside(self, buffer: Buffer, own: Buffer) -> Pressure:
        """Return the pressure of a buffer; the request's own if it has the messages of `own`, the request's buffer.

        O(messages).
        """
        return self.pressure if buffer.messages == own.messages else self.pressure_of(buffer)

    def rows(self, messages: Iterable[Message]) -> int:
        """Return the tokens of some messages alone."""
        return self.scale.rows(self.estimator.tokens(messages_weight(self.estimator, messages)))

    def row(self, message: Message) -> int:
        """Return the tokens of one message alone."""
        return self.scale.rows(count(self.estimator, message))

    def text(self, text: str) -> int:
        """Return the tokens of a text alone."""
        return self.scale.rows(self.estimator.text(text))


def sizer(pressures: Pressures, at: int | None) -> Sizer:
    """Return the sizer of a request; for None or the number of requests, that of the buffer after the last record."""
    return Sizer(pressures.by, pressures.at(at), pressures.scale(at))


def rounded(values: Sequence[float], total: int) -> list[int]:
    """Round values to whole numbers that add up to `total`, which must be nearly their sum.

    Values that lost most by rounding down are rounded up first.
    """
    whole = [floor(value) for value in values]
    left = total - sum(whole)
    if not whole:
        return whole
    each, rest = divmod(left, len(whole))
    by_remainder = sorted(range(len(whole)), key=lambda n: whole[n] - values[n])
    for place, at in enumerate(by_remainder):
        whole[at] += each + (place < rest)
    return whole
