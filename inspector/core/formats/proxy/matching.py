"""Find the thread that the buffer of a request continues.

Each candidate thread gets a score. The same system prompt (which names the folder) counts most, then the same
connection, then how strong the evidence in the messages is. The best score wins; of equal scores, the latest thread.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import chain, islice
from typing import NamedTuple

from inspector.core.buffer import View, head, shared
from inspector.core.formats.proxy.conversation import Conversation
from inspector.core.formats.proxy.exchange import Exchange
from inspector.core.formats.proxy.scopes import MOST_THREADS, ThreadScope

HEAD = 8
"""Number of messages at the beginning of a buffer that are searched for a summary or a task."""
_LOOK_BACK = 400
"""Maximum number of messages, from the last one back, that are searched for one that a known thread holds."""


class MatchEvidence(IntEnum):
    """Why a buffer may continue a thread, the weaker reason first."""

    EXTENDS = 1
    """The buffer begins with all messages of the thread's last buffer."""
    REPEATS = 2
    """The buffer repeats answers that the model gave in the thread."""


class MatchScore(NamedTuple):
    """How well a thread fits a request. Scores are compared field by field, in this order."""

    has_same_prompt: bool
    has_same_connection: bool
    evidence: MatchEvidence

    @property
    def is_certain(self) -> bool:
        """Is this the best possible score? Later candidates have no stronger evidence."""
        return self.has_same_prompt and self.has_same_connection


def find_continued(exchange: Exchange, scope: ThreadScope) -> Conversation | None:
    """Find the thread of the scope that the buffer of a request continues; None if there is none."""
    best: MatchScore | None = None
    best_thread: Conversation | None = None
    for evidence, thread in _candidates(exchange, scope):
        has_same_connection = exchange.connection in thread.connections
        score = MatchScore(thread.is_prompted(exchange), has_same_connection, evidence)
        if best is not None and score <= best:
            continue
        if evidence is MatchEvidence.EXTENDS and not _extends(exchange, thread):
            continue
        best, best_thread = score, thread
        if score.is_certain:
            break
    return best_thread


def is_fresh(view: View, scope: ThreadScope) -> bool:
    """Is a buffer short, without a summary, and are all of its messages new in the scope?"""
    if view.length > HEAD:
        return False
    return not any(
        message.id in scope.ends or message.id in scope.answers or message.summary
        for message in view.backwards()
    )


def find_compacted(exchange: Exchange, threads: Sequence[Conversation]) -> Conversation | None:
    """Find the thread that a buffer with a summary at its beginning continues; None if there is none.

    Three kinds of evidence are tried in turn: the summary answers one of the thread's summary calls, the thread's
    buffer holds other messages of this one, the prompt is the same.
    """
    view = exchange.body.view
    summaries = [message.text for message in head(view, HEAD) if message.summary]
    if not summaries:
        return None
    summary = "\n".join(summaries)
    ids = {message.id for message in view if not message.summary}
    latest_first = threads[::-1]
    for thread in latest_first:
        if any(call.summary_lead and call.summary_lead in summary for call in thread.summary_calls):
            return thread
    for thread in latest_first:
        if not ids.isdisjoint(message.id for message in thread.end):
            return thread
    return next((thread for thread in latest_first if thread.prompt is exchange.body.prompt), None)


def _candidates(
    exchange: Exchange, scope: ThreadScope
) -> Iterator[tuple[MatchEvidence, Conversation]]:
    """Yield the threads whose answers the buffer repeats, then those that it may extend, each likeliest first."""
    view = exchange.body.view
    for thread in _find_repeated(view, scope):
        yield MatchEvidence.REPEATS, thread
    for thread in reversed(_ended_inside(view, scope)):
        yield MatchEvidence.EXTENDS, thread


def _ended_inside(view: View, scope: ThreadScope) -> Sequence[Conversation]:
    """Return the threads that the buffer may extend.

    Those are all threads of the scope or, if it has more than `MOST_THREADS`, the threads with a buffer whose last
    message is in this buffer.
    """
    if len(scope.threads) <= MOST_THREADS:
        return scope.threads
    ended = (scope.ends.find(message.id) for message in islice(view.backwards(), _LOOK_BACK))
    return sorted(set(chain.from_iterable(ended)), key=lambda thread: thread.number)


def _extends(exchange: Exchange, thread: Conversation) -> bool:
    """Does the buffer begin with all messages of the thread's last buffer?

    An equal buffer counts only if the request may repeat the thread's last one. If not, it begins another session.
    """
    view, last = exchange.body.view, thread.last_sent
    if not last.length or (last.length == view.length and not thread.may_ask_again(exchange)):
        return False
    return shared(last, view) == last.length


@dataclass(slots=True)
class _Votes:
    """Counts how many of the added messages each thread holds."""

    messages: int = 0
    held: Counter[Conversation] = field(default_factory=Counter)

    def add(self, holders: Sequence[Conversation]) -> None:
        self.messages += 1
        self.held.update(holders)

    def winner(self) -> Conversation | None:
        """Return the thread that holds more than half of the messages and at least two; None if there is none."""
        if not self.held:
            return None
        thread, count = self.held.most_common(1)[0]
        return thread if count > 1 and 2 * count > self.messages else None


def _find_repeated(view: View, scope: ThreadScope) -> Sequence[Conversation]:
    """Return the threads whose answers the buffer repeats, the latest of them first.

    The newest answer that a thread holds decides. Two threads may hold the same short answer, so the thread must also
    begin with the same message, unless a summary replaced it. If no thread does, the one that holds most of the
    answers is returned.
    """
    if not scope.answers or not view.length:
        return ()
    beginning = head(view, HEAD)
    was_summarised = any(message.summary for message in beginning)
    everything = _Votes()
    answers = _Votes()
    for message in islice(view.backwards(), _LOOK_BACK):
        if message.role not in ("assistant", "tool"):
            continue
        holders = scope.answers.find(message.id)[::-1]
        likely = [
            thread for thread in holders if was_summarised or thread.begins_with(beginning[0])
        ]
        if likely:
            return likely
        everything.add(holders)
        # A client that resumes a session may send its results again.
        if message.role == "assistant":
            answers.add(holders)
    winner = everything.winner() or answers.winner()
    return () if winner is None else (winner,)
