"""One model call of Pi's agent with its tools, and the checks around it (spec 3.3, 3.8).

A conversation like a tier that also yields AskModel and RunTools. Who drives it waits `RETRY_DELAY_MS` before the call
that follows a recovery.
"""

from collections.abc import Generator
from dataclasses import replace

from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.core.needs import Answer, ContextWindowExceeded, Failure, Need
from inspector.core.policies.book import Book, Turn, calls_of
from inspector.core.policies.pi.checks import after_turn, before_call, looks_after, looks_before
from inspector.core.policies.pi.compaction import TIER, Extension
from inspector.core.policies.pi.judgement import verdict
from inspector.core.policies.pi.overflow import is_overflow, says_overflow
from inspector.core.policies.pi.running import Running, needed
from inspector.core.policies.pi.settings import Settings
from inspector.core.policies.policy import Moment, Report, Verdict

SILENT = "the answer was given, but its prompt was larger than the window"


def turn(
    buffer: Buffer, settings: Settings, running: Running, moment: Moment
) -> Generator[Need, Answer, Turn[Running]]:
    """Run one turn. Fails (in `error`) on the second overflow, and at once on any other error of the model."""
    return (yield from play(Book(buffer, running), settings, moment))


def play(
    book: Book[Running], settings: Settings, moment: Moment, extension: Extension | None = None
) -> Generator[Need, Answer, Turn[Running]]:
    """The same on a book that may be watched."""
    _about(book, settings, moment, before=True)
    book.apply((yield from before_call(book.buffer, settings, book.running, moment, extension)))
    while True:
        try:
            answer = yield from book.ask(moment.max_tokens)
        except Failure as failure:
            error = str(failure) or type(failure).__name__
            if not (isinstance(failure, ContextWindowExceeded) or says_overflow(error)):
                return book.closed(error=error)
        else:
            if not is_overflow(answer.finish, "", answer.usage, settings.context_window):
                break
            error = SILENT
        over = replace(moment, overflow=error)
        _about(book, settings, over, before=True)
        book.apply((yield from before_call(book.buffer, settings, book.running, over, extension)))
        if not book.outcomes[-1].succeeded:
            return book.closed(error=book.outcomes[-1].error or error)
    yield from _after_call(book, settings, moment, answer, extension)
    return book.closed(answer)


def _about(book: Book[Running], settings: Settings, moment: Moment, before: bool) -> None:
    """Where Pi looks at its trigger here at all."""

    def look(buffer: Buffer, running: Running) -> tuple[Verdict, ...]:
        looks = looks_before if before else looks_after
        return (verdict(buffer, settings, running, moment),) if looks(buffer, settings, running, moment) else ()

    book.about(look, (TIER,))


def _after_call(
    book: Book[Running], settings: Settings, moment: Moment, answer: Answer, extension: Extension | None
) -> Generator[Need, Answer, None]:
    """Append the answer with its usage, check, run the tools, check again (each answer is checked once)."""
    _added(book, answer.messages)
    book.running = replace(book.running, overflowed=False)
    now = replace(moment, usage=answer.usage, finish=answer.finish, reports=None)
    if answer.messages:
        report = Report(answer.messages[-1].id, answer.usage, answer.finish, moment.model)
        book.running = replace(book.running, reports=needed((*book.running.reports, report)))
    if settings.check_point == "after_llm":
        _about(book, settings, now, before=False)
        book.apply((yield from after_turn(book.buffer, settings, book.running, now, extension)))
    if calls := calls_of(answer):
        book.add((yield from book.run(calls)))
    if settings.check_point in ("turn_end", "agent_end"):
        _about(book, settings, now, before=False)
        book.apply((yield from after_turn(book.buffer, settings, book.running, now, extension)))


def _added(book: Book[Running], messages: tuple[Message, ...]) -> None:
    book.add(messages)
    for message in messages:
        book.tell("message_added", role=message.role)
