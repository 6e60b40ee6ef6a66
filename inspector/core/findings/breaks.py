"""Cache breaks: requests that did not read from the provider's cache what the request before them had sent, what was
billed again, and why, with what tells so.

A cause is what the file shows: a recorded compaction, another model, tools or messages that read otherwise, a pause
longer than the entries lived, a client that was started again. Where it shows none of these, the place at which the
reading stopped tells what changed, but only of a provider that reads exactly what it was told to write (it reports
writes; documented for Anthropic's). A provider that caches by itself keeps several caches, and may answer from one that
has seen less (OpenAI documents that a call is looked up in the cache of the machine that it is routed to, and that
calls of one prefix may go to more than one): so it was where the counts of other calls show that it still held what
this one did not read. Else unknown.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal, TypeAlias

from inspector.core.buffer import Prompt, is_prefix, shared
from inspector.core.diff import line_diff, readable
from inspector.core.drops import Drop, parting, thread_drops
from inspector.core.heavy import checkpoint
from inspector.core.session import Request, Session, Sign, SignKind, Thread, seconds_between
from inspector.core.tokens.catalogue import cache_life
from inspector.core.tokens.prices import billed, named_models, sum_prices
from inspector.core.usage import HOUR, MINUTES, MISSED, Usage, cache_missed, cache_ttl
from inspector.core.words import duration

BreakCause: TypeAlias = Literal[
    "expired", "prefix-changed", "model-changed", "tools-changed", "compaction", "restart", "other-cache", "unknown"
]
"""other-cache: the provider held it, and answered from a cache of its own that had seen less."""
NO_WASTE: frozenset[BreakCause] = frozenset(("compaction", "other-cache", "unknown"))
"""Not counted as avoidable: a compaction was wanted, which cache answers is the provider's choice, and of the unknown
nobody knows."""
_NEAR = 700
"""Tokens by which a provider's reading ends before the end of what it was told to keep (blocks, rounding)."""
_AROUND = 64
"""Calls before and after a break whose counts are looked at."""
_LINES, _WIDE = 6, 120
"""Of a diff that is shown as evidence."""


@dataclass(frozen=True, slots=True)
class Rebilling:
    """One request that had to pay again."""

    thread: str
    request: int
    tokens: int
    """Billed again: left in the cache by the request before, sent again, and not read from it."""
    missed: int
    """Left in the cache by the request before and not read by this one; after a compaction most of it was not sent."""
    usd: Decimal | None
    """What these tokens cost; None where there is no price."""
    avoidable_usd: Decimal | None
    """Of it, what reading them would have saved."""
    cause: BreakCause
    evidence: str
    """Sentences."""
    message: str = ""
    """Id of the first message from which on it was billed again, where that is known."""
    place: int | None = None
    """Its place in the buffer."""
    diff: tuple[str, ...] = ()
    """How it reads otherwise: lines with - or + before them."""
    pause_s: float | None = None
    inferred: bool = False
    """The cause follows from how such providers usually behave, or from their counts: no record says so."""
    life_s: float | None = None
    """Seconds after which the entries expire; None where the cause is not that they expired."""


@dataclass(frozen=True, slots=True)
class _Finding:
    cause: BreakCause
    evidence: str
    message: str = ""
    place: int | None = None
    diff: tuple[str, ...] = ()
    inferred: bool = False
    life_s: float | None = None


def cache_breaks(thread: Thread, session: Session) -> tuple[Rebilling, ...]:
    """Of a thread, in order. O(messages)."""
    return tuple(_Detective(thread, session).breaks())


@dataclass(slots=True)
class _Detective:
    thread: Thread
    session: Session
    _drops: Mapping[int, Drop] | None = None
    _signs: Sequence[Sign] = ()
    _writers: frozenset[str] = frozenset()
    """Models of a provider that reports what it writes to its cache."""
    _ends: list[tuple[int, Request]] = field(default_factory=list)
    """What each request so far had sent."""

    def breaks(self) -> Iterator[Rebilling]:
        usages = [one.usage for one in self.thread.requests if one.usage]
        if not any(one.cache_read or one.cache_write for one in usages):
            return
        self._writers = frozenset(
            model for request, model in named_models(self.thread) if request.usage and request.usage.cache_write
        )
        self._signs = [one for one in self.session.signs if one.thread == self.thread.id]
        before: tuple[Request, Usage, str] | None = None
        for request, model in named_models(self.thread):
            checkpoint()
            usage = request.usage
            if usage is None or not usage.prompt:
                continue
            if before is not None:
                former, sent, other = before
                if missed := cache_missed(sent, usage):
                    again = max(0, min(sent.cached, usage.prompt) - usage.cache_read)
                    pause = seconds_between(former.time, request.time)
                    found = self._why(former, request, usage, (other, model), pause)
                    usd, avoidable = _money(usage, model, request.time, again)
                    yield Rebilling(
                        self.thread.id, request.index, again, missed, usd, avoidable,
                        found.cause, found.evidence, found.message, found.place, found.diff, pause, found.inferred,
                        found.life_s,
                    )  # fmt: skip
            before = request, usage, model
            self._ends.append((usage.prompt, request))

    def _why(
        self, former: Request, request: Request, usage: Usage, models: tuple[str, str], pause: float | None
    ) -> _Finding:
        exact = models[1] in self._writers
        expired = self._expired(former, usage, models[1], pause)
        drop = self._drop(request.index)
        between = map(self._drop, range(request.index, former.index, -1))  # between them a call may have told nothing
        losses = (one for one in between if one and one.loss and one.kind not in _NO_COMPACTIONS)
        if (compaction := next(losses, None)) is not None:
            inferred = not compaction.marker.startswith("recorded")
            most = former.usage.cached / 2 if former.usage else 0
            if inferred and exact and expired is not None and usage.cache_read < most:  # it was gone anyway
                return expired
            return _Finding("compaction", f"{compaction.why} ({compaction.marker})", inferred=inferred)
        if models[0] != models[1]:
            why = f"The model changed from {models[0]} to {models[1]}: each has a cache of its own."
            return _Finding("model-changed", why)
        if exact and expired is not None:
            return expired
        if (told := _prompt_changed(former.prompt, request.prompt)) is not None:
            return told
        changed = _messages_changed(former, request, drop)
        missed = cache_missed(former.usage, usage) if former.usage else 0
        unread = self._unread_before(changed, request, usage, models[1])
        if changed is not None and unread <= missed / 2:
            return changed
        signs = [one for one in self._signs if former.line < one.line < request.line]
        found = None if exact else self._in_another_cache(request, usage, pause)
        found = found or expired or self._by_place(request, usage, pause, model=models[1], signs=signs)
        if changed is None:
            return found
        why = f"{changed.evidence} But {unread:,} tokens before it were not read either. {found.evidence}"
        return replace(found, evidence=why)

    def _unread_before(self, changed: _Finding | None, request: Request, usage: Usage, model: str) -> int:
        """Tokens that stand before a changed message, were sent before, and were not read: not because of that change,
        of a provider that caches by itself. One that is told what to keep reads to where it was told."""
        if changed is None or changed.place is None or model in self._writers:
            return 0
        place = changed.place
        sent = ((end, one.view) for end, one in reversed(self._ends) if len(one.view) <= place)
        end = next((end for end, view in sent if shared(view, request.view) == len(view)), 0)
        return max(0, end - usage.cache_read)

    def _drop(self, index: int) -> Drop | None:
        if self._drops is None:
            self._drops = {one.request: one for one in thread_drops(self.thread, self.session).found}
        return self._drops.get(index)

    def _expired(self, former: Request, usage: Usage, model: str, pause: float | None) -> _Finding | None:
        if pause is None:
            return None
        if model not in self._writers:
            lives_s, words = cache_life(model)
            if pause <= lives_s:
                return None
            why = f"{duration(pause)} passed since the request before; such a cache {words}."
            return _Finding("expired", why, inferred=True, life_s=lives_s)
        ttl_s = last_written_ttl(self.thread, former.index)
        if pause <= ttl_s:
            return None
        lives = "an hour" if ttl_s == HOUR else "5 minutes"
        why = f"{duration(pause)} passed since the request before; it was written for {lives}."
        return _Finding("expired", why, life_s=ttl_s)

    def _where(self, request: Request, usage: Usage) -> tuple[str, int | None, str]:
        """(a sentence, place of the message, its id) where the reading stopped; None and empty where nobody knows."""
        read = usage.cache_read
        views = request.view
        first = next((one for one in self._ends), None)
        if not read:
            return "Nothing at all was read, the system prompt and the tools neither.", 0, _id_at(request, 0)
        at = next(
            (one for end, one in reversed(self._ends) if _is_end(end, read) and len(one.view) < len(views)),
            None,
        )
        if at is not None and len(at.view):
            what = f"Reading stopped after {read:,} tokens, where the prompt of request {at.index} ended."
            return what, len(at.view), _id_at(request, len(at.view))
        head = first[1].usage.cache_read if first is not None and first[1].usage is not None else 0
        if first is not None and read < first[0] - MISSED // 5:
            same = (
                f": as many as the first request of this session read ({head:,})"
                if head and abs(head - read) < _NEAR
                else ""
            )
            what = f"Reading stopped after {read:,} tokens{same}, before the end of what the first request had sent."
            return what, 0, _id_at(request, 0)
        return f"Reading stopped after {read:,} tokens.", None, ""

    def _by_place(
        self, request: Request, usage: Usage, pause: float | None, model: str, signs: Sequence[Sign]
    ) -> _Finding:
        """Nothing that the file holds of the prompt reads otherwise: signs beside the messages, and what was read."""
        where, place, message = self._where(request, usage)
        exact = model in self._writers
        for kind, cause in _BY_SIGN.items():
            if (not exact or place == 0) and (words := _words(signs, kind)):
                return _Finding(cause, f"{words} {where}", message if place == 0 else "", place)
        effort = _words([one for one in signs if one.what.startswith("effort")], "settings")
        if effort and place == 0 and _OPENAI.match(model):
            why = f"{effort} {where} OpenAI documents that the effort is part of the beginning of the prompt."
            return _Finding("prefix-changed", why, message, place, inferred=True)
        passed = f"{duration(pause)} passed" if pause is not None else "nobody knows how much time passed"
        same = "no message up to there reads otherwise in the file"
        beside = _words(signs, "settings")
        first = self._ends[0][1].usage if self._ends else None
        head = first.cache_read - _NEAR if first is not None else 0  # what stands before the first message
        lost_early = pause is None or (pause > MINUTES and usage.cache_read < head)
        if not exact or place is None or lost_early:
            kept = "less than what was written lives" if exact else "the provider keeps this cache without a promise"
            why = f"{where} {passed.capitalize()}, {kept}, and {same}. {beside}"
            return _Finding("unknown", why.strip())
        part = "the very beginning" if not usage.cache_read else f"message {place + 1}"
        why = (
            f"{where} {passed.capitalize()}, less than what was written lives, and {same}. {beside} "
            f"Such a provider usually reads all that is sent as before: from {part} on the call was another one, in "
            "what the file does not hold (system prompt, tools, the client's own text, parameters)."
        )
        return _Finding("prefix-changed", why.replace("  ", " "), message, place, inferred=True)

    def _in_another_cache(self, request: Request, usage: Usage, pause: float | None) -> _Finding | None:
        """Where the provider still had it, and answered from a cache without it."""
        held = self._read_again(request, usage)
        if not held and pause is not None and pause <= MINUTES:  # what is left of a longer entry may end anywhere
            held = self._read_before(request, usage)
        if not held:
            return None
        where, place, message = self._where(request, usage)
        why = f"{where} {held} So the provider still had it, and answered this call from a cache without it."
        return _Finding("other-cache", why, message, place, inferred=True)

    def _former(self, request: Request) -> Sequence[tuple[int, Request]]:
        """The last calls whose prompt this one begins with, and where they ended."""
        return [(end, one) for end, one in self._ends[-_AROUND:] if shared(one.view, request.view) == len(one.view)]

    def _read_again(self, request: Request, usage: Usage) -> str:
        """A later call read up to where a call before this one had ended, which only those before wrote: a sentence;
        empty where none did."""
        former, time = self._former(request), request.time
        for later in self.thread.requests[request.index + 1 : request.index + 1 + _AROUND]:
            pause, time = seconds_between(time, later.time), later.time
            if later.usage is None or later.model != request.model or not is_prefix(request.view, later.view):
                break
            if pause is None or pause > MINUTES:  # what is left of a longer entry may end anywhere
                break
            read = later.usage.cache_read
            old = next((one for end, one in reversed(former) if _is_end(end, read)), None)
            if old is not None and read > usage.cache_read + _NEAR and not _is_end(usage.prompt, read):
                return f"Request {later.index} read {read:,} tokens again, to where request {old.index} had ended."
        return ""

    def _read_before(self, request: Request, usage: Usage) -> str:
        """Reading stopped where an older call had ended, and one in between had read further: a sentence; empty where
        that is not so, or any place is the end of some call. Nor at the beginning of a turn: there thinking that the
        file does not hold may have been taken out, of which the first stands where some call had ended."""
        former = self._former(request)
        came = request.view.tail(len(former[-1][1].view)) if former else ()
        if any(message.role == "user" for message in came):
            return ""
        reads = [(one.index, one.usage.cache_read) for _, one in former if one.usage is not None]
        further = [(index, read) for index, read in reads if read > usage.cache_read + _NEAR]
        ends = [end for end, _ in former]
        at = next((n for n in reversed(range(len(ends) - 1)) if _is_end(ends[n], usage.cache_read)), None)
        if further and at is not None and ends[at + 1] - ends[at] > 2 * _NEAR:
            return f"Request {further[-1][0]} had read {further[-1][1]:,} of the same."
        return ""


_OPENAI = re.compile(r"gpt-|o\d|codex")
_NO_COMPACTIONS = ("rewind", "edit", "model switch", "prompt")
_BY_SIGN: Mapping[SignKind, BreakCause] = {"restart": "restart", "tools": "tools-changed"}


def _is_end(end: int, read: int) -> bool:
    """Did reading stop where a prompt of so many tokens ended?"""
    return -_NEAR // 7 <= end - read <= _NEAR


def _words(signs: Sequence[Sign], kind: SignKind) -> str:
    """What the file tells beside the messages, as a sentence; empty where it tells nothing of that kind."""
    told = dict.fromkeys(f"{one.what} (line {one.line})" for one in signs if one.kind == kind)
    words = "; ".join(list(told)[-3:])
    return f"{words[0].upper()}{words[1:]}." if words else ""


def avoidable(breaks: Iterable[Rebilling]) -> Decimal | None:
    """US dollars that reading from the cache would have saved, had none of these come that could be avoided."""
    return sum_prices(one.avoidable_usd for one in breaks if one.cause not in NO_WASTE)


def last_written_ttl(thread: Thread, index: int) -> int:
    """Return the seconds for which the last write to the cache, up to a request, is kept after its last use."""
    return cache_ttl(thread.requests[at].usage for at in range(index, -1, -1))


def _id_at(request: Request, place: int) -> str:
    tail = request.view.tail(place)
    return tail[0].id if tail else ""


def _money(usage: Usage, model: str, time: str, tokens: int) -> tuple[Decimal | None, Decimal | None]:
    """What so many of the tokens that were not read cost, and what of that reading them would have saved."""
    bill = billed(model, usage, time)
    read = billed(model, Usage(cache_read=usage.prompt), time)
    uncached = usage.input + usage.cache_write
    if bill is None or read is None:
        return None, None
    if not uncached or not usage.prompt:
        return Decimal(0), Decimal(0)
    usd = (bill.input + bill.cache_write_5m + bill.cache_write_1h) * tokens / uncached
    return usd, usd - read.total * tokens / usage.prompt


def _prompt_changed(former: Prompt, now: Prompt) -> _Finding | None:
    """Where the file holds system prompt and tools of both."""
    if former is now or former == now:
        return None
    if former.tools is not None and now.tools is not None and former.tools != now.tools:
        before, after = ({tool.name: tool.definition for tool in one.tools or ()} for one in (former, now))
        gone, new = [name for name in before if name not in after], [name for name in after if name not in before]
        other = [name for name in after if name in before and before[name] != after[name]]
        told = (("gone", gone), ("new", new), ("described otherwise", other))
        words = "; ".join(f"{what}: {', '.join(names[:8])}" for what, names in told if names)
        return _Finding("tools-changed", f"The list of tools changed. {words or 'Their order is another'}.")
    if former.system is not None and now.system is not None and former.system != now.system:
        return _Finding("tools-changed", "The system prompt changed.", diff=_diff(former.system, now.system))
    return None


def _messages_changed(former: Request, request: Request, drop: Drop | None) -> _Finding | None:
    """Where a message that was sent reads otherwise, or is gone."""
    same, changes = parting(former.view, request.view)
    if same >= len(former.view) or not (changes.lost or changes.faded or changes.changed):
        return None
    was, now = former.view.tail(same), request.view.tail(same)
    old, new = was[0] if was else None, now[0] if now else None
    diff = _diff(readable(old) if old else "", readable(new) if new else "")
    why = drop.why if drop is not None else "Messages were taken out or read otherwise."
    place = f"From message {same + 1} of {len(former.view)} on the prompt is another one."
    return _Finding("prefix-changed", f"{why} {place}", new.id if new else old.id if old else "", same, diff)


def _diff(before: str, after: str) -> tuple[str, ...]:
    """The first lines that differ."""
    lines = [f"{run.mark} {line[:_WIDE]}" for run in line_diff(before, after) if run.mark != " " for line in run.lines]
    return (*lines[:_LINES], *(["…"] if len(lines) > _LINES else ()))


def cause_sentence(miss: Rebilling) -> str:
    """Say why a request missed the cache, as a clause: `the model changed`."""
    if miss.cause == "expired" and miss.pause_s is not None:
        expires = f"the cache expires after {duration(miss.life_s)}" if miss.life_s else "the cache had expired"
        return f"the pause was {duration(miss.pause_s)} and {expires}"
    if miss.cause == "prefix-changed" and miss.inferred:
        return "something early in the prompt changed that the file does not record"
    return _CAUSES[miss.cause]


_CAUSES: Mapping[BreakCause, str] = {
    "expired": "the cache had expired",
    "prefix-changed": "an earlier message changed",
    "model-changed": "the model changed, and each model has a cache of its own",
    "tools-changed": "the system prompt or the tools changed",
    "compaction": "a compaction replaced earlier messages",
    "restart": "the client was restarted",
    "other-cache": "the provider answered from another of its caches",
    "unknown": "the file does not show why",
}
