"""Compute the cost of forgetting: the calls after a compaction that brought back content which it had removed.

A call counts if its result returns lines that the compaction had removed: the same file in whole or part, the same
query, the same address. It does not count if the client attached the file again, if the result is new, if the call only
names something, or if it lists a folder. A user who has to repeat an instruction counts, too.

Tokens are those of the results and of the calls. Dollars are the price of the results as cache writes (or as input,
without a cache), of the calls as output, and of the cache reads of the request that included the results, because only
the calls made that request necessary. If the answer made other calls, too, the cost is divided by the number of calls.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, TypeAlias

from inspector.core.arrivals import Arrival
from inspector.core.calls import FILE_KEYS, command_of, first_text, prints_only, subject_of, writes
from inspector.core.facts.coverage import Passages, content_words
from inspector.core.facts.reading import wishes
from inspector.core.heavy import checkpoint
from inspector.core.jsontext import dumps
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.replay.costs import Sizes
from inspector.core.session import Request, Thread
from inspector.core.tokens.prices import rates
from inspector.core.words import dollars, plural

GotBackHow: TypeAlias = Literal["file", "part", "query", "user"]
"""file: a file was read again; part: a part of a file was; query: a query was repeated; user: the user repeated an
instruction."""

_LEAST_SHARE: Mapping[GotBackHow, float] = {"part": 0.5, "query": 0.8}
"""Smallest share of the lines of a result that an earlier result had, for the call to count."""
_WHOLE = 0.9
"""Smallest share of repeated lines at which the whole file counts as read again, not only a part."""
_REPEATED = 0.75
"""Smallest share of the content words of an earlier instruction at which the user is taken to repeat it."""
_FEWEST_WORDS = 4
_QUERIES = ("pattern", "query", "regex", "search_term", "url", "uri")
_NUMBERED = re.compile(r"^\s*\d{1,7}(?:→|\t|[:|-] ?)")


@dataclass(frozen=True, slots=True)
class GotBack:
    """One call, or one sentence of the user, that brought back what a compaction had removed."""

    how: GotBackHow
    what: str
    """The file, the command or the user's sentence."""
    request: int
    """The request whose answer made the call, or that added the user's sentence."""
    message: str
    """Id of the message with the call, or the user's."""
    line: int
    """Line of that message in the transcript; 0 if there is none."""
    tokens: int
    usd: Decimal | None
    """Cost in US dollars; None if no price is known."""


@dataclass(frozen=True, slots=True)
class Forgetting:
    """The calls and sentences that one compaction made necessary again."""

    request: int
    """The first request after the compaction."""
    again: tuple[GotBack, ...] = ()

    @property
    def calls(self) -> int:
        """Return the number of repeated calls, without the user's sentences."""
        return sum(entry.how != "user" for entry in self.again)

    @property
    def repeated(self) -> int:
        """Return the number of sentences that the user repeated."""
        return len(self.again) - self.calls

    @property
    def tokens(self) -> int:
        """Return the tokens of all entries together."""
        return sum(entry.tokens for entry in self.again)

    @property
    def usd(self) -> Decimal | None:
        """Return the US dollars of all entries together; None if a price is not known."""
        prices = [entry.usd for entry in self.again]
        return None if None in prices else sum(filter(None, prices), Decimal(0))

    @property
    def amount(self) -> str:
        """Return `9 calls, 14,300 tokens, $0.18`; empty without entries."""
        if not self.again:
            return ""
        words = [plural(self.calls, "call")] if self.calls else []
        words.append(plural(self.tokens, "token"))
        if self.usd:
            words.append(dollars(self.usd))
        return ", ".join(words)

    @property
    def sentence(self) -> str:
        """Return `After request 82 the agent spent 9 calls, 14,300 tokens, $0.18 to get back what it had.`"""
        place = f"After request {self.request - 1:,}" if self.request else "After the compaction"
        if not self.again:
            return f"{place} nothing had to be read or said again."
        sentence = f"{place} the agent spent {self.amount} to get back what it had."
        if not self.calls:
            sentence = f"{place} the user said {plural(self.repeated, 'thing')} again."
        elif self.repeated:
            sentence += f" The user said {plural(self.repeated, 'thing')} again."
        return sentence


NOTHING_AGAIN = Forgetting(0)


def combined(each: Iterable[Forgetting]) -> Forgetting:
    """Return the entries of several compactions as those of one, at the first of them."""
    listed = list(each)
    first = min((forgetting.request for forgetting in listed), default=0)
    return Forgetting(first, tuple(entry for forgetting in listed for entry in forgetting.again))


@dataclass(slots=True)
class _EarlierResults:
    """Earlier results for one file or query, newest last."""

    results: list[Message]
    at: int | None = None
    """The first request after the compaction that removed the results; None while they are in context."""


class _AgainWalk:
    """Follows the tool results and the user's instructions of a thread through its compactions."""

    def __init__(self, thread: Thread, sizes: Sizes) -> None:
        self._thread = thread
        self._sizes = sizes
        self._calls = dict[str, tuple[ToolCall, Message, int]]()
        self._known = dict[str, _EarlierResults]()
        self._wishes = list[tuple[str, Message]]()
        self._said_before: Passages | None = None
        self._at = 0
        self.found = defaultdict[int, list[GotBack]](list)

    def compact(self, at: int, after: Sequence[Message]) -> None:
        """Record which results and instructions a compaction removed. O(results and instructions before it).

        Args:
            at: The first request after the compaction.
            after: The messages of that request's buffer.
        """
        remaining = set(map(id, after))
        added = (message for message in after if message.mark == "attachment")
        attached = "\n".join(
            part.text for message in added for part in message.parts if isinstance(part, Text)
        )
        for key, record in list(self._known.items()):
            if record.at is not None or any(id(result) in remaining for result in record.results):
                continue
            if key in attached:
                del self._known[key]
            else:
                record.at = at
        gone = [(text, message) for text, message in self._wishes if id(message) not in remaining]
        self._said_before = Passages((text, content_words(text)) for text, _ in gone)
        self._wishes.clear()
        self._at = at

    def arrive(self, message: Message, request: int) -> None:
        """Process a message that enters the buffer. O(its text) if it brings back removed content, else O(1)."""
        for call in message.calls:
            self._calls[call.id] = call, message, request
        result = message.result
        if result is not None:
            self._result(result, message, request)
        elif message.from_user:
            self._speech(message, request)

    def _result(self, result: ToolResult, message: Message, request: int) -> None:
        call_record = self._calls.pop(result.call_id, None)
        if call_record is None or result.is_error:
            return
        call, caller, asked_at = call_record
        key, how = _key(call)
        if not key:
            return
        earlier = self._known.get(key)
        if earlier is None:
            self._known[key] = _EarlierResults([message])
        elif earlier.at is None:
            earlier.results.append(message)
        else:
            share = _share(result.content, earlier.results)
            self._known[key] = _EarlierResults([message])
            if share >= _LEAST_SHARE[how]:
                as_file: GotBackHow = "file" if how == "part" and share >= _WHOLE else how
                self._add(as_file, subject_of(call), asked_at, caller, message, earlier.at)

    def _add(
        self, how: GotBackHow, what: str, asked_at: int, caller: Message, result: Message, at: int
    ) -> None:
        requests = self._thread.requests
        tokens = self._sizes.tokens(self._sizes.weigh((result,)))
        calls = max(1, len(caller.calls))
        usage = requests[asked_at].usage if asked_at < len(requests) else None
        called = usage.output // calls if usage is not None else 0
        following = requests[asked_at + 1] if asked_at + 1 < len(requests) else None
        usd = self._price(tokens, called, calls, following)
        self.found[at].append(
            GotBack(
                how,
                what,
                request=asked_at,
                message=caller.id,
                line=caller.line,
                tokens=tokens + called,
                usd=usd,
            )
        )

    def _price(
        self, tokens: int, called: int, calls: int, following: Request | None
    ) -> Decimal | None:
        usage = following.usage if following is not None else None
        if following is None or usage is None:
            return None
        price = rates(following.model or self._thread.model, usage.prompt, following.time)
        if price is None:
            return None
        sent = price.input
        if usage.cache_write:
            sent = price.cache_write_1h if usage.cache_write_1h else price.cache_write_5m
        return (
            sent * tokens
            + price.output * called
            + price.cache_read * Decimal(usage.cache_read) / calls
        )

    def _speech(self, message: Message, request: int) -> None:
        before = self._said_before
        for wish in wishes(message):
            self._wishes.append((wish.text, message))
            words = content_words(wish.text)
            if before is None or len(words) < _FEWEST_WORDS or before.best(words).share < _REPEATED:
                continue
            tokens = self._sizes.tokens(self._sizes.weigh((message,)))
            self.found[self._at].append(
                GotBack(
                    "user",
                    what=wish.text,
                    request=request,
                    message=message.id,
                    line=message.line,
                    tokens=tokens,
                    usd=self._price_speech(tokens, request),
                )
            )
            break

    def _price_speech(self, tokens: int, request: int) -> Decimal | None:
        requests = self._thread.requests
        if request >= len(requests):
            return None
        following = _without_cache(requests[request])
        return self._price(tokens, called=0, calls=1, following=following)


def _without_cache(request: Request) -> Request:
    """Return the request without its cache reads, which do not count for a request that was made in any case."""
    usage = request.usage
    return request if usage is None else replace(request, usage=replace(usage, cache_read=0))


def forgetting(
    thread: Thread, arrivals: Sequence[Arrival], sizes: Sizes, compacted_at: Iterable[int]
) -> dict[int, Forgetting]:
    """Return the cost of forgetting for each compaction of a thread, by the request after it. O(messages).

    Args:
        thread: A thread of a session.
        arrivals: The new messages of each of its requests (`core.arrivals`).
        sizes: Weighs the messages.
        compacted_at: The first request after each compaction.
    """
    places = set(compacted_at)
    walk = _AgainWalk(thread, sizes)
    for request, arrival in enumerate(arrivals):
        checkpoint(request, len(thread.requests))
        for message in arrival.answer:
            walk.arrive(message, max(0, request - 1))
        if request in places:
            walk.compact(request, thread.place(request).view.messages())
        for message in arrival.new:
            walk.arrive(message, request)
    return {at: Forgetting(at, tuple(walk.found.get(at, ()))) for at in sorted(places)}


def _key(call: ToolCall) -> tuple[str, GotBackHow]:
    """Return the key of a call's result and its kind: the file, else the whole query; an empty key for other calls."""
    if writes(call):
        return "", "query"
    arguments = call.arguments
    if isinstance(arguments, Mapping) and first_text(arguments, _QUERIES):
        return f"{call.name}\n{dumps(arguments)}", "query"
    if path := first_text(arguments, FILE_KEYS):
        return (path, "part") if _is_file(path) else ("", "part")
    command = command_of(call)
    if prints_only(command):
        return f"{call.name}\n{command}", "query"
    return "", "query"


def _is_file(path: str) -> bool:
    return "." in path.rstrip("/").rpartition("/")[2] and not path.endswith("/")


def _lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        bare = _NUMBERED.sub("", line, count=1).strip()
        if len(bare) > _SHORT_LINE:
            yield bare


_SHORT_LINE = 3
"""Largest number of characters of a line that is ignored, such as a bracket."""


def _share(text: str, before: Iterable[Message]) -> float:
    """Return the share of the lines of a text that occur in the results `before`."""
    lines = set(_lines(text))
    if not lines:
        return 0.0
    earlier: set[str] = set()
    for message in before:
        if message.result is not None:
            earlier.update(_lines(message.result.content))
    return len(lines & earlier) / len(lines)
