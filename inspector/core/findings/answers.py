"""The three answers of the first screen and of `info`: what filled the window, what was lost, what it cost.

Each answer is about the worst moment of the session, not its end: the fullest request, the worst compaction, the most
expensive cache miss. Rules, not a model, derive the answers from the other findings.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from inspector.core.findings.breakdown import (
    Breakdown,
    BreakdownNode,
    break_down,
    forget,
    tool_calls,
)
from inspector.core.findings.breaks import Rebilling, cause_sentence
from inspector.core.findings.composition import not_recorded_words
from inspector.core.findings.forgetting import combined
from inspector.core.findings.lost import CompactionLoss, recorded_losses
from inspector.core.findings.lost_rows import LostRow
from inspector.core.findings.repeats import Repeat, repeats
from inspector.core.findings.spending import SessionCost, ThreadCost, session_cost, subtotal_words
from inspector.core.message import Opaque
from inspector.core.replay.economics import Economics
from inspector.core.replay.report import Compacted
from inspector.core.session import Session, Thread
from inspector.core.tokens.pressure import Pressure, Pressures, known_pressures
from inspector.core.tokens.sizing import sizer
from inspector.core.words import dollars, per_cent, plural, times

Question: TypeAlias = Literal["filled", "lost", "cost"]
QUESTIONS: tuple[Question, ...] = ("filled", "lost", "cost")
NO_MESSAGES = "The file records no messages, so what was lost is unknown."
NO_COMPACTION = "No compaction: the whole conversation is still in context."
NO_USAGE = "Cost unknown: the file records no token usage."
NO_CALLS = "Cost unknown: the file records no model calls."
_MUCH_DUPLICATED = 0.02
"""Smallest share of the buffer at which duplicates are mentioned."""
_FILE = re.compile(r"(?:[\w.~:\\/-]*[/\\])?(?P<name>[\w-][\w.-]*\.[A-Za-z]\w{0,9})(?= lines? |$)")
"""Matches the file at the beginning of a duplicate's name."""
_MOSTLY = 0.5
"""Smallest share of a category at which a tool is named."""
_LEAST = 0.005
"""Smallest share of the buffer at which a second category is mentioned."""
_NEARLY_ALL = 0.9
"""Smallest share of requests with usage at which the bill counts as complete: failed requests report no usage."""
_CENT = Decimal("0.01")
_NOUNS = {
    "system": "the system prompt",
    "tools": "tool definitions",
    "user": "user messages",
    "assistant": "assistant messages",
    "opaque": "content that only the provider can read",
    "difference": "the difference to the provider's count",
}
"""Names of categories in a sentence, if they differ from those of the legend."""
_SINGULAR = frozenset({"system", "thinking", "opaque", "unseen", "difference"})


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """One answer, and the request that it is about."""

    question: Question
    headline: str
    """One sentence."""
    details: tuple[str, ...] = ()
    """The sentences after the headline, the most important first."""
    strong: str = ""
    """The most important words of the headline, which begin with the number."""
    request: int | None = None
    """Index of the request that the answer is about; None if there is none."""
    thread: str = ""
    """Id of the thread of that request; empty: the thread that was passed in."""

    @property
    def detail(self) -> str:
        """Return all details as one text."""
        return " ".join(self.details)

    @property
    def text(self) -> str:
        """Return headline and details as one text."""
        return " ".join((self.headline, *self.details))


# -- what filled it ----------------------------------------------------------------------------------------------------


def fullest_request(pressures: Pressures) -> int | None:
    """Return the index of the request with the most tokens, the latest of several; None without requests."""
    sizes = [pressure.tokens or 0 for pressure in pressures]
    largest = max(sizes, default=0)
    return len(sizes) - 1 - sizes[::-1].index(largest) if sizes else None


def filled_answer(
    session: Session, thread: Thread, window_at: Callable[[int | None], int | None]
) -> ShortAnswer:
    """Describe the fullest request of a thread and what filled it. O(text of that request).

    Args:
        window_at: returns the window in tokens at a request (None: after the last record); None if it is unknown.
    """
    pressures = known_pressures(thread)
    at = fullest_request(pressures)
    place = len(thread.requests) if at is None else at
    size = sizer(pressures, place)
    buffer = thread.place(place).buffer()
    if not size.pressure.tokens:
        return ShortAnswer(
            "filled", "The file records no messages and no token counts.", request=at
        )
    calls = tool_calls(session, thread)
    parts = break_down(size, size.pressure, buffer, calls)
    duplicates = repeats(size, buffer, calls)
    headline, strong = _fullest_words(thread, at, size.pressure, window_at(at))
    details = _filling_words(parts, duplicates, not_recorded_words(thread, at, size.scale.unseen))
    trees = [parts.tree]
    del parts
    forget(trees)
    return ShortAnswer("filled", headline, details, strong, request=at)


def _fullest_words(
    thread: Thread, at: int | None, pressure: Pressure, window: int | None
) -> tuple[str, str]:
    """Return the headline, and its most important words."""
    tokens = pressure.tokens or 0
    exact = pressure.kind == "reported"
    strong = f"{'' if exact else 'about '}{plural(tokens, 'token')}"
    if window:
        strong += f" ({_window_share(tokens / window)})"
    if at is None:
        return f"No model call is recorded. The messages have {strong}.", strong
    count = len(thread.requests)
    subject = f"Request {at:,} was the fullest"
    if count == 1:
        subject = "There is one request"
    elif at == count - 1:
        subject = f"Request {at:,}, the last, was the fullest"
    return f"{subject}: {strong}.", strong


def _window_share(share: float) -> str:
    if share >= 0.001:
        return per_cent(share, places=1)
    return f"less than {per_cent(part=0.001, places=1)}"


def _filling_words(
    parts: Breakdown, duplicates: Sequence[Repeat], not_recorded: str
) -> tuple[str, ...]:
    tree = parts.tree
    if not tree.children:
        return ()
    content = [child for child in tree.children if child.name != "difference"]
    if not content:
        content = list(tree.children)
    first, *others = sorted(content, key=lambda child: -child.tokens)
    # The provider may count less than is recorded.
    whole = max(tree.tokens, sum(child.tokens for child in content))
    sentence = _category_words(first, whole, not_recorded, verb=True)
    if others and others[0].tokens >= _LEAST * whole:
        needs_verb = first.name == "unseen"
        sentence += f" and {_category_words(others[0], whole, not_recorded, verb=needs_verb)}"
    return _sentences(f"{sentence}.", _duplicate_words(duplicates, tree.tokens))


def _category_words(node: BreakdownNode, whole: int, not_recorded: str, verb: bool) -> str:
    """Return `48% were tool results (mostly Bash)`; without the verb `37% tool calls`. `whole`: tokens of 100%."""
    if node.name == "unseen":
        return f"{per_cent(node.tokens / whole)} is not recorded in this file ({not_recorded})"
    words = [per_cent(node.tokens / whole), _NOUNS.get(node.name, node.name)]
    if verb:
        words.insert(1, "was" if node.name in _SINGULAR else "were")
    top = max(node.children, key=lambda child: child.tokens, default=None)
    if top is not None and top.kind == "tool" and top.tokens >= _MOSTLY * node.tokens:
        words[-1] += f" (mostly {_short(top.name)})"
    return " ".join(words)


def _duplicate_words(duplicates: Sequence[Repeat], tokens: int) -> str:
    """Return `15,105 tokens were duplicates, for example of cli.py (twice).`; empty if there are few."""
    free = sum(duplicate.free for duplicate in duplicates)
    if not duplicates or free < _MUCH_DUPLICATED * tokens:
        return ""
    sentence = f"{plural(free, 'token')} were duplicates"
    top = max(duplicates, key=lambda duplicate: duplicate.free)
    file = named_file(top)
    if not file:
        return f"{sentence}."
    return f"{sentence}, for example of {_short(file)} ({times(top.times)})."


def named_file(duplicate: Repeat) -> str:
    """Return the name of the duplicated file, without its folder; empty if the duplicate is not of a file."""
    match = _FILE.match(duplicate.what)
    return "" if match is None else match["name"]


# -- what was lost -----------------------------------------------------------------------------------------------------


def lost_answer(session: Session, thread: Thread) -> ShortAnswer:
    """Describe the worst compaction of a thread: the cost of getting back what it removed. O(messages)."""
    if not thread.messages:
        return ShortAnswer("lost", NO_MESSAGES)
    losses = recorded_losses(session, thread, wishes_only=True)
    begins = any(step.kind == "summary" and not step.before_request for step in thread.compactions)
    elsewhere = sum(len(other.compactions) for other in session.threads if other is not thread)
    return describe_losses(losses.each, begins, _compacts_inside_calls(thread), elsewhere)


def _compacts_inside_calls(thread: Thread) -> bool:
    """Did the provider compact the buffer while it answered a call?"""
    parts = (part for message in thread.messages for part in message.parts)
    return any(isinstance(part, Opaque) and part.kind == "compaction" for part in parts)


def _rank_loss(loss: CompactionLoss) -> tuple[Decimal, int, int]:
    """Return the sort key of a loss: by cost, then by re-sent tokens, then by lost wishes of the user."""
    cost = loss.forgetting
    return cost.usd or Decimal(0), cost.tokens, len(_gone_wishes(loss))


def describe_losses(
    losses: Sequence[CompactionLoss],
    begins_compacted: bool = False,
    inside_calls: bool = False,
    elsewhere: int = 0,
) -> ShortAnswer:
    """Describe the losses of the compactions and silent drops of a thread.

    Args:
        losses: the losses of each of them.
        begins_compacted: True if the thread begins with the summary of a conversation that is not in the file.
        inside_calls: True if the provider compacted the buffer while it answered a call.
        elsewhere: number of compactions in other threads.
    """
    hidden = [loss for loss in losses if not loss.is_shown]
    visible = [loss for loss in losses if loss.is_shown]
    if not visible:
        return _without_losses(hidden, begins_compacted, inside_calls, elsewhere)
    worst = max(visible, key=_rank_loss)
    sentences = [_event_words(visible), _wish_words(worst)]
    if not worst.is_readable:
        sentences.append(
            "Its summary is not readable in this file, so what else it lost is unknown."
        )
    if hidden:
        sentences.append(f"What {plural(len(hidden), 'silent drop')} removed is not in the file.")
    cost = worst.forgetting
    return ShortAnswer(
        "lost",
        headline=cost.sentence,
        details=_sentences(*sentences),
        strong=cost.amount,
        request=worst.before_request,
    )


def _without_losses(
    drops: Sequence[CompactionLoss], begins_compacted: bool, inside_calls: bool, elsewhere: int
) -> ShortAnswer:
    if drops:
        last = drops[-1].before_request
        the_last = ", the last" if len(drops) > 1 else ""
        headline = f"{plural(len(drops), 'silent drop')}{the_last} before request {last:,}."
        detail = "The provider counted fewer tokens, and no message shows what was removed."
        return ShortAnswer("lost", headline, (detail,), request=last)
    if begins_compacted:
        return ShortAnswer(
            "lost",
            "The session begins after a compaction.",
            ("What that lost is not in this file.",),
        )
    if inside_calls:
        return ShortAnswer(
            "lost", "The provider compacted inside a call.", ("What that lost is not known.",)
        )
    if elsewhere:
        headline = "No compaction in this thread: its whole conversation is still in context."
        return ShortAnswer(
            "lost", headline, (f"Other threads have {plural(elsewhere, 'compaction')}.",)
        )
    return ShortAnswer("lost", NO_COMPACTION)


def _event_words(losses: Sequence[CompactionLoss]) -> str:
    """Return `That was the worst of 3 compactions; together 20 calls, 31,000 tokens, $0.42.`; empty for a single loss.

    If no compaction made the agent repeat work or lost an instruction, the sentence says so and names no worst one.
    """
    if len(losses) == 1:
        return ""
    counts = Counter(_event_noun(loss) for loss in losses)
    listed = " and ".join(plural(count, noun) for noun, count in counts.items())
    together = combined(loss.forgetting for loss in losses).amount
    if not together and not any(map(_gone_wishes, losses)):
        return f"The same is true after each of the {listed}."
    return f"That was the worst of {listed}{f'; together {together}' if together else ''}."


def _event_noun(loss: CompactionLoss) -> str:
    nouns = {"drop": "silent drop", "micro": "micro-compaction", "edit": "context edit"}
    return nouns.get(loss.kind, "compaction")


def _gone_wishes(loss: CompactionLoss) -> list[LostRow]:
    """Return the open instructions and constraints that are gone or perhaps gone."""
    return [
        row for row in loss.rows if row.is_open and row.fact.kind in ("instruction", "constraint")
    ]


def _wish_words(worst: CompactionLoss) -> str:
    """Return `2 open instructions of the user are gone, 1 may be: “never push”.`"""
    if not worst.is_readable:
        return ""
    wishes = _gone_wishes(worst)
    gone = sum(row.verdict == "gone" for row in wishes)
    perhaps = len(wishes) - gone
    if not wishes:
        return "No open instruction of the user was lost."
    sentence = f"{plural(gone, 'open instruction')} of the user {'is' if gone == 1 else 'are'} gone"
    if not gone:
        sentence = f"{plural(perhaps, 'open instruction')} of the user may be gone"
    elif perhaps:
        sentence += f", {perhaps:,} may be"
    return f"{sentence}: “{_short(wishes[0].fact.text)}”."


# -- what it cost ------------------------------------------------------------------------------------------------------


def cost_answer(session: Session, thread: Thread | None = None) -> ShortAnswer:
    """Describe the most expensive cache miss of a session, and the cost of the whole session. O(messages).

    Args:
        thread: the thread that the other answers are about; None = the main one.
    """
    return describe_cost(session_cost(session), (thread or session.main).id)


def describe_cost(cost: SessionCost, thread_id: str = "main") -> ShortAnswer:
    """Describe the computed cost of a session. `thread_id`: id of the thread that the other answers are about."""
    requests = [request for thread_cost in cost.threads for request in thread_cost.thread.requests]
    reports = [request.usage is not None for request in requests]
    if not any(reports):
        return ShortAnswer("cost", NO_USAGE if reports else NO_CALLS)
    misses = [miss for miss in cost.breaks if miss.cause != "compaction"]
    total = _total_words(cost)
    incomplete = ""
    if sum(reports) < _NEARLY_ALL * len(reports):
        incomplete = f"Usage is recorded for {sum(reports):,} of {len(reports):,} requests."
    if misses:
        return _miss_answer(misses, cost, total, incomplete, thread_id)
    details = _sentences(_cache_words(cost), _compaction_words(cost.threads, thread_id), incomplete)
    if not total:
        return ShortAnswer("cost", f"The price of {_unpriced_model(cost)} is unknown.", details)
    return ShortAnswer("cost", headline=f"The session cost {total}.", details=details, strong=total)


def _total_words(cost: SessionCost) -> str:
    """Return `$8.67`; `at least $8.67` if a part of the cost is unknown; empty if no price is known."""
    subtotal = cost.subtotal
    if subtotal.unpriced and not subtotal.usd:
        return ""
    if cost.output_is_final and not subtotal.unpriced and 0 < subtotal.usd < _CENT:
        return "less than a cent"
    return subtotal_words(subtotal.usd, subtotal.unpriced, output_is_final=cost.output_is_final)


def _unpriced_model(cost: SessionCost) -> str:
    models = (bill.thread.model for bill in cost.bills if bill.bill is None)
    return _short(next(filter(None, models), "")) or "the model"


def _miss_answer(
    misses: Sequence[Rebilling], cost: SessionCost, total: str, incomplete: str, thread_id: str
) -> ShortAnswer:
    costliest = max(misses, key=lambda miss: (miss.usd or Decimal(0), miss.tokens))
    place = f"request {costliest.request:,}"
    if costliest.thread != thread_id:
        place += f" of {_short(costliest.thread)}"
    resent = plural(costliest.tokens, "token")
    why = cause_sentence(costliest)
    if costliest.usd is not None and total:
        strong = dollars(costliest.usd)
        headline = f"The most expensive cache miss was {place}: {strong} of {total}."
        sentences = [f"{resent} were re-sent: {why}."]
    else:
        strong = resent
        headline = f"The largest cache miss was {place}: {strong} were re-sent."
        sentences = [f"{why[:1].upper()}{why[1:]}."]
    if len(misses) > 1:
        sentences.append(_all_misses_words(misses, cost))
    sentences.append(incomplete)
    return ShortAnswer(
        "cost",
        headline,
        details=_sentences(*sentences),
        strong=strong,
        request=costliest.request,
        thread=costliest.thread,
    )


def _all_misses_words(misses: Sequence[Rebilling], cost: SessionCost) -> str:
    """Return `2 cache misses outside compactions: 78,698 tokens, $0.45 of it avoidable.`"""
    count = plural(len(misses), "cache miss", "cache misses")
    tokens = sum(miss.tokens for miss in misses)
    avoidable = f", {dollars(cost.avoidable)} of it avoidable" if cost.avoidable else ""
    return f"{count} outside compactions: {tokens:,} tokens{avoidable}."


def _cache_words(cost: SessionCost) -> str:
    if cost.breaks:
        return "Every cache miss followed a compaction."
    usages = [usage for bill in cost.bills for usage in bill.used]
    if not any(usage.cache_read or usage.cache_write for usage in usages):
        return "No use of a prompt cache is recorded."
    return "No cache miss was recorded." if len(usages) > 1 else ""


def _compaction_words(threads: Sequence[ThreadCost], thread_id: str) -> str:
    """Return `2 of 3 compactions paid for themselves, saving $11.40 compared with no compaction.`"""
    steps = [(cost.thread.id, step) for cost in threads for step in _followed_steps(cost)]
    priced = [step.economics for _, step in steps if step.economics.paid is not None]
    if not priced:
        return ""
    single = "The compaction"
    several = ""
    if all(name != thread_id for name, _ in steps):
        single = "The compaction of another thread"
        several = " of other threads"
    paid = len([economics for economics in priced if economics.paid])
    saved = sum((_net_saving(economics) for economics in priced), Decimal(0))
    result = f"saving {dollars(saved)}" if saved >= 0 else f"costing {dollars(-saved)} more"
    subject = f"{paid:,} of {len(priced):,} compactions{several} paid for themselves"
    if len(priced) == 1:
        subject = f"{single} {'paid for itself' if paid else 'did not pay for itself'}"
    return f"{subject}, {result} compared with no compaction."


def _followed_steps(cost: ThreadCost) -> list[Compacted]:
    """Return the compactions of a thread that a request followed. Without a later request nothing can be saved."""
    return [step for step in cost.compactions if step.at.before_request < len(cost.thread.requests)]


def _net_saving(economics: Economics) -> Decimal:
    return (economics.saved_usd or Decimal(0)) - (economics.cost_usd or Decimal(0))


# -- all three ---------------------------------------------------------------------------------------------------------


def _sentences(*sentences: str) -> tuple[str, ...]:
    """Return the sentences that are not empty."""
    return tuple(filter(None, sentences))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


def short_answers(
    session: Session, thread: Thread, window_at: Callable[[int | None], int | None]
) -> tuple[ShortAnswer, ...]:
    """Return the three answers about a thread; the cost is that of the whole session. O(text)."""
    return (
        filled_answer(session, thread, window_at),
        lost_answer(session, thread),
        cost_answer(session, thread),
    )
