"""What a replay would have cost: the provider's prefix cache, the summariser's calls, the price catalogue.

The cache is simulated in its simplest form, the same for every policy: what a buffer has in common with the one sent
before it, from its beginning, is read; all else is written. A changed prefix is thereby written anew. That an entry
expires, that a block has a smallest size, and that a client sets its marks elsewhere is left out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal

from inspector.core.answering import Asked
from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.core.needs import Answer, RemoteCompact, Summarize
from inspector.core.replay_sizes import Sizes
from inspector.core.tokens.prices import cost
from inspector.core.usage import Usage


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and US dollars of one request with the calls for its compactions, or of many."""

    input: int = 0
    """Neither read from the cache nor written to it: none, as it is simulated."""
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    """Of the recorded answers."""
    summariser_input: int = 0
    summariser_output: int = 0
    summariser_calls: int = 0
    cost_usd: Decimal | None = Decimal(0)
    """None where a price is not known."""

    @property
    def prompt(self) -> int:
        """Tokens sent, summaries aside."""
        return self.input + self.cache_read + self.cache_write


def total(spent: Iterable[Spent]) -> Spent:
    """The sum, field by field; no cost where one of them has none."""
    listed = list(spent)
    prices = [one.cost_usd for one in listed if one.cost_usd is not None]
    whole = sum(prices, Decimal(0)) if len(prices) == len(listed) else None
    counts = [one.name for one in fields(Spent) if one.name != "cost_usd"]
    return Spent(**{name: sum(getattr(one, name) for one in listed) for name in counts}, cost_usd=whole)


class Meter:
    """Follows one replay, request by request."""

    def __init__(self, sizes: Sizes, model: str, summary_model: str = "") -> None:
        self._sizes, self._model, self._summary_model = sizes, model, summary_model
        self._last = Buffer(())
        self._tokens = 0

    def request(
        self, buffer: Buffer, tokens: int, output: int, asked: Sequence[Asked], model: str = "", time: str = ""
    ) -> Spent:
        """One call with `buffer` of that many tokens, and what was asked of the summariser around it."""
        self._model = model or self._model
        read = self._read(buffer, tokens)
        usage = Usage(cache_read=read, cache_write=tokens - read, output=output)
        prices = [cost(self._model, usage, time)]
        calls = [found for one in asked if (found := self._call(one)) is not None]
        prices += [cost(self._summary_model or self._model, call, time) for call in calls]
        known = [price for price in prices if price is not None]
        return Spent(
            0,
            read,
            tokens - read,
            output,
            sum(call.prompt for call in calls),
            sum(call.output for call in calls),
            len(calls),
            sum(known, Decimal(0)) if len(known) == len(prices) else None,
        )

    def _read(self, buffer: Buffer, tokens: int) -> int:
        """Tokens of the prefix that was sent before. Prompt and tools come first: if they change, nothing is read."""
        last, before = self._last, self._tokens
        self._last, self._tokens = buffer, tokens
        if buffer.prompt is not last.prompt and buffer.prompt != last.prompt:
            return 0
        same = common(last.messages, buffer.messages)
        if same < len(last.messages):
            before -= self._sizes.tokens(self._sizes.weigh(last.messages[same:]))
        return max(0, min(before, tokens))

    def _call(self, asked: Asked) -> Usage | None:
        """What a summary call used; None for what is no model's call, and for one that failed: that costs nothing."""
        need, reply = asked.need, asked.reply
        if not isinstance(reply, Answer) or not isinstance(need, Summarize | RemoteCompact):
            return None
        if reply.usage is not None:
            return reply.usage
        text = need.text if isinstance(need, Summarize) else ""
        sizes = self._sizes
        sent = sizes.text(need.instructions) + sizes.text(text) + sizes.tokens(sizes.weigh(need.messages))
        wrote = sizes.text(reply.text) + sizes.tokens(sizes.weigh(reply.messages))
        return Usage(input=sent, output=wrote)


def common(before: Sequence[Message], after: Sequence[Message]) -> int:
    """How many messages both begin with. Found by halving: comparing slices is quick."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
