"""A harness in few lines: what most policies need besides their own rules, and a policy of the user's own as well.

A policy that stands on `SimplePolicy` brings its settings, its tiers, its watermarks, and what is due when. It knows
the size of a buffer as most harnesses do: what the provider reported last, plus an estimate of what came and went
since. As long as nothing was reported, the estimate alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Json
from inspector.core.needs import Conversation
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.policy import BreakerState, Moment, TierName, Verdict, Watermark
from inspector.core.policies.settings import DERIVED, WindowFrom, of_window, read, setting, window_setting
from inspector.core.repair import repair
from inspector.core.tokens.characters import Pi
from inspector.core.tokens.estimator import Estimator
from inspector.core.tokens.estimators import buffer_tokens

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

    @property
    def window(self) -> str:
        """Which window, and why, for verdicts."""
        return of_window(self.context_window_tokens, self.window_from)


@dataclass(frozen=True, slots=True)
class Running:
    """The last reported size with the estimate of the same buffer, and failed attempts in a row."""

    estimated: int = 0
    reported: int = 0
    failures: int = 0


S = TypeVar("S", bound=SimpleSettings)
Done: TypeAlias = Conversation[Outcome[Running]]
AllDone: TypeAlias = Conversation[tuple[Outcome[Running], ...]]


class SimplePolicy(Generic[S]):
    """See `core.policies.policy.Policy`. A subclass has `name`, `title`, `tiers`, `settings_type` and the last four."""

    name: str
    title: str
    tiers: Sequence[TierName] = ()
    prompt_estimator: Estimator | None = None
    settings_type: type[S]

    def settings(self, values: Sequence[tuple[str, str]] = (), window: int | None = None) -> S:
        """The window follows the session's model, as these harnesses do."""
        return read(self.settings_type(), values, window, follows=True)

    def fresh(self, settings: S) -> Running:
        return Running()

    def load(self, settings: S, data: Json) -> Running:
        if not isinstance(data, Mapping):
            raise InspectorError("The state file must hold a JSON object, as --save-state writes it.")
        numbers = [data.get(name, 0) for name in ("estimated", "reported", "failures")]
        if not all(isinstance(number, int) and number >= 0 for number in numbers):
            raise InspectorError("The state file cannot be read: its numbers must be whole and not negative.")
        return Running(*numbers)

    def dump(self, running: Running) -> dict[str, Any]:
        return asdict(running)

    def learn(self, running: Running, settings: S, estimated: int, reported: int) -> Running:
        if estimated <= 0 or reported <= 0:
            return running
        return Running(estimated, reported, running.failures)

    def calibrated(self, running: Running, settings: S, samples: Sequence[tuple[int, int]]) -> Running:
        return running

    def measure(self, buffer: Buffer, settings: S, running: Running) -> tuple[int, int]:
        raw = buffer_tokens(CHARACTERS, buffer.messages) + CHARACTERS.text(buffer.prompt.system or "")
        return raw, now(raw, running)

    def tokens(self, buffer: Buffer, settings: S, running: Running) -> int:
        """What watermarks are compared with."""
        return self.measure(buffer, settings, running)[1]

    def breaker(self, settings: S, running: Running) -> BreakerState | None:
        return None

    def after_turn(self, buffer: Buffer, settings: S, running: Running, moment: Moment) -> AllDone:
        yield from ()
        return ()

    def run_due(self, buffer: Buffer, settings: S, running: Running, moment: Moment) -> AllDone:
        done = yield from self.before_call(buffer, settings, running, moment)
        if not moment.overflow:
            last = done[-1] if done else Outcome("", buffer, running)
            done = (*done, *(yield from self.after_turn(last.buffer, settings, last.running, moment)))
        return done or (self.nothing(buffer, running),)

    def nothing(self, buffer: Buffer, running: Running) -> Outcome[Running]:
        """Nothing was due."""
        return Outcome(self.tiers[0].name if self.tiers else self.name, buffer, running)

    def unknown(self, tier: str) -> InspectorError:
        """The sentence for a tier that there is not."""
        known = ", ".join(one.name for one in self.tiers) or "none"
        return InspectorError(f"{self.title} has no tier {tier!r}. It has {known}.")

    def watermarks(self, settings: S) -> tuple[Watermark, ...]:
        raise NotImplementedError

    def due(self, buffer: Buffer, settings: S, running: Running, moment: Moment) -> tuple[Verdict, ...]:
        raise NotImplementedError

    def tier(self, name: str, buffer: Buffer, settings: S, running: Running, moment: Moment) -> Done:
        raise NotImplementedError

    def before_call(self, buffer: Buffer, settings: S, running: Running, moment: Moment) -> AllDone:
        raise NotImplementedError


def now(raw: int, running: Running) -> int:
    """The estimate `raw`, corrected by what was reported last: what the file lacks is added; an estimator that counts
    too much is scaled down."""
    if running.reported >= running.estimated:
        return raw + running.reported - running.estimated
    return round(raw * running.reported / running.estimated)


@cache
def text_tokens(text: str) -> int:
    """Tokens of a short text that comes up again and again."""
    return CHARACTERS.text(text)


def compared(tokens: int, limit: int, of: str, reached: bool, *, above: bool = False) -> str:
    """`118,402 of 120,000 (60 % of 200,000): 1,598 to go`. `above`: it fires above the limit, not on it."""
    if reached:
        return f"{tokens:,} of {limit:,} ({of}): {tokens - limit:,} over"
    return f"{tokens:,} of {limit:,} ({of}): {limit - tokens + above:,} to go"


def settled(
    tier: str,
    before: Buffer,
    after: Buffer,
    running: Running,
    settings: SimpleSettings,
    events: Sequence[Event],
    changed: Mapping[str, FateName],
) -> Outcome[Running]:
    """An outcome that changed the buffer. In safe mode calls and results are paired up, and what grew is not done."""
    if not settings.safe:
        return Outcome(tier, after, running, tuple(events), changed=changed)
    mended = repair(after, running)
    if buffer_tokens(CHARACTERS, mended.buffer.messages) >= buffer_tokens(CHARACTERS, before.messages):
        return Outcome(tier, before, running, succeeded=False, error="no_gain")
    told = (*events, *mended.events)
    return Outcome(tier, mended.buffer, running, told, changed={**changed, **mended.changed})


def failed(tier: str, buffer: Buffer, running: Running, error: str, events: Sequence[Event] = ()) -> Outcome[Running]:
    """An outcome that left the buffer as it was."""
    return Outcome(tier, buffer, running, tuple(events), succeeded=False, error=error)
