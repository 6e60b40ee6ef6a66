"""One turn of an agent while it runs: its buffer, what its policy did, who watches it, and how it ended.

Whoever runs the agent may watch: they are called, synchronously, before a tier fires, before an outcome is taken over,
before the model is asked and before tools are run. They may look at the turn, put another buffer and running state into
it, or raise, which ends the turn there. `Policy.turn` (`harness.py`) says what happens in which order.
"""

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from inspector.core.buffer import Buffer
from inspector.core.message import Message, ToolCall
from inspector.core.needs import Answer, AskModel, Conversation, RunTools
from inspector.core.outcome import Event, Outcome
from inspector.core.policies.verdict import Verdict

R = TypeVar("R")
Done: TypeAlias = Conversation[Outcome[R]]
"""A tier at work."""
AllDone: TypeAlias = Conversation[tuple[Outcome[R], ...]]
"""Several tiers, one after the other; each outcome starts from the one before."""


@dataclass(frozen=True, slots=True)
class TurnResult(Generic[R]):
    """How a turn ended. `error` is empty unless it failed; then `buffer` is what stood when it did."""

    buffer: Buffer
    running: R
    events: tuple[Event, ...] = ()
    outcomes: tuple[Outcome[R], ...] = ()
    answer: Answer | None = None
    error: str = ""
    done: bool = False
    """The model has stopped: no turn follows by itself."""


class TurnObserver(Protocol):
    """Who watches a turn."""

    def before_tier(self, turn: "TurnContext[Any]", verdict: Verdict) -> None:
        """This tier is about to fire. With another buffer in the turn it may not, after all."""
        ...

    def outcome(self, turn: "TurnContext[Any]", outcome: Outcome[Any]) -> None:
        """A tier has ended; the turn still holds what was before it."""
        ...

    def before_call(self, turn: "TurnContext[Any]") -> None:
        """The model is about to be asked: what the turn holds after this call is what is sent."""
        ...

    def before_tools(self, turn: "TurnContext[Any]", calls: tuple[ToolCall, ...]) -> None:
        """The answer stands in the turn; its calls are about to be run."""
        ...


class TurnContext(Generic[R]):
    """A turn on its way."""

    def __init__(self, buffer: Buffer, running: R, observer: TurnObserver | None = None) -> None:
        self.buffer = buffer
        self.running = running
        self.events: list[Event] = []
        self.outcomes: list[Outcome[R]] = []
        self._observer = observer

    def announce(self, due: Callable[[Buffer, R], Iterable[Verdict]], tiers: Container[str]) -> None:
        """Some of `tiers` are about to run where they are due. Costs nothing where nobody watches."""
        announced = set[str]()
        while self._observer is not None:
            verdicts = due(self.buffer, self.running)
            found = next((one for one in verdicts if one.due and one.tier in tiers and one.tier not in announced), None)
            if found is None:
                return
            announced.add(found.tier)
            self._observer.before_tier(self, found)

    def apply(self, *outcomes: Outcome[R]) -> None:
        """Tiers have ended, each began where the one before it ended."""
        for outcome in outcomes:
            if self._observer is not None:
                self._observer.outcome(self, outcome)
            self.buffer, self.running = outcome.buffer, outcome.running
            self.events += outcome.events
            self.outcomes.append(outcome)

    def ask(self, max_tokens: int | None, stream: bool = True) -> Conversation[Answer]:
        """The model's answer to the buffer. Not added yet. `buffer` is then still what was really sent."""
        if self._observer is not None:
            self._observer.before_call(self)
        return (yield AskModel(self.buffer, max_tokens, stream))

    def run_tools(self, calls: tuple[ToolCall, ...]) -> Conversation[tuple[Message, ...]]:
        """The results of the calls, none without a call. Not added yet."""
        if not calls:
            return ()
        if self._observer is not None:
            self._observer.before_tools(self, calls)
        return (yield RunTools(calls)).messages

    def add(self, messages: Iterable[Message]) -> None:
        """New messages at the end of the buffer."""
        self.buffer = self.buffer.with_messages((*self.buffer.messages, *messages))

    def log(self, name: str, **fields: object) -> None:
        """An event that belongs to no tier."""
        self.events.append(Event(name, fields))  # type: ignore[arg-type]

    def ended(self, answer: Answer | None = None, error: str = "") -> TurnResult[R]:
        """The turn is over. An answer that calls nothing is the last."""
        stopped = answer is not None and not calls_of(answer)
        return TurnResult(self.buffer, self.running, tuple(self.events), tuple(self.outcomes), answer, error, stopped)


def calls_of(answer: Answer) -> tuple[ToolCall, ...]:
    """The tool calls of an answer, in order."""
    return tuple(call for message in answer.messages for call in message.calls)
