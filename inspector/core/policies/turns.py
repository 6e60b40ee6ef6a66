"""One turn of any policy: compaction where it is due, the model, its tools, and what follows them.

A conversation like a tier that also yields AskModel and RunTools. A harness with a pipeline of its own brings it as
`turn`; all others, the user's own among them, get the one below, made of what every policy has.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import Any, Protocol, TypeVar, runtime_checkable

from inspector.core.needs import Answer, ContextWindowExceeded, Failure, Need
from inspector.core.policies.book import Book, Turn, calls_of
from inspector.core.policies.policy import Moment, Policy, Report

R = TypeVar("R")


@runtime_checkable
class OwnTurn(Protocol):
    """A policy whose harness says how a turn goes."""

    def turn(self, book: Book[Any], settings: Any, moment: Moment) -> Generator[Need, Answer, Turn[Any]]:
        """One model call with its tools, and the tiers around it."""
        ...


def one_turn(policy: Policy[Any, R], book: Book[R], settings: Any, moment: Moment) -> Generator[Need, Answer, Turn[R]]:
    """Run one turn on the book. Never raises a Failure: it is the turn's `error`."""
    if isinstance(policy, OwnTurn):
        return (yield from policy.turn(book, settings, moment))
    return (yield from _common(policy, book, settings, moment))


def _common(policy: Policy[Any, R], book: Book[R], settings: Any, moment: Moment) -> Generator[Need, Answer, Turn[R]]:
    """An overflow is reacted to once, and only where that changes the buffer."""
    yield from _compact(policy, book, settings, moment)
    while True:
        try:
            answer = yield from book.ask(moment.max_tokens)
            break
        except ContextWindowExceeded as overflow:
            error = str(overflow) or "context window exceeded"
            if moment.overflow:
                return book.closed(error=f"context window exceeded again after compaction: {error}")
            moment, before = replace(moment, overflow=error), book.buffer
            yield from _compact(policy, book, settings, moment)
            if book.buffer.messages == before.messages:
                return book.closed(error=error)
        except Failure as failure:
            return book.closed(error=str(failure) or type(failure).__name__)
    if answer.usage is not None:
        estimated, _ = policy.measure(book.buffer, settings, book.running)
        book.running = policy.learn(book.running, settings, estimated, answer.usage.prompt)
    book.add(answer.messages)
    if calls := calls_of(answer):
        book.add((yield from book.run(calls)))
    yield from _after(policy, book, settings, _behind(moment, book, answer))
    return book.closed(answer)


def _compact(policy: Policy[Any, R], book: Book[R], settings: Any, moment: Moment) -> Generator[Need, Answer, None]:
    early = [tier.name for tier in policy.tiers if not tier.after_turn]
    book.about(lambda buffer, running: policy.due(buffer, settings, running, moment), early)
    book.apply(*(yield from policy.before_call(book.buffer, settings, book.running, moment)))


def _after(policy: Policy[Any, R], book: Book[R], settings: Any, moment: Moment) -> Generator[Need, Answer, None]:
    late = [tier.name for tier in policy.tiers if tier.after_turn]
    if late:
        book.about(lambda buffer, running: policy.due(buffer, settings, running, moment), late)
    book.apply(*(yield from policy.after_turn(book.buffer, settings, book.running, moment)))


def _behind(moment: Moment, book: Book[Any], answer: Answer) -> Moment:
    """What a policy may know when the call is over."""
    upto = next((message.id for message in reversed(answer.messages)), "")
    upto = upto or (book.buffer.messages[-1].id if book.buffer.messages else "")
    reports = (Report(upto, answer.usage, answer.finish, moment.model),) if upto else ()
    return replace(moment, usage=answer.usage, finish=answer.finish, reports=reports, overflow="")
