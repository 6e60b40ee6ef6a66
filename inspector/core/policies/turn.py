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
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.verdict import Verdict

S = TypeVar("S")
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

    def before_tier(self, turn: "TurnContext[Any, Any]", verdict: Verdict) -> None:
        """This tier is about to fire. With another buffer in the turn it may not, after all."""
        ...

    def outcome(self, turn: "TurnContext[Any, Any]", outcome: Outcome[Any]) -> None:
        """A tier has ended; the turn still holds what was before it."""
        ...

    def before_call(self, turn: "TurnContext[Any, Any]") -> None:
        """The model is about to be asked: what the turn holds after this call is what is sent."""
        ...

    def before_tools(self, turn: "TurnContext[Any, Any]", calls: tuple[ToolCall, ...]) -> None:
        """The answer stands in the turn; its calls are about to be run."""
        ...


class TurnContext(Generic[S, R]):
    """A turn on its way."""

    def __init__(self, start: PolicyContext[S, R], observer: TurnObserver | None = None) -> None:
        self.now = start
        """What the policy goes by at this point of the turn."""
        self.events: list[Event] = []
        self.outcomes: list[Outcome[R]] = []
        self._observer = observer

    @property
    def buffer(self) -> Buffer:
        """The buffer at this point of the turn."""
        return self.now.buffer

    @buffer.setter
    def buffer(self, buffer: Buffer) -> None:
        self.now = self.now.with_buffer(buffer)

    @property
    def running(self) -> R:
        """The policy's running state at this point of the turn."""
        return self.now.running

    @running.setter
    def running(self, running: R) -> None:
        self.now = self.now.with_running(running)

    def update_moment(self, **changes: Any) -> None:
        """Let the policy know this from here on (fields of `PolicyInput`)."""
        self.now = self.now.with_moment(**changes)

    def announce(self, due: Callable[[PolicyContext[S, R]], Iterable[Verdict]], tiers: Container[str]) -> None:
        """Some of `tiers` are about to run where they are due. Costs nothing where nobody watches."""
        announced = set[str]()
        while self._observer is not None:
            due_now = [verdict for verdict in due(self.now) if verdict.due and verdict.tier in tiers]
            new = [verdict for verdict in due_now if verdict.tier not in announced]
            if not new:
                return
            announced.add(new[0].tier)
            self._observer.before_tier(self, new[0])

    def apply(self, *outcomes: Outcome[R]) -> None:
        """Tiers have ended, each began where the one before it ended."""
        for outcome in outcomes:
            if self._observer is not None:
                self._observer.outcome(self, outcome)
            self.now = self.now.after(outcome)
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
