"""A turn of an agent in progress: its buffer, the outcomes of its policy, its observer, and its result.

The observer is called synchronously: before a tier fires, before an outcome is applied, before the model is asked and
before tools are run. The observer may read the turn, replace its buffer and running state, or raise, which ends the
turn. `Policy.turn` (`harness.py`) defines the order of the steps.
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
"""A conversation that runs one tier and returns its outcome."""
AllDone: TypeAlias = Conversation[tuple[Outcome[R], ...]]
"""A conversation that runs several tiers in sequence, each on the result of the previous, and returns the outcomes."""


@dataclass(frozen=True, slots=True)
class TurnResult(Generic[R]):
    """The result of a turn. `error` is empty unless the turn failed; `buffer` is then the buffer at the failure."""

    buffer: Buffer
    running: R
    events: tuple[Event, ...] = ()
    outcomes: tuple[Outcome[R], ...] = ()
    answer: Answer | None = None
    error: str = ""
    done: bool = False
    """True if the model called no tools, so that no turn follows automatically."""


class TurnObserver(Protocol):
    """Receives the steps of a turn as they happen."""

    def before_tier(self, turn: "TurnContext[Any, Any]", verdict: Verdict) -> None:
        """Called when a tier is about to fire. If the observer changes the buffer, the tier may no longer be due."""
        ...

    def outcome(self, turn: "TurnContext[Any, Any]", outcome: Outcome[Any]) -> None:
        """Called when a tier has ended. The turn still has the buffer before the tier."""
        ...

    def before_call(self, turn: "TurnContext[Any, Any]") -> None:
        """Called before the model is asked. The turn's buffer after this call is sent."""
        ...

    def before_tools(self, turn: "TurnContext[Any, Any]", calls: tuple[ToolCall, ...]) -> None:
        """Called before the answer's calls are run. The turn's buffer already has the answer."""
        ...


class TurnContext(Generic[S, R]):
    """A turn in progress: the policy's context, events and outcomes."""

    def __init__(self, start: PolicyContext[S, R], observer: TurnObserver | None = None) -> None:
        self.now = start
        """The policy's context at this point of the turn."""
        self.events: list[Event] = []
        self.outcomes: list[Outcome[R]] = []
        self._observer = observer

    @property
    def buffer(self) -> Buffer:
        """Return the buffer at this point of the turn."""
        return self.now.buffer

    @buffer.setter
    def buffer(self, buffer: Buffer) -> None:
        self.now = self.now.with_buffer(buffer)

    @property
    def running(self) -> R:
        """Return the policy's running state at this point of the turn."""
        return self.now.running

    @running.setter
    def running(self, running: R) -> None:
        self.now = self.now.with_running(running)

    def update_moment(self, **changes: Any) -> None:
        """Change fields of the policy's further input (`PolicyInput`)."""
        self.now = self.now.with_moment(**changes)

    def announce(
        self, due: Callable[[PolicyContext[S, R]], Iterable[Verdict]], tiers: Container[str]
    ) -> None:
        """Tell the observer about each of `tiers` that is due. Without an observer, nothing is computed."""
        announced = set[str]()
        while self._observer is not None:
            due_now = [
                verdict for verdict in due(self.now) if verdict.due and verdict.tier in tiers
            ]
            new = [verdict for verdict in due_now if verdict.tier not in announced]
            if not new:
                return
            announced.add(new[0].tier)
            self._observer.before_tier(self, new[0])

    def apply(self, *outcomes: Outcome[R]) -> None:
        """Apply the outcomes of tiers, each of which started from the result of the previous outcome."""
        for outcome in outcomes:
            if self._observer is not None:
                self._observer.outcome(self, outcome)
            self.now = self.now.after(outcome)
            self.events += outcome.events
            self.outcomes.append(outcome)

    def ask(self, max_tokens: int | None, stream: bool = True) -> Conversation[Answer]:
        """Ask the model and return its answer, without adding it to the buffer."""
        if self._observer is not None:
            self._observer.before_call(self)
        return (yield AskModel(self.buffer, max_tokens, stream))

    def run_tools(self, calls: tuple[ToolCall, ...]) -> Conversation[tuple[Message, ...]]:
        """Run the calls and return their results, without adding them to the buffer."""
        if not calls:
            return ()
        if self._observer is not None:
            self._observer.before_tools(self, calls)
        return (yield RunTools(calls)).messages

    def add(self, messages: Iterable[Message]) -> None:
        """Add messages at the end of the buffer."""
        self.buffer = self.buffer.with_messages((*self.buffer.messages, *messages))

    def log(self, name: str, **fields: object) -> None:
        """Add an event that does not belong to a tier."""
        self.events.append(Event(name, fields))  # type: ignore[arg-type]

    def ended(self, answer: Answer | None = None, error: str = "") -> TurnResult[R]:
        """Return the result of the turn. An answer without calls is the last answer of the run."""
        is_last = answer is not None and not list_calls(answer)
        return TurnResult(
            self.buffer,
            self.running,
            events=tuple(self.events),
            outcomes=tuple(self.outcomes),
            answer=answer,
            error=error,
            done=is_last,
        )


def list_calls(answer: Answer) -> tuple[ToolCall, ...]:
    """Return the tool calls of an answer, in order."""
    return tuple(call for message in answer.messages for call in message.calls)
