"""Run a tier manually, from its first need to the resulting step.

A tier may wait for an answer while the user looks around, edits the need, or fails it. The conversation is a generator
and cannot be copied; it is held here until it ends or is cancelled. The resulting step is an immutable value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspector.core.answering import AnsweredNeed, Answerer
from inspector.core.buffer import Buffer
from inspector.core.needs import Answer, Conversation, Failure, Need
from inspector.core.outcome import Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import Policy
from inspector.core.policies.instructions import acting
from inspector.core.validity import TIER, repair
from inspector.extensions.policies import find_policy
from inspector.workbench.edits import EDIT, Edit, apply, described
from inspector.workbench.steps import RecordedCall, Step, name_step

DUE = ""
"""Name, used like a tier's, for running all due tiers in the policy's own order."""
REPAIR = TIER
"""Name of the workbench's own repair step, which is not a tier of the harness."""
TURN = "turn"
"""Name of the step for a whole turn: what the harness does before a model call, the recorded call, and what it does
after it.
"""
CALL = "call"
"""Name of the outcome in the middle of a turn: the messages that the recorded call added."""


@dataclass
class TierRun:
    """A running tier. `need` is the need that it waits for; `step` is set when it has ended."""

    policy: Policy[Any, Any]
    tier: str
    context: PolicyContext[Any, Any]
    """The buffer and what the policy knew when the tier started."""
    talk: Conversation[Any]
    called: RecordedCall | None = None
    edit: Edit | None = None
    need: Need | None = None
    step: Step | None = None
    asked: list[AnsweredNeed] = field(default_factory=list)

    def answer(self, reply: Answer | Failure) -> None:
        """Answer the pending need, and run to the next need or to the end."""
        need = self.need
        if need is None:
            return
        self.asked.append(AnsweredNeed(need, reply))
        try:
            self.need = (
                self.talk.throw(reply) if isinstance(reply, Failure) else self.talk.send(reply)
            )
        except StopIteration as finished:
            self._end(finished.value)

    def start(self) -> None:
        """Run to the first need; a tier without needs runs to the end."""
        try:
            self.need = next(self.talk)
        except StopIteration as finished:
            self._end(finished.value)

    def give_up(self) -> None:
        """End the conversation without a step."""
        self.talk.close()
        self.need = None

    def _end(self, value: Any) -> None:
        outcomes: tuple[Outcome[Any], ...] = value if isinstance(value, tuple) else (value,)
        self.need = None
        name = name_step(self.tier, outcomes) if self.edit is None else described(self.edit)
        settings = self.context.settings
        moment = self.context.moment
        asked = tuple(self.asked)
        self.step = Step(
            name,
            self.tier,
            parent=-1,
            settings=settings,
            moment=moment,
            outcomes=outcomes,
            asked=asked,
            called=self.called,
            edit=self.edit,
        )


def begin(
    policy: Policy[Any, Any],
    tier: str,
    context: PolicyContext[Any, Any],
    called: RecordedCall | None = None,
    edit: Edit | None = None,
) -> TierRun:
    """Start a tier on a buffer. Raises InspectorError for an unknown tier.

    `tier` may also be DUE or REPAIR, or TURN with the recorded call as `called`. With an `edit`, it is ignored.
    """
    buffer = context.buffer
    running = context.running
    policy = acting(policy, context)
    talk: Conversation[Any]
    if edit is not None:
        talk = _wrap_simple_step(lambda: apply(edit, buffer, running))
    elif tier == DUE:
        talk = policy.run_due(context)
    elif tier == REPAIR:
        talk = _wrap_simple_step(lambda: repair(buffer, running))
    elif tier == TURN:
        talk = turn(policy, context, called or RecordedCall())
    else:
        talk = policy.tier(tier, context)
    started = TierRun(
        policy, tier=EDIT if edit else tier, context=context, talk=talk, called=called, edit=edit
    )
    started.start()
    return started


def turn(
    policy: Policy[Any, Any], context: PolicyContext[Any, Any], called: RecordedCall
) -> Conversation[tuple[Outcome[Any], ...]]:
    """Run a whole turn around a recorded call.

    The call's reported tokens calibrate the policy only if no tier changed the buffer before the call.
    """
    before: Sequence[Outcome[Any]] = yield from policy.before_call(context)
    sent = context.after(*before)
    if called.usage is not None and sent.buffer is context.buffer:
        raw, _ = policy.measure(sent)
        sent = sent.with_running(
            policy.learn(sent.running, sent.settings, raw, called.usage.prompt)
        )
    grown = sent.with_messages((*sent.messages, *called.messages))
    usage = called.usage or context.moment.usage
    finish = called.finish or context.moment.finish
    after: Sequence[Outcome[Any]] = yield from policy.after_turn(
        grown.with_moment(usage=usage, finish=finish)
    )
    return (*before, Outcome(CALL, grown.buffer, grown.running), *after)


def _wrap_simple_step(step: Callable[[], Outcome[Any]]) -> Conversation[Outcome[Any]]:
    """Wrap a step without needs as a conversation. InspectorError is raised when it starts if something is missing."""
    yield from ()
    return step()


def complete(running: TierRun, answerer: Answerer) -> Step:
    """Have one answerer answer all remaining needs, and return the step."""
    while running.need is not None:
        try:
            reply: Answer | Failure = answerer(running.need)
        except Failure as failure:
            reply = failure
        running.answer(reply)
    assert running.step is not None
    return running.step


class ExternalNeed(TierRun):
    """A need of a live run that the user answers in the stepper.

    The single reply is passed to `reply`. Giving up passes nothing: the need stays open in the run.
    """

    def __init__(
        self, who: str, policy_name: str, need: Need, reply: Callable[[Answer | Failure], None]
    ) -> None:
        nothing = PolicyContext(Buffer(()), settings=None, running=None)
        super().__init__(
            find_policy(policy_name),
            who,
            nothing,
            _wrap_simple_step(lambda: nothing.unchanged(who)),
        )
        self.need = need
        self._reply = reply

    def answer(self, reply: Answer | Failure) -> None:
        """Pass on the reply; later replies are ignored."""
        if self.need is not None:
            self.need = None
            self._reply(reply)
