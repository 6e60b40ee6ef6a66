"""How full the buffer was at every request, each number with its kind.

Reported where the transcript reports it. Where it does not - at the end of a thread, in a call without usage, after a
compaction - predicted (`prediction`). Where nothing was ever reported, counted or estimated. All requests of a thread
cost O(messages) once, and only what is new when the thread has grown.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Literal, TypeAlias

from inspector.core.buffer import Prompt, is_prefix
from inspector.core.heavy import checkpoint
from inspector.core.session import Compaction, Request, Thread
from inspector.core.tokens.calibration import Belief, Beliefs
from inspector.core.tokens.estimators import Estimator, messages_weight, prompt_tokens, weight
from inspector.core.tokens.prediction import (
    UNSCALED,
    Addition,
    Learner,
    Prediction,
    Scale,
    prior,
    quantile,
    scale,
    whole_prompt,
)
from inspector.core.usage import Usage

PressureKind: TypeAlias = Literal["reported", "counted", "predicted", "estimated", "unknown"]


@dataclass(frozen=True, slots=True)
class Pressure:
    """Tokens of one buffer. `tokens` is the number to show, `kind` says where it comes from."""

    tokens: int | None
    """reported: the provider's; predicted: what it would say; counted, estimated: `estimated`, where nothing was ever
    reported; unknown: None, where there is nothing to count."""
    kind: PressureKind
    estimated: int
    """All that the transcript holds of the buffer, by the estimator alone: messages, system prompt, tools."""
    calibrated: int
    """What a calibration through the origin makes of it (Roku's measure): see `calibration`."""
    reported: int | None = None
    """The true prompt size, as the provider reported it."""
    predicted: Prediction | None = None
    """What the program said of this buffer before anybody reported it; None where there was nothing to go by."""

    @property
    def band(self) -> tuple[int, int] | None:
        """Where the true number most likely lies; None unless the number is predicted."""
        return self.predicted.band if self.predicted is not None and self.kind == "predicted" else None


@dataclass(frozen=True, slots=True)
class _RequestState:
    """What is known after a request: enough to show it, and to go on from there."""

    request: Request
    pressure: Pressure
    belief: Belief
    stretch: int
    """Number of the stretch between compactions, for the unseen part."""
    slope: float
    spread: float
    unseen: int
    """As far as it was known after this request."""


@dataclass(slots=True, eq=False)
class Pressures:
    """One pressure a request, in order, and `end`: of the buffer after the last record."""

    estimator: str
    _known: tuple[_RequestState, ...]
    end: Pressure
    end_belief: Belief
    _prompt: Prompt
    """Of the buffer after the last record."""
    _course: "_Course"
    """As it was in front of the last request, which may be another one when the thread has grown."""
    before: dict[int, Pressure] = field(default_factory=dict)
    """Predicted for the buffer in front of a change, by request, as far as it was asked for (see `change_sizes`)."""
    _last: dict[int, _RequestState] = field(init=False)
    """The last request of each stretch."""

    def __post_init__(self) -> None:
        self._last = {one.stretch: one for one in self._known}

    def __len__(self) -> int:
        return len(self._known)

    def __getitem__(self, index: int) -> Pressure:
        return self._known[index].pressure

    def __iter__(self) -> Iterator[Pressure]:
        return (one.pressure for one in self._known)

    def at(self, index: int | None) -> Pressure:
        """Of request `index`; None or the number of requests = of the buffer after the last record."""
        return self.end if index is None or index >= len(self._known) else self._known[index].pressure

    def count_settled(self, former: "Pressures") -> int:
        """Return how many of the first requests have the pressure and the scale that they had in `former`, when the
        thread was shorter. O(requests of a stretch)."""
        if former.estimator != self.estimator:
            return 0
        settled = min(len(self), len(former))
        while settled:
            known = self._known[settled - 1]
            if known is former._known[settled - 1] and self._last[known.stretch] is former._last.get(known.stretch):
                break
            settled -= 1
        return settled

    def belief(self, index: int | None) -> Belief:
        """What a harness that calibrates this estimator has learned before that call, by what was reported so far."""
        return self.end_belief if index is None or index >= len(self._known) else self._known[index].belief

    def scale(self, index: int | None) -> Scale:
        """What the rows of the buffer at that place weigh, and what is unseen there. `None` = after the last record.

        The unseen part is one number for all requests between two compactions: the best that is known of it today.
        """
        pressure = self.at(index)
        if pressure.kind not in ("reported", "predicted") or pressure.tokens is None:
            return replace(UNSCALED, counted=pressure.estimated)
        last = len(self._known) - 1
        is_end, known = index is None or index > last, self._known[last if index is None else min(index, last)]
        latest, prompt = self._last[known.stretch], self._prompt if is_end else known.request.prompt
        told = pressure.predicted
        more = told.attached if told is not None and pressure.kind == "predicted" else 0
        unseen = max(0, latest.unseen + more)
        found = scale(pressure.tokens, pressure.estimated, unseen, latest.slope, latest.spread)
        if prompt.system is None or prompt.tools is None or not len(known.request.view):
            return found
        expected = prior(self.estimator, known.request.model)
        return whole_prompt(found, self._course.tool_tokens(prompt), expected, latest.slope)


def thread_pressures(thread: Thread, estimator: Estimator, former: Pressures | None = None) -> Pressures:
    """Pressures of all requests of a thread.

    `former`: an earlier result for the same thread when it was shorter; what still holds of it is taken over.
    """
    requests = thread.requests
    same = count_same_requests(former, thread) if former is not None and former.estimator == estimator.name else 0
    known: list[_RequestState] = []
    course = _Course(estimator)
    if former is not None and 0 < former._course.place <= same:
        course = former._course.copy()
        known = list(former._known[: course.place])
    settled = course
    for at in range(course.place, len(requests)):
        checkpoint()
        if at == len(requests) - 1:
            settled = course.copy()
        known.append(course.follow(thread, requests[at]))
    last = requests[-1] if requests else None
    predicted = last.predicted if last is not None and last.usage is None and last.view == thread.end else None
    end, belief = course.look(thread, Request(len(requests), thread.end, thread.prompt, predicted=predicted))
    before = {at: one for at, one in former.before.items() if at < same} if former is not None else {}
    return Pressures(estimator.name, tuple(known), end, belief, thread.prompt, settled, before)


def count_same_requests(former: Pressures, thread: Thread) -> int:
    """Return how many of the first requests of a thread are those that `former` knows."""
    requests = thread.requests
    same = min(len(former), len(requests))
    while same and former._known[same - 1].request is not requests[same - 1]:
        same -= 1
    return same


def predict_ends(thread: Thread, estimator: Estimator, shorter: Mapping[int, Thread]) -> dict[int, Pressure]:
    """Predict the size of the buffer at the end of `thread` as it stood earlier. O(requests) for all of them.

    Args:
        thread: The whole thread.
        estimator: What weighs the messages.
        shorter: The thread as it stood before a request, by the index of that request.
    """
    course, found = _Course(estimator), dict[int, Pressure]()
    for at in range(len(thread.requests) + 1):
        if (then := shorter.get(at)) is not None:
            found[at], _ = course.look(then, Request(at, then.end, then.prompt))
        if at < len(thread.requests):
            course.follow(thread, thread.requests[at])
    return found


_KEPT = 8
_known_last: OrderedDict[tuple[int, str], tuple[Thread, Pressures]] = OrderedDict()
_CHANGING = Lock()
"""Held only while what is known changes: a computation may rest for another that asks for the same."""


def known_pressures(thread: Thread, estimator: Estimator) -> Pressures:
    """The same, remembered for the last few threads: what a policy believes is asked for at many places of one."""
    key = id(thread), estimator.name
    known = _known_last.get(key)
    if known is not None and known[0] is thread:
        return known[1]
    found = thread_pressures(thread, estimator, _known_when_shorter(thread, estimator))
    with _CHANGING:
        _known_last[key] = thread, found
        while len(_known_last) > _KEPT:
            _known_last.popitem(last=False)
    return found


def _known_when_shorter(thread: Thread, estimator: Estimator) -> Pressures | None:
    """Return what is known of the thread when it had fewer requests. Forget what is known of another session."""
    with _CHANGING:
        latest = [one for one in reversed(_known_last.values()) if one[0].id == thread.id]
        began = latest[0][0].requests if latest else ()
        if began and not (thread.requests and thread.requests[0] is began[0]):
            _known_last.clear()  # another session: the one before is not kept in memory for this
            return None
        return next((one for _, one in latest if one.estimator == estimator.name), None)


class _Course:
    """Follows one thread from request to request: what was reported, what that teaches, what is said of the next."""

    def __init__(self, estimator: Estimator) -> None:
        self.place = 0
        """Requests that were followed."""
        self._estimator = estimator
        self._prompt = _PromptWeight(estimator)
        self._learner = Learner(estimator.name)
        self._beliefs = Beliefs(estimator.name)
        self._anchor: Request | None = None
        """The last request whose size was reported."""
        self._own = 0
        """Of its buffer: by the estimator's own rule."""
        self._stretch = 0
        self._base: int | None = None
        """The unseen part of the first stretch, once that is over: later ones hold what was attached anew, too."""
        self._attached: list[int] = []
        """What was attached anew after each compaction so far, as far as the reports tell."""

    def copy(self) -> "_Course":
        """Return the same course, to be led on by itself. O(1)."""
        made = copy(self)
        made._learner, made._beliefs = self._learner.copy(), self._beliefs.copy()
        made._attached = list(self._attached)
        made._prompt = copy(self._prompt)
        return made

    def follow(self, thread: Thread, request: Request) -> _RequestState:
        """The next request."""
        own, whole = self._counted(request)
        added = self._added(thread, request, whole)
        pressure, belief = self._said(request, own, added)
        self.place += 1
        usage = request.usage
        if usage is not None and usage.prompt > 0:
            self._report(thread, request, usage, own, added)
        learner = self._learner
        return _RequestState(
            request, pressure, belief, self._stretch, learner.slope(), learner.spread(), learner.unseen()
        )

    def look(self, thread: Thread, request: Request) -> tuple[Pressure, Belief]:
        """What is said of a buffer before anybody reports it. Changes nothing."""
        own, whole = self._counted(request)
        return self._said(request, own, self._added(thread, request, whole))

    def _said(self, request: Request, own: int, added: Addition) -> tuple[Pressure, Belief]:
        if request.predicted is not None:
            predicted: Prediction | None = Prediction(*request.predicted)
        else:
            predicted = self._learner.predict(added)
        belief, whole, usage = self._beliefs.now(), added.counted, request.usage
        believed = belief.tokens(own)
        if usage is not None and usage.prompt > 0:
            return Pressure(usage.prompt, "reported", whole, believed, usage.prompt, predicted), belief
        if predicted is not None:
            return Pressure(predicted.tokens, "predicted", whole, believed, None, predicted), belief
        if not len(request.view) and not whole:
            return Pressure(None, "unknown", whole, believed), belief
        return Pressure(whole, self._estimator.kind, whole, believed), belief

    def tool_tokens(self, prompt: Prompt) -> int:
        """Of the schemas, as far as the transcript holds them."""
        return prompt_tokens(self._estimator, prompt)[1]

    def _counted(self, request: Request) -> tuple[int, int]:
        """Tokens of a buffer (by the estimator's own rule, with all that the transcript holds of the prompt)."""
        weighed, beside = self._prompt(request.prompt)
        own = self._estimator.tokens(messages_weight(self._estimator, request.view) + weighed)
        return own, own + beside

    def _added(self, thread: Thread, request: Request, counted: int) -> Addition:
        anchor = self._anchor
        if anchor is None or not is_prefix(anchor.view, request.view):
            compaction = self._compaction(thread, request)
            attached = compaction.attached if compaction is not None else None
            if attached is None:
                return Addition(counted, extends=False)
            usual = int(quantile([attached.usual, *self._attached], 0.5) or 0)
            more = self._base_unseen() - self._learner.unseen()
            return Addition(counted, False, 0, more + usual, (attached.least - usual, attached.most - usual))
        answer = 0
        for message in request.view.tail(len(anchor.view)):
            if message.role != "assistant":
                break
            answer += weight(self._estimator, message)
        return Addition(counted, True, self._estimator.tokens(answer) if answer else 0)

    def _base_unseen(self) -> int:
        """The unseen part before anything was attached anew."""
        return self._learner.unseen() if self._base is None else self._base

    def _compaction(self, thread: Thread, request: Request) -> Compaction | None:
        """The newest summary of the history that was recorded since the last report."""
        after = self._anchor.index if self._anchor is not None else -1
        listed = thread.compactions
        for n in range(bisect_right(listed, request.index, key=lambda one: one.before_request) - 1, -1, -1):
            if listed[n].before_request <= after:
                return None
            if listed[n].kind == "summary":
                return listed[n]
        return None

    def _report(self, thread: Thread, request: Request, usage: Usage, own: int, added: Addition) -> None:
        compaction = self._compaction(thread, request)
        fresh = compaction is not None
        grown = None
        if self._anchor is not None and self._anchor.usage is not None and added.extends:
            grown = (usage.prompt - self._anchor.usage.prompt, own - self._own)
        if fresh and self._anchor is not None:
            self._base = self._base_unseen()
            self._attached.append(usage.prompt - self._base - round(self._learner.slope() * added.counted))
        output = usage.output if usage.output_is_final else 0
        fallen = self._learner.report(added, usage.prompt, output, request.model or thread.model, fresh=fresh)
        if self._base is not None and fallen:  # what was attached anew goes first
            self._base = min(self._base, self._learner.unseen())
        self._beliefs.report(own, usage.prompt, request.model or thread.model, grown, fresh=fresh)
        self._stretch += fresh or bool(fallen)
        self._anchor, self._own = request, own


class _PromptWeight:
    """(weight by the estimator's own rule, tokens of what it leaves out) of a prompt, worked out once for as long as it
    stays the same."""

    def __init__(self, estimator: Estimator) -> None:
        self._estimator = estimator
        self._prompt: Prompt | None = None
        self._found = (0, 0)

    def __call__(self, prompt: Prompt) -> tuple[int, int]:
        if prompt is not self._prompt and prompt != self._prompt:
            own = self._estimator.weigh_prompt(prompt)
            self._found = own, sum(prompt_tokens(self._estimator, prompt)) - self._estimator.tokens(own)
        self._prompt = prompt
        return self._found
