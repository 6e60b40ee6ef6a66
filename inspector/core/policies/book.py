"""What a turn writes down while it runs, and how it ended. The same for every harness."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.core.needs import Answer
from inspector.core.outcome import Event, Outcome

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Turn(Generic[R]):
    """How a turn ended. `error` is empty unless it failed; then `buffer` is what stood when it did."""

    buffer: Buffer
    running: R
    events: tuple[Event, ...] = ()
    outcomes: tuple[Outcome[R], ...] = ()
    answer: Answer | None = None
    error: str = ""


class Book(Generic[R]):
    """A turn on its way."""

    def __init__(self, buffer: Buffer, running: R) -> None:
        self.buffer = buffer
        self.running = running
        self.events: list[Event] = []
        self.outcomes: list[Outcome[R]] = []

    def apply(self, outcome: Outcome[R]) -> None:
        """A tier has ended."""
        self.buffer, self.running = outcome.buffer, outcome.running
        self.events += outcome.events
        self.outcomes.append(outcome)

    def add(self, messages: tuple[Message, ...]) -> None:
        """New messages at the end of the buffer."""
        self.buffer = self.buffer.with_messages((*self.buffer.messages, *messages))

    def tell(self, name: str, **fields: object) -> None:
        """An event that belongs to no tier."""
        self.events.append(Event(name, fields))  # type: ignore[arg-type]

    def closed(self, answer: Answer | None = None, error: str = "") -> Turn[R]:
        """The turn is over."""
        return Turn(self.buffer, self.running, tuple(self.events), tuple(self.outcomes), answer, error)
