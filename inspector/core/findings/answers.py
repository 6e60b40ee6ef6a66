"""The thirty-second answer: what fills the window, what was lost, what it cost, a sentence each.

Made by rules from what the other findings say, never by a model; what is not known is not said.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from inspector.core.findings.breakdown import Breakdown, BreakdownNode, breakdown, forget, tool_calls
from inspector.core.findings.lost import CompactionLoss, lost_by_compactions
from inspector.core.findings.pins import PinFinding, ban_of, pin_findings
from inspector.core.findings.repeats import Repeat, repeats
from inspector.core.findings.spending import SessionCost, ThreadCost, session_cost
from inspector.core.message import Opaque
from inspector.core.replay.economics import paid_words
from inspector.core.replay.pins import find_pins
from inspector.core.session import Session, Thread
from inspector.core.tokens.estimator import Estimator
from inspector.core.tokens.pressure import known_pressures
from inspector.core.tokens.sizing import sizer
from inspector.core.words import dollars, per_cent, plural

Question: TypeAlias = Literal["filled", "lost", "cost"]
_MUCH_REPEATED = 0.02
"""Share of the buffer from which on repeats are worth a word."""
NO_MESSAGES = "This file holds no messages: what was lost is not known."
_NAME = re.compile(r"[\w./~-]{6}")
"""Begins what names a file or a command, not a bracket or a tag."""
_LARGE = 0.5
"""A tool with this share of its category is named."""
_LEAST = 0.005
"""A category with less is none that fills it."""


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """One sentence, and where there is more."""

    question: Question
    text: str
    request: int | None = None
    """Where to look; None: where one stands."""


def filled(found: Breakdown, again: Sequence[Repeat], kind: str, at: int | None) -> ShortAnswer:
    """What fills the buffer. `kind`: how its size is known (reported, predicted, ...); `at`: the request that it was
    sent with, None after the last record."""
    tree = found.tree
    if not tree.tokens or not tree.children:
        return ShortAnswer("filled", "The buffer is empty.", at)
    place = "at the end" if at is None else f"at request {at:,}"
    first, *others = sorted(tree.children, key=lambda child: -child.tokens)
    verb = "is" if first.name in ("user", "system", "assistant", "thinking") else "are"
    words = f"Of {tree.tokens:,} tokens {place} ({kind}), {_filling(first, tree, verb)}"
    if others and others[0].tokens >= _LEAST * tree.tokens:
        words += f", {_filling(others[0], tree)}"
    free = sum(one.free for one in again)
    if again and free >= _MUCH_REPEATED * tree.tokens:
        words += f"; {free:,} stand there more than once"
        named = [one for one in again if _NAME.match(one.what)]
        top = max(named, key=lambda one: one.free, default=None)
        if top is not None:  # a file without its folders
            name = _short(re.sub(r"(?<!\S)[\w./~-]*/(?=[\w.-])", "", top.what, count=1))
            words += f" ({name}: {top.times} times)"
    return ShortAnswer("filled", f"{words}.", at)


def lost(
    losses: Sequence[CompactionLoss],
    pins: Sequence[PinFinding] = (),
    *,
    begins_compacted: bool = False,
    inside_calls: bool = False,
) -> ShortAnswer:
    """What the recorded compactions and silent drops lost. `begins_compacted`: one came before the first request;
    `inside_calls`: the provider made one while it answered."""
    hidden = [one for one in losses if not one.is_shown]
    losses = [one for one in losses if one.is_shown]
    if not losses:
        return _none_shown(hidden, begins_compacted, inside_calls)
    worst = max(losses, key=lambda one: (one.needed_again, one.lost))
    bound = "" if all(one.is_readable for one in losses) else "at most "  # an encrypted summary may hold the others
    gone, again = sum(one.lost for one in losses), sum(one.needed_again for one in losses)
    if len(losses) == 1:
        what = "silent drop" if worst.kind == "drop" else f"{worst.trigger or worst.kind} compaction"
        words = f"The {what} before request {worst.before_request} lost {bound}{gone:,} of {worst.before:,} facts"
    else:
        drops = sum(one.kind == "drop" for one in losses)
        counts = ((len(losses) - drops, "compaction"), (drops, "silent drop"))
        listed = [plural(count, noun) for count, noun in counts if count]
        words = f"{' and '.join(listed)} lost {bound}{plural(gone, 'fact')}"
    facts = [row.fact for one in losses for row in one.rows if row.fate == "lost"]
    if len(set(facts)) < len(facts):  # said again after one, and lost by the next
        words += ", some more than once"
    said = sum(fact.kind in ("instruction", "constraint") for fact in facts)
    words += f", {said:,} of them the user's instruction{'s' if said > 1 else ''}" if said else ""
    if again > gone:  # of what is said in other words, too
        words += f", and left {sum(one.paraphrased for one in losses):,} in other words only"
    if again:
        words += f"; {again:,} {'was' if again == 1 else 'were'} needed again"
        most = len(losses) > 1 and worst.needed_again < again
        words += f", {worst.needed_again:,} of them after request {worst.before_request}" if most else ""
    broken = [(one, first) for one in pins for first in one.violations if first.state == "gone"][:1]
    for one, violation in broken:
        words += f"; “{_short(one.pin.text)}” stood nowhere any more and was violated at {violation.request}"
    if hidden:
        words += f"; what {plural(len(hidden), 'silent drop')} took is not in the file"
    return ShortAnswer("lost", f"{words}.", worst.before_request)


def _none_shown(drops: Sequence[CompactionLoss], begins_compacted: bool, inside_calls: bool) -> ShortAnswer:
    if not drops and begins_compacted:
        return ShortAnswer("lost", "It begins after a compaction, and what that lost is not in this file.")
    if not drops and inside_calls:
        return ShortAnswer("lost", "The provider compacted inside a call; what that lost is not worked out here.")
    if not drops:
        return ShortAnswer("lost", "Nothing was compacted: all that was said still stands.")
    at = drops[-1].before_request
    words = f"{plural(len(drops), 'silent drop')}, the last before request {at}: the provider counted less"
    return ShortAnswer("lost", f"{words}, and no message shows what went.", at)


def costs(found: SessionCost) -> ShortAnswer:
    """What the session cost, and what of it was avoidable."""
    told = [request.usage is not None for one in found.threads for request in one.thread.requests]
    if not any(told):
        return ShortAnswer("cost", "No usage is recorded here, so nobody knows what it cost.")
    breaks = [one for one in found.breaks if one.cause != "compaction"]
    again = sum(one.tokens for one in breaks)
    words = "The price is not known"
    if found.bill is not None:
        words = _dollars(found.bill.total)
        if not found.output_is_final:  # an answer was still being written
            words = "At least a part of a cent" if found.bill.total < _CENT else f"At least {words}"
    if found.bill is not None and sum(told) < _NEARLY_ALL * len(told):
        words += f" for {sum(told):,} of {len(told):,} calls; the file tells no usage of the others"
    dearest = max(breaks, key=lambda one: one.tokens, default=None)
    if dearest is not None:
        count = plural(len(breaks), "cache break")
        count += " besides compactions" if len(breaks) < len(found.breaks) else ""
        causes = {one.cause for one in breaks}
        why = _CAUSES.get(dearest.cause, dearest.cause)
        if dearest.cause == "prefix-changed" and any(one.inferred for one in breaks):  # no message shows it
            why = "because something early in the prompt changed"
        why = f", all {why}" if len(causes) == 1 and len(breaks) > 1 else ""
        words += f"; {count} sent {again:,} tokens anew{why}"
        words += f", {dollars(found.avoidable)} of it avoidable" if found.avoidable else ""
    elif sum(told) > 1:
        words += "; the cache broke at compactions only" if found.breaks else "; the cache never broke"
    words += _paid(found.threads)
    return ShortAnswer("cost", f"{words}.", dearest.request if dearest is not None else None)


_NEARLY_ALL = 0.9
"""Of the calls. Of a few, as those that failed, no usage is told anywhere."""
_CAUSES = {
    "expired": "after pauses that its entries did not outlive",
    "prefix-changed": "because earlier messages changed",
    "model-changed": "because the model changed",
    "tools-changed": "because prompt or tools changed",
    "restart": "because the client was started again",
    "other-cache": "by the provider's own choice of cache",
    "unknown": "for reasons that the file does not tell",
}


_CENT = Decimal("0.01")


def _dollars(amount: Decimal) -> str:
    return "Less than a cent" if 0 < amount < _CENT else dollars(amount)


def _paid(threads: Sequence[ThreadCost]) -> str:
    steps = [
        one
        for found in threads
        for one in found.compactions
        if one.at.before_request < len(found.thread.requests)  # at the end none can pay
    ]
    made = [one.economics for one in steps if one.economics.paid is not None]
    if not made:
        return ""
    if len(made) == 1:
        return f"; the compaction {paid_words(made[0].paid_after_requests)}"
    paid = sum(one.paid is True for one in made)
    saved = sum(((one.saved_usd or Decimal(0)) - (one.cost_usd or Decimal(0)) for one in made), Decimal(0))
    than = f"{dollars(abs(saved))} {'more' if saved < 0 else 'less'} than in an endless window"
    return f"; {paid:,} of {len(made):,} compactions paid ({than})"


def _filling(node: BreakdownNode, tree: BreakdownNode, verb: str = "") -> str:
    """`52% are tool results, most of them Read`."""
    name = "not in this file" if node.name == "unseen" else node.name
    top = max(node.children, key=lambda child: child.tokens, default=None)
    mostly = top is not None and top.kind == "tool" and top.tokens >= _LARGE * node.tokens
    share = " ".join(filter(None, (per_cent(node.tokens / tree.tokens), verb, name)))
    return f"{share}, most of them {_short(top.name)}" if top is not None and mostly else share


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


def short_answers(session: Session, thread: Thread, at: int, by: Estimator) -> tuple[ShortAnswer, ...]:
    """All three of a thread, the first for the buffer at request `at` (the number of requests: the buffer after the
    last record). The cost is that of the whole session. O(text)."""
    pressures = known_pressures(thread, by)
    size = sizer(pressures, at)
    buffer = thread.place(at).buffer()
    calls = tool_calls(session, thread)
    found, again = breakdown(size, size.pressure, buffer, calls), repeats(size, buffer, calls)
    fills = filled(found, again, size.pressure.kind, None if at >= len(thread.requests) else at)
    trees = [found.tree]
    del found
    forget(trees)
    losses = lost_by_compactions(session, thread)
    pins = pin_findings(thread, [one for one in find_pins(thread) if ban_of(one)]) if losses else ()
    begins = any(one.kind == "summary" and not one.before_request for one in thread.compactions)
    parts = (part for message in thread.messages for part in message.parts)
    inside = any(isinstance(part, Opaque) and part.kind == "compaction" for part in parts)
    gone = lost(losses, pins, begins_compacted=begins, inside_calls=inside)
    gone = gone if thread.messages else ShortAnswer("lost", NO_MESSAGES)
    return fills, gone, costs(session_cost(session))
