"""Keep the client's instructions in a buffer that a proxy forwards, whatever the policy does.

Such instructions are messages that other clients send in the system prompt: system messages, and messages before the
first answer that the client wrote with the role of the user (AGENTS.md, reminders). Window, commands and proxy use
`acting` for such a buffer, so that they show and send the same.
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
    """Return the policy, wrapped in `InstructionKeeper` if the client keeps its instructions in messages."""
    if isinstance(policy, InstructionKeeper) or not context.moment.keeps_instructions:
        return policy
    return InstructionKeeper(policy)


class InstructionKeeper(Policy[Any, Any]):
    """Wraps a policy: shows it the instructions as part of the system prompt, and restores them in its outcomes."""

    def __init__(self, inner: Policy[Any, Any]) -> None:
        self._inner = inner
        self.name = inner.name
        self.title = inner.title
        self.source = inner.source
        self.tiers = inner.tiers
        self.settings_type, self.state_type = inner.settings_type, inner.state_type
        self.prompt_estimator = inner.prompt_estimator
        self.samples = inner.samples
        self.keeps_first = inner.keeps_first
        self.estimates_after_compaction = inner.estimates_after_compaction
        self.memory_setting = inner.memory_setting

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
        (completed,) = self._completed(context, (outcome,))
        return completed

    def before_call(self, context: AnyContext) -> AllDone[Any]:
        return self._completed(context, (yield from self._inner.before_call(self._bare(context))))

    def after_turn(self, context: AnyContext) -> AllDone[Any]:
        return self._completed(context, (yield from self._inner.after_turn(self._bare(context))))

    def run_due(self, context: AnyContext) -> AllDone[Any]:
        return self._completed(context, (yield from self._inner.run_due(self._bare(context))))

    def _bare(self, context: AnyContext) -> AnyContext:
        """Return the context with the instructions moved into the prompt. The harness's own count does not change."""
        bare = without_instructions(context.buffer)
        estimator = self.prompt_estimator
        if estimator is None or bare is context.buffer:
            return context.with_buffer(bare)
        whole_tokens = buffer_tokens(estimator, context.messages, context.buffer.prompt)
        missing_tokens = whole_tokens - buffer_tokens(estimator, bare.messages, bare.prompt)
        prompt = replace(bare.prompt, unseen=bare.prompt.unseen + missing_tokens)
        return context.with_buffer(Buffer(bare.messages, prompt))

    def _completed(
        self, context: AnyContext, outcomes: Sequence[Outcome[Any]]
    ) -> tuple[Outcome[Any], ...]:
        """Return the outcomes with the instructions restored in their buffers."""
        bare = without_instructions(context.buffer).messages
        completed: list[Outcome[Any]] = []
        for outcome in outcomes:
            is_changed = outcome.buffer.messages != bare
            buffer = (
                with_instructions(context.buffer, outcome.buffer) if is_changed else context.buffer
            )
            completed.append(replace(outcome, buffer=buffer))
        return tuple(completed)


def without_instructions(buffer: Buffer) -> Buffer:
    """Return the messages that a policy may change, with the instructions moved into the system prompt."""
    instructions = _instructions(buffer.messages)
    if not instructions:
        return buffer
    texts = [buffer.prompt.system or ""]
    texts += [message.text for message in buffer.messages if message.id in instructions]
    rest = tuple(message for message in buffer.messages if message.id not in instructions)
    prompt = replace(buffer.prompt, system="\n\n".join(filter(None, texts)))
    return Buffer(rest, prompt)


def with_instructions(before: Buffer, after: Buffer) -> Buffer:
    """Restore the instructions in `after`, which was made from `without_instructions(before)`.

    Each instruction follows the same message as in `before`. If all messages before an instruction were removed, the
    instruction follows their replacement.
    """
    instructions = _instructions(before.messages)
    if not instructions:
        return after
    old_ids = {message.id for message in before.messages}
    leading, following = _anchor_instructions(
        before, instructions, {message.id for message in after.messages}
    )
    new = tuple(takewhile(lambda message: message.id not in old_ids, after.messages))
    merged: list[Message] = []
    for message in after.messages[len(new) :]:
        merged.append(message)
        merged += following.get(message.id, ())
    return Buffer((*leading, *new, *following.get("", ()), *merged), before.prompt)


def _anchor_instructions(
    before: Buffer, instructions: set[str], remaining: set[str]
) -> tuple[list[Message], dict[str, list[Message]]]:
    """Return (instructions at the beginning, other instructions by id of the remaining message that they follow)."""
    leading: list[Message] = []
    following: dict[str, list[Message]] = {}
    anchor = ""
    is_leading = True
    for message in before.messages:
        if message.id not in instructions:
            is_leading = False
            if message.id in remaining:
                anchor = message.id
        elif is_leading:
            leading.append(message)
        else:
            following.setdefault(anchor, []).append(message)
    return leading, following


def _instructions(messages: Sequence[Message]) -> set[str]:
    opening = takewhile(lambda message: message.role != "assistant", messages)
    by_client = {message.id for message in opening if _is_by_client(message)}
    return {message.id for message in messages if message.role == "system"} | by_client


def _is_by_client(message: Message) -> bool:
    """Did the client, not the user, write the whole message, although its role is user?"""
    if message.role != "user" or not message.parts:
        return False
    if not all(isinstance(part, Text) for part in message.parts):
        return False
    return mark_of(item=None, role="user", parts=message.parts) == "meta" or all(
        map(is_reminder, message.parts)
    )
