"""What a turn writes down while it runs, and how it ended. The same for every harness.

Whoever runs the agent may watch: it is told, synchronously, before a tier fires, before an outcome is taken over,
before the model is asked and before tools are run. It may look at the book, put another buffer and running state into
it, or raise, which ends the turn there.
"""

from collections.abc import Callable, Container, Generator, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from inspector.core.buffer import Buffer
from inspector.core.message import Message, ToolCall
from inspector.core.needs import Answer, AskModel, Need, RunTools
from inspector.core.outcome import Event, Outcome
from inspector.core.policies.policy import Verdict

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
    done: bool = False
    """The model has stopped: no turn follows by itself."""


class Watch(Protocol):
    """Who looks over the shoulder of a turn."""

    def before_tier(self, book: "Book[Any]", verdict: Verdict) -> None:
        """This tier is about to fire. With another buffer in the book it may not, after all."""
        ...

    def outcome(self, book: "Book[Any]", outcome: Outcome[Any]) -> None:
        """A tier has ended; the book still holds what was before it."""
        ...

    def before_call(self, book: "Book[Any]") -> None:
        """The model is about to be asked: what the book holds behind this is what is sent."""
        ...

    def before_tools(self, book: "Book[Any]", calls: tuple[ToolCall, ...]) -> None:
        """The answer stands in the book; its calls are about to be run."""
        ...


class Book(Generic[R]):
    """A turn on its way."""

    def __init__(self, buffer: Buffer, running: R, watch: Watch | None = None) -> None:
        self.buffer = buffer
        self.running = running
        self.events: list[Event] = []
        self.outcomes: list[Outcome[R]] = []
        self._watch = watch

    def about(self, verdicts: Callable[[Buffer, R], Iterable[Verdict]], tiers: Container[str]) -> None:
        """Some of `tiers` are about to run where they are due. Costs nothing where nobody watches."""
        told = set[str]()
        while self._watch is not None:
            looked = verdicts(self.buffer, self.running)
            due = next((one for one in looked if one.due and one.tier in tiers and one.tier not in told), None)
            if due is None:
                return
            told.add(due.tier)
            self._watch.before_tier(self, due)

    def apply(self, *outcomes: Outcome[R]) -> None:
        """Tiers have ended, each began where the one before it ended."""
        for outcome in outcomes:
            if self._watch is not None:
                self._watch.outcome(self, outcome)
            self.buffer, self.running = outcome.buffer, outcome.running
            self.events += outcome.events
            self.outcomes.append(outcome)

    def ask(self, max_tokens: int | None, stream: bool = True) -> Generator[Need, Answer, Answer]:
        """The model's answer to the buffer. Not added yet. `buffer` is then still what was really sent."""
        if self._watch is not None:
            self._watch.before_call(self)
        return (yield AskModel(self.buffer, max_tokens, stream))

    def run(self, calls: tuple[ToolCall, ...]) -> Generator[Need, Answer, tuple[Message, ...]]:
        """The results of the calls. Not added yet."""
        if self._watch is not None:
            self._watch.before_tools(self, calls)
        return (yield RunTools(calls)).messages

    def add(self, messages: Iterable[Message]) -> None:
        """New messages at the end of the buffer."""
        self.buffer = self.buffer.with_messages((*self.buffer.messages, *messages))

    def tell(self, name: str, **fields: object) -> None:
        """An event that belongs to no tier."""
        self.events.append(Event(name, fields))  # type: ignore[arg-type]

    def closed(self, answer: Answer | None = None, error: str = "", done: bool | None = None) -> Turn[R]:
        """The turn is over. `done` by itself: an answer that calls nothing is the last."""
        stopped = answer is not None and not calls_of(answer) if done is None else done
        return Turn(self.buffer, self.running, tuple(self.events), tuple(self.outcomes), answer, error, stopped)


def calls_of(answer: Answer) -> tuple[ToolCall, ...]:
    """The tool calls of an answer, in order."""
    return tuple(call for message in answer.messages for call in message.calls)
