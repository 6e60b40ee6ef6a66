"""What a policy goes by at one place: the buffer, its settings, its running state, and what else it may know."""

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
    """Everything that a policy reads. `place.py` makes it for a place of a session; nothing else assembles one."""

    buffer: Buffer
    settings: S
    running: R
    """The policy's running state: calibration, breaker, working summary."""
    moment: PolicyInput = NO_INPUT
    """What it may know besides."""
    window: int | None = None
    """Tokens of the model's window; None where it is unknown."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of the buffer."""
        return self.buffer.messages

    def with_buffer(self, buffer: Buffer) -> "PolicyContext[S, R]":
        """The same around another buffer."""
        return replace(self, buffer=buffer)

    def with_messages(self, messages: tuple[Message, ...]) -> "PolicyContext[S, R]":
        """The same around these messages."""
        return replace(self, buffer=self.buffer.with_messages(messages))

    def with_running(self, running: R) -> "PolicyContext[S, R]":
        """The same with another running state."""
        return replace(self, running=running)

    def with_moment(self, **changes: Any) -> "PolicyContext[S, R]":
        """The same with other fields of `moment`."""
        return replace(self, moment=replace(self.moment, **changes))

    def after(self, *outcomes: Outcome[R]) -> "PolicyContext[S, R]":
        """Where the last of these outcomes left buffer and running state; the same where there is none."""
        if not outcomes:
            return self
        last = outcomes[-1]
        return replace(self, buffer=last.buffer, running=last.running)

    def unchanged(self, tier: str) -> Outcome[R]:
        """The outcome of a tier that did nothing."""
        return Outcome(tier, self.buffer, self.running)
