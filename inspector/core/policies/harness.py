"""What a policy is: a harness's way to compact, as settings, verdicts and tiers; and the turn of its agent.

Settings are a frozen dataclass; the settings form and `--set` are built from its fields. Running state is passed in and
returned. `due` explains every tier, fired or not, as data. A tier is a conversation (`core.needs`).

`Policy` is the base of all. `SimplePolicy` is enough for most: it measures a buffer as most harnesses do, by the last
reported size and an estimate of what was added and removed since.
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
    """One harness. Stateless: all state is passed in and returned.

    A subclass has `name`, `title`, the types of its settings and its state, and `measure`; if it has `tiers`, also
    `watermarks`, `due`, `tier` and `before_call`.
    """

    name: str
    title: str
    source: str = ""
    """The Python file that the policy was loaded from; empty for a policy that has a name."""
    tiers: Sequence[TierName] = ()
    settings_type: type[S]
    state_type: type[R]
    prompt_estimator: Estimator | None = None
    """What the harness counts its system prompt with and calibrates. On a recorded session its measure then includes
    the tokens that are not in the file (`Prompt.unseen`). None: it counts messages alone, or uses reported sizes."""
    samples: int = MAX_SAMPLES
    """The largest number of reports that it remembers, newest first."""
    keeps_first = False
    """It also remembers the first report of a session."""
    estimates_after_compaction = False
    """After a compaction it estimates the new buffer until the next report, instead of using what it has learned."""
    memory_setting: tuple[str, str] | None = None
    """(setting, value) with which a tier generates a summary if `PolicyInput.summary` is empty."""

    @property
    def reference(self) -> str:
        """What identifies the policy in window and commands: its file, else its name."""
        return self.source or self.name

    # settings and state

    def settings(self, values: Sequence[tuple[str, str]] = (), window: int | None = None) -> S:
        """Return settings from `KEY=VALUE` pairs, by the harness's own spelling or snake_case, case ignored.

        Args:
            window: tokens of the session's model, which most harnesses use; None if unknown.

        Raises:
            InspectorError: for an unknown key or a value outside its hard limits.
        """
        return read_settings(self.settings_type(), values, window, follows=True)

    def of_client(self, client: str) -> SettingPairs:
        """Return the settings that follow from the program and version that wrote the session (`Session.client`)."""
        return ()

    def fresh(self, settings: S) -> R:
        """Return the running state at the start of a session."""
        return self.state_type()

    def load(self, settings: S, data: Json) -> R:
        """Return the running state from its JSON; missing fields are as at the start. Raises InspectorError."""
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
        """Return the state with a calibration from these (raw estimate, reported) pairs alone. Called only if the
        policy has a `prompt_estimator`."""
        return running

    def breaker(self, context: PolicyContext[S, R]) -> BreakerState | None:
        """Return the circuit breaker; None if the harness has none."""
        return None

    # what is due

    def measure(self, context: PolicyContext[S, R]) -> tuple[int, int]:
        """Return (raw estimate, calibrated estimate) of the buffer, by the policy's own estimator."""
        raise NotImplementedError

    def watermarks(self, settings: S) -> tuple[Watermark, ...]:
        """Return the watermarks, lowest first."""
        return ()

    def due(self, context: PolicyContext[S, R]) -> Verdicts:
        """Return a verdict for every tier, in the policy's order. Changes nothing."""
        return ()

    def believed(self, context: PolicyContext[S, R], verdicts: Verdicts | None = None) -> int:
        """Return the policy's own count of the buffer: the tokens that it compares with its lowest watermark.

        Without a tier that compares the buffer with a watermark it is the calibrated measure. (A tier without a
        watermark may have a limit of something else, such as the tokens of old outputs.) O(messages).

        Args:
            verdicts: those of `due(context)`; None if the caller has none.
        """
        with_line = {tier for line in self.watermarks(context.settings) for tier in line.tiers}
        for verdict in self.due(context) if verdicts is None else verdicts:
            if (
                verdict.tier in with_line
                and verdict.tokens is not None
                and verdict.limit is not None
            ):
                return verdict.tokens
        return self.measure(context)[1]

    # what is done

    def tier(self, name: str, context: PolicyContext[S, R]) -> Done[R]:
        """Run a tier, due or not. Raises InspectorError for an unknown name."""
        yield from ()
        raise self.unknown(name)

    def before_call(self, context: PolicyContext[S, R]) -> AllDone[R]:
        """Run what the harness runs before a model call, in its own order; each outcome starts from the previous one.

        After an overflow (`context.moment.overflow`), run what it does before it tries again.
        """
        yield from ()
        return ()

    def after_turn(self, context: PolicyContext[S, R]) -> AllDone[R]:
        """Run what the harness runs after a model call and its tools: by default nothing."""
        yield from ()
        return ()

    def run_due(self, context: PolicyContext[S, R]) -> AllDone[R]:
        """Run everything that is due on this buffer, before the call or after it, in the policy's own order.

        Returns:
            The outcomes; if nothing is due, one that changed nothing.
        """
        done = yield from self.before_call(context)
        if not context.moment.overflow:
            done = (*done, *(yield from self.after_turn(context.after(*done))))
        if done:
            return done
        return (context.unchanged(self.tiers[0].name if self.tiers else self.name),)

    def needs_overflow(self, tier: str) -> bool:
        """Does this tier, run manually, need an overflow (`moment.overflow`)?"""
        return any(each.needs_overflow and each.name.lower() == tier.lower() for each in self.tiers)

    def unknown(self, tier: str) -> InspectorError:
        """Return the error for an unknown tier."""
        names = ", ".join(each.name for each in self.tiers) or "none"
        return InspectorError(f"{self.title} has no tier {tier!r}. It has {names}.")

    # a turn of the agent: a conversation like a tier, which also yields AskModel and RunTools

    def turn(self, turn: TurnContext[S, R]) -> Conversation[TurnResult[R]]:
        """Compact if due, ask the model, run its tools, and what follows them.

        A Failure is not raised but is the result's `error`. A harness with another kind of turn overrides one of the
        four steps below.
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
        """Prepare the model call. Return the error that ends the turn; empty to continue."""
        yield from self.compact(turn)
        return ""

    def is_overflow(self, failure: Failure) -> bool:
        """Has the model refused the buffer as too long?"""
        return isinstance(failure, ContextWindowExceeded)

    def recover(self, turn: TurnContext[S, R], error: str) -> Conversation[str]:
        """Compact once, after the model refused the buffer.

        Returns:
            The error that ends the turn; empty to ask again, which only helps if the buffer has changed.
        """
        if turn.now.moment.overflow:
            return f"context window exceeded again after compaction: {error}"
        before = turn.buffer.messages
        turn.update_moment(overflow=error)
        yield from self.compact(turn)
        return error if turn.buffer.messages == before else ""

    def accept(self, turn: TurnContext[S, R], answer: Answer) -> Conversation[Answer | None]:
        """Learn from the answer and add it.

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
        """Run the calls, and then the tiers that fire after a turn."""
        turn.add((yield from turn.run_tools(list_calls(answer))))
        upto = next(
            (message.id for message in reversed((*turn.buffer.messages[-1:], *answer.messages))), ""
        )
        report = CallReport(upto, answer.usage, answer.finish, turn.now.moment.model)
        turn.update_moment(
            usage=answer.usage, finish=answer.finish, reports=(report,) if upto else ()
        )
        self.announce(turn, [tier.name for tier in self.tiers if tier.after_turn])
        turn.apply(*(yield from self.after_turn(turn.now)))

    def compact(self, turn: TurnContext[S, R]) -> Conversation[None]:
        """Run whatever is due before a call."""
        self.announce(turn, [tier.name for tier in self.tiers if not tier.after_turn])
        turn.apply(*(yield from self.before_call(turn.now)))

    def announce(self, turn: TurnContext[S, R], tiers: Sequence[str]) -> None:
        """Announce to the turn's observer which of these tiers are about to fire."""
        if tiers:
            turn.announce(self.due, tiers)


CHARACTERS = Pi()
"""Four UTF-16 units a token, rounded up per message: the estimator of most harnesses, or close to it."""


@dataclass(frozen=True, slots=True)
class SimpleSettings:
    """The settings of every harness. Add further fields in a subclass, with `setting`."""

    context_window_tokens: int = window_setting(200_000)
    window_from: WindowFrom = field(default="own", metadata=DERIVED)
    mode: Literal["faithful", "safe"] = setting(
        "faithful", "as the harness is; or repaired, and never larger"
    )

    @property
    def safe(self) -> bool:
        return self.mode == "safe"

    def share(self, limit: int) -> str:
        """Return `60% of 200,000, the model's`, for verdicts."""
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
        """Return the size of a buffer with the estimate `raw`, by the reports.

        The tokens that the file lacks are added; an estimator that counts too much is scaled down. A buffer that became
        smaller is on the line from the first report to the last: the first report shows what the file lacks, and the
        rest of the difference is the estimator's error, which shrinks with the buffer.
        """
        estimated, reported = self.estimated, self.reported
        if (
            raw < estimated
            and self.first_estimated < estimated
            and 0 < self.first_reported < reported
        ):
            grown = (reported - self.first_reported) / (estimated - self.first_estimated)
            if raw >= self.first_estimated:
                return self.first_reported + round(grown * (raw - self.first_estimated))
            estimated, reported = self.first_estimated, self.first_reported
        return (
            raw + reported - estimated
            if reported >= estimated
            else round(raw * reported / estimated)
        )


Simple = TypeVar("Simple", bound=SimpleSettings)


class SimplePolicy(Policy[Simple, SimpleState]):
    """A harness that uses the last reported size, and runs its tiers in order if they are due.

    A subclass has `name`, `title`, `settings_type`; if it has `tiers`, also `watermarks`, `due` and `tier`.
    """

    state_type = SimpleState
    samples = 1
    keeps_first = True

    def learn(
        self, running: SimpleState, settings: Simple, estimated: int, reported: int
    ) -> SimpleState:
        if estimated <= 0 or reported <= 0:
            return running
        first = running.first_estimated, running.first_reported
        if not running.first_reported:
            first = estimated, reported
        return SimpleState(estimated, reported, running.failures, *first)

    def measure(self, context: PolicyContext[Simple, SimpleState]) -> tuple[int, int]:
        """Measure by characters, corrected by the reports (`SimpleState.tokens`)."""
        buffer = context.buffer
        raw = buffer_tokens(CHARACTERS, buffer.messages) + CHARACTERS.text(
            buffer.prompt.system or ""
        )
        return raw, context.running.tokens(raw)

    def tokens(self, context: PolicyContext[Simple, SimpleState]) -> int:
        """Return the size that is compared with watermarks."""
        return self.measure(context)[1]

    def before_call(self, context: PolicyContext[Simple, SimpleState]) -> AllDone[SimpleState]:
        return (yield from self._run(context, after_turn=False))

    def after_turn(self, context: PolicyContext[Simple, SimpleState]) -> AllDone[SimpleState]:
        return (yield from self._run(context, after_turn=True))

    def _run(
        self, context: PolicyContext[Simple, SimpleState], *, after_turn: bool
    ) -> AllDone[SimpleState]:
        done: tuple[Outcome[SimpleState], ...] = ()
        for tier in (each.name for each in self.tiers if each.after_turn == after_turn):
            verdicts = self.due(context)
            if any(verdict.due for verdict in verdicts if verdict.tier == tier):
                outcome = yield from self.tier(tier, context)
                done, context = (*done, outcome), context.after(outcome)
        return done

    def from_limit(
        self, tier: str, limit: int, tokens: int, context: PolicyContext[Simple, SimpleState]
    ) -> Verdict:
        """Return the verdict of a tier that fires on its limit and above, and after an overflow."""
        is_reached, overflow = tokens >= limit, context.moment.overflow
        is_due = (is_reached or bool(overflow)) and bool(context.messages)
        why = overflow or compared(tokens, limit, context.settings.share(limit), is_reached)
        return Verdict(tier, is_due, why, tokens, limit)


def compared(tokens: int, limit: int, of: str, reached: bool, *, above: bool = False) -> str:
    """Return `118,402 of 120,000 (60% of 200,000): 1,598 to go`. `above`: the tier fires above the limit, not on it."""
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
    """Return an outcome that changed the buffer. Safe mode pairs calls with results, and refuses a larger buffer."""
    before, running = context.buffer, context.running
    if not context.settings.safe:
        return Outcome(tier, after, running, tuple(events), changed=changed)
    mended = repair(after, running)
    if buffer_tokens(CHARACTERS, mended.buffer.messages) >= buffer_tokens(
        CHARACTERS, before.messages
    ):
        return Outcome(tier, before, running, succeeded=False, error="no_gain")
    return Outcome(
        tier,
        mended.buffer,
        running,
        (*events, *mended.events),
        changed={**changed, **mended.changed},
    )


def failed(
    tier: str, context: PolicyContext[Simple, SimpleState], error: str, events: Sequence[Event] = ()
) -> Outcome[SimpleState]:
    """Return an outcome that left the buffer unchanged."""
    return Outcome(
        tier, context.buffer, context.running, tuple(events), succeeded=False, error=error
    )
