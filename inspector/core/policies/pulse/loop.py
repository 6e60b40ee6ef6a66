"""One call of Pulse's loop: compaction where it is due, the model, its tools, until the model stops (spec 2.8).

A conversation like a tier: it also yields AskModel and RunTools. Who drives it answers them.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from inspector.core.buffer import Buffer
from inspector.core.message import Message, ToolCall
from inspector.core.needs import Answer, ContextWindowExceeded, Failure, Need
from inspector.core.outcome import Event, Outcome
from inspector.core.policies.book import Book, Turn, calls_of
from inspector.core.policies.policy import Moment
from inspector.core.policies.pulse.compaction import TIER, Trigger
from inspector.core.policies.pulse.running import Running, begun
from inspector.core.policies.pulse.settings import Settings
from inspector.core.policies.pulse.sites import attempt, is_trouble
from inspector.core.policies.pulse.verdicts import verdict

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


def loop(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> Generator[Need, Answer, Loop]:
    """Run until the model stops, or until length cannot be helped. `attempts` start at 0 and are never reset."""
    book = Book(buffer, replace(begun(running, buffer.messages), attempts=0))
    while True:
        turn = yield from play(book, settings, moment)
        if turn.done or turn.error:
            text = _text(turn.answer) if turn.answer is not None else ""
            if not text and turn.answer is not None and is_trouble(turn.answer.finish, turn.answer.usage, settings):
                text = LIMIT_REACHED
            return Loop(text, book.buffer, book.running, tuple(book.outcomes), turn.error)


def play(book: Book[Running], settings: Settings, moment: Moment) -> Generator[Need, Answer, Turn[Running]]:
    """One call of the model that came to its end, with its tools."""
    while True:
        _about(book, settings, moment)
        if (yield from _attempted(book, settings, "pre-loop")):
            continue
        try:
            answer = yield from book.ask(moment.max_tokens)
        except ContextWindowExceeded as failure:
            refused = replace(moment, overflow=str(failure) or "context window exceeded")
            _about(book, settings, refused)
            if settings.safe and (yield from _attempted(book, settings, "length-retry")):
                continue
            return book.closed(error=refused.overflow)
        except Failure as failure:
            return book.closed(error=str(failure) or type(failure).__name__)
        if is_trouble(answer.finish, answer.usage, settings):
            book.add(_without_calls(answer.messages))  # nobody runs the calls of an answer that was cut off
            _about(book, settings, replace(moment, usage=answer.usage, finish=answer.finish))
            if (yield from _attempted(book, settings, "length-retry")):
                continue
            return book.closed(answer, done=True)
        book.add(answer.messages)
        if calls := calls_of(answer):
            book.add((yield from book.run(calls)))
        return book.closed(answer)


def _about(book: Book[Running], settings: Settings, moment: Moment) -> None:
    book.about(lambda buffer, running: (verdict(buffer, settings, running, moment),), (TIER,))


def _attempted(book: Book[Running], settings: Settings, trigger: Trigger) -> Generator[Need, Answer, bool]:
    """Compact where it is due and may be; was anything done?"""
    done = yield from attempt(book.buffer, settings, book.running, trigger)
    book.apply(*done)
    return bool(done)


def _text(answer: Answer) -> str:
    return "\n".join(message.text for message in answer.messages)


def _without_calls(messages: Sequence[Message]) -> list[Message]:
    bare = (replace(m, parts=tuple(p for p in m.parts if not isinstance(p, ToolCall))) for m in messages)
    return [message for message in bare if message.parts]
