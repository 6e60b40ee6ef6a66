"""What a policy may touch of a buffer that a proxy forwards: the client's instructions among the messages stay.

They are what other clients send as the system prompt: items of the system, and what the client wrote in the user's name
before the first answer (AGENTS.md, reminders). Window, commands and proxy act on such a buffer through `acting`, so
that they show and send the same.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.formats.codex.calls import mark_of
from inspector.core.identity import is_reminder
from inspector.core.message import Message, Text
from inspector.core.outcome import Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import Policy
from inspector.core.policies.settings import SettingPairs
from inspector.core.policies.turn import AllDone, Done
from inspector.core.policies.verdict import BreakerState, Verdicts, Watermark
from inspector.core.tokens.estimators import buffer_tokens

AnyContext = PolicyContext[Any, Any]


def acting(policy: Policy[Any, Any], context: AnyContext) -> Policy[Any, Any]:
    """The policy as it acts on this buffer: it leaves the instructions where they are, if the buffer's sender does."""
    if isinstance(policy, InstructionKeeper) or not context.moment.keeps_instructions:
        return policy
    return InstructionKeeper(policy)


class InstructionKeeper(Policy[Any, Any]):
    """A policy that is given the instructions as part of the system prompt, and whose outcomes get them back."""

    def __init__(self, inner: Policy[Any, Any]) -> None:
        self._inner = inner
        self.name, self.title, self.source, self.tiers = inner.name, inner.title, inner.source, inner.tiers
        self.settings_type, self.state_type = inner.settings_type, inner.state_type
        self.prompt_estimator, self.samples, self.keeps_first = inner.prompt_estimator, inner.samples, inner.keeps_first
        self.estimates_after_compaction, self.memory_setting = inner.estimates_after_compaction, inner.memory_setting

    def settings(self, values: Sequence[tuple[str, str]] = (), window: int | None = None) -> Any:
        return self._inner.settings(values, window)

    def of_client(self, client: str) -> SettingPairs:
        return self._inner.of_client(client)

    def fresh(self, settings: Any) -> Any:
        return self._inner.fresh(settings)

    def load(self, settings: Any, data: Any) -> Any:
        return self._inner.load(settings, data)

    def dump(self, running: Any) -> dict[str, Any]:
        return self._inner.dump(running)

    def learn(self, running: Any, settings: Any, estimated: int, reported: int) -> Any:
        return self._inner.learn(running, settings, estimated, reported)

    def calibrated(self, running: Any, settings: Any, samples: Sequence[tuple[int, int]]) -> Any:
        return self._inner.calibrated(running, settings, samples)

    def watermarks(self, settings: Any) -> tuple[Watermark, ...]:
        return self._inner.watermarks(settings)

    def breaker(self, context: AnyContext) -> BreakerState | None:
        return self._inner.breaker(self._bare(context))

    def measure(self, context: AnyContext) -> tuple[int, int]:
        return self._inner.measure(self._bare(context))

    def due(self, context: AnyContext) -> Verdicts:
        return self._inner.due(self._bare(context))

    def tier(self, name: str, context: AnyContext) -> Done[Any]:
        outcome = yield from self._inner.tier(name, self._bare(context))
        return self._completed(context, (outcome,))[0]

    def before_call(self, context: AnyContext) -> AllDone[Any]:
        return self._completed(context, (yield from self._inner.before_call(self._bare(context))))

    def after_turn(self, context: AnyContext) -> AllDone[Any]:
        return self._completed(context, (yield from self._inner.after_turn(self._bare(context))))

    def run_due(self, context: AnyContext) -> AllDone[Any]:
        return self._completed(context, (yield from self._inner.run_due(self._bare(context))))

    def _bare(self, context: AnyContext) -> AnyContext:
        """The context without the instructions. What a harness that counts its prompt measures does not change."""
        bare, by = without_instructions(context.buffer), self.prompt_estimator
        if by is None or bare is context.buffer:
            return context.with_buffer(bare)
        whole = buffer_tokens(by, context.messages, context.buffer.prompt)
        lacking = whole - buffer_tokens(by, bare.messages, bare.prompt)
        prompt = replace(bare.prompt, unseen=bare.prompt.unseen + lacking)
        return context.with_buffer(Buffer(bare.messages, prompt))

    def _completed(self, context: AnyContext, outcomes: Sequence[Outcome[Any]]) -> tuple[Outcome[Any], ...]:
        """The outcomes with the instructions in their buffers; a buffer that did not change is that of the context."""
        bare, found = without_instructions(context.buffer).messages, list[Outcome[Any]]()
        for outcome in outcomes:
            is_changed = outcome.buffer.messages != bare
            buffer = with_instructions(context.buffer, outcome.buffer) if is_changed else context.buffer
            found.append(replace(outcome, buffer=buffer))
        return tuple(found)


def without_instructions(buffer: Buffer) -> Buffer:
    """What a policy may touch, under a system prompt that holds the rest."""
    instructions = _instructions(buffer.messages)
    if not instructions:
        return buffer
    texts = [buffer.prompt.system or "", *(message.text for message in buffer.messages if message.id in instructions)]
    prompt = replace(buffer.prompt, system="\n\n".join(text for text in texts if text))
    return Buffer(tuple(message for message in buffer.messages if message.id not in instructions), prompt)


def with_instructions(before: Buffer, after: Buffer) -> Buffer:
    """What a policy made of `without_instructions(before)`, as it is sent: each instruction after the same message as
    before. Where all before it is gone it follows what was put in their place, so that nothing else comes to begin the
    conversation.
    """
    instructions = _instructions(before.messages)
    if not instructions:
        return after
    old, stay = {message.id for message in before.messages}, {message.id for message in after.messages}
    front: list[Message] = []
    behind: dict[str, list[Message]] = {}
    place, is_first = "", True
    for message in before.messages:
        if message.id in instructions:
            (front if is_first else behind.setdefault(place, [])).append(message)
            continue
        is_first = False
        place = message.id if message.id in stay else place
    new = tuple(takewhile(lambda message: message.id not in old, after.messages))
    woven = list[Message]()
    for message in after.messages[len(new) :]:
        woven += [message, *behind.get(message.id, ())]
    return Buffer((*front, *new, *behind.get("", ()), *woven), before.prompt)


def _instructions(messages: Sequence[Message]) -> set[str]:
    opening = takewhile(lambda message: message.role != "assistant", messages)
    by_client = {message.id for message in opening if _is_by_client(message)}
    return {message.id for message in messages if message.role == "system"} | by_client


def _is_by_client(message: Message) -> bool:
    """Did the client write all of it in the user's name?"""
    if message.role != "user" or not message.parts:
        return False
    if not all(isinstance(part, Text) for part in message.parts):
        return False
    return mark_of(None, "user", message.parts) == "meta" or all(map(is_reminder, message.parts))
