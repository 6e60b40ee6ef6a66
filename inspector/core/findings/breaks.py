"""Find the requests that missed the provider's cache, the tokens that were billed again, and the cause of each miss.

The file may show the cause: a recorded compaction, another model, changed tools or messages, a pause longer than the
cache lifetime, a restarted client. If it shows none of these, the place where reading stopped indicates the cause, but
only for a provider that caches what the client marks (it reports cache writes; documented for Anthropic). A provider
that caches automatically keeps several caches, and may answer from one that holds less (OpenAI documents that requests
are routed to machines with separate caches). Then the counts of other requests show that the provider still held the
tokens that this request did not read. In all other cases the cause is unknown.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from inspector.core.buffer import shared
from inspector.core.drops import Drop, thread_drops
from inspector.core.findings import break_words
from inspector.core.findings.break_causes import (
    BreakCause,
    MissExplanation,
    find_changed_message,
    find_changed_prompt,
    find_signed_cause,
)
from inspector.core.findings.prompt_ends import (
    AROUND,
    NEAR,
    PromptEnd,
    find_earlier_read,
    find_later_read,
    find_prompt_end,
    is_short,
)
from inspector.core.heavy import KnownByThread, checkpoint
from inspector.core.session import Request, Session, Sign, Thread, seconds_between
from inspector.core.tokens.catalogue import cache_life
from inspector.core.tokens.pressure import count_same_requests
from inspector.core.tokens.prices import named_models, price_resent, sum_prices
from inspector.core.tokens.windows import model_at
from inspector.core.usage import FIVE_MINUTES_S, MISSED, Usage, cache_missed, cache_ttl

NO_WASTE: frozenset[BreakCause] = frozenset(("compaction", "other-cache", "unknown"))
"""Causes that do not count as avoidable: a compaction is intended, the provider chooses the cache, and an unknown cause
may be one of these."""
_LEAST_SHORTFALL = MISSED // 5
"""Tokens by which reading must have ended before the end of the first prompt, to have ended inside it."""


@dataclass(frozen=True, slots=True)
class Rebilling:
    """One request that missed the cache, and the cost of the miss."""

    thread: str
    request: int
    tokens: int
    """Tokens that the previous request had left in the cache and that were re-sent at full price."""
    missed: int
    """Tokens that the previous request had left in the cache and this request did not read, re-sent or not."""
    usd: Decimal | None
    """Cost of `tokens`; None without a price."""
    avoidable_usd: Decimal | None
    """The part of `usd` that reading the tokens from the cache would have saved; None without a price."""
    cause: BreakCause
    evidence: str
    """The evidence of the cause, in sentences."""
    message: str = ""
    """Id of the first message that was billed again; empty if it is not known."""
    place: int | None = None
    """Place of that message in the buffer; None if it is not known."""
    diff: tuple[str, ...] = ()
    """The changed lines of that message, with - or + before them."""
    pause_s: float | None = None
    inferred: bool = False
    """True if the cause follows from counts, or from the usual behaviour of such providers, and not from a record."""
    life_s: float | None = None
    """Cache lifetime in seconds; None unless the cause is that it expired."""


class _Reported(NamedTuple):
    """A request with its reported usage, and the model that answered it."""

    request: Request
    usage: Usage
    model: str


class _ReadingEnd(NamedTuple):
    """The point at which the provider stopped reading a prompt from its cache."""

    sentence: str
    place: int | None
    """Place of the first message that was not read; None if it is not known."""
    message: str
    """Id of that message; empty if it is not known."""


def cache_breaks(thread: Thread, session: Session) -> tuple[Rebilling, ...]:
    """Return the cache misses of a thread, in order. Cached for the last few threads.

    O(messages) for a new thread, O(new requests) for one that has grown.
    """
    signs = [sign for sign in session.signs if sign.thread == thread.id]
    result = _KNOWN.get(thread, "", lambda former: _find_misses(thread, session, signs, former))
    if result.signs != signs:  # the cached result is of a session with other recorded events
        result = _find_misses(thread, session, signs, None)
    return result.misses


@dataclass(frozen=True, slots=True)
class _KnownMisses:
    """The cached misses of a thread, which are reused when the thread has grown."""

    thread: Thread
    signs: Sequence[Sign]
    """The signs of the session that concern the thread."""
    writers: frozenset[str]
    """Models whose provider reports cache writes."""
    ends: Sequence[PromptEnd]
    """The ends of the prompts of all requests with usage."""
    misses: tuple[Rebilling, ...]

    def count_settled(self, thread: Thread, signs: Sequence[Sign]) -> int:
        """Return how many of the first requests have final results in the grown thread. O(new requests)."""
        compactions = tuple(self.thread.compactions)
        first_compactions = tuple(thread.compactions[: len(compactions)])
        if (self.signs, compactions) != (signs, first_compactions):
            return 0
        same = count_same_requests(self.thread.requests, thread.requests)
        return max(0, same - AROUND - 1)  # a miss is also explained by the requests that follow it


_KNOWN = KnownByThread[_KnownMisses]()


def _find_misses(
    thread: Thread,
    session: Session,
    signs: Sequence[Sign],
    former: _KnownMisses | None,
) -> _KnownMisses:
    """Find the misses of a thread.

    Args:
        thread: The thread.
        session: The session of the thread.
        signs: The signs of the session that concern the thread.
        former: The misses of the thread when it was shorter; None if not known.
    """
    settled = former.count_settled(thread, signs) if former is not None else 0
    named = named_models(thread, settled)
    writers = frozenset(
        model for request, model in named if request.usage and request.usage.cache_write
    )
    if former is not None and settled and not writers <= former.writers:
        # Another model reports writes, so that earlier causes change.
        return _find_misses(thread, session, signs, None)
    ends = list[PromptEnd]()
    misses = list[Rebilling]()
    if former is not None and settled:
        writers = former.writers
        last = bisect_left(former.ends, settled, key=lambda end: end.request.index)
        ends = list(former.ends[:last])
        misses = [miss for miss in former.misses if miss.request < settled]
    finder = _MissFinder(thread, session, signs, writers, ends)
    misses += finder.find_misses(settled)
    return _KnownMisses(thread, signs, writers, ends, misses=tuple(misses))


@dataclass(slots=True)
class _MissFinder:
    """Goes through the requests of a thread and explains each cache miss."""

    thread: Thread
    session: Session
    _signs: Sequence[Sign]
    _writers: frozenset[str]
    """Models whose provider reports cache writes."""
    _ends: list[PromptEnd]
    """The ends of the prompts of all requests so far."""
    _drops: Mapping[int, Drop] | None = None

    def find_misses(self, start: int) -> Iterator[Rebilling]:
        """Yield the misses from request `start` on."""
        usages = (request.usage for request in self.thread.requests if request.usage)
        if not any(usage.cache_read or usage.cache_write for usage in usages):
            return
        former: _Reported | None = None
        before = self._ends[-1].request if self._ends else None
        if before is not None and before.usage is not None:
            former = _Reported(before, before.usage, model_at(self.thread, before.index))
        for request, model in named_models(self.thread, start):
            checkpoint(request.index, len(self.thread.requests))
            usage = request.usage
            if usage is None or not usage.prompt:
                continue
            reported = _Reported(request, usage, model)
            if former is not None:
                yield from self._compare_requests(former, reported)
            former = reported
            self._ends.append(PromptEnd(usage.prompt, request))

    def _compare_requests(self, former: _Reported, reported: _Reported) -> Iterator[Rebilling]:
        """Yield the miss of a request, if it did not read what the former request had left in the cache."""
        request, usage, model = reported
        missed = cache_missed(former.usage, usage)
        if not missed:
            return
        resent = max(0, min(former.usage.cached, usage.prompt) - usage.cache_read)
        pause = seconds_between(former.request.time, request.time)
        cause = self._explain(former, reported, pause)
        usd, avoidable_usd = price_resent(usage, model, request.time, tokens=resent)
        yield Rebilling(
            self.thread.id,
            request=request.index,
            tokens=resent,
            missed=missed,
            usd=usd,
            avoidable_usd=avoidable_usd,
            cause=cause.cause,
            evidence=cause.evidence,
            message=cause.message,
            place=cause.place,
            diff=cause.diff,
            pause_s=pause,
            inferred=cause.inferred,
            life_s=cause.life_s,
        )

    def _explain(
        self, former: _Reported, reported: _Reported, pause: float | None
    ) -> MissExplanation:
        """Return the first cause that the file shows."""
        request, usage, model = reported
        expired = self._find_expiry(former.request, model, pause)
        recorded = self._find_recorded_cause(former, reported, expired)
        if recorded is not None:
            return recorded
        changed = find_changed_message(former.request, request, self._find_drop(request.index))
        if changed is None:
            return self._find_unrecorded_cause(former.request, request, usage, model, pause)
        missed = cache_missed(former.usage, usage)
        unread = self._count_unread_before(changed, request, usage, model)
        if unread <= missed / 2:
            return changed
        cause = self._find_unrecorded_cause(former.request, request, usage, model, pause)
        return replace(
            cause, evidence=break_words.say_unread_before(changed.evidence, unread, cause.evidence)
        )

    def _find_recorded_cause(
        self, former: _Reported, reported: _Reported, expired: MissExplanation | None
    ) -> MissExplanation | None:
        """Return a cause that the file records outside the messages; None if there is none."""
        request, usage, model = reported
        is_written = model in self._writers
        compacted = self._find_compaction(former.request, request)
        if compacted is not None:
            half = former.usage.cached / 2
            was_expired = is_written and expired is not None and usage.cache_read < half
            return expired if compacted.inferred and was_expired else compacted
        if former.model != model:
            changed = break_words.say_model_changed(former.model, model)
            return MissExplanation("model-changed", changed)
        if is_written and expired is not None:
            return expired
        return find_changed_prompt(former.request.prompt, request.prompt)

    def _find_unrecorded_cause(
        self, former: Request, request: Request, usage: Usage, model: str, pause: float | None
    ) -> MissExplanation:
        """Return the most likely cause by counts, pauses and recorded events."""
        if model not in self._writers:
            cause = self._find_other_cache(request, usage, pause)
            if cause is None:
                cause = self._find_expiry(former, model, pause)
            if cause is not None:
                return cause
        signs = [sign for sign in self._signs if former.line < sign.line < request.line]
        return self._explain_by_place(request, usage, pause, model=model, signs=signs)

    def _find_compaction(self, former: Request, request: Request) -> MissExplanation | None:
        """Return the compaction between two requests; requests between them may report no usage."""
        for index in range(request.index, former.index, -1):
            drop = self._find_drop(index)
            if drop is not None and drop.loss and drop.kind not in _NO_COMPACTIONS:
                inferred = not drop.marker.startswith("recorded")
                return MissExplanation(
                    "compaction", f"{drop.why} ({drop.marker})", inferred=inferred
                )
        return None

    def _count_unread_before(
        self, changed: MissExplanation | None, request: Request, usage: Usage, model: str
    ) -> int:
        """Count the tokens before a changed message that were sent earlier and nevertheless not read from the cache.

        The change is not the cause for these tokens. 0 for a provider that caches what the client marks, because it
        reads up to the change.
        """
        if changed is None or changed.place is None or model in self._writers:
            return 0
        place = changed.place
        for tokens, former in reversed(self._ends):
            length = len(former.view)
            if length <= place and shared(former.view, request.view) == length:
                return max(0, tokens - usage.cache_read)
        return 0

    def _find_drop(self, index: int) -> Drop | None:
        if self._drops is None:
            self._drops = {
                drop.request: drop for drop in thread_drops(self.thread, self.session).found
            }
        return self._drops.get(index)

    def _find_expiry(
        self, former: Request, model: str, pause: float | None
    ) -> MissExplanation | None:
        """Return the explanation that the cache expired; None unless the pause (seconds) exceeds the lifetime."""
        if pause is None:
            return None
        if model not in self._writers:
            lives_s, words = cache_life(model)
            if pause <= lives_s:
                return None
            return MissExplanation(
                "expired",
                break_words.say_usually_expired(pause, words),
                inferred=True,
                life_s=lives_s,
            )
        ttl_s = last_written_ttl(self.thread, former.index)
        if pause <= ttl_s:
            return None
        return MissExplanation("expired", break_words.say_expired(pause, ttl_s), life_s=ttl_s)

    def _find_end_of_reading(self, request: Request, usage: Usage) -> _ReadingEnd:
        """Find where the provider stopped reading the prompt from its cache. O(requests)."""
        read = usage.cache_read
        if not read:
            sentence = break_words.say_reading_stopped(0)
            return _ReadingEnd(sentence, place=0, message=_id_at(request, place=0))
        ended = find_prompt_end(self._ends, request, read)
        if ended is not None:
            place = len(ended.view)
            sentence = break_words.say_reading_stopped(read, ended.index)
            return _ReadingEnd(sentence, place, _id_at(request, place))
        if self._ends and read < self._ends[0].tokens - _LEAST_SHORTFALL:
            first_usage = self._ends[0].request.usage
            head = first_usage.cache_read if first_usage is not None else 0
            if abs(head - read) >= NEAR:
                head = 0
            sentence = break_words.say_reading_stopped(read, head=head)
            return _ReadingEnd(sentence, place=0, message=_id_at(request, place=0))
        return _ReadingEnd(break_words.say_reading_stopped(read), place=None, message="")

    def _explain_by_place(
        self, request: Request, usage: Usage, pause: float | None, model: str, signs: Sequence[Sign]
    ) -> MissExplanation:
        """Explain a miss without a recorded change: by recorded events, else by the place where reading stopped."""
        stopped, place, message = self._find_end_of_reading(request, usage)
        is_written = model in self._writers
        if not is_written or place == 0:
            signed = find_signed_cause(signs, stopped, place, message)
            if signed is not None:
                return signed
        effort_signs = [sign for sign in signs if sign.what.startswith("effort")]
        effort = break_words.say_signs(effort_signs, "settings")
        if effort and place == 0 and _OPENAI.match(model):
            return MissExplanation(
                "prefix-changed",
                evidence=break_words.say_effort_is_prompt(effort, stopped),
                message=message,
                place=place,
                inferred=True,
            )
        beside = break_words.say_signs(signs, "settings")
        if not is_written or place is None or self._is_lost_early(usage, pause):
            return MissExplanation(
                "unknown",
                break_words.say_unknown(stopped, pause, is_written=is_written, beside=beside),
            )
        why = break_words.say_unrecorded_change(stopped, pause, place, beside)
        return MissExplanation(
            "prefix-changed", evidence=why, message=message, place=place, inferred=True
        )

    def _is_lost_early(self, usage: Usage, pause: float | None) -> bool:
        """Is the pause unknown, or long and not even the text before the first message was read from the cache?"""
        if pause is None:
            return True
        first = self._ends[0].request.usage if self._ends else None
        head = first.cache_read - NEAR if first is not None else 0
        return pause > FIVE_MINUTES_S and usage.cache_read < head

    def _find_other_cache(
        self, request: Request, usage: Usage, pause: float | None
    ) -> MissExplanation | None:
        """Return that another cache still held the prompt; None unless the counts of other requests show it."""
        held = find_later_read(self.thread, self._ends, request, usage)
        if not held and is_short(pause):
            held = find_earlier_read(self._ends, request, usage)
        if not held:
            return None
        stopped, place, message = self._find_end_of_reading(request, usage)
        return MissExplanation(
            "other-cache",
            evidence=break_words.say_another_cache(stopped, held),
            message=message,
            place=place,
            inferred=True,
        )


_OPENAI = re.compile(r"gpt-|o\d|codex")
_NO_COMPACTIONS = ("rewind", "edit", "model switch", "prompt")


def avoidable(breaks: Iterable[Rebilling]) -> Decimal | None:
    """Return the US dollars that the avoidable misses cost more than reading from the cache; None without a price."""
    return sum_prices(miss.avoidable_usd for miss in breaks if miss.cause not in NO_WASTE)


def last_written_ttl(thread: Thread, index: int) -> int:
    """Return the lifetime in seconds, after the last use, of the last cache write up to request `index`."""
    return cache_ttl(thread.requests[at].usage for at in range(index, -1, -1))


def _id_at(request: Request, place: int) -> str:
    tail = request.view.tail(place)
    return tail[0].id if tail else ""


def cause_sentence(miss: Rebilling) -> str:
    """Say why a request missed the cache, as a clause: `the model changed`."""
    return break_words.say_cause(miss.cause, miss.pause_s, miss.life_s, inferred=miss.inferred)
