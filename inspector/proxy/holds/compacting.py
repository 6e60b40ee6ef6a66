"""Compute what a policy would do about a held request on its own: the due tiers, with the extractive summariser."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from inspector.core.answering import Answerer, AnswerLog, offline, rehearsed
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.facts.index import lost
from inspector.core.needs import Summarize, drive
from inspector.core.outcome import Fate, FateName, Outcome, fates
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.instructions import acting, without_instructions
from inspector.core.policies.verdict import PolicyInput
from inspector.core.tokens.estimators import prompt_tokens
from inspector.core.validity import find_refusals
from inspector.core.words import per_cent, plural
from inspector.extensions.policies import find_policy
from inspector.proxy.holds.hold import HoldInfo


def has_turn(buffer: Buffer) -> bool:
    """Has the model answered yet? Before its first answer the buffer holds only instructions and the task."""
    return any(message.role == "assistant" for message in buffer.messages)


DUE = ""
"""Key of the proposal for all due tiers together."""
GROWN = 0.1
"""Share of the window by which a conversation must grow before it is cut again automatically."""
WORTH = 0.1
"""Smallest share of the removable tokens for which a cut is worthwhile, because each cut invalidates the provider's
cache.
"""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A changed request to forward instead of a held one. Sizes are the tokens that its provider would report."""

    before: Buffer
    tokens_before: int
    after: Buffer | None = None
    """The buffer after the change; None if nothing is changed, and then `why` gives the reason."""
    tokens_after: int = 0
    gone: tuple[str, ...] = ()
    """What happens to the messages that are changed or removed: `8 results cleared`."""
    why: str = ""
    running: Any = None
    is_small: bool = False
    """True if the change frees too little to be made automatically."""
    lost: int | None = None
    """Number of facts that no message would hold any more; None if they were not counted."""
    summaries: int = 0
    """Number of summaries that the policy asks a model for."""


class Compactor:
    """Applies one policy to all conversations of a proxy, with a running state for each.

    Raises InspectorError for an unknown policy or setting.
    """

    def __init__(
        self, name: str, pairs: Sequence[tuple[str, str]] = (), answer: Answerer = offline
    ) -> None:
        self._policy = find_policy(name)
        self._pairs = tuple(pairs)
        self._answer = rehearsed(answer)
        self._running: dict[tuple[str, ...], Any] = {}
        self._left: dict[tuple[str, ...], int] = {}
        """For each conversation, the tokens that its last cut left."""
        self._policy.settings(self._pairs)  # raises InspectorError if a setting is impossible

    def propose(
        self,
        hold: HoldInfo,
        buffer: Buffer,
        weigh: Callable[[Buffer], int],
        context: PolicyContext[Any, Any] | None = None,
    ) -> Proposal:
        """Return what the due tiers would do to a held buffer. Instructions among the messages stay; the first turn is
        never cut.

        Args:
            hold: The held request.
            buffer: Its buffer.
            weigh: Returns the tokens of the request with a given buffer in it.
            context: What the policy knows according to the recording; None uses what the gate knows.
        """
        tokens = hold.tokens if hold.tokens is not None else weigh(buffer)
        if not has_turn(buffer):
            return _refuse_first_turn(buffer, tokens)
        if context is None:
            context = self._calibrated_context(hold, buffer, tokens)
        outcomes = drive(acting(self._policy, context).run_due(context), self._answer)
        return self._weigh_outcomes(hold, buffer, weigh, tokens, outcomes)

    def propose_tiers(
        self,
        hold: HoldInfo,
        buffer: Buffer,
        weigh: Callable[[Buffer], int],
        context: PolicyContext[Any, Any] | None = None,
    ) -> dict[str, Proposal]:
        """Return the result of `propose` under DUE, and under each due tier's name what that tier alone would do.

        Each proposal includes its model calls and the facts that it would lose. The arguments are those of `propose`.
        """
        tokens = hold.tokens if hold.tokens is not None else weigh(buffer)
        if not has_turn(buffer):
            return {DUE: _refuse_first_turn(buffer, tokens)}
        if context is None:
            context = self._calibrated_context(hold, buffer, tokens)
        policy = acting(self._policy, context)
        proposals: dict[str, Proposal] = {}
        due = [verdict.tier for verdict in policy.due(context) if verdict.due]
        for key in (DUE, *due):
            log = AnswerLog(self._answer)
            try:
                if key == DUE:
                    outcomes = drive(policy.run_due(context), log)
                else:
                    outcomes = (drive(policy.tier(key, context), log),)
            except InspectorError:
                continue  # for example a tier whose summary cannot be made offline
            proposal = self._weigh_outcomes(hold, buffer, weigh, tokens, outcomes)
            facts = lost(buffer.messages, proposal.after.messages) if proposal.after else {}
            calls = sum(isinstance(need.need, Summarize) for need in log.asked)
            proposals[key] = replace(proposal, lost=len(facts), summaries=calls)
        return proposals

    def _weigh_outcomes(
        self,
        hold: HoldInfo,
        buffer: Buffer,
        weigh: Callable[[Buffer], int],
        tokens: int,
        outcomes: Sequence[Outcome[Any]],
    ) -> Proposal:
        """Return the proposal that results from successive outcomes on a held buffer of `tokens` tokens."""
        last = outcomes[-1]
        if last.buffer.messages == buffer.messages or not last.buffer.messages:
            return Proposal(buffer, tokens, why="nothing is due", running=last.running)
        after = buffer.with_messages(last.buffer.messages)
        if rules := _find_new_problems(buffer, after):
            why = f"{self._policy.title} would leave a buffer that a provider refuses ({', '.join(rules)})"
            return Proposal(buffer, tokens, why=why)
        changed = {key: fate for outcome in outcomes for key, fate in outcome.changed.items()}
        gone = count_fates(fates(buffer, replace(last, changed=changed)))
        proposal = Proposal(
            buffer, tokens, after, tokens_after=weigh(after), gone=gone, running=last.running
        )
        touchable = {message.id for message in without_instructions(buffer).messages}
        rest = [message for message in buffer.messages if message.id not in touchable]
        why = self._too_small(hold, proposal, tokens - weigh(buffer.with_messages(rest)))
        return replace(proposal, why=why, is_small=bool(why))

    def _calibrated_context(
        self, hold: HoldInfo, buffer: Buffer, tokens: int
    ) -> PolicyContext[Any, Any]:
        """Return the policy's context for a held buffer, calibrated so that the whole buffer counts `tokens` tokens.

        If the harness's prompt is part of its count, so are the tools of the body.
        """
        policy = self._policy
        settings = policy.settings(self._pairs, hold.window)
        moment = PolicyInput(hold.exchange, hold.model, usage=hold.usage, keeps_instructions=True)
        if policy.prompt_estimator is not None:
            tools = prompt_tokens(policy.prompt_estimator, buffer.prompt)[1]
            buffer = Buffer(buffer.messages, replace(buffer.prompt, unseen=tools))
        running = self._running.get(hold.thread) or policy.fresh(settings)
        context = PolicyContext(buffer, settings, running, moment, hold.window)
        raw = acting(policy, context).measure(context)[0]
        if policy.prompt_estimator is None:
            running = policy.learn(running, settings, raw, tokens)
        else:
            running = policy.calibrated(running, settings, ((raw, tokens),))
        self._running[hold.thread] = running
        return context.with_running(running)

    def _too_small(self, hold: HoldInfo, proposal: Proposal, could: int) -> str:
        """Say why a cut is not made automatically; empty if it is made.

        A cut is not made if it frees little of the `could` tokens that are removable, or comes too soon after the last
        one. A full window is always cut if that frees anything.
        """
        freed = proposal.tokens_before - proposal.tokens_after
        if hold.window and proposal.tokens_before >= hold.window:
            return "" if freed > 0 else "the compaction would free nothing"
        if freed < max(1, WORTH * could):
            return f"the compaction would free only {freed:,} tokens"
        left = self._left.get(hold.thread)
        # Fewer tokens than the cut left mean that the client has compacted since.
        if left is not None:
            left = self._left[hold.thread] = min(left, proposal.tokens_before)
        if left is not None and proposal.tokens_before - left < GROWN * (hold.window or left):
            return f"the last compaction left {left:,} tokens, and too little was added since"
        return ""

    def keep(self, hold: HoldInfo, proposal: Proposal) -> None:
        """Record that the proposal was forwarded: the policy continues from it in that conversation."""
        self._running[hold.thread] = proposal.running
        if proposal.after is not None:
            self._left[hold.thread] = proposal.tokens_after


def _find_new_problems(before: Buffer, after: Buffer) -> list[str]:
    """Return the rules that a provider refuses in `after` but not in `before`."""
    old = {problem.rule for problem in find_refusals(before)}
    return sorted({problem.rule for problem in find_refusals(after)} - old)


def _refuse_first_turn(buffer: Buffer, tokens: int) -> Proposal:
    """Return a proposal that changes nothing, because the model has not answered yet."""
    why = "the model has not answered yet: there is no turn to compact"
    return Proposal(buffer, tokens, why=why)


def count_fates(all_fates: Iterable[Fate]) -> tuple[str, ...]:
    """Return how many messages of each kind have which fate, without kept messages: `8 results cleared`."""
    counts: Counter[tuple[FateName, str]] = Counter()
    for fate in all_fates:
        message = fate.before or fate.after
        if fate.name != "kept" and message is not None:
            counts[fate.name, _KINDS[message.role]] += 1
    order = get_args(FateName)
    pairs = sorted(counts, key=lambda pair: (order.index(pair[0]), pair[1]))
    return tuple(f"{plural(counts[fate, kind], kind)} {fate}" for fate, kind in pairs)


_KINDS = {"user": "user message", "assistant": "answer", "tool": "result", "system": "instruction"}


def proposal_words(proposal: Proposal, window: int | None) -> str:
    """Describe a proposal in one sentence: the sizes before and after, and what is removed."""
    if proposal.after is None:
        return f"{proposal.why}; the request stays at {_size(proposal.before, proposal.tokens_before, window)}"
    before = _size(proposal.before, proposal.tokens_before, window)
    after = _size(proposal.after, proposal.tokens_after, window)
    return f"{before} -> {after}: {', '.join(proposal.gone)}"


def _size(buffer: Buffer, tokens: int, window: int | None) -> str:
    share = f" ({per_cent(tokens / window)} of the window)" if window else ""
    return f"{plural(len(buffer.messages), 'message')}, {plural(tokens, 'token')}{share}"
