"""What the gauge shows at the current place: the pressure, what fills it, its lines, what is due, the policy's own
count.

The policy's own count is computed for every request of the thread, and compared with the reported tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from weakref import ref

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
"""Tokens that a client usually keeps free for the answer (Pi's reserveTokens). A small window reserves only a
quarter.
"""


def reserve(window: int | None) -> int:
    """Return the tokens at the top of the window that are kept free for the answer; 0 if the window is unknown."""
    return min(RESERVE, window // 4) if window else 0


_MOST = 30_000_000
"""Maximum number of messages, summed over all requests, for which a policy without a prompt estimator is counted."""


def beliefs_key(state: State) -> tuple[object, ...] | None:
    """Return everything that the policy's own counts depend on; None until it is known. O(1)."""
    if state.thread is None or state.pressures is None or state.window is None:
        return None
    choices = state.choices
    policy = choices.policy, choices.policy_loads, choices.settings
    return SameObject(state.thread), policy, state.window.tokens, state.user_window, state.estimator


def is_mostly_believed(state: State) -> bool:
    """Were the own counts computed when the thread was shorter, so that `beliefs` has little left to do? O(1)."""
    belief = state.believed
    key = beliefs_key(state)
    thread = state.thread
    if belief is None or key is None or thread is None:
        return False
    return bool(belief.tokens) and belief.key[1:] == key[1:] and belief.thread.id == thread.id


def beliefs(state: State) -> PolicyBelief:
    """Return the policy's own count at every request. The counts of requests that have not changed are reused.

    O(requests) for a harness that calibrates an estimator, O(requests x messages) for others.
    """
    thread = state.thread
    policy = policy_of(state)
    key = beliefs_key(state)
    assert thread is not None
    assert key is not None
    counts = known_counts(thread, estimator(state.estimator))
    try:
        settings = settings_of(state)
    except InspectorError:
        return PolicyBelief(key, thread, counts=counts)
    start = _reusable_tokens(state.believed, key, thread)
    left = islice(thread.requests, len(start), None)
    if policy.prompt_estimator is None and sum(len(request.view) for request in left) > _MOST:
        return PolicyBelief(key, thread, counts=counts)
    count = len(thread.requests)
    more = [
        believed_at(policy, settings, thread, at=index) for index in range(len(start), count + 1)
    ]
    return PolicyBelief(key, thread, tokens=(*start, *more[:-1]), end=more[-1], counts=counts)


def _reusable_tokens(
    former: PolicyBelief | None, key: tuple[object, ...], thread: Thread
) -> tuple[int, ...]:
    """Return the counts of the first requests that are the same in earlier counts of the thread."""
    if former is None or former.key[1:] != key[1:] or former.thread.id != thread.id:
        return ()
    same = min(len(former.tokens), len(thread.requests))
    while same and former.thread.requests[same - 1] is not thread.requests[same - 1]:
        same -= 1
    return former.tokens[:same]


@dataclass(frozen=True, slots=True)
class Lateness:
    """The requests at which a line is first crossed, by the reported tokens and by the policy's own count."""

    line: Watermark
    reported: int | None
    """Index of the request; None if the line is never crossed."""
    believed: int | None
    compacted: int | None = None
    """Index of the first request after a recorded compaction, if the own count had not crossed the line before it."""

    @property
    def sentence(self) -> str:
        """Say how many requests earlier or later the policy's own count crosses the line than the provider's.

        Empty if both cross it at the same request, or never.
        """
        share = self.line.label.split(" ")[0]
        match self.reported, self.believed:
            case int(true), None if self.compacted is not None:
                when = f"before the compaction at request {self.compacted:,}"
                providers = f"by the provider's, it does at request {true:,}"
                return f"By its own count it does not reach {share} {when}; {providers}."
            case int(), None:
                return f"By its own count it never reaches {share}; by the provider's, it does."
            case None, int():
                return f"By its own count it reaches {share}; by the provider's, it never does."
            case int(true), int(own) if own != true:
                count = plural(abs(own - true), "request")
                order = "later" if own > true else "earlier"
                return (
                    f"By its own count it reaches {share} {count} {order} than by the provider's."
                )
        return ""


def lateness(
    line: Watermark,
    pressures: Pressures,
    believed: tuple[int, ...],
    compactions: Sequence[int] = (),
) -> Lateness:
    """Find when a line is crossed by the reported tokens and by the policy's own count. O(requests).

    After one of the two has crossed the line, the search ends at the next recorded compaction: a later crossing by the
    other would be a separate event.

    Args:
        line: The line.
        pressures: The reported tokens.
        believed: The policy's own count at each request.
        compactions: The first requests after recorded compactions.
    """
    least = line.least  # computed once: there may be very many requests
    sizes = (pressure.reported for pressure in pressures)
    reported = next(
        (index for index, tokens in enumerate(sizes) if tokens is not None and tokens >= least),
        None,
    )
    own = next((index for index, tokens in enumerate(believed) if tokens >= least), None)
    first_crossing = min((index for index in (reported, own) if index is not None), default=0)
    compaction = next((index for index in compactions if index > first_crossing), None)
    if reported is None or compaction is None:
        return Lateness(line, reported, own)
    if own is not None and max(reported, own) < compaction:
        return Lateness(line, reported, own)
    if reported < compaction:
        return Lateness(line, reported, believed=None, compacted=compaction)
    return Lateness(line, reported=None, believed=None)


@dataclass(frozen=True, slots=True)
class TierEffect:
    """The selected tier, and the tokens that it would leave."""

    tier: str
    tokens: int


@dataclass(frozen=True, slots=True)
class GaugeReading:
    """What the gauge shows. All sizes are in tokens. The parts and `unseen` add up to the pressure exactly."""

    pressure: Pressure
    window: Window
    parts: tuple[tuple[Category, int], ...]
    """Tokens by category, lowest in the gauge first."""
    unseen: int
    """Tokens that are not in the file: one opaque piece, the same before and after every tier."""
    lines: tuple[GaugeLine, ...]
    """The lines of the scale, and those of another policy."""
    rim: int
    """The window in tokens; if it is unknown, the window that the scale assumes."""
    reserve: int
    """Tokens at the top that clients keep free for the answer; 0 while the window is unknown."""
    slope: float
    """Provider tokens per counted token."""
    place: str = ""
    """The current place in words: `Request 131, the last of 132`."""
    not_recorded: str = ""
    """A description of what the part that is not in the file probably contains."""
    estimated: int | None = None
    """The selected estimator's count of the recorded part; None until it is computed."""
    believed: int | None = None
    """The chosen policy's own count; None until it is computed."""
    policy: str = ""
    """Title of the chosen policy."""
    is_default: bool = True
    """Is the chosen policy the product's own?"""
    has_tiers: bool = True
    by_itself: bool = False
    """True if the own count leaves out system prompt and tools, as some harnesses do from a compaction to the next
    report.
    """
    late: tuple[str, ...] = ()
    """One sentence for each line that the own count reaches at another request than the reported tokens do."""
    before: int | None = None
    """After a step: the size of the buffer that the steps start from."""
    trigger: ClientTrigger | None = None
    """The size at which the recorded client compacts automatically."""
    due: tuple[str, ...] | None = None
    """The tiers that are due; None until they are computed."""
    preview: TierEffect | None = None
    """What the selected tier would leave."""
    changed: tuple[str, ...] = ()
    """The settings of the policy that the user changed, in words: `mid_ratio = 0.48, set by you`."""

    @property
    def ratio(self) -> float | None:
        """Return the pressure divided by the window; None if one of them is unknown."""
        if self.pressure.tokens is None or not self.window.tokens:
            return None
        return self.pressure.tokens / self.window.tokens

    @property
    def belief_error(self) -> float | None:
        """Return the relative error of the own count, `believed` / shown tokens - 1.

        None if no reported or predicted number is available for comparison.
        """
        if (
            self.believed is None
            or not self.pressure.tokens
            or self.pressure.kind not in ("reported", "predicted")
        ):
            return None
        return self.believed / self.pressure.tokens - 1

    @property
    def due_words(self) -> str:
        """Say which tiers are due: `L0 and L1 are due`; empty until they are computed."""
        if not self.has_tiers:
            return "This policy has no tiers"
        if self.due is None:
            return ""
        if not self.due:
            return "No tier is due"
        *others, last = self.due
        return f"{', '.join(others)} and {last} are due" if others else f"{last} is due"


def reading(state: State) -> GaugeReading | None:
    """Return what the gauge shows at the current place; None while nothing is open. After a step O(messages).

    The reading of the newest State is cached, because gauge and timeline ask for it.
    """
    latest = _latest_reading[0]
    if latest is not None and latest[0]() is state:
        return latest[1]
    gauge_reading = _read_gauge(state)
    _latest_reading[0] = ref(state), gauge_reading
    return gauge_reading


_latest_reading: list[tuple[ref[State], GaugeReading | None] | None] = [None]


def _read_gauge(state: State) -> GaugeReading | None:
    thread = state.thread
    pressures = state.pressures
    if thread is None or pressures is None:
        return None
    size = sizer_of(state)
    stepped = state.stepped_buffer
    pressure, before = pressure_here(state, size)
    request = state.request
    view = request.view if request else thread.end
    prompt = request.prompt if request else thread.prompt
    if stepped is not None:
        view = Stretch(own=stepped.messages).view()
        prompt = stepped.prompt
    window = state.window or Window(tokens=None, source="unknown")
    session = state.session
    assert session is not None
    parts = sized(size, pressure, view, prompt)
    scale = size.scale
    rim = window.tokens or assumed_window()
    lines = gauge_lines(state)
    top = reserve(window.tokens)
    sizes = GaugeReading(
        pressure, window, parts, scale.unseen, lines, rim, reserve=top, slope=scale.slope
    )
    with_place = replace(
        sizes,
        place=_place(state, thread),
        not_recorded=not_recorded_words(thread, state.at, size.scale.unseen),
        before=before,
        trigger=client_trigger(session, thread, pressures, window=window.tokens),
    )
    return _with_policy(with_place, state, thread)


def _with_policy(reading: GaugeReading, state: State, thread: Thread) -> GaugeReading:
    """Add the chosen policy's own count, its lines and its due tiers to a reading."""
    counts = replace(
        reading,
        estimated=estimate_here(state),
        believed=belief_here(state),
        by_itself=_counts_alone(state, thread),
        late=_lateness_sentences(state),
    )
    choices = state.choices
    return replace(
        counts,
        policy=policy_title(state),
        is_default=choices.policy == DEFAULT_POLICY,
        has_tiers=_has_tiers(state),
        due=_due_tiers(state),
        preview=_preview(state, reading.pressure),
        changed=() if choices.usual else changed_words(choices),
    )


def changed_words(choices: Choices) -> tuple[str, ...]:
    """Name each setting of the policy that the user changed, with its value."""
    return tuple(f"{name} = {value}, set by you" for name, value in choices.settings)


def _place(state: State, thread: Thread) -> str:
    """Name the current place: `Request 131, the last of 132`; `After request 131, the last` at the end."""
    count = len(thread.requests)
    if not count:
        return "No model call is recorded"
    if state.at is None:
        return f"After request {count - 1}, the last"
    if count == 1:
        return "The only request"
    if state.at == count - 1:
        return f"Request {state.at:,}, the last of {count:,}"
    return f"Request {state.at:,} of {count:,}"


def _has_tiers(state: State) -> bool:
    try:
        return bool(policy_of(state).tiers)
    except InspectorError:
        return False


def _due_tiers(state: State) -> tuple[str, ...] | None:
    if state.previews is None:
        return None
    return tuple(verdict.tier for verdict in state.previews.verdicts if verdict.due)


def _preview(state: State, pressure: Pressure) -> TierEffect | None:
    preview = state.preview
    if preview is None or preview.outcome is None or preview.freed <= 0 or pressure.tokens is None:
        return None
    return TierEffect(preview.tier, max(0, pressure.tokens - preview.freed))


def pressure_here(state: State, size: Sizer) -> tuple[Pressure, int | None]:
    """Return the pressure of the shown buffer, and after a step the size of the buffer that the steps start from.

    O(messages) after a step.
    """
    steps = state.steps
    stepped = state.stepped_buffer
    if stepped is None or steps is None:
        return size.pressure, None
    before = size.pressure.tokens if steps.own_path else None
    return size.pressure_beside(stepped, steps.ground_of(steps.at)), before


def belief_here(state: State) -> int | None:
    """Return the chosen policy's own count of the shown buffer; None until it is computed. O(1)."""
    belief = state.believed
    if belief is not None and not state.stepped and belief.key == beliefs_key(state):
        if state.at is None:
            count = belief.end
        else:
            count = belief.tokens[state.at] if state.at < len(belief.tokens) else None
        if count is not None:
            return count
    return None if state.previews is None else state.previews.tokens


def estimate_here(state: State) -> int | None:
    """Return the selected estimator's count of the shown recorded buffer; None until it is computed. O(1)."""
    belief = state.believed
    if belief is None or belief.counts is None or belief.key != beliefs_key(state) or state.stepped:
        return None
    return belief.counts.at(state.at).estimated


def lacks_belief(state: State) -> bool:
    """Is the policy's own count of the shown buffer still missing? It is computed with the tiers' verdicts. O(1)."""
    belief = state.believed
    return belief is not None and belief.key == beliefs_key(state) and belief_here(state) is None


def _counts_alone(state: State, thread: Thread) -> bool:
    try:
        policy = policy_of(state)
    except InspectorError:
        return False
    request = len(thread.requests) if state.at is None else state.at
    return not state.stepped and counts_by_itself(policy, thread, request)


def _lateness_sentences(state: State) -> tuple[str, ...]:
    """Return a sentence for each line of the chosen policy that its own count reaches earlier or later than
    reported.
    """
    belief = state.believed
    pressures = state.pressures
    if belief is None or pressures is None or not belief.tokens or belief.key != beliefs_key(state):
        return ()
    cuts = [compaction.before_request for compaction in belief.thread.compactions]
    sentences = []
    for line in gauge_lines(state):
        if line.policy != state.choices.policy:
            continue
        key = (line.watermark, SameObject(pressures))
        if key not in belief.late:
            belief.late[key] = lateness(
                line.watermark, pressures, believed=belief.tokens, compactions=cuts
            ).sentence
        if sentence := belief.late[key]:
            sentences.append(sentence)
    return tuple(sentences)
