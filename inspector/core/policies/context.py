"""The input of a policy at one point of a session: buffer, settings, running state, and further input."""

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.core.outcome import Outcome
from inspector.core.policies.verdict import PolicyInput

S = TypeVar("S")
R = TypeVar("R")
NO_INPUT = PolicyInput()


@dataclass(frozen=True, slots=True)
class PolicyContext(Generic[S, R]):
    """Everything that a policy reads. `place.py` makes the context for a point of a session."""

    buffer: Buffer
    settings: S
    running: R
    """The policy's running state: calibration, breaker, working summary."""
    moment: PolicyInput = NO_INPUT
    """Further input, such as usage reports and overflows."""
    window: int | None = None
    """Tokens of the model's window; None if unknown."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return the messages of the buffer."""
        return self.buffer.messages

    def with_buffer(self, buffer: Buffer) -> "PolicyContext[S, R]":
        """Return the context with another buffer."""
        return replace(self, buffer=buffer)

    def with_messages(self, messages: tuple[Message, ...]) -> "PolicyContext[S, R]":
        """Return the context with these messages in its buffer."""
        return replace(self, buffer=self.buffer.with_messages(messages))

    def with_running(self, running: R) -> "PolicyContext[S, R]":
        """Return the context with another running state."""
        return replace(self, running=running)

    def with_moment(self, **changes: Any) -> "PolicyContext[S, R]":
        """Return the context with changed fields of `moment`."""
        return replace(self, moment=replace(self.moment, **changes))

    def after(self, *outcomes: Outcome[R]) -> "PolicyContext[S, R]":
        """Return the context with the buffer and running state of the last outcome; unchanged without outcomes."""
        if not outcomes:
            return self
        last = outcomes[-1]
        return replace(self, buffer=last.buffer, running=last.running)

    def unchanged(self, tier: str) -> Outcome[R]:
        """Return the outcome of a tier that did nothing."""
        return Outcome(tier, self.buffer, self.running)
