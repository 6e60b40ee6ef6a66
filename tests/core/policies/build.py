"""The notation of the conformance cases: U, A, T; a script of answers; turns played to the end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from inspector.core.buffer import Buffer, Prompt
from inspector.core.message import Json, Message, Text, ToolCall, ToolResult
from inspector.core.needs import Answer, Failure, Need, ProviderFailure, drive
from inspector.core.outcome import Event, Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import Policy, SimpleState
from inspector.core.policies.replacements import PLACEHOLDER
from inspector.core.policies.turn import TurnContext, TurnResult
from inspector.core.policies.verdict import PolicyInput

_ids: Iterator[int] = count()


def user(text: str) -> Message:
    return Message(f"u{next(_ids)}", "user", (Text(text),))


def assistant(text: str, *calls: tuple[str, str, Json]) -> Message:
    parts = (Text(text),) if text else ()
    return Message(f"a{next(_ids)}", "assistant", (*parts, *(ToolCall(*call) for call in calls)))


def result(call_id: str, content: str, error: bool = False) -> Message:
    return Message(f"t{next(_ids)}", "tool", (ToolResult(call_id, content, error),))


def buffer(*messages: Message, system: str | None = None) -> Buffer:
    return Buffer(messages, Prompt(system))


def build(k: int, body: str) -> Buffer:
    """Build(k, body) of the L0 cases."""
    messages = [user("initial goal")]
    for i in range(k):
        messages.append(
            assistant(f"calling tool {i}", (f"tc-{i}", "Bash", {"command": f"echo {i}"}))
        )
        messages.append(result(f"tc-{i}", body))
    return buffer(*messages)


def conv(k: int) -> Buffer:
    """conv(k) of the mid tier cases."""
    messages = [user("initial goal")]
    for i in range(k):
        messages += [assistant(f"assistant turn {i}"), user(f"user reply {i}")]
    return buffer(*messages)


def plain(n: int, text: str = "x" * 400) -> Buffer:
    """n messages U/A alternating; plain(10) is B10."""
    return buffer(*(user(text) if i % 2 == 0 else assistant(text) for i in range(n)))


class Script:
    """Answers needs in order, and remembers them. When it runs out, a need fails as a provider failure."""

    def __init__(self, *replies: str | Answer | Failure) -> None:
        self.replies = list(replies)
        self.needs: list[Need] = []

    def __call__(self, need: Need) -> Answer:
        self.needs.append(need)
        if not self.replies:
            raise ProviderFailure("no more answers")
        reply = self.replies.pop(0)
        if isinstance(reply, Failure):
            raise reply
        return Answer(text=reply) if isinstance(reply, str) else reply


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.result.content if message.result else message.text for message in messages]


@dataclass
class AgentLoop:
    """Turns of a policy until the model stops, and what came of them."""

    buffer: Buffer
    running: Any
    outcomes: list[Outcome[Any]] = field(default_factory=list)
    text: str = ""
    error: str = ""

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(event for outcome in self.outcomes for event in outcome.events)


def play_turn(
    policy: Policy[Any, Any],
    start: Buffer,
    world: Any,
    settings: Any,
    running: Any = None,
    **more: Any,
) -> TurnResult[Any]:
    """One turn, as the agent runs it."""
    running = policy.fresh(settings) if running is None else running
    return drive(
        policy.turn(TurnContext(PolicyContext(start, settings, running, PolicyInput(**more)))),
        world,
    )


def play_loop(
    policy: Policy[Any, Any], start: Buffer, world: Any, settings: Any, **more: Any
) -> AgentLoop:
    """Turn after turn until the model stops or a turn fails."""
    loop = AgentLoop(start, policy.fresh(settings))
    while True:
        turn = play_turn(policy, loop.buffer, world, settings, loop.running, **more)
        loop.buffer, loop.running, loop.error = turn.buffer, turn.running, turn.error
        loop.outcomes += turn.outcomes
        if turn.done or turn.error:
            if turn.answer is not None:
                loop.text = "\n".join(one.text for one in turn.answer.messages) or turn.answer.text
            return loop


def run(
    policy: Policy[Any, Any],
    tier: str,
    before: Buffer,
    script: Script | None = None,
    window: int = 200_000,
    moment: PolicyInput | None = None,
    **values: object,
) -> Outcome[Any]:
    settings = policy.settings([(key, str(value)) for key, value in values.items()], window)
    answer = script or Script()
    context = PolicyContext(before, settings, policy.fresh(settings), moment or PolicyInput())
    return drive(policy.tier(tier, context), answer)


def before_call(
    policy: Policy[Any, Any],
    before: Buffer,
    script: Script | None = None,
    window: int = 200_000,
    running: SimpleState | None = None,
    overflow: str = "",
    **values: object,
) -> tuple[Outcome[Any], ...]:
    settings = policy.settings([(key, str(value)) for key, value in values.items()], window)
    start = running or policy.fresh(settings)
    talk = policy.before_call(
        PolicyContext(before, settings, start, PolicyInput(overflow=overflow))
    )
    return drive(talk, script or Script())


def cleared(outcome: Outcome[Any]) -> list[int]:
    return [n for n, text in enumerate(texts(outcome.buffer.messages)) if text == PLACEHOLDER]
