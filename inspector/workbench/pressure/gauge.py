"""What the gauge says where we stand: the pressure, what fills it, its lines, what is due, and what the policy counts.

What the policy counts itself is worked out for every request of the thread, and compared with what was reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from inspector.core.buffer import Stretch
from inspector.core.errors import InspectorError
from inspector.core.findings.composition import Category, not_recorded_words, sized
from inspector.core.findings.triggers import ClientTrigger, client_trigger
from inspector.core.identity import SameObject
from inspector.core.policies.catalogue import DEFAULT_POLICY
from inspector.core.policies.place import believed_at, counts_by_itself
from inspector.core.policies.verdict import Watermark
from inspector.core.session import Thread
from inspector.core.tokens.believing import known_counts
from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.pressure import Pressure, Pressures
from inspector.core.tokens.sizing import Sizer
from inspector.core.tokens.windows import Window
from inspector.core.words import plural
from inspector.workbench.policy_input import policy_of, settings_of, sizer_of
from inspector.workbench.pressure.scale import GaugeLine, assumed_window, gauge_lines, policy_title
from inspector.workbench.state import Choices, PolicyBelief, State

RESERVE = 16_384
"""Tokens that a client usually keeps free for the answer (Pi's reserveTokens); a quarter of a small window."""


def reserve(window: int | None) -> int:
    """Room at the top of the tank for the answer."""
    return min(RESERVE, window // 4) if window else 0


_MOST = 30_000_000
"""Messages to look at over all requests, for a policy whose measure is no running sum; beyond it nothing is drawn."""


def wanted(state: State) -> tuple[object, ...] | None:
    """All that the beliefs depend on; None until that is known. O(1)."""
    if state.thread is None or state.pressures is None or state.window is None:
        return None
    choices = state.choices
    by = choices.policy, choices.policy_loads, choices.settings
    return SameObject(state.thread), by, state.window.tokens, state.user_window, state.estimator


def is_mostly_believed(state: State) -> bool:
    """Were the beliefs worked out when the thread was shorter, so that `beliefs` has little left to do? O(1)."""
    known, whose, thread = state.believed, wanted(state), state.thread
    if known is None or whose is None or thread is None:
        return False
    return bool(known.tokens) and known.whose[1:] == whose[1:] and known.thread.id == thread.id


def beliefs(state: State) -> PolicyBelief:
    """Of every request. O(requests) for a harness that calibrates an estimator, O(requests x messages) for others;
    what the last ones still hold is taken over."""
    thread, by = state.thread, policy_of(state)
    whose = wanted(state)
    assert thread is not None
    assert whose is not None
    counts = known_counts(thread, estimator(state.estimator))
    try:
        settings = settings_of(state)
    except InspectorError:
        return PolicyBelief(whose, thread, counts=counts)
    start = _kept(state.believed, whose, thread)
    left = islice(thread.requests, len(start), None)
    if by.prompt_estimator is None and sum(len(request.view) for request in left) > _MOST:
        return PolicyBelief(whose, thread, counts=counts)
    count = len(thread.requests)
    more = [believed_at(by, settings, thread, n) for n in range(len(start), count + 1)]
    return PolicyBelief(whose, thread, (*start, *more[:-1]), more[-1], counts)


def _kept(former: PolicyBelief | None, whose: tuple[object, ...], thread: Thread) -> tuple[int, ...]:
    """Those of a shorter state of the same thread, as far as its requests are the same."""
    if former is None or former.whose[1:] != whose[1:] or former.thread.id != thread.id:
        return ()
    same = min(len(former.tokens), len(thread.requests))
    while same and former.thread.requests[same - 1] is not thread.requests[same - 1]:
        same -= 1
    return former.tokens[:same]


@dataclass(frozen=True, slots=True)
class Lateness:
    """When a line is crossed for the first time, by what was reported and by what the policy believes."""

    line: Watermark
    reported: int | None
    """Index of the request; None = never."""
    believed: int | None
    compacted: int | None = None
    """Index of the first request after a recorded compaction that came before the belief had crossed the line."""

    @property
    def sentence(self) -> str:
        """What the policy's own count does at the line, where it is not what the provider's does; else empty."""
        share = self.line.label.split(" ")[0]
        match self.reported, self.believed:
            case int(true), None if self.compacted is not None:
                when = f"before the compaction at request {self.compacted:,}"
                return f"By its own count it does not reach {share} {when}, by the provider's at request {true:,}."
            case int(), None:
                return f"By its own count it never reaches {share}, as it does by the provider's."
            case None, int():
                return f"By its own count it reaches {share}, which it never does by the provider's."
            case int(true), int(own) if own != true:
                count = plural(abs(own - true), "request")
                order = "later" if own > true else "earlier"
                return f"By its own count it reaches {share} {count} {order} than by the provider's."
        return ""


def lateness(
    line: Watermark, pressures: Pressures, believed: tuple[int, ...], compactions: Sequence[int] = ()
) -> Lateness:
    """Of one line, up to the first recorded compaction (`compactions`: requests that came after one) after either is
    crossed: what came then says nothing of when the other would have been. O(requests).

    A belief that had not crossed it by then did not cross it.
    """
    least = line.least  # asked once: there may be very many requests
    reported = (pressure.reported for pressure in pressures)
    true = next((n for n, tokens in enumerate(reported) if tokens is not None and tokens >= least), None)
    own = next((n for n, tokens in enumerate(believed) if tokens >= least), None)
    crossed = min((n for n in (true, own) if n is not None), default=0)
    cut = next((n for n in compactions if n > crossed), None)
    if cut is None or true is None or (own is not None and max(true, own) < cut):
        return Lateness(line, true, own)
    return Lateness(line, true, None, cut) if true < cut else Lateness(line, None, None)


@dataclass(frozen=True, slots=True)
class TierEffect:
    """A tier that is looked at, and the tokens that it would leave."""

    tier: str
    tokens: int


@dataclass(frozen=True, slots=True)
class GaugeReading:
    """Numbers are tokens. The parts and what is unseen add up to the pressure, exactly."""

    pressure: Pressure
    window: Window
    parts: tuple[tuple[Category, int], ...]
    """By category, lowest in the tank first."""
    unseen: int
    """What the transcript does not hold: one opaque piece, the same before and after every tier."""
    lines: tuple[GaugeLine, ...]
    """The scale, and beside it those of another policy."""
    rim: int
    """Tokens of the window, or of the one that the scale assumes while it is unknown."""
    reserve: int
    """Room at the top that clients keep for the answer; 0 while the window is unknown."""
    slope: float
    """Tokens that a counted one weighs here."""
    place: str = ""
    """`Request 131, the last of 132`."""
    not_recorded: str = ""
    """What the unseen part most likely is."""
    estimated: int | None = None
    """What the picked estimator counts of all that the transcript holds; None while it is not worked out."""
    believed: int | None = None
    """What the chosen policy counts itself; None while it is not worked out."""
    policy: str = ""
    """Title of the chosen policy ..."""
    is_default: bool = True
    """... which is the product's own."""
    has_tiers: bool = True
    by_itself: bool = False
    """It leaves out system prompt and tools, as such a harness does from a compaction to the next report."""
    late: tuple[str, ...] = ()
    """For each line whose tiers would fire at another request than where the reported number crosses it."""
    before: int | None = None
    """After a step: the size of the buffer that the steps here start from."""
    trigger: ClientTrigger | None = None
    """Where the recorded client compacts on its own."""
    due: tuple[str, ...] | None = None
    """The tiers that are due; None while that is not worked out."""
    preview: TierEffect | None = None
    """What the tier that is looked at would leave."""
    changed: tuple[str, ...] = ()
    """The settings of the policy that the user changed, in words: `mid_ratio = 0.48, set by you`."""

    @property
    def ratio(self) -> float | None:
        """Pressure: tokens / window."""
        if self.pressure.tokens is None or not self.window.tokens:
            return None
        return self.pressure.tokens / self.window.tokens

    @property
    def belief_error(self) -> float | None:
        """believed / shown - 1. None where nothing was ever reported: an estimate is no truth to be wrong about."""
        if self.believed is None or not self.pressure.tokens or self.pressure.kind not in ("reported", "predicted"):
            return None
        return self.believed / self.pressure.tokens - 1

    @property
    def due_words(self) -> str:
        """`L0 and L1 are due`; empty while that is not worked out."""
        if not self.has_tiers:
            return "This policy has no tiers"
        if self.due is None:
            return ""
        if not self.due:
            return "No tier is due"
        *others, last = self.due
        return f"{', '.join(others)} and {last} are due" if others else f"{last} is due"


def reading(state: State) -> GaugeReading | None:
    """The reading where we stand; None while nothing is open. After a step O(messages)."""
    thread, pressures = state.thread, state.pressures
    if thread is None or pressures is None:
        return None
    size, stepped = sizer_of(state), state.stepped_buffer
    pressure, before = pressure_here(state, size)
    request = state.request
    view, prompt = (request.view, request.prompt) if request else (thread.end, thread.prompt)
    if stepped is not None:
        view, prompt = Stretch(own=stepped.messages).view(), stepped.prompt
    window = state.window or Window(None, "unknown", ())
    session = state.session
    assert session is not None
    return GaugeReading(
        pressure=pressure,
        window=window,
        parts=sized(size, pressure, view, prompt),
        unseen=size.scale.unseen,
        lines=gauge_lines(state),
        rim=window.tokens or assumed_window(),
        reserve=reserve(window.tokens),
        slope=size.scale.slope,
        place=_place(state, thread),
        not_recorded=not_recorded_words(thread, state.at, size.scale.unseen),
        estimated=estimate_here(state),
        believed=belief_here(state),
        policy=policy_title(state),
        is_default=state.choices.policy == DEFAULT_POLICY,
        has_tiers=_has_tiers(state),
        by_itself=_by_itself(state, thread),
        late=_late(state),
        before=before,
        trigger=client_trigger(session, thread, pressures, window.tokens),
        due=_due(state),
        preview=_preview(state, pressure),
        changed=() if state.choices.usual else changed_words(state.choices),
    )


def changed_words(choices: Choices) -> tuple[str, ...]:
    """Name each setting of the policy that differs from the policy's own."""
    return tuple(f"{name} = {value}, set by you" for name, value in choices.settings)


def _place(state: State, thread: Thread) -> str:
    """`Request 131, the last of 132`; `After request 131` at the end."""
    count = len(thread.requests)
    if not count:
        return "No model call is recorded"
    if state.at is None:
        return f"After request {count - 1}, the last"
    if count == 1:
        return "The only request"
    return f"Request {state.at}, the last of {count:,}" if state.at == count - 1 else f"Request {state.at} of {count:,}"


def _has_tiers(state: State) -> bool:
    try:
        return bool(policy_of(state).tiers)
    except InspectorError:
        return False


def _due(state: State) -> tuple[str, ...] | None:
    if state.previews is None:
        return None
    return tuple(verdict.tier for verdict in state.previews.verdicts if verdict.due)


def _preview(state: State, pressure: Pressure) -> TierEffect | None:
    preview = state.preview
    if preview is None or preview.outcome is None or preview.freed <= 0 or pressure.tokens is None:
        return None
    return TierEffect(preview.tier, max(0, pressure.tokens - preview.freed))


def pressure_here(state: State, size: Sizer) -> tuple[Pressure, int | None]:
    """Of the buffer that is looked at, which a step may have changed; and after one the size of the recorded buffer.
    O(messages) after a step."""
    steps, stepped = state.steps, state.stepped_buffer
    if stepped is None or steps is None:
        return size.pressure, None
    before = size.pressure.tokens if steps.own_path else None
    return size.pressure_beside(stepped, steps.ground_of(steps.at)), before


def belief_here(state: State) -> int | None:
    """The chosen policy's own count of the buffer that is looked at; None until it is worked out. O(1)."""
    known = state.believed
    if known is not None and not state.stepped and known.whose == wanted(state):
        count = known.end if state.at is None else next(iter(known.tokens[state.at : state.at + 1]), None)
        if count is not None:
            return count
    return None if state.previews is None else state.previews.tokens


def estimate_here(state: State) -> int | None:
    """What the picked estimator counts of the recorded buffer that is looked at; None until it is worked out. O(1)."""
    known = state.believed
    if known is None or known.counts is None or known.whose != wanted(state) or state.stepped:
        return None
    return known.counts.at(state.at).estimated


def lacks_belief(state: State) -> bool:
    """Is the policy's count of the buffer that is looked at still to be worked out, by its verdicts? O(1)."""
    known = state.believed
    return known is not None and known.whose == wanted(state) and belief_here(state) is None


def _by_itself(state: State, thread: Thread) -> bool:
    try:
        by = policy_of(state)
    except InspectorError:
        return False
    at = len(thread.requests) if state.at is None else state.at
    return not state.stepped and counts_by_itself(by, thread, at)


def _late(state: State) -> tuple[str, ...]:
    """Say of each line of the chosen policy when its own count reaches it, where that is not when the reported does."""
    belief, pressures = state.believed, state.pressures
    if belief is None or pressures is None or not belief.tokens or belief.whose != wanted(state):
        return ()
    cuts = [compaction.before_request for compaction in belief.thread.compactions]
    sentences = []
    for line in gauge_lines(state):
        if line.policy != state.choices.policy:
            continue
        key = (line.watermark, SameObject(pressures))
        if key not in belief.late:
            belief.late[key] = lateness(line.watermark, pressures, belief.tokens, cuts).sentence
        if sentence := belief.late[key]:
            sentences.append(sentence)
    return tuple(sentences)
