"""Advise what to change so that the next session costs less: at most three pieces of advice, each with an amount.

Each piece states a finding, its tokens and dollars, the setting of the recorded client to change, and the evidence.
Rules derive the advice from the other findings. There is none if no change would save enough.
"""

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Literal, TypeAlias

from inspector.core.findings.answers import fullest_request, named_file
from inspector.core.findings.breakdown import OfferedTool, ToolCalls, break_down, forget, tool_calls
from inspector.core.findings.breaks import Rebilling
from inspector.core.findings.file_copies import FileCopy, find_file_copies
from inspector.core.findings.repeats import Repeat, repeats
from inspector.core.findings.spending import SessionCost, ThreadCost
from inspector.core.findings.triggers import BY_HAND, client_trigger, trigger_by_rules
from inspector.core.policies.catalogue import harness_of
from inspector.core.session import Session, Thread
from inspector.core.tokens.pressure import Pressures, known_pressures
from inspector.core.tokens.prices import billed, named_models, sum_prices
from inspector.core.tokens.sizing import Sizer, sizer
from inspector.core.usage import FIVE_MINUTES_S, HOUR_S
from inspector.core.words import dollars, duration, per_cent, plural, times
from inspector.resources import resource

AdviceKind: TypeAlias = Literal[
    "cache-lifetime",
    "cache-lifetime-dropped",
    "short-cache-lifetime",
    "unused-tools",
    "stale-copies",
    "duplicates",
    "early-compaction",
    "late-compaction",
    "unpaid-compactions",
]
MOST_ADVICE = 3
_LEAST_USD = Decimal("0.05")
"""Smallest saving of a piece of advice in US dollars; it must also be at least `_LEAST_SHARE` of the session's cost."""
_LEAST_SHARE = Decimal("0.01")
_LEAST_TOKENS = 2_000
"""Smallest saving of a piece of advice in tokens, if no price is known."""
_LEAST_BUFFER_SHARE = 0.02
_FEWEST_REQUESTS = 10
"""Smallest number of requests in a thread at which a tool that was never called counts as unused."""
_LEAST_SCHEMAS = 1_000
"""Smallest size in tokens of the unused tool definitions that are mentioned."""
_EARLY = 0.9
"""Share of the trigger of the client's own rules below which a compaction counts as early."""
_NEARLY_FULL = 0.95
"""Share of the window above which a request counts as too full."""
_NAMED = 3
"""Largest number of requests, servers or tools that a sentence names."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One change, with what it would have saved in this session."""

    kind: AdviceKind
    finding: str
    """The finding with its amount, as one sentence."""
    action: str
    """The setting to change in the recorded client, as one sentence."""
    evidence: str
    """The evidence in the session, as one sentence."""
    tokens: int
    """Tokens that would not have been sent, summed over the requests; 0 if only their price changes."""
    usd: Decimal | None
    """US dollars that it would have saved; None without a price."""
    request: int | None = None
    """Index of a request that shows the finding; None if no single request does."""
    thread: str = ""
    """Id of the thread of that request."""

    @property
    def text(self) -> str:
        """Return the three sentences as one text."""
        return f"{self.finding} {self.action} {self.evidence}"


@dataclass(frozen=True, slots=True)
class _FullestRequest:
    """The fullest request of a thread, with the data that advice is derived from."""

    session: Session
    thread: Thread
    pressures: Pressures
    at: int
    window: int | None

    @property
    def harness(self) -> str:
        return harness_of(self.session)


def session_advice(
    session: Session, thread: Thread, cost: SessionCost, window: int | None
) -> tuple[Advice, ...]:
    """Return at most `MOST_ADVICE` pieces of advice, the most valuable first. O(text of the fullest request).

    Args:
        thread: the thread whose buffer is examined.
        cost: the cost of the whole session (`spending.session_cost`).
        window: tokens of the model's window; None if unknown.
    """
    pieces = [*_advise_on_cache(session, cost), *_advise_on_payment(session, cost)]
    pressures = known_pressures(thread)
    at = fullest_request(pressures)
    if at is not None:
        place = _FullestRequest(session, thread, pressures, at, window)
        pieces += _advise_on_buffer(place)
        pieces += _advise_on_trigger(place)
    total = cost.bill.total if cost.bill is not None else None
    worthwhile = [piece for piece in pieces if _is_worthwhile(piece, total)]
    worthwhile.sort(key=lambda piece: (-(piece.usd or Decimal(0)), -piece.tokens))
    return tuple(worthwhile[:MOST_ADVICE])


def _is_worthwhile(piece: Advice, total: Decimal | None) -> bool:
    if piece.usd is None:
        return piece.tokens >= _LEAST_TOKENS
    return piece.usd >= max(_LEAST_USD, _LEAST_SHARE * (total or Decimal(0)))


# -- the lifetime of the cache -----------------------------------------------------------------------------------------


def _advise_on_cache(session: Session, cost: SessionCost) -> Iterator[Advice]:
    """Advise another lifetime if the session as a whole would have been cheaper with it."""
    saved = {choice.ttl_s: choice.saved_usd for choice in cost.what_ifs}
    minutes_usd = saved.get(FIVE_MINUTES_S, Decimal(0))
    hourly_usd = saved.get(HOUR_S, Decimal(0))
    if minutes_usd > max(hourly_usd, Decimal(0)):
        yield _advise_short_lifetime(session, cost, minutes_usd)
        return
    covered = [
        miss for thread in cost.threads for miss in thread.breaks if _is_covered_by_hour(miss)
    ]
    if hourly_usd <= 0 or not covered:
        return
    longest = max(covered, key=lambda miss: miss.pause_s or 0)
    kind: AdviceKind = "cache-lifetime"
    headline = f"A cache lifetime of 1 hour would have saved {dollars(hourly_usd)}"
    switched = _find_shortened_lifetime(cost.threads)
    if switched is not None:
        kind = "cache-lifetime-dropped"
        headline = (
            f"The client shortened its cache lifetime from 1 hour to 5 minutes at request {switched:,}; "
            f"1 hour throughout would have saved {dollars(hourly_usd)}"
        )
    pauses = plural(len(covered), "pause")
    finding = f"{headline}: {pauses} of 5 minutes to 1 hour made the cache expire."
    tokens = sum(miss.tokens for miss in covered)
    evidence = (
        f"The longest of them was {duration(longest.pause_s or 0)}, before request {longest.request:,}; "
        f"{tokens:,} tokens were re-sent in all."
    )
    action = _find_action(kind, harness_of(session))
    yield Advice(
        kind,
        finding,
        action,
        evidence,
        tokens=0,
        usd=hourly_usd,
        request=longest.request,
        thread=longest.thread,
    )


def _advise_short_lifetime(session: Session, cost: SessionCost, saved_usd: Decimal) -> Advice:
    usages = [request.usage for of_thread in cost.threads for request in of_thread.thread.requests]
    hourly = sum(usage.cache_write_1h for usage in usages if usage is not None)
    finding = f"A cache lifetime of 5 minutes would have saved {dollars(saved_usd)}: few pauses needed 1 hour."
    evidence = f"{hourly:,} tokens were written to the cache for 1 hour, at a higher price than for 5 minutes."
    action = _find_action("short-cache-lifetime", harness_of(session))
    return Advice("short-cache-lifetime", finding, action, evidence, tokens=0, usd=saved_usd)


def _is_covered_by_hour(miss: Rebilling) -> bool:
    is_short = miss.life_s == FIVE_MINUTES_S
    return (
        miss.cause == "expired"
        and is_short
        and miss.pause_s is not None
        and FIVE_MINUTES_S < miss.pause_s <= HOUR_S
    )


def _find_shortened_lifetime(threads: Iterable[ThreadCost]) -> int | None:
    """Return the first request that wrote to the cache for 5 minutes after an earlier one had written for 1 hour."""
    for of_thread in threads:
        wrote_hourly = False
        for request in of_thread.thread.requests:
            usage = request.usage
            if usage is None or not usage.cache_write:
                continue
            if usage.cache_write_1h > usage.cache_write_5m:
                wrote_hourly = True
            elif wrote_hourly:
                return request.index
    return None


# -- compactions -------------------------------------------------------------------------------------------------------


def _advise_on_payment(session: Session, cost: SessionCost) -> Iterator[Advice]:
    """Advise a later compaction if the automatic ones cost more than they saved."""
    lost_usd = Decimal(0)
    unpaid = list[tuple[str, int]]()
    judged = 0
    for of_thread in cost.threads:
        for step in of_thread.compactions:
            economics = step.economics
            if step.at.tier == BY_HAND or economics.cost_usd is None or not economics.requests:
                continue
            judged += 1
            loss = economics.cost_usd - (economics.saved_usd or Decimal(0))
            if economics.paid is False and loss > 0:
                lost_usd += loss
                unpaid.append((of_thread.thread.id, step.at.before_request))
    if not unpaid:
        return
    subject = f"{len(unpaid):,} of {judged:,} automatic compactions"
    pronoun = "themselves"
    if judged == 1:
        subject = "The automatic compaction"
        pronoun = "itself"
    finding = f"{subject} did not pay for {pronoun}: {dollars(lost_usd)} lost compared with no compaction."
    listed = ", ".join(str(request) for _, request in unpaid[:_NAMED])
    evidence = (
        f"Too few requests followed before the next compaction or the end: see request {listed}."
    )
    thread, request = unpaid[0]
    action = _find_action("unpaid-compactions", harness_of(session))
    yield Advice(
        "unpaid-compactions",
        finding,
        action,
        evidence,
        tokens=0,
        usd=lost_usd,
        request=request,
        thread=thread,
    )


def _advise_on_trigger(place: _FullestRequest) -> Iterator[Advice]:
    """Advise another trigger if the client compacted earlier than its own rules, or let the window fill."""
    trigger = client_trigger(place.session, place.thread, place.pressures, place.window)
    by_rules = trigger_by_rules(place.session, place.window)
    fullest = place.pressures.at(place.at).tokens or 0
    if place.window and trigger is not None and trigger.observed and by_rules:
        lowest = trigger.tokens[0]
        if lowest < _EARLY * by_rules:
            sooner = by_rules - lowest
            finding = (
                f"{trigger.client} compacted at {lowest:,} tokens ({per_cent(lowest / place.window, places=1)}), "
                f"{sooner:,} tokens before the {by_rules:,} of its rules."
            )
            action = _find_action("early-compaction", place.harness)
            evidence = f"The window is {place.window:,} tokens; {trigger.words}."
            yield Advice(
                "early-compaction",
                finding,
                action,
                evidence,
                tokens=sooner,
                usd=None,
                request=place.at,
                thread=place.thread.id,
            )
    if place.window and fullest > _NEARLY_FULL * place.window:
        over = [
            at
            for at, size in enumerate(place.pressures)
            if (size.tokens or 0) > _NEARLY_FULL * place.window
        ]
        finding = (
            f"{plural(len(over), 'request')} filled more than {per_cent(_NEARLY_FULL)} of the window, "
            f"up to {fullest:,} of {place.window:,} tokens."
        )
        action = _find_action("late-compaction", place.harness)
        evidence = f"The first was request {over[0]}: a larger answer would not have fitted."
        excess = fullest - round(_NEARLY_FULL * place.window)
        yield Advice(
            "late-compaction",
            finding,
            action,
            evidence,
            tokens=max(excess, _LEAST_TOKENS),
            usd=None,
            request=over[0],
        )


# -- the content of the buffer -----------------------------------------------------------------------------------------


def _advise_on_buffer(place: _FullestRequest) -> Iterator[Advice]:
    size = sizer(place.pressures, place.at)
    buffer = place.thread.place(place.at).buffer()
    calls = tool_calls(place.session, place.thread)
    parts = break_down(size, size.pressure, buffer, calls)
    yield from _advise_on_tools(place, parts.tools)
    yield from _advise_on_copies(place, size, calls)
    trees = [parts.tree]
    del parts
    forget(trees)


def _advise_on_tools(place: _FullestRequest, tools: Sequence[OfferedTool]) -> Iterator[Advice]:
    requests = place.thread.requests
    unused = [tool for tool in tools if tool.schema_tokens and not tool.calls]
    unused_tokens = sum(tool.schema_tokens or 0 for tool in unused)
    if len(requests) < _FEWEST_REQUESTS or unused_tokens < _LEAST_SCHEMAS:
        return
    offered = [request.index for request in requests if request.prompt.tools]
    prices = _price_prompts(place.thread)
    usd = sum_prices(_multiply(prices[at], unused_tokens) for at in offered)
    count = len([tool for tool in tools if tool.schema_tokens is not None])
    paid = "" if usd is None else f", about {dollars(usd)} in all"
    finding = (
        f"{len(unused)} of {plural(count, 'tool definition')} were never called: {unused_tokens:,} tokens in each of "
        f"{plural(len(offered), 'request')}{paid}."
    )
    evidence = f"The largest: {_list_largest_sources(unused)}."
    action = _find_action("unused-tools", place.harness)
    yield Advice(
        "unused-tools",
        finding,
        action,
        evidence,
        tokens=unused_tokens * len(offered),
        usd=usd,
        request=place.at,
        thread=place.thread.id,
    )


def _list_largest_sources(unused: Sequence[OfferedTool]) -> str:
    """Return `the server github (6,120 tokens), WebSearch (410 tokens)`."""
    sizes = defaultdict[str, int](int)
    for tool in unused:
        sizes[f"the server {tool.server}" if tool.server else tool.name] += tool.schema_tokens or 0
    largest = sorted(sizes, key=lambda name: -sizes[name])[:_NAMED]
    return ", ".join(f"{name} ({sizes[name]:,} tokens)" for name in largest)


def _advise_on_copies(place: _FullestRequest, size: Sizer, calls: ToolCalls) -> Iterator[Advice]:
    """Advise on copies of files that a later edit made stale; if there are too few, on duplicates."""
    buffer = place.thread.place(place.at).buffer()
    copies = find_file_copies(buffer.messages, calls)
    stale = [copy for copy in copies if copy.is_stale and not copy.is_written]
    weights = {copy.message: size.row(buffer.messages[copy.message]) for copy in stale}
    tokens = sum(weights.values())
    if tokens >= max(_LEAST_TOKENS, _LEAST_BUFFER_SHARE * (size.pressure.tokens or 0)):
        yield _describe_stale_copies(place, copies, weights)
        return
    duplicates = [row for row in repeats(size, buffer, calls) if named_file(row)]
    free = sum(duplicate.free for duplicate in duplicates)
    if free >= max(_LEAST_TOKENS, _LEAST_BUFFER_SHARE * (size.pressure.tokens or 0)):
        yield _describe_duplicates(place, duplicates, free)


def _describe_stale_copies(
    place: _FullestRequest, copies: Sequence[FileCopy], weights: Mapping[int, int]
) -> Advice:
    """Return the advice about stale copies. `weights`: tokens of each message with a stale copy, by its place."""
    stale = [copy for copy in copies if copy.message in weights and copy.is_stale]
    changed_at = {copy.message: copy.changed_by or 0 for copy in stale}
    carried = [(weights[message], changed) for message, changed in changed_at.items()]
    sent, usd = _sum_carried(place, carried)
    files = sorted({copy.path for copy in stale})
    finding = (
        f"{plural(len(weights), 'stale copy', 'stale copies')} of {plural(len(files), 'file')} took "
        f"{sum(weights.values()):,} tokens of request {place.at}{_carried_words(usd)}."
    )
    largest = max(stale, key=lambda copy: weights[copy.message])
    _, _, name = largest.path.rpartition("/")
    current = [copy.message for copy in copies if copy.path == largest.path and not copy.is_stale]
    later = "it was not read again"
    if current:
        later = f"message {current[-1]} has the current text"
    evidence = f"{name} was read in message {largest.message} and changed in message {largest.changed_by}; {later}."
    action = _find_action("stale-copies", place.harness)
    return Advice(
        "stale-copies",
        finding,
        action,
        evidence,
        tokens=sent,
        usd=usd,
        request=place.at,
        thread=place.thread.id,
    )


def _describe_duplicates(place: _FullestRequest, duplicates: Sequence[Repeat], free: int) -> Advice:
    carried = ((row.tokens_each, message) for row in duplicates for message in row.messages[1:])
    sent, usd = _sum_carried(place, carried)
    finding = (
        f"{free:,} tokens of request {place.at} were duplicates of files{_carried_words(usd)}."
    )
    top = max(duplicates, key=lambda row: row.free)
    evidence = (
        f"The largest is {named_file(top)} ({times(top.times)}, {top.tokens_each:,} tokens each)."
    )
    action = _find_action("duplicates", place.harness)
    return Advice(
        "duplicates",
        finding,
        action,
        evidence,
        tokens=sent,
        usd=usd,
        request=place.at,
        thread=place.thread.id,
    )


def _sum_carried(
    place: _FullestRequest, superfluous: Iterable[tuple[int, int]]
) -> tuple[int, Decimal | None]:
    """Return tokens and US dollars of superfluous text, summed over the requests that included it.

    Args:
        superfluous: (tokens, place of the message that made them superfluous). A request includes the tokens if its
            buffer has that message.
    """
    first, end = _find_stretch(place)
    lengths = [len(request.view) for request in place.thread.requests[first:end]]
    prices = _price_prompts(place.thread)[first:end]
    sent = 0
    usd = list[Decimal | None]()
    for tokens, message in superfluous:
        carriers = [n for n, length in enumerate(lengths) if length > message]
        sent += tokens * len(carriers)
        usd += [_multiply(prices[n], tokens) for n in carriers]
    return sent, sum_prices(usd)


def _find_stretch(place: _FullestRequest) -> tuple[int, int]:
    """Return the range (first, end) of the requests between the compactions around the fullest request."""
    ends = [step.before_request for step in place.thread.compactions if step.kind == "summary"]
    first = max((at for at in ends if at <= place.at), default=0)
    return first, min((at for at in ends if at > place.at), default=len(place.thread.requests))


# -- amounts -----------------------------------------------------------------------------------------------------------


def _price_prompts(thread: Thread) -> list[Decimal | None]:
    """Return the average cost of a prompt token of each request, in US dollars; None without a price."""
    prices = list[Decimal | None]()
    for request, model in named_models(thread):
        usage = request.usage
        bill = billed(model, usage, request.time) if usage is not None and usage.prompt else None
        if bill is None or usage is None:
            prices.append(None)
        else:
            prices.append((bill.total - bill.output) / usage.prompt)
    return prices


def _multiply(price: Decimal | None, tokens: int) -> Decimal | None:
    return None if price is None else price * tokens


def _carried_words(usd: Decimal | None) -> str:
    """Return a clause with the most that superfluous text cost; empty without a price.

    It is an upper bound, because removing the text would itself have caused one cache miss.
    """
    return "" if usd is None else f", carried along for up to {dollars(usd)} in all"


@cache
def _load_actions() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(resource("client_settings.toml").read_text(encoding="utf-8"))


def _find_action(kind: AdviceKind, client: str) -> str:
    """Return the sentence about what to change in a client. `client`: the name of the client's policy."""
    sentences = _load_actions()[kind]
    return sentences.get(client, sentences["*"])
