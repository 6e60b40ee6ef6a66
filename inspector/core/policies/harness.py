"""The base classes of policies. A policy describes how a harness compacts: its settings, verdicts, tiers and turns.

Settings are a frozen dataclass, from whose fields the settings form and `--set` are built. Running state is passed in
and returned. `due` returns a verdict for every tier, whether it fires or not. A tier is a conversation (`core.needs`).

`Policy` is the base of all policies. `SimplePolicy` is enough for most: it computes the size of a buffer as most
harnesses do, from the last reported size and an estimate of the changes since then.
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
from inspector.core.policies.turn import AllDone, Done, TurnContext, TurnResult, list_calls
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
    """The compaction of one harness. Stateless: all state is passed in and returned.

    A subclass defines `name`, `title`, the types of its settings and its state, and `measure`; with `tiers`, it also
    defines `watermarks`, `due`, `tier` and `before_call`.
    """

    name: str
    title: str
    source: str = ""
    """Path of the Python file from which the policy was loaded; empty for a built-in policy."""
    tiers: Sequence[TierName] = ()
    settings_type: type[S]
    state_type: type[R]
    prompt_estimator: Estimator | None = None
    """Estimator of a harness that also counts its system prompt and calibrates the count. In recorded sessions its
    count then includes the tokens not in the file (`Prompt.unseen`). None if the harness counts messages only, or uses
    reported sizes."""
    samples: int = MAX_SAMPLES
    """Largest number of usage reports that the policy remembers, newest first."""
    keeps_first = False
    """True if the policy also remembers the first report of a session."""
    estimates_after_compaction = False
    """True if the policy uses its plain estimate after a compaction, without calibration, until the next report."""
    memory_setting: tuple[str, str] | None = None
    """(setting, value) that lets a tier generate a summary if `PolicyInput.summary` is empty."""

    @property
    def reference(self) -> str:
        """Return the identifier of the policy in window and commands: its file, or its name if built in."""
        return self.source or self.name

    # settings and state

    def settings(self, values: Sequence[tuple[str, str]] = (), window: int | None = None) -> S:
        """Return settings from (key, value) pairs. Keys are in the harness's own spelling or snake_case, in any case.

        Args:
            window: Window of the session's model in tokens, which most harnesses use; None if unknown.

        Raises:
            InspectorError: A key is unknown, or a value is outside its hard limits.
        """
        return read_settings(self.settings_type(), values, window, follows=True)

    def of_client(self, client: str) -> SettingPairs:
        """Return the settings that follow from the program and version that wrote the session (`Session.client`)."""
        return ()

    def fresh(self, settings: S) -> R:
        """Return the running state at the start of a session."""
        return self.state_type()

    def load(self, settings: S, data: Json) -> R:
        """Return the running state from its JSON. Missing fields have their initial values. Raises InspectorError."""
        if not isinstance(data, Mapping):
            raise InspectorError(
                "The state file must hold a JSON object, as --save-state writes it."
            )
        try:
            return self.parsed(data)
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise InspectorError(f"The state file cannot be read: {error}.") from None

    def parsed(self, data: Mapping[str, Any]) -> R:
        """Return the state from its JSON object. Raises TypeError, ValueError, AttributeError or KeyError."""
        start = asdict(self.state_type())  # type: ignore[call-overload]
        values = {name: data.get(name, value) for name, value in start.items()}
        expected = {str: "a text", bool: "true or false"}
        for name, value in values.items():
            if type(value) is not type(start[name]) or (isinstance(value, int) and value < 0):
                raise ValueError(
                    f"{name} must be {expected.get(type(start[name]), 'a whole number')}"
                )
        return self.state_type(**values)

    def dump(self, running: R) -> dict[str, Any]:
        """Return the running state as JSON that `load` reads."""
        return asdict(running)  # type: ignore[call-overload, no-any-return]

    def learn(self, running: R, settings: S, estimated: int, reported: int) -> R:
        """Add a pair of raw estimate and reported prompt tokens to the calibration, if the policy has one."""
        return running

    def calibrated(self, running: R, settings: S, samples: Sequence[tuple[int, int]]) -> R:
        """Return the state with a calibration from only these (raw estimate, reported tokens) pairs.

        Called only if the policy has a `prompt_estimator`.
        """
        return running

    def breaker(self, context: PolicyContext[S, R]) -> BreakerState | None:
        """Return the circuit breaker; None if the harness has none."""
        return None

    # what is due

    def measure(self, context: PolicyContext[S, R]) -> tuple[int, int]:
        """Return (raw estimate, calibrated estimate) of the buffer in tokens, by the policy's own estimator."""
        raise NotImplementedError

    def watermarks(self, settings: S) -> tuple[Watermark, ...]:
        """Return the watermarks, lowest first."""
        return ()

    def due(self, context: PolicyContext[S, R]) -> Verdicts:
        """Return a verdict for every tier, in the policy's order, without side effects."""
        return ()

    def believed(self, context: PolicyContext[S, R], verdicts: Verdicts | None = None) -> int:
        """Return the policy's own count of the buffer: the tokens that it compares with its lowest watermark.

        If no tier compares the buffer with a watermark, return the calibrated estimate. (A tier without a watermark may
        have another kind of limit, such as the tokens of old outputs.) O(messages).

        Args:
            verdicts: The result of `due(context)`; None to compute it here.
        """
        with_line = {tier for line in self.watermarks(context.settings) for tier in line.tiers}
        for verdict in self.due(context) if verdicts is None else verdicts:
            if (
                verdict.tier in with_line
                and verdict.tokens is not None
                and verdict.limit is not None
            ):
                return verdict.tokens
        _, calibrated = self.measure(context)
        return calibrated

    # what is done

    def tier(self, name: str, context: PolicyContext[S, R]) -> Done[R]:
        """Run a tier, whether it is due or not. Raises InspectorError for an unknown name."""
        yield from ()
        raise self.unknown(name)

    def before_call(self, context: PolicyContext[S, R]) -> AllDone[R]:
        """Run the tiers that are due before a model call, in the harness's order, each on the result of the previous.

        After an overflow (`context.moment.overflow`), run the tiers that the harness runs before it tries again.
        """
        yield from ()
        return ()

    def after_turn(self, context: PolicyContext[S, R]) -> AllDone[R]:
        """Run the tiers that are due after a model call and its tools. The default runs nothing."""
        yield from ()
        return ()

    def run_due(self, context: PolicyContext[S, R]) -> AllDone[R]:
        """Run all tiers that are due on this buffer, before or after a model call, in the policy's order.

        Returns:
            The outcomes; if nothing is due, a single outcome without a change.
        """
        done = yield from self.before_call(context)
        if not context.moment.overflow:
            done = (*done, *(yield from self.after_turn(context.after(*done))))
        if done:
            return done
        tier = self.tiers[0].name if self.tiers else self.name
        return (context.unchanged(tier),)

    def needs_overflow(self, tier: str) -> bool:
        """Does this tier need an overflow (`moment.overflow`) when it is run manually?"""
        return any(each.needs_overflow and each.name.lower() == tier.lower() for each in self.tiers)

    def unknown(self, tier: str) -> InspectorError:
        """Return the error for an unknown tier."""
        names = ", ".join(each.name for each in self.tiers) or "none"
        return InspectorError(f"{self.title} has no tier {tier!r}. It has {names}.")

    # a turn of the agent: a conversation like a tier, which also yields AskModel and RunTools

    def turn(self, turn: TurnContext[S, R]) -> Conversation[TurnResult[R]]:
        """Run one turn: compact if due, ask the model, run its tools, then run the tiers after the turn.

        A Failure is not raised but becomes the `error` of the result. A harness with a different turn overrides one of
        the four steps below.
        """
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
        """Prepare the model call. Return an error to end the turn; empty to continue."""
        yield from self.compact(turn)
        return ""

    def is_overflow(self, failure: Failure) -> bool:
        """Does the failure mean that the model refused the buffer as too long?"""
        return isinstance(failure, ContextWindowExceeded)

    def recover(self, turn: TurnContext[S, R], error: str) -> Conversation[str]:
        """Compact once, after the model refused the buffer.

        Returns:
            The error that ends the turn; empty, if the buffer has changed, to ask the model again.
        """
        if turn.now.moment.overflow:
            return f"context window exceeded again after compaction: {error}"
        before = turn.buffer.messages
        turn.update_moment(overflow=error)
        yield from self.compact(turn)
        return error if turn.buffer.messages == before else ""

    def accept(self, turn: TurnContext[S, R], answer: Answer) -> Conversation[Answer | None]:
        """Calibrate with the reported usage, and add the answer to the buffer.

        Returns:
            The answer whose calls are run; None to ask the model again.
        """
        yield from ()
        if answer.usage is not None:
            estimated, _ = self.measure(turn.now)
            turn.running = self.learn(
                turn.running, turn.now.settings, estimated, answer.usage.prompt
            )
        turn.add(answer.messages)
        return answer

    def act(self, turn: TurnContext[S, R], answer: Answer) -> Conversation[None]:
        """Run the tool calls of the answer, then the tiers that fire after a turn."""
        turn.add((yield from turn.run_tools(list_calls(answer))))
        upto = ""
        if answer.messages:
            upto = answer.messages[-1].id
        elif turn.buffer.messages:
            upto = turn.buffer.messages[-1].id
        report = CallReport(upto, answer.usage, answer.finish, turn.now.moment.model)
        reports = (report,) if upto else ()
        turn.update_moment(usage=answer.usage, finish=answer.finish, reports=reports)
        self.announce(turn, [tier.name for tier in self.tiers if tier.after_turn])
        turn.apply(*(yield from self.after_turn(turn.now)))

    def compact(self, turn: TurnContext[S, R]) -> Conversation[None]:
        """Run the tiers that are due before a model call."""
        self.announce(turn, [tier.name for tier in self.tiers if not tier.after_turn])
        turn.apply(*(yield from self.before_call(turn.now)))

    def announce(self, turn: TurnContext[S, R], tiers: Sequence[str]) -> None:
        """Tell the turn's observer which of these tiers are about to fire."""
        if tiers:
            turn.announce(self.due, tiers)


CHARACTERS = Pi()
"""Estimator with four UTF-16 units per token, rounded up per message. Most harnesses use this or a similar one."""


@dataclass(frozen=True, slots=True)
class SimpleSettings:
    """The settings that all simple policies share. Add fields in a subclass, with `setting`."""

    context_window_tokens: int = window_setting(200_000)
    window_from: WindowFrom = field(default="own", metadata=DERIVED)
    mode: Literal["faithful", "safe"] = setting(
        "faithful", "faithful: like the harness; safe: with repaired buffers that never grow"
    )

    @property
    def safe(self) -> bool:
        return self.mode == "safe"

    def share(self, limit: int) -> str:
        """Describe a limit as a share of the window, for verdicts: `60% of 200,000, the model's`."""
        window = self.context_window_tokens
        return f"{per_cent(limit / window)} of {describe_window(window, self.window_from)}"


@dataclass(frozen=True, slots=True)
class SimpleState:
    """The last and the first reported size, each with the estimate of the same buffer, and consecutive failures."""

    estimated: int = 0
    reported: int = 0
    failures: int = 0
    first_estimated: int = 0
    first_reported: int = 0

    def tokens(self, raw: int) -> int:
        """Return the calibrated size, in tokens, of a buffer with the estimate `raw`.

        If the last report was above its estimate, the difference (tokens not in the file) is added; if it was below,
        the estimate is scaled down. If the buffer became smaller since then, its size is interpolated between the first
        and the last report: the first report shows the tokens not in the file, and the remaining difference is the
        estimator's error, which shrinks with the buffer.
        """
        has_grown = self.first_estimated < self.estimated and self.first_reported < self.reported
        if raw >= self.estimated or not has_grown or not self.first_reported:
            return _calibrate(raw, self.estimated, self.reported)
        if raw < self.first_estimated:
            return _calibrate(raw, self.first_estimated, self.first_reported)
        slope = (self.reported - self.first_reported) / (self.estimated - self.first_estimated)
        return self.first_reported + round(slope * (raw - self.first_estimated))


def _calibrate(raw: int, estimated: int, reported: int) -> int:
    """Add what a report was above its estimate to `raw`; scale `raw` down if the report was below."""
    if reported >= estimated:
        return raw + reported - estimated
    return round(raw * reported / estimated)


Simple = TypeVar("Simple", bound=SimpleSettings)


class SimplePolicy(Policy[Simple, SimpleState]):
    """A policy that uses the last reported size, and runs its tiers in order if they are due.

    A subclass defines `name`, `title` and `settings_type`; with `tiers`, also `watermarks`, `due` and `tier`.
    """

    state_type = SimpleState
    samples = 1
    keeps_first = True

    def learn(
        self, running: SimpleState, settings: Simple, estimated: int, reported: int
    ) -> SimpleState:
        if estimated <= 0 or reported <= 0:
            return running
        is_first = not running.first_reported
        return SimpleState(
            estimated,
            reported,
            running.failures,
            first_estimated=estimated if is_first else running.first_estimated,
            first_reported=reported if is_first else running.first_reported,
        )

    def measure(self, context: PolicyContext[Simple, SimpleState]) -> tuple[int, int]:
        """Estimate the size by characters, and calibrate it with the reports (`SimpleState.tokens`)."""
        buffer = context.buffer
        system = CHARACTERS.text(buffer.prompt.system or "")
        raw = buffer_tokens(CHARACTERS, buffer.messages) + system
        return raw, context.running.tokens(raw)

    def tokens(self, context: PolicyContext[Simple, SimpleState]) -> int:
        """Return the size that is compared with watermarks, in tokens."""
        _, calibrated = self.measure(context)
        return calibrated

    def before_call(self, context: PolicyContext[Simple, SimpleState]) -> AllDone[SimpleState]:
        return (yield from self._run(context, after_turn=False))

    def after_turn(self, context: PolicyContext[Simple, SimpleState]) -> AllDone[SimpleState]:
        return (yield from self._run(context, after_turn=True))

    def _run(
        self, context: PolicyContext[Simple, SimpleState], *, after_turn: bool
    ) -> AllDone[SimpleState]:
        done: tuple[Outcome[SimpleState], ...] = ()
        for tier in self.tiers:
            if tier.after_turn != after_turn:
                continue
            verdicts = self.due(context)
            if any(verdict.due for verdict in verdicts if verdict.tier == tier.name):
                outcome = yield from self.tier(tier.name, context)
                done = (*done, outcome)
                context = context.after(outcome)
        return done

    def from_limit(
        self, tier: str, limit: int, tokens: int, context: PolicyContext[Simple, SimpleState]
    ) -> Verdict:
        """Return the verdict of a tier that fires at or above its limit, and after an overflow."""
        is_reached = tokens >= limit
        overflow = context.moment.overflow
        is_due = (is_reached or bool(overflow)) and bool(context.messages)
        why = overflow or compared(
            tokens, limit, of=context.settings.share(limit), reached=is_reached
        )
        return Verdict(tier, is_due, why, tokens, limit)


def compared(tokens: int, limit: int, of: str, reached: bool, *, above: bool = False) -> str:
    """Compare tokens with a limit: `118,402 of 120,000 (60% of 200,000): 1,598 to go`.

    `above`: the tier fires only above the limit, not at it.
    """
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
    """Return the outcome of a change. Safe mode pairs calls with results, and refuses a buffer that did not shrink."""
    before, running = context.buffer, context.running
    if not context.settings.safe:
        return Outcome(tier, buffer=after, running=running, events=tuple(events), changed=changed)
    mended = repair(after, running)
    tokens_before = buffer_tokens(CHARACTERS, before.messages)
    tokens_after = buffer_tokens(CHARACTERS, mended.buffer.messages)
    if tokens_after >= tokens_before:
        return Outcome(tier, before, running, succeeded=False, error="no_gain")
    return Outcome(
        tier,
        mended.buffer,
        running,
        events=(*events, *mended.events),
        changed={**changed, **mended.changed},
    )


def failed(
    tier: str, context: PolicyContext[Simple, SimpleState], error: str, events: Sequence[Event] = ()
) -> Outcome[SimpleState]:
    """Return the outcome of a tier that failed and left the buffer unchanged."""
    return Outcome(
        tier, context.buffer, context.running, events=tuple(events), succeeded=False, error=error
    )
