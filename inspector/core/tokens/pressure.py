"""How full the buffer was at every request, each number with its kind.

Reported where the transcript reports it. Where it does not - at the end of a thread, in a call without usage, after a
compaction - predicted (`prediction`). Where nothing was ever reported, counted or estimated. All requests of a thread
cost O(messages) once, and only what is new when the thread has grown.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Literal, TypeAlias

from inspector.core.arrivals import changed_places
from inspector.core.buffer import Prompt, is_prefix
from inspector.core.heavy import KnownByThread, checkpoint
from inspector.core.session import Compaction, Request, Thread
from inspector.core.tokens.estimators import Estimator, messages_weight, prompt_tokens, weigh_newest, weight
from inspector.core.tokens.families import family_of
from inspector.core.tokens.prediction import Addition, Learner, Prediction, Scale, prior, scale
from inspector.core.tokens.quantiles import quantile
from inspector.core.tokens.weigher import weigher_of
from inspector.core.usage import Usage

PressureKind: TypeAlias = Literal["reported", "counted", "predicted", "estimated", "unknown"]


@dataclass(frozen=True, slots=True)
class Pressure:
    """Tokens of one buffer. `tokens` is the number to show, `kind` says where it comes from."""

    tokens: int | None
    """reported: the provider's; predicted: what it would say; counted, estimated: what the rows come to, where nothing
    was ever reported; unknown: None, where there is nothing to count."""
    kind: PressureKind
    counted: int
    """The weight of all that the transcript holds of the buffer: messages, system prompt, tools."""
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
    family: str
    """Of the model that answered."""
    slope: float
    spread: float

    @property
    def measure(self) -> tuple[float, float]:
        """What a row weighs, and how sure that is: to a hundredth, so that it seldom changes while a session grows."""
        return round(self.slope, 2), round(self.spread, 2)


@dataclass(slots=True, eq=False)
class Pressures:
    """One pressure a request, in order, and `end`: of the buffer after the last record."""

    by: Estimator
    """What weighs the messages: the exact weigher, unless an estimator is compared with it."""
    _known: tuple[_RequestState, ...]
    end: Pressure
    _thread: Thread
    _course: "_Course"
    """As it was in front of the last request, which may be another one when the thread has grown."""
    _changes: dict[int, "_Course"]
    """As it was in front of each change of the buffer, by request."""
    before: dict[int, Pressure] = field(default_factory=dict)
    """Predicted for the buffer in front of a change, by request, as far as it was asked for (see `change_sizes`)."""
    _last: dict[str, _RequestState] = field(init=False)
    """The last request of each family of models: it knows best what a row weighs with them."""

    def __post_init__(self) -> None:
        self._last = {one.family: one for one in self._known}

    def __len__(self) -> int:
        return len(self._known)

    def __getitem__(self, index: int) -> Pressure:
        return self._known[index].pressure

    def __iter__(self) -> Iterator[Pressure]:
        return (one.pressure for one in self._known)

    @property
    def requests(self) -> Sequence[Request]:
        """The requests that the pressures are of."""
        return self._thread.requests

    def at(self, index: int | None) -> Pressure:
        """Of request `index`; None or the number of requests = of the buffer after the last record."""
        return self.end if index is None or index >= len(self._known) else self._known[index].pressure

    def count_settled(self, former: "Pressures") -> int:
        """Return how many of the first requests have the pressure and the scale that they had in `former`, when the
        thread was shorter. O(requests that are new)."""
        if former.by.name != self.by.name:
            return 0
        if any(one.measure != self._last[name].measure for name, one in former._last.items() if name in self._last):
            return 0
        settled = min(len(self), len(former))
        while settled and self._known[settled - 1] is not former._known[settled - 1]:
            settled -= 1
        return settled

    def predict_end(self, at: int, shorter: Thread) -> Pressure:
        """Predict the size of the buffer at the end of the thread as it stood earlier. O(requests since a change).

        Args:
            at: The request in front of which it stood so; the number of requests for the end.
            shorter: The thread as it stood then.
        """
        courses = (*self._changes.values(), self._course)
        earlier = [course for course in courses if course.place <= at]
        course = max(earlier, key=lambda course: course.place).copy() if earlier else _Course(self.by)
        for request in self._thread.requests[course.place : at]:
            course.follow(self._thread, request)
        return course.look(shorter, Request(at, shorter.end, shorter.prompt))

    def scale(self, index: int | None) -> Scale:
        """What the rows of the buffer at that place weigh, and what lies beside them. `None` = after the last record.

        A row weighs the same at all requests of a model: the best that is known of it today.
        """
        pressure, count = self.at(index), len(self._known)
        place = self._thread.place(index)
        is_reported = pressure.kind in ("reported", "predicted") and pressure.tokens is not None
        if not is_reported or not count:
            return Scale(0, prior(self.by.name, place.model or self._thread.model), pressure.counted, 0.0)
        state = self._known[count - 1 if index is None or index >= count else index]
        slope, spread = self._last[state.family].measure
        return scale(pressure.tokens or 0, pressure.counted, slope, spread, is_whole=holds_all(place))


def holds_all(request: Request) -> bool:
    """Does the transcript hold messages, system prompt and tools of a request?"""
    return request.prompt.system is not None and request.prompt.tools is not None and bool(len(request.view))


def thread_pressures(thread: Thread, by: Estimator | None = None, former: Pressures | None = None) -> Pressures:
    """Pressures of all requests of a thread.

    Args:
        thread: What was recorded of one agent.
        by: What weighs the messages; None: the exact weigher.
        former: An earlier result for the same thread when it was shorter; what still holds of it is taken over.
    """
    by, requests = by or weigher_of(thread), thread.requests
    weigh_newest(by, thread.messages)
    same = count_same_requests(former.requests, requests) if former is not None and former.by.name == by.name else 0
    known: list[_RequestState] = []
    changes: dict[int, _Course] = {}
    course = _Course(by)
    if former is not None and 0 < former._course.place <= same:
        course = former._course.copy()
        known = list(former._known[: course.place])
        changes = {at: then for at, then in former._changes.items() if at < course.place}
    changed = set(changed_places(thread, course.place))
    settled = course
    for at in range(course.place, len(requests)):
        checkpoint()
        if at in changed:
            changes[at] = course.copy()
        if at == len(requests) - 1:
            settled = course.copy()
        known.append(course.follow(thread, requests[at]))
    last = requests[-1] if requests else None
    predicted = last.predicted if last is not None and last.usage is None and last.view == thread.end else None
    end = course.look(thread, Request(len(requests), thread.end, thread.prompt, predicted=predicted))
    before = {at: one for at, one in former.before.items() if at < same} if former is not None else {}
    return Pressures(by, tuple(known), end, thread, settled, changes, before)


def count_same_requests(former: Sequence[Request], requests: Sequence[Request]) -> int:
    """Count the requests at the beginning that are the same objects. From the end: O(requests that are new)."""
    same = min(len(former), len(requests))
    while same and former[same - 1] is not requests[same - 1]:
        same -= 1
    return same


_KNOWN = KnownByThread[Pressures]()


def known_pressures(thread: Thread, by: Estimator | None = None) -> Pressures:
    """The same, remembered for the last few threads: sizes are asked for at many places of one."""
    found = by or weigher_of(thread)
    return _KNOWN.get(thread, found.name, lambda former: thread_pressures(thread, found, former))


def summary_since(thread: Thread, request: Request, after: int) -> Compaction | None:
    """Return the newest summary of the history that was recorded after request `after` and before that one."""
    listed = thread.compactions
    for n in range(bisect_right(listed, request.index, key=lambda one: one.before_request) - 1, -1, -1):
        if listed[n].before_request <= after:
            return None
        if listed[n].kind == "summary":
            return listed[n]
    return None


_CLIENT_SHARE = 1.25
"""Tokens of the provider for each that Claude Code estimates of what its micro-compactions remove (1.22 to 1.28)."""


def removed_unrecorded(thread: Thread, request: Request, after: int) -> int:
    """Return the tokens that were removed after request `after` and before that one, and are not in the file."""
    listed = thread.compactions
    last = bisect_right(listed, request.index, key=lambda one: one.before_request)
    recent = takewhile(lambda one: one.before_request > after, (listed[n] for n in range(last - 1, -1, -1)))
    return round(_CLIENT_SHARE * sum(one.unrecorded for one in recent))


_FEW_TOOLS = 0.2
"""Share of a whole prompt up to which its tool schemas do not disturb what the prompt says of the tokenizer."""


class _Course:
    """Follows one thread from request to request: what was reported, what that teaches, what is said of the next."""

    def __init__(self, by: Estimator) -> None:
        self.place = 0
        """Requests that were followed."""
        self._by = by
        self._prompt = _PromptWeight(by)
        self._learner = Learner(by.name)
        self._anchor: Request | None = None
        """The last request whose size was reported."""
        self._base: int | None = None
        """The unseen part of the first stretch, once that is over: later ones hold what was attached anew, too."""
        self._attached: list[int] = []
        """What was attached anew after each compaction so far, as far as the reports tell."""

    def copy(self) -> "_Course":
        """Return the same course, to be led on by itself. O(1)."""
        made = copy(self)
        made._learner, made._prompt = self._learner.copy(), copy(self._prompt)
        made._attached = list(self._attached)
        return made

    def follow(self, thread: Thread, request: Request) -> _RequestState:
        """The next request."""
        added = self._added(thread, request)
        prediction = self._learner.predict(added)
        pressure = self._said(thread, request, added, prediction)
        self.place += 1
        usage = request.usage
        if usage is not None and usage.prompt > 0:
            self._report(thread, request, usage, added, prediction)
        family = family_of(request.model or thread.model).name
        return _RequestState(request, pressure, family, self._learner.slope(), self._learner.spread())

    def look(self, thread: Thread, request: Request) -> Pressure:
        """What is said of a buffer before anybody reports it. Changes nothing."""
        added = self._added(thread, request)
        anchor = self._anchor
        if anchor is not None and len(request.view) and request.view == anchor.view and request.prompt == anchor.prompt:
            added = replace(added, is_same=True)
        return self._said(thread, request, added, self._learner.predict(added))

    def _said(self, thread: Thread, request: Request, added: Addition, prediction: Prediction | None) -> Pressure:
        predicted = prediction if request.predicted is None else Prediction(*request.predicted)
        counted, usage = added.counted, request.usage
        if usage is not None and usage.prompt > 0:
            return Pressure(usage.prompt, "reported", counted, usage.prompt, predicted)
        if predicted is not None:
            return Pressure(predicted.tokens, "predicted", counted, None, predicted)
        if not len(request.view) and not counted:
            return Pressure(None, "unknown", counted)
        factor = prior(self._by.name, request.model or thread.model)
        return Pressure(round(factor * counted), self._by.kind, counted)

    def _added(self, thread: Thread, request: Request) -> Addition:
        counted = self._by.tokens(messages_weight(self._by, request.view)) + self._prompt(request.prompt)
        tools = prompt_tokens(self._by, request.prompt)[1]
        is_whole, model = holds_all(request) and tools <= _FEW_TOOLS * counted, request.model
        anchor, is_empty = self._anchor, not len(request.view) and not counted
        if anchor is None or not is_prefix(anchor.view, request.view):
            compaction = self._compaction(thread, request)
            attached = compaction.attached if compaction is not None else None
            if attached is None:
                fresh = compaction is not None
                return Addition(counted, extends=False, compacted=fresh, is_whole=is_whole, model=model)
            usual = int(quantile([attached.usual, *self._attached], 0.5) or 0)
            more = self._base_unseen() - self._learner.unseen()
            span = attached.least - usual, attached.most - usual
            return Addition(counted, False, 0, more + usual, span, compacted=True, is_whole=is_whole, model=model)
        answer = 0
        came = request.view.tail(len(anchor.view))
        for message in came:
            if message.role != "assistant":
                break
            answer += weight(self._by, message)
        told, is_turn = self._by.tokens(answer) if answer else 0, any(message.from_user for message in came)
        found = Addition(counted, True, told, is_turn=is_turn, is_empty=is_empty, is_whole=is_whole, model=model)
        return replace(found, removed=removed_unrecorded(thread, request, anchor.index))

    def _base_unseen(self) -> int:
        """The unseen part before anything was attached anew."""
        return self._learner.unseen() if self._base is None else self._base

    def _compaction(self, thread: Thread, request: Request) -> Compaction | None:
        """The newest summary of the history that was recorded since the last report."""
        return summary_since(thread, request, self._anchor.index if self._anchor is not None else -1)

    def _report(
        self, thread: Thread, request: Request, usage: Usage, added: Addition, prediction: Prediction | None
    ) -> None:
        fresh = self._compaction(thread, request) is not None
        if fresh and self._anchor is not None:
            self._base = self._base_unseen()
            self._attached.append(usage.prompt - self._base - round(self._learner.slope() * added.counted))
        output = usage.output if usage.output_is_final else 0
        model = request.model or thread.model
        fallen = self._learner.report(added, prediction, usage.prompt, output, model, fresh=fresh)
        if self._base is not None and fallen:  # what was attached anew goes first
            self._base = min(self._base, self._learner.unseen())
        self._anchor = request


class _PromptWeight:
    """Tokens of what the transcript holds of a prompt, worked out once for as long as it stays the same."""

    def __init__(self, by: Estimator) -> None:
        self._by = by
        self._prompt: Prompt | None = None
        self._found = 0

    def __call__(self, prompt: Prompt) -> int:
        if prompt is not self._prompt and prompt != self._prompt:
            self._found = sum(prompt_tokens(self._by, prompt))
        self._prompt = prompt
        return self._found
