"""One turn of any policy, and who watches it: told before anything happens, able to change what it happens to."""

from dataclasses import replace
from typing import Any

import pytest

from inspector.core.answering import offline
from inspector.core.buffer import Buffer
from inspector.core.message import ToolCall
from inspector.core.needs import (
    Answer,
    AskModel,
    ContextWindowExceeded,
    Failure,
    Need,
    ProviderFailure,
    RunTools,
    drive,
)
from inspector.core.outcome import Outcome
from inspector.core.policies.catalogue import POLICIES, TITLES
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import SimplePolicy, SimpleSettings, SimpleState
from inspector.core.policies.roku import POLICY as ROKU
from inspector.core.policies.roku.settings import raw_tokens
from inspector.core.policies.turn import TurnContext, TurnResult
from inspector.core.policies.verdict import PolicyInput, Verdict
from inspector.core.usage import Usage
from tests.core.policies.build import assistant, buffer, build, plain, result, user


class World:
    """A model that says what is written down, and tools that answer with their own name."""

    def __init__(self, *replies: Answer | Failure) -> None:
        self.replies = list(replies)
        self.sent: list[Buffer] = []

    def __call__(self, need: Need) -> Answer:
        match need:
            case AskModel(sent):
                self.sent.append(sent)
                reply = self.replies.pop(0)
                if isinstance(reply, Failure):
                    raise reply
                return reply
            case RunTools(calls):
                return Answer(messages=tuple(result(call.id, call.name) for call in calls))
            case _:
                return offline(need)


class Looker:
    """A watch that writes down what it is told, and does something the first time it is told this."""

    def __init__(self, what: str = "", change: Any = None) -> None:
        self.told: list[str] = []
        self.what, self.change = what, change

    def _tell(self, what: str, context: TurnContext[Any, Any]) -> None:
        self.told.append(what)
        if what == self.what and self.change is not None:
            change, self.change = self.change, None
            change(context)

    def before_tier(self, context: TurnContext[Any, Any], verdict: Verdict) -> None:
        assert verdict.due
        self._tell(f"tier {verdict.tier}", context)

    def outcome(self, context: TurnContext[Any, Any], outcome: Outcome[Any]) -> None:
        if outcome.changed:
            self._tell(f"did {outcome.tier}", context)

    def before_call(self, context: TurnContext[Any, Any]) -> None:
        self._tell("call", context)

    def before_tools(self, context: TurnContext[Any, Any], calls: tuple[ToolCall, ...]) -> None:
        self._tell(f"tools {','.join(call.name for call in calls)}", context)


def said(text: str, *calls: str, prompt: int = 1_000, finish: str = "stop") -> Answer:
    message = assistant(text, *((f"call-{text}-{name}", name, {}) for name in calls))
    return Answer(text, (message,), Usage(input=prompt, output=5), finish)


def play(
    name: str,
    start: Buffer,
    world: World,
    watch: Looker | None = None,
    window: int = 100_000,
    **more: Any,
) -> TurnResult[Any]:
    policy = POLICIES[name]
    settings = policy.settings([], window)
    context = PolicyContext(start, settings, policy.fresh(settings), PolicyInput(**more))
    return drive(policy.turn(TurnContext(context, watch)), world)


@pytest.mark.parametrize("name", TITLES)
def test_a_turn_is_a_call_with_its_tools(name: str) -> None:
    watch, world = Looker(), World(said("one", "read", "grep"))
    turn = play(name, buffer(user("Look.")), world, watch)
    assert (turn.error, turn.done) == ("", False)
    assert [one.role for one in turn.buffer.messages] == ["user", "assistant", "tool", "tool"]
    assert watch.told == ["call", "tools read,grep"]


@pytest.mark.parametrize("name", TITLES)
def test_an_answer_without_calls_is_the_last(name: str) -> None:
    turn = play(name, buffer(user("Look.")), World(said("Done.")))
    assert turn.done
    assert turn.answer is not None


@pytest.mark.parametrize("name", TITLES)
def test_a_failure_of_the_model_is_the_turns_error(name: str) -> None:
    turn = play(name, buffer(user("Look.")), World(ProviderFailure("no", 403)))
    assert turn.error == "no"
    assert not turn.done
    assert [one.role for one in turn.buffer.messages] == ["user"]


@pytest.mark.parametrize("name", TITLES)
def test_an_overflow_is_reacted_to_once_at_most(name: str) -> None:
    """And never again and again: a turn ends, whatever the model says."""
    start = plain(41, "x" * 4_000)
    world = World(*[ContextWindowExceeded("prompt is too long")] * 9)
    turn = play(name, start, world)
    assert turn.error
    assert len(world.sent) <= 2
    if len(world.sent) == 2:
        assert len(world.sent[1].messages) < len(world.sent[0].messages)


@pytest.mark.parametrize("name", TITLES)
def test_what_the_watch_puts_in_is_what_is_sent_and_learned_from(name: str) -> None:
    """The calibration's sample is (raw estimate of what went out, what was reported for it)."""
    edited = buffer(user("Something else entirely. " * 40))

    def change(context: TurnContext[Any, Any]) -> None:
        context.buffer = edited

    policy, world = POLICIES[name], World(said("Done.", prompt=777))
    turn = play(name, buffer(user("Look.")), world, Looker("call", change))
    assert world.sent == [edited]
    assert turn.buffer.messages[:-1] == edited.messages
    settings = policy.settings([], 100_000)
    estimated, _ = policy.measure(PolicyContext(edited, settings, policy.fresh(settings)))
    learned = policy.learn(policy.fresh(settings), settings, estimated, 777)
    if name == "roku":
        assert turn.running.calibration == learned.calibration
        assert turn.running.calibration.samples == ((raw_tokens(edited), 777),)
    elif name not in ("pi", "pulse"):  # they learn nothing, and note which messages they saw
        assert turn.running == learned


def test_a_watch_may_end_the_turn_where_it_is() -> None:
    class Enough(Exception):
        pass

    def stop(context: TurnContext[Any, Any]) -> None:
        raise Enough

    with pytest.raises(Enough):
        play("roku", buffer(user("Look.")), World(), Looker("call", stop))


def test_each_tier_of_roku_is_announced_before_it_fires() -> None:
    watch = Looker()
    world = World(ContextWindowExceeded("too long"), said("one", "read", prompt=9_000))
    play("roku", build(12, "x" * 4_000), world, watch, window=12_000)
    assert watch.told == ["tier L0", "did L0", "call", "tier L4", "did L4", "call", "tools read"]
    watch = Looker()
    play("roku", plain(20, "x" * 2_000), World(said("Done.", prompt=9_000)), watch, window=12_000)
    assert watch.told[:3] == ["tier L1", "did L1", "call"]
    watch = Looker()
    play("roku", plain(40, "x" * 2_000), World(said("Done.", prompt=19_000)), watch, window=24_000)
    assert watch.told == ["tier L1", "did L1", "call", "tier L3b", "did L3b"]


def test_a_tier_that_is_not_due_any_more_does_not_run() -> None:
    def drop(context: TurnContext[Any, Any]) -> None:
        context.buffer = context.buffer.with_messages(context.buffer.messages[:1])

    watch, world = Looker("tier L1", drop), World(said("Done.", prompt=10))
    turn = play("roku", plain(20, "x" * 2_000), world, watch, window=12_000)
    assert watch.told == ["tier L1", "call"]
    assert len(world.sent[0].messages) == 1
    assert turn.done


def test_a_tier_behind_a_turn_is_announced_there() -> None:
    """opencode prunes after the turn, whatever the size of the buffer."""
    policy = POLICIES["opencode"]
    assert [one.name for one in policy.tiers if one.after_turn] == ["prune"]
    watch = Looker()
    start = build(9, "word " * 20_000)
    turns = [user("And now?"), assistant("Well."), user("And now?")]
    play(
        "opencode",
        start.with_messages((*start.messages, *turns)),
        World(said("Done.")),
        watch,
        window=10_000_000,
    )
    assert watch.told == ["call", "tier prune", "did prune"]


class Own(SimplePolicy[SimpleSettings]):
    """A policy of somebody's own: halves the buffer when the model refuses it."""

    name = "own"
    title = "Own"
    settings_type = SimpleSettings

    def watermarks(self, settings: SimpleSettings) -> tuple[Any, ...]:
        return ()

    def due(self, context: PolicyContext[SimpleSettings, SimpleState]) -> tuple[Verdict, ...]:
        return ()

    def before_call(self, context: PolicyContext[SimpleSettings, SimpleState]) -> Any:
        yield from ()
        if not context.moment.overflow:
            return ()
        buffer, running = context.buffer, context.running
        half = buffer.with_messages(buffer.messages[len(buffer.messages) // 2 :])
        return (Outcome("half", half, replace(running, failures=running.failures + 1)),)


def test_a_policy_of_ones_own_has_a_turn_without_writing_one() -> None:
    policy, world = Own(), World(ContextWindowExceeded("too long"), said("Done.", prompt=500))
    settings = policy.settings()
    context = PolicyContext(plain(8), settings, policy.fresh(settings))
    turn = drive(policy.turn(TurnContext(context)), world)
    assert [len(one.messages) for one in world.sent] == [8, 4]
    assert turn.done
    assert turn.running.reported == 500
    assert turn.running.failures == 1


def test_a_turn_without_a_watch_is_the_same_turn() -> None:
    start = build(12, "x" * 4_000)
    turns = []
    for watch in (None, Looker()):
        settings = ROKU.settings([], 12_000)
        context = PolicyContext(start, settings, ROKU.fresh(settings))
        turns.append(drive(ROKU.turn(TurnContext(context, watch)), World(said("Done."))))
    assert turns[0].events == turns[1].events
    assert [len(one.buffer.messages) for one in turns] == [len(turns[0].buffer.messages)] * 2
