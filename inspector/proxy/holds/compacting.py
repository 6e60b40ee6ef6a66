"""What a policy would do about a held request, done without a person: what is due, by the extractive summariser."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from inspector.core.answering import Answerer, offline, rehearsed
from inspector.core.buffer import Buffer
from inspector.core.needs import drive
from inspector.core.outcome import FateName, fates
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.instructions import acting, without_instructions
from inspector.core.policies.verdict import PolicyInput
from inspector.core.tokens.estimators import prompt_tokens
from inspector.core.validity import check
from inspector.core.words import per_cent
from inspector.extensions.policies import find_policy
from inspector.proxy.holds.hold import HoldInfo


def has_turn(buffer: Buffer) -> bool:
    """Has the model answered yet? Before that there is nothing but instructions and the task."""
    return any(message.role == "assistant" for message in buffer.messages)


GROWN = 0.1
"""Share of the window by which a conversation grows before it is cut again without being asked ..."""
WORTH = 0.1
"""... and of what could be cut, that a cut takes away at least: each one makes the provider's cache begin anew."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What would go on in place of a held request. Sizes are what its provider would report."""

    before: Buffer
    tokens_before: int
    after: Buffer | None = None
    """None: nothing is changed, and `why` says why not."""
    tokens_after: int = 0
    gone: tuple[str, ...] = ()
    """What becomes of the messages that do not stay: `8 results cleared`."""
    why: str = ""
    running: Any = None
    is_small: bool = False
    """It takes away so little that it is not made without being asked."""


class Compactor:
    """One policy over all conversations of a proxy; each has a running state of its own.

    Raises InspectorError for a policy or a setting that there is not.
    """

    def __init__(self, name: str, pairs: Sequence[tuple[str, str]] = (), answer: Answerer = offline) -> None:
        self._policy, self._pairs = find_policy(name), tuple(pairs)
        self._answer = rehearsed(answer)
        self._running: dict[tuple[str, ...], Any] = {}
        self._left: dict[tuple[str, ...], int] = {}
        """Tokens that the last cut of a conversation left."""
        self._policy.settings(self._pairs)

    def propose(
        self,
        hold: HoldInfo,
        buffer: Buffer,
        weigh: Callable[[Buffer], int],
        context: PolicyContext[Any, Any] | None = None,
    ) -> Proposal:
        """What is due on a held buffer. Instructions among the messages stay, and nothing goes before there is a turn.

        Args:
            weigh: tokens of the request with that buffer in it.
            context: what the policy goes by where the recording is read; None = what the gate knows by itself.
        """
        tokens = hold.tokens if hold.tokens is not None else weigh(buffer)
        if not has_turn(buffer):
            return Proposal(buffer, tokens, why="the model has not answered yet: there is no turn to cut")
        if context is None:
            context = self._learned(hold, buffer, tokens)
        outcomes = drive(acting(self._policy, context).run_due(context), self._answer)
        last = outcomes[-1]
        if last.buffer.messages == buffer.messages or not last.buffer.messages:
            return Proposal(buffer, tokens, why="nothing is due", running=last.running)
        after = buffer.with_messages(last.buffer.messages)
        worse = {broken.rule for broken in check(after)} - {broken.rule for broken in check(buffer)}
        if worse:
            why = f"{self._policy.title} would leave a buffer that a provider refuses ({', '.join(sorted(worse))})"
            return Proposal(buffer, tokens, why=why)
        changed = {key: fate for outcome in outcomes for key, fate in outcome.changed.items()}
        gone = _gone((fate.name, fate.before or fate.after) for fate in fates(buffer, replace(last, changed=changed)))
        made = Proposal(buffer, tokens, after, weigh(after), gone, running=last.running)
        touchable = {message.id for message in without_instructions(buffer).messages}
        rest = [message for message in buffer.messages if message.id not in touchable]
        why = self._too_small(hold, made, tokens - weigh(buffer.with_messages(rest)))
        return replace(made, why=why, is_small=bool(why))

    def _learned(self, hold: HoldInfo, buffer: Buffer, tokens: int) -> PolicyContext[Any, Any]:
        """The buffer as the harness has it, and what it would believe: that the whole weighs `tokens`. One that counts
        its prompt counts the tools of the body with it.
        """
        by = self._policy
        settings = by.settings(self._pairs, hold.window)
        moment = PolicyInput(hold.exchange, hold.model, usage=hold.usage, keeps_instructions=True)
        if by.prompt_estimator is not None:
            tools = prompt_tokens(by.prompt_estimator, buffer.prompt)[1]
            buffer = Buffer(buffer.messages, replace(buffer.prompt, unseen=tools))
        running = self._running.get(hold.thread) or by.fresh(settings)
        context = PolicyContext(buffer, settings, running, moment, hold.window)
        raw = acting(by, context).measure(context)[0]
        if by.prompt_estimator is None:
            running = by.learn(running, settings, raw, tokens)
        else:
            running = by.calibrated(running, settings, ((raw, tokens),))
        self._running[hold.thread] = running
        return context.with_running(running)

    def _too_small(self, hold: HoldInfo, made: Proposal, could: int) -> str:
        """Why the cut is not made by itself: it frees little of what `could` go, or comes too soon after the last one.
        A full window cannot wait. Empty: it is made."""
        freed = made.tokens_before - made.tokens_after
        if hold.window and made.tokens_before >= hold.window:
            return "" if freed > 0 else "it would free nothing"
        if freed < max(1, WORTH * could):
            return f"it would free {freed:,} tokens only"
        left = self._left.get(hold.thread)
        if left is not None:  # less than was left: the client has compacted since
            left = self._left[hold.thread] = min(left, made.tokens_before)
        if left is not None and made.tokens_before - left < GROWN * (hold.window or left):
            return f"the last cut left {left:,} tokens: it waits until more has come since"
        return ""

    def keep(self, hold: HoldInfo, proposal: Proposal) -> None:
        """What was proposed goes on: the policy goes on from there with that conversation."""
        self._running[hold.thread] = proposal.running
        if proposal.after is not None:
            self._left[hold.thread] = proposal.tokens_after


def _gone(found: Any) -> tuple[str, ...]:
    """What becomes of how many messages, by who wrote them."""
    counted = Counter((fate, _KINDS[message.role]) for fate, message in found if fate != "kept")
    order = get_args(FateName)
    told = sorted(counted.items(), key=lambda one: (order.index(one[0][0]), one[0][1]))
    return tuple(f"{count} {kind if count > 1 else kind.removesuffix('s')} {fate}" for (fate, kind), count in told)


_KINDS = {"user": "user messages", "assistant": "answers", "tool": "results", "system": "instructions"}


def told(proposal: Proposal, window: int | None) -> str:
    """A proposal in one sentence: sizes before and after, and what goes."""
    if proposal.after is None:
        return f"{proposal.why}; it stays at {_size(proposal.before, proposal.tokens_before, window)}"
    before = _size(proposal.before, proposal.tokens_before, window)
    after = _size(proposal.after, proposal.tokens_after, window)
    return f"{before} -> {after}: {', '.join(proposal.gone)}"


def _size(buffer: Buffer, tokens: int, window: int | None) -> str:
    share = f" ({per_cent(tokens / window)} of the window)" if window else ""
    return f"{len(buffer.messages)} messages, {tokens:,} tokens{share}"
