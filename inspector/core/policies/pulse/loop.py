"""One call of Pulse's loop: compaction where it is due, the model, its tools, until the model stops (spec 2.8).

A conversation like a tier: it also yields AskModel and RunTools. Who drives it answers them.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from inspector.core.buffer import Buffer
from inspector.core.message import Message, ToolCall
from inspector.core.needs import Answer, AskModel, ContextWindowExceeded, Failure, Need, RunTools
from inspector.core.outcome import Event, Outcome
from inspector.core.policies.policy import Moment
from inspector.core.policies.pulse.running import Running, begun
from inspector.core.policies.pulse.settings import Settings
from inspector.core.policies.pulse.sites import attempt, is_trouble

LIMIT_REACHED = "Context limit reached."


@dataclass(frozen=True, slots=True)
class Loop:
    """How it ended. `text` is what the user reads; `error` is empty unless the model failed."""

    text: str
    buffer: Buffer
    running: Running
    outcomes: tuple[Outcome[Running], ...] = ()
    error: str = ""

    @property
    def events(self) -> tuple[Event, ...]:
        """One `Compacted` for each call of onCompacted."""
        return tuple(event for outcome in self.outcomes for event in outcome.events)


class _Book:
    """What the loop writes down while it runs."""

    def __init__(self, buffer: Buffer, running: Running) -> None:
        self.buffer, self.running = buffer, running
        self.outcomes: list[Outcome[Running]] = []

    def apply(self, outcomes: Sequence[Outcome[Running]]) -> bool:
        for outcome in outcomes:
            self.buffer, self.running = outcome.buffer, outcome.running
            self.outcomes.append(outcome)
        return bool(outcomes)

    def append(self, messages: Sequence[Message]) -> None:
        self.buffer = self.buffer.with_messages((*self.buffer.messages, *messages))

    def closed(self, text: str, error: str = "") -> Loop:
        return Loop(text, self.buffer, self.running, tuple(self.outcomes), error)


def loop(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> Generator[Need, Answer, Loop]:
    """Run until the model stops, or until length cannot be helped. `attempts` start at 0 and are never reset."""
    book = _Book(buffer, replace(begun(running, buffer.messages), attempts=0))
    while True:
        if book.apply((yield from attempt(book.buffer, settings, book.running, "pre-loop"))):
            continue
        try:
            answer = yield AskModel(book.buffer, moment.max_tokens)
        except ContextWindowExceeded as failure:
            if settings.safe and book.apply((yield from attempt(book.buffer, settings, book.running, "length-retry"))):
                continue
            return book.closed("", str(failure) or "context window exceeded")
        except Failure as failure:
            return book.closed("", str(failure) or type(failure).__name__)
        text = "\n".join(message.text for message in answer.messages)
        if is_trouble(answer.finish, answer.usage, settings):
            book.append(_without_calls(answer.messages))  # nobody runs the calls of an answer that was cut off
            if book.apply((yield from attempt(book.buffer, settings, book.running, "length-retry"))):
                continue
            return book.closed(text or LIMIT_REACHED)
        book.append(answer.messages)
        calls = tuple(call for message in answer.messages for call in message.calls)
        if not calls:
            return book.closed(text)
        book.append((yield RunTools(calls)).messages)


def _without_calls(messages: Sequence[Message]) -> list[Message]:
    bare = (replace(m, parts=tuple(p for p in m.parts if not isinstance(p, ToolCall))) for m in messages)
    return [message for message in bare if message.parts]
