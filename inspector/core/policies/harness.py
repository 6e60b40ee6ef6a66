"""What a policy is: a harness's way to compact, as settings, verdicts and tiers; and the turn of its agent.

Settings are a frozen dataclass (the settings form and `--set` are built from its fields). Running state is a value
that goes in and comes out. `due` explains every tier, fired or not, as data. A tier is a conversation (`core.needs`).

`Policy` is the base of all. `SimplePolicy` is enough for most: it knows the size of a buffer as most harnesses do, by
what the provider reported last and an estimate of what came and went since.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, Literal, TypeVar

from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Json
from inspector.core.needs import Answer, ContextWindowExceeded, Conversation, Failure
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.settings import (
    DERIVED,
    SettingPairs,
    WindowFrom,
    describe_window,
    read_settings,
    setting,
    window_setting,
)
from inspector.core.policies.turn import AllDone, Done, TurnContext, TurnResult, calls_of
from inspector.core.policies.verdict import (
    BreakerState,
    CallReport,
    TierName,
    Verdict,
    Verdicts,
    Watermark,
)
from inspector.core.tokens.calibration import MAX_SAMPLES
from inspector.core.tokens.estimator import Estimator
from inspector.core.tokens.estimators import buffer_tokens
from inspector.core.tokens.harnesses import Pi
from inspector.core.validity import repair
from inspector.core.words import per_cent

S = TypeVar("S")
R = TypeVar("R")


class Policy(Generic[S, R]):
    """One harness. Stateless: all state goes in and comes out.

    A subclass has `name`, `title`, the types of its settings and its state, `measure`; and where it has `tiers`, also
    `watermarks`, `due`, `tier` and `before_call`.
    """

    name: str
    title: str
    source: str = ""
    """The Python file that it was loaded from; empty for one that is known by its name."""
    tiers: Sequence[TierName] = ()
    settings_type: type[S]
    state_type: type[R]
    prompt_estimator: Estimator | None = None
    """By what the harness counts its own system prompt and calibrates the whole: on a recorded session the part that
    the transcript does not hold then takes part in its measure (`Prompt.unseen`). None: it counts messages alone, or
    goes by what was reported."""
    samples: int = MAX_SAMPLES
    """How many of the newest reports it remembers, at most."""
    keeps_first = False
    """It remembers the first report of a session, too."""
    estimates_after_compaction = False
    """After a compaction it goes by an estimate of the new buffer until the next report, not by what it has learned."""
    memory_setting: tuple[str, str] | None = None
    """The setting, with its value, by which a tier has a summary made where none is at hand (`PolicyInput.summary`)."""

    @property
    def reference(self) -> str:
        """What names it on every face: its file, else its name."""
        return self.source or self.name

    # settings and state

    def settings(self, values: Sequence[tuple[str, str]] = (), window: int | None = None) -> S:
        """Settings from `KEY=VALUE` pairs, by the harness's own spelling or snake_case, case ignored.

        `window`: that of the session's model, which most harnesses follow. Raises InspectorError with a sentence for an
        unknown key or a value outside its hard limits.
        """
        return read_settings(self.settings_type(), values, window, follows=True)

    def of_client(self, client: str) -> SettingPairs:
        """Settings that follow from the program that wrote the session, with its version (`Session.client`)."""
        return ()

    def fresh(self, settings: S) -> R:
        """Running state at the start of a session."""
        return self.state_type()

    def load(self, settings: S, data: Json) -> R:
        """Running state from its JSON; what is missing is as at the start. Raises InspectorError."""
        if not isinstance(data, Mapping):
            raise InspectorError("The state file must hold a JSON object, as --save-state writes it.")
        try:
            return self.parsed(data)
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise InspectorError(f"The state file cannot be read: {error}.") from None

    def parsed(self, data: Mapping[str, Any]) -> R:
        """The state that the object holds. Raises TypeError, ValueError, AttributeError or KeyError."""
        start = asdict(self.state_type())  # type: ignore[call-overload]
        found = {name: data.get(name, value) for name, value in start.items()}
        wanted = {str: "a text", bool: "true or false"}
        for name, value in found.items():
            if type(value) is not type(start[name]) or (isinstance(value, int) and value < 0):
                raise ValueError(f"{name} must be {wanted.get(type(start[name]), 'a whole number')}")
        return self.state_type(**found)

    def dump(self, running: R) -> dict[str, Any]:
        """Running state as JSON, readable by `load`."""
        return asdict(running)  # type: ignore[call-overload, no-any-return]

    def learn(self, running: R, settings: S, estimated: int, reported: int) -> R:
        """Feed one (raw estimate, reported prompt tokens) pair to the calibration, where there is one."""
        return running

    def calibrated(self, running: R, settings: S, samples: Sequence[tuple[int, int]]) -> R:
        """With the calibration that is learned from these (raw estimate, reported) pairs alone. Asked only where
        `prompt_estimator` is given."""
        return running

    def breaker(self, context: PolicyContext[S, R]) -> BreakerState | None:
        """The circuit breaker; None where the harness has none."""
        return None

    # what is due

    def measure(self, context: PolicyContext[S, R]) -> tuple[int, int]:
        """(raw estimate, calibrated estimate) of the buffer, by the policy's own estimator."""
        raise NotImplementedError

    def watermarks(self, settings: S) -> tuple[Watermark, ...]:
        """The lines, lowest first."""
        return ()

    def due(self, context: PolicyContext[S, R]) -> Verdicts:
        """A verdict for every tier, in the policy's order. Pure; changes nothing."""
        return ()

    def believed(self, context: PolicyContext[S, R], verdicts: Verdicts | None = None) -> int:
        """The policy's own count of the buffer: the tokens that it compares with its lowest watermark.

        A tier without a watermark may have a limit as well, but of something else (how much of old outputs it would
        clear). Where no tier compares the buffer with a watermark: the calibrated measure. O(messages).

        Args:
            verdicts: those of `due(context)`, where the caller has them.
        """
        with_line = {tier for line in self.watermarks(context.settings) for tier in line.tiers}
        for verdict in self.due(context) if verdicts is None else verdicts:
            if verdict.tier in with_line and verdict.tokens is not None and verdict.limit is not None:
                return verdict.tokens
        return self.measure(context)[1]

    # what is done

    def tier(self, name: str, context: PolicyContext[S, R]) -> Done[R]:
        """Run one tier whether or not it is due. Raises InspectorError for an unknown name."""
        yield from ()
        raise self.unknown(name)

    def before_call(self, context: PolicyContext[S, R]) -> AllDone[R]:
        """What the harness does right before a model call, in its own order; each outcome starts from the one before.

        After an overflow (`context.moment.overflow`): what it does before it tries again.
        """
        yield from ()
        return ()

    def after_turn(self, context: PolicyContext[S, R]) -> AllDone[R]:
        """What the harness does after a model call and its tools: by default nothing."""
        yield from ()
        return ()

    def run_due(self, context: PolicyContext[S, R]) -> AllDone[R]:
        """Everything that is due on this buffer, before the call or after it, in the policy's own order.

        Never empty: where nothing is due, an outcome that changed nothing says so.
        """
        done = yield from self.before_call(context)
        if not context.moment.overflow:
            done = (*done, *(yield from self.after_turn(context.after(*done))))
        if done:
            return done
        return (context.unchanged(self.tiers[0].name if self.tiers else self.name),)

    def needs_overflow(self, tier: str) -> bool:
        """Does this tier, run by hand, have to be told that the model refused the buffer (`moment.overflow`)?"""
        return any(each.needs_overflow and each.name.lower() == tier.lower() for each in self.tiers)

    def unknown(self, tier: str) -> InspectorError:
        """The sentence for a tier that there is not."""
        names = ", ".join(each.name for each in self.tiers) or "none"
        return InspectorError(f"{self.title} has no tier {tier!r}. It has {names}.")

    # a turn of the agent: a conversation like a tier, which also yields AskModel and RunTools

    def turn(self, turn: TurnContext[S, R]) -> Conversation[TurnResult[R]]:
        """Compaction where it is due, the model, its tools, and what follows them. Never raises a Failure: it is the
        result's `error`. A harness whose turn goes otherwise replaces one of the four steps below."""
        error = yield from self.prepare(turn)
        while not error:
            try:
                reply = yield from turn.ask(turn.now.moment.max_tokens)
                answer = yield from self.accept(turn, reply)
            except Failure as failure:
                error = why = str(failure) or type(failure).__name__
                if self.is_overflow(failure):
                    error = yield from self.recover(turn, why)
                    turn.update_moment(overflow=why)
                continue
            if answer is not None:
                turn.update_moment(overflow="")
                yield from self.act(turn, answer)
                return turn.ended(answer)
        return turn.ended(error=error)

    def prepare(self, turn: TurnContext[S, R]) -> Conversation[str]:
        """Before the model is asked. The error that ends the turn; empty = go on."""
        yield from self.compact(turn)
        return ""

    def is_overflow(self, failure: Failure) -> bool:
        """Has the model refused the buffer as too long?"""
        return isinstance(failure, ContextWindowExceeded)

    def recover(self, turn: TurnContext[S, R], error: str) -> Conversation[str]:
        """The model refused the buffer: compact, once, and only where that changes the buffer is it asked again. The
        error that ends the turn; empty = ask again."""
        if turn.now.moment.overflow:
            return f"context window exceeded again after compaction: {error}"
        before = turn.buffer.messages
        turn.update_moment(overflow=error)
        yield from self.compact(turn)
        return error if turn.buffer.messages == before else ""

    def accept(self, turn: TurnContext[S, R], answer: Answer) -> Conversation[Answer | None]:
        """The answer is learned from and added. What its calls are run of; None = the model is asked again."""
        yield from ()
        if answer.usage is not None:
            estimated, _ = self.measure(turn.now)
            turn.running = self.learn(turn.running, turn.now.settings, estimated, answer.usage.prompt)
        turn.add(answer.messages)
        return answer

    def act(self, turn: TurnContext[S, R], answer: Answer) -> Conversation[None]:
        """The calls are run, and then the tiers that fire after a turn."""
        turn.add((yield from turn.run_tools(calls_of(answer))))
        upto = next((message.id for message in reversed((*turn.buffer.messages[-1:], *answer.messages))), "")
        report = CallReport(upto, answer.usage, answer.finish, turn.now.moment.model)
        turn.update_moment(usage=answer.usage, finish=answer.finish, reports=(report,) if upto else ())
        self.announce(turn, [tier.name for tier in self.tiers if tier.after_turn])
        turn.apply(*(yield from self.after_turn(turn.now)))

    def compact(self, turn: TurnContext[S, R]) -> Conversation[None]:
        """Whatever is due before a call."""
        self.announce(turn, [tier.name for tier in self.tiers if not tier.after_turn])
        turn.apply(*(yield from self.before_call(turn.now)))

    def announce(self, turn: TurnContext[S, R], tiers: Sequence[str]) -> None:
        """Tell who watches which of these tiers are about to fire."""
        if tiers:
            turn.announce(self.due, tiers)


CHARACTERS = Pi()
"""Four UTF-16 units a token, rounded up message by message: what the harnesses below count with, or nearly."""


@dataclass(frozen=True, slots=True)
class SimpleSettings:
    """What every harness has. Add fields of your own in a subclass, with `setting`."""

    context_window_tokens: int = window_setting(200_000)
    window_from: WindowFrom = field(default="own", metadata=DERIVED)
    mode: Literal["faithful", "safe"] = setting("faithful", "as the harness is; or repaired, and never larger")

    @property
    def safe(self) -> bool:
        return self.mode == "safe"

    def share(self, limit: int) -> str:
        """`60% of 200,000, the model's`, for verdicts."""
        window = self.context_window_tokens
        return f"{per_cent(limit / window)} of {describe_window(window, self.window_from)}"


@dataclass(frozen=True, slots=True)
class SimpleState:
    """The last reported size with the estimate of the same buffer, failed attempts in a row, and the first report."""

    estimated: int = 0
    reported: int = 0
    failures: int = 0
    first_estimated: int = 0
    first_reported: int = 0

    def tokens(self, raw: int) -> int:
        """What a buffer measures that is estimated so. What the file lacks is added; an estimator that counts too much
        is scaled down. A buffer that became smaller lies on the line from the first report to the last: the first tells
        what the file lacks, which stays; what was missing beyond that was the estimator's error and went with what it
        was made on."""
        estimated, reported = self.estimated, self.reported
        if raw < estimated and self.first_estimated < estimated and 0 < self.first_reported < reported:
            grown = (reported - self.first_reported) / (estimated - self.first_estimated)
            if raw >= self.first_estimated:
                return self.first_reported + round(grown * (raw - self.first_estimated))
            estimated, reported = self.first_estimated, self.first_reported
        return raw + reported - estimated if reported >= estimated else round(raw * reported / estimated)


Simple = TypeVar("Simple", bound=SimpleSettings)


class SimplePolicy(Policy[Simple, SimpleState]):
    """A harness that goes by what was reported last, and runs its tiers one after the other where they are due. A
    subclass has `name`, `title`, `settings_type`, and where it has `tiers`, also `watermarks`, `due` and `tier`."""

    state_type = SimpleState
    samples = 1
    keeps_first = True

    def learn(self, running: SimpleState, settings: Simple, estimated: int, reported: int) -> SimpleState:
        if estimated <= 0 or reported <= 0:
            return running
        first = running.first_estimated, running.first_reported
        return SimpleState(estimated, reported, running.failures, *(first if first[1] else (estimated, reported)))

    def measure(self, context: PolicyContext[Simple, SimpleState]) -> tuple[int, int]:
        """By characters, and the reports (`SimpleState.tokens`)."""
        buffer = context.buffer
        raw = buffer_tokens(CHARACTERS, buffer.messages) + CHARACTERS.text(buffer.prompt.system or "")
        return raw, context.running.tokens(raw)

    def tokens(self, context: PolicyContext[Simple, SimpleState]) -> int:
        """What watermarks are compared with."""
        return self.measure(context)[1]

    def before_call(self, context: PolicyContext[Simple, SimpleState]) -> AllDone[SimpleState]:
        return (yield from self._run(context, after_turn=False))

    def after_turn(self, context: PolicyContext[Simple, SimpleState]) -> AllDone[SimpleState]:
        return (yield from self._run(context, after_turn=True))

    def _run(self, context: PolicyContext[Simple, SimpleState], *, after_turn: bool) -> AllDone[SimpleState]:
        done: tuple[Outcome[SimpleState], ...] = ()
        for tier in (each.name for each in self.tiers if each.after_turn == after_turn):
            verdicts = self.due(context)
            if any(verdict.due for verdict in verdicts if verdict.tier == tier):
                outcome = yield from self.tier(tier, context)
                done, context = (*done, outcome), context.after(outcome)
        return done

    def from_limit(self, tier: str, limit: int, tokens: int, context: PolicyContext[Simple, SimpleState]) -> Verdict:
        """Of a tier that fires from its limit on, and where the model refused the buffer."""
        reached, overflow = tokens >= limit, context.moment.overflow
        due = (reached or bool(overflow)) and bool(context.messages)
        why = overflow or compared(tokens, limit, context.settings.share(limit), reached)
        return Verdict(tier, due, why, tokens, limit)


def compared(tokens: int, limit: int, of: str, reached: bool, *, above: bool = False) -> str:
    """`118,402 of 120,000 (60% of 200,000): 1,598 to go`. `above`: it fires above the limit, not on it."""
    if reached:
        return f"{tokens:,} of {limit:,} ({of}): {tokens - limit:,} over"
    return f"{tokens:,} of {limit:,} ({of}): {limit - tokens + above:,} to go"


def settled(
    tier: str,
    context: PolicyContext[Simple, SimpleState],
    after: Buffer,
    events: Sequence[Event],
    changed: Mapping[str, FateName],
) -> Outcome[SimpleState]:
    """An outcome that changed the buffer. In safe mode calls and results are paired up, and what grew is not done."""
    before, running = context.buffer, context.running
    if not context.settings.safe:
        return Outcome(tier, after, running, tuple(events), changed=changed)
    mended = repair(after, running)
    if buffer_tokens(CHARACTERS, mended.buffer.messages) >= buffer_tokens(CHARACTERS, before.messages):
        return Outcome(tier, before, running, succeeded=False, error="no_gain")
    return Outcome(tier, mended.buffer, running, (*events, *mended.events), changed={**changed, **mended.changed})


def failed(
    tier: str, context: PolicyContext[Simple, SimpleState], error: str, events: Sequence[Event] = ()
) -> Outcome[SimpleState]:
    """An outcome that left the buffer as it was."""
    return Outcome(tier, context.buffer, context.running, tuple(events), succeeded=False, error=error)
