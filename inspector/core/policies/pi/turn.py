"""One model call of Pi's agent with its tools, and the checks around it (spec 3.3, 3.8).

A conversation like a tier that also yields AskModel and RunTools. Who drives it waits `RETRY_DELAY_MS` before the call
that follows a recovery.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace

from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.core.needs import Answer, AskModel, ContextWindowExceeded, Failure, Need, RunTools
from inspector.core.outcome import Event, Outcome
from inspector.core.policies.pi.checks import after_turn, before_call
from inspector.core.policies.pi.overflow import is_overflow, says_overflow
from inspector.core.policies.pi.running import Running, needed
from inspector.core.policies.pi.settings import Settings
from inspector.core.policies.policy import Moment, Report

SILENT = "the answer was given, but its prompt was larger than the window"


@dataclass(frozen=True, slots=True)
class Turn:
    """How it ended. `error` is empty unless the call failed; then `buffer` is what stood when it did."""

    buffer: Buffer
    running: Running
    events: tuple[Event, ...] = ()
    outcomes: tuple[Outcome[Running], ...] = ()
    answer: Answer | None = None
    error: str = ""


class _Book:
    """What a turn writes down while it runs."""

    def __init__(self, buffer: Buffer, running: Running) -> None:
        self.buffer = buffer
        self.running = running
        self.events: list[Event] = []
        self.outcomes: list[Outcome[Running]] = []

    def apply(self, outcome: Outcome[Running]) -> None:
        self.buffer, self.running = outcome.buffer, outcome.running
        self.events += outcome.events
        self.outcomes.append(outcome)

    def add(self, messages: tuple[Message, ...]) -> None:
        self.buffer = self.buffer.with_messages((*self.buffer.messages, *messages))
        self.events += (Event("message_added", {"role": message.role}) for message in messages)

    def closed(self, answer: Answer | None = None, error: str = "") -> Turn:
        return Turn(self.buffer, self.running, tuple(self.events), tuple(self.outcomes), answer, error)


def turn(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> Generator[Need, Answer, Turn]:
    """Run one turn. Fails (in `error`) on the second overflow, and at once on any other error of the model."""
    book = _Book(buffer, running)
    book.apply((yield from before_call(book.buffer, settings, book.running, moment)))
    while True:
        try:
            answer = yield AskModel(book.buffer, moment.max_tokens)
        except Failure as failure:
            error = str(failure) or type(failure).__name__
            if not (isinstance(failure, ContextWindowExceeded) or says_overflow(error)):
                return book.closed(error=error)
        else:
            if not is_overflow(answer.finish, "", answer.usage, settings.context_window):
                break
            error = SILENT
        over = replace(moment, overflow=error)
        book.apply((yield from before_call(book.buffer, settings, book.running, over)))
        if not book.outcomes[-1].succeeded:
            return book.closed(error=book.outcomes[-1].error or error)
    yield from _after_call(book, settings, moment, answer)
    return book.closed(answer)


def _after_call(book: _Book, settings: Settings, moment: Moment, answer: Answer) -> Generator[Need, Answer, None]:
    """Append the answer with its usage, check, run the tools, check again (each answer is checked once)."""
    book.add(answer.messages)
    book.running = replace(book.running, overflowed=False)
    now = replace(moment, usage=answer.usage, finish=answer.finish, reports=None)
    if answer.messages:
        report = Report(answer.messages[-1].id, answer.usage, answer.finish, moment.model)
        book.running = replace(book.running, reports=needed((*book.running.reports, report)))
    if settings.check_point == "after_llm":
        book.apply((yield from after_turn(book.buffer, settings, book.running, now)))
    calls = tuple(call for message in answer.messages for call in message.calls)
    if calls:
        book.add((yield RunTools(calls)).messages)
    if settings.check_point in ("turn_end", "agent_end"):
        book.apply((yield from after_turn(book.buffer, settings, book.running, now)))
