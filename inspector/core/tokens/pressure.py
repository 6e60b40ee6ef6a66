"""Compute the pressure (the tokens of the buffer) at every request, each number with its kind.

A number is reported if the transcript reports it. If not - at the end of a thread, in a call without usage, after a
compaction - it is predicted (`prediction`). If nothing was ever reported, it is counted or estimated. All requests of a
thread cost O(messages) once, and only what is new when the thread has grown.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from inspector.core.arrivals import changed_places
from inspector.core.buffer import Prompt, is_prefix
from inspector.core.heavy import KnownByThread, checkpoint
from inspector.core.session import Compaction, Request, Thread
from inspector.core.tokens.bands import Bands
from inspector.core.tokens.estimators import (
    Estimator,
    messages_weight,
    prompt_tokens,
    weigh_newest,
    weight,
)
from inspector.core.tokens.families import family_of
from inspector.core.tokens.prediction import Addition, Learner, Prediction, Scale, prior, scale
from inspector.core.tokens.quantiles import quantile
from inspector.core.tokens.weigher import weigher_of
from inspector.core.usage import Usage

PressureKind: TypeAlias = Literal["reported", "counted", "predicted", "estimated", "unknown"]


@dataclass(frozen=True, slots=True)
class Pressure:
    """Tokens of one buffer. `tokens` is the number to show, `kind` its source."""

    tokens: int | None
    """reported: by the provider; predicted: what it would report; counted, estimated: the sum of the rows, if nothing
    was ever reported; unknown: None, because there is nothing to count."""
    kind: PressureKind
    counted: int
    """The weight of the recorded part of the buffer: messages, system prompt, tools."""
    reported: int | None = None
    """The true prompt size, as the provider reported it."""
    predicted: Prediction | None = None
    """The prediction before the report; None if there was no earlier report to predict from."""

    @property
    def band(self) -> tuple[int, int] | None:
        """Return the bounds between which the true number most likely is; None unless the number is predicted."""
        return (
            self.predicted.band if self.predicted is not None and self.kind == "predicted" else None
        )


@dataclass(frozen=True, slots=True)
class _RequestState:
    """The pressure of a request, with the slope and spread that were known after it."""

    request: Request
    pressure: Pressure
    family: str
    """Family of the model that answered."""
    slope: float
    spread: float

    @property
    def measure(self) -> tuple[float, float]:
        """Return (slope, spread), rounded to a hundredth so that they seldom change while a session grows."""
        return round(self.slope, 2), round(self.spread, 2)


@dataclass(slots=True, eq=False)
class Pressures:
    """One pressure per request, in order, and `end`: the pressure of the buffer after the last record."""

    by: Estimator
    """The exact weigher, unless an estimator is compared with it."""
    _known: tuple[_RequestState, ...]
    end: Pressure
    _thread: Thread
    _course: "_Course"
    """The state before the last request, because that request may differ in the grown thread."""
    _changes: dict[int, "_Course"]
    """The state before each change of the buffer, by request."""
    before: dict[int, Pressure] = field(default_factory=dict)
    """Predictions of the buffer before a change, by request, filled on demand (see `change_sizes`)."""
    _last: dict[str, _RequestState] = field(init=False)
    """The last request of each family of models: it has the best estimate of the tokens of a row."""

    def __post_init__(self) -> None:
        self._last = {state.family: state for state in self._known}

    def __len__(self) -> int:
        return len(self._known)

    def __getitem__(self, index: int) -> Pressure:
        return self._known[index].pressure

    def __iter__(self) -> Iterator[Pressure]:
        return (state.pressure for state in self._known)

    @property
    def sizes(self) -> list[int]:
        """Return the tokens of each request, 0 if they are unknown."""
        return [state.pressure.tokens or 0 for state in self._known]

    @property
    def requests(self) -> Sequence[Request]:
        """Return the requests of the thread."""
        return self._thread.requests

    def at(self, index: int | None) -> Pressure:
        """Return the pressure of a request; for None or the number of requests, that of the buffer after the last
        record."""
        return (
            self.end if index is None or index >= len(self._known) else self._known[index].pressure
        )

    def count_settled(self, former: "Pressures") -> int:
        """Return how many of the first requests have the same pressure and scale as in `former`. O(new requests).

        `former`: the pressures of the thread when it was shorter.
        """
        if former.by.name != self.by.name:
            return 0
        if any(
            state.measure != self._last[name].measure
            for name, state in former._last.items()
            if name in self._last
        ):
            return 0
        return self.count_same(former)

    def count_same(self, former: "Pressures") -> int:
        """Return how many of the first requests have the same pressure as in `former`, even if the scale changed.

        O(new requests). `former`: the pressures of the thread when it was shorter.
        """
        same = min(len(self), len(former))
        while same and self._known[same - 1] is not former._known[same - 1]:
            same -= 1
        return same

    def predict_end(self, at: int, shorter: Thread) -> Pressure:
        """Predict the size of the last buffer of a shorter version of the thread. O(requests since a change).

        Args:
            at: The first request that the shorter thread lacks; the number of requests if it lacks none.
            shorter: The shorter version of the thread.
        """
        courses = (*self._changes.values(), self._course)
        earlier = [course for course in courses if course.place <= at]
        course = (
            max(earlier, key=lambda course: course.place).copy() if earlier else _Course(self.by)
        )
        for request in self._thread.requests[course.place : at]:
            course.follow(self._thread, request)
        return course.look(shorter, Request(at, shorter.end, shorter.prompt))

    def scale(self, index: int | None) -> Scale:
        """Return the scale of the buffer at a request; None: after the last record.

        A row has the same tokens at all requests of a model, by the latest estimate.
        """
        pressure = self.at(index)
        count = len(self._known)
        place = self._thread.place(index)
        is_reported = pressure.kind in ("reported", "predicted") and pressure.tokens is not None
        if not is_reported or not count:
            return Scale(
                unseen=0,
                slope=prior(self.by.name, place.model or self._thread.model),
                counted=pressure.counted,
                spread=0.0,
            )
        state = self._known[count - 1 if index is None or index >= count else index]
        slope, spread = self._last[state.family].measure
        return scale(
            pressure.tokens or 0, pressure.counted, slope, spread, is_whole=holds_all(place)
        )


def holds_all(request: Request) -> bool:
    """Does the transcript hold messages, system prompt and tools of a request?"""
    has_prompt = request.prompt.system is not None and request.prompt.tools is not None
    return has_prompt and len(request.view) > 0


def thread_pressures(
    thread: Thread,
    by: Estimator | None = None,
    former: Pressures | None = None,
    bands: Bands | None = None,
) -> Pressures:
    """Return the pressures of all requests of a thread.

    Args:
        thread: The thread.
        by: The estimator that weighs the messages; None: the exact weigher.
        former: An earlier result for the same thread when it was shorter: its beginning is reused.
        bands: The ranges around predictions; None: they begin with the usual errors of other sessions.
    """
    by = by or weigher_of(thread)
    requests = thread.requests
    weigh_newest(by, thread.messages)
    course = _Course(by, bands)
    states = list[_RequestState]()
    before = dict[int, Pressure]()
    changes = dict[int, _Course]()
    if former is not None and former.by.name == by.name:
        same = count_same_requests(former.requests, requests)
        before = {at: pressure for at, pressure in former.before.items() if at < same}
        if 0 < former._course.place <= same:
            course = former._course.copy()
            states = list(former._known[: course.place])
            changes = {at: earlier for at, earlier in former._changes.items() if at < course.place}
    changed = set(changed_places(thread, course.place))
    settled = course
    for at in range(course.place, len(requests)):
        checkpoint(at, len(requests))
        if at in changed:
            changes[at] = course.copy()
        if at == len(requests) - 1:
            settled = course.copy()
        states.append(course.follow(thread, requests[at]))
    end = course.look(thread, _next_request(thread))
    return Pressures(
        by,
        _known=tuple(states),
        end=end,
        _thread=thread,
        _course=settled,
        _changes=changes,
        before=before,
    )


def _next_request(thread: Thread) -> Request:
    """Return the request that would be sent next, with the prediction of a last request that was not answered."""
    requests = thread.requests
    predicted = None
    if requests and requests[-1].usage is None and requests[-1].view == thread.end:
        predicted = requests[-1].predicted
    return Request(len(requests), thread.end, thread.prompt, predicted=predicted)


def count_same_requests(former: Sequence[Request], requests: Sequence[Request]) -> int:
    """Count the leading requests that are the same objects. Searches from the end: O(new requests)."""
    same = min(len(former), len(requests))
    while same and former[same - 1] is not requests[same - 1]:
        same -= 1
    return same


_KNOWN = KnownByThread[Pressures]()


def known_pressures(thread: Thread, by: Estimator | None = None) -> Pressures:
    """Return the pressures of a thread, cached for the last few threads. `by`: estimator; None: the exact weigher."""
    weigher = by or weigher_of(thread)
    return _KNOWN.get(
        thread, weigher.name, lambda former: thread_pressures(thread, weigher, former)
    )


def summary_since(thread: Thread, request: Request, after: int) -> Compaction | None:
    """Return the newest summary of the history recorded after request `after` and before `request`; else None."""
    for compaction in _compactions_until(thread, request):
        if compaction.before_request <= after:
            return None
        if compaction.kind == "summary":
            return compaction
    return None


def _compactions_until(thread: Thread, request: Request) -> Iterator[Compaction]:
    """Yield the compactions recorded before `request`, newest first."""
    listed = thread.compactions
    count = bisect_right(listed, request.index, key=lambda compaction: compaction.before_request)
    for number in range(count - 1, -1, -1):
        yield listed[number]


_CLIENT_SHARE = 1.25
"""Tokens of the provider per token that Claude Code estimates for what its micro-compactions remove (1.22 to 1.28)."""


def removed_unrecorded(thread: Thread, request: Request, after: int) -> int:
    """Return the tokens removed after request `after` and before `request` that are not in the file."""
    recorded = 0
    for compaction in _compactions_until(thread, request):
        if compaction.before_request <= after:
            break
        recorded += compaction.unrecorded
    return round(_CLIENT_SHARE * recorded)


_FEW_TOOLS = 0.2
"""Largest share of tool schemas in a whole prompt that still shows how the tokenizer counts."""


class _Course:
    """Computes the pressures of a thread's requests in order: learns from the reports, and predicts the next one."""

    def __init__(self, by: Estimator, bands: Bands | None = None) -> None:
        self.place = 0
        """Number of requests processed so far."""
        self._by = by
        self._prompt = _PromptWeight(by)
        self._learner = Learner(by.name, bands)
        self._anchor: Request | None = None
        """The last request whose size was reported."""
        self._base: int | None = None
        """The unseen part before the first compaction; None until then. Afterwards it includes re-attached files."""
        self._attached: list[int] = []
        """Tokens that the client re-attached after each compaction so far, according to the reports."""

    def copy(self) -> "_Course":
        """Return an independent copy. O(1)."""
        course = copy(self)
        course._learner = self._learner.copy()
        course._prompt = copy(self._prompt)
        course._attached = list(self._attached)
        return course

    def follow(self, thread: Thread, request: Request) -> _RequestState:
        """Measure the next request, and learn from its report."""
        added = self._added(thread, request)
        prediction = self._learner.predict(added)
        pressure = self._pressure(thread, request, added, prediction)
        self.place += 1
        usage = request.usage
        if usage is not None and usage.prompt > 0:
            self._report(thread, request, usage, added, prediction)
        family = family_of(request.model or thread.model).name
        return _RequestState(
            request, pressure, family, self._learner.slope(), self._learner.spread()
        )

    def look(self, thread: Thread, request: Request) -> Pressure:
        """Return the pressure of a buffer before its size is reported. Changes nothing."""
        added = self._added(thread, request)
        anchor = self._anchor
        if (
            anchor is not None
            and len(request.view)
            and request.view == anchor.view
            and request.prompt == anchor.prompt
        ):
            added = replace(added, is_same=True)
        return self._pressure(thread, request, added, self._learner.predict(added))

    def _pressure(
        self, thread: Thread, request: Request, added: Addition, prediction: Prediction | None
    ) -> Pressure:
        predicted = prediction if request.predicted is None else Prediction(*request.predicted)
        counted, usage = added.counted, request.usage
        if usage is not None and usage.prompt > 0:
            return Pressure(
                usage.prompt,
                kind="reported",
                counted=counted,
                reported=usage.prompt,
                predicted=predicted,
            )
        if predicted is not None:
            return Pressure(
                predicted.tokens, kind="predicted", counted=counted, predicted=predicted
            )
        if not len(request.view) and not counted:
            return Pressure(tokens=None, kind="unknown", counted=counted)
        factor = prior(self._by.name, request.model or thread.model)
        return Pressure(round(factor * counted), self._by.kind, counted)

    def _added(self, thread: Thread, request: Request) -> Addition:
        """Return how the buffer of a request differs from the last reported one."""
        message_tokens = self._by.tokens(messages_weight(self._by, request.view))
        counted = message_tokens + self._prompt(request.prompt)
        _, tool_tokens = prompt_tokens(self._by, request.prompt)
        is_whole = holds_all(request) and tool_tokens <= _FEW_TOOLS * counted
        anchor = self._anchor
        if anchor is None or not is_prefix(anchor.view, request.view):
            return self._replaced(
                thread,
                request,
                Addition(counted, extends=False, is_whole=is_whole, model=request.model),
            )
        new_messages = request.view.tail(len(anchor.view))
        answer_weight = 0
        for message in new_messages:
            if message.role != "assistant":
                break
            answer_weight += weight(self._by, message)
        is_empty = not len(request.view) and not counted
        is_turn = any(message.from_user for message in new_messages)
        return Addition(
            counted,
            extends=True,
            answer=self._by.tokens(answer_weight) if answer_weight else 0,
            is_turn=is_turn,
            is_empty=is_empty,
            is_whole=is_whole,
            model=request.model,
            removed=removed_unrecorded(thread, request, anchor.index),
        )

    def _replaced(self, thread: Thread, request: Request, added: Addition) -> Addition:
        """Complete `added` for a buffer that does not extend the last reported one, such as one after a compaction."""
        compaction = self._compaction(thread, request)
        if compaction is None:
            return added
        attached = compaction.attached
        if attached is None:
            return replace(added, compacted=True)
        usual = int(quantile([attached.usual, *self._attached], 0.5) or 0)
        more = self._base_unseen() - self._learner.unseen()
        span = attached.least - usual, attached.most - usual
        return replace(added, attached=more + usual, attached_range=span, compacted=True)

    def _base_unseen(self) -> int:
        """Return the unseen part without files that were re-attached after compactions."""
        return self._learner.unseen() if self._base is None else self._base

    def _compaction(self, thread: Thread, request: Request) -> Compaction | None:
        """Return the newest summary of the history that was recorded since the last report."""
        return summary_since(
            thread, request, self._anchor.index if self._anchor is not None else -1
        )

    def _report(
        self,
        thread: Thread,
        request: Request,
        usage: Usage,
        added: Addition,
        prediction: Prediction | None,
    ) -> None:
        fresh = self._compaction(thread, request) is not None
        if fresh and self._anchor is not None:
            self._base = self._base_unseen()
            self._attached.append(
                usage.prompt - self._base - round(self._learner.slope() * added.counted)
            )
        output = usage.output if usage.output_is_final else 0
        model = request.model or thread.model
        fallen = self._learner.report(added, prediction, usage.prompt, output, model, fresh=fresh)
        if self._base is not None and fallen:  # re-attached files are removed first
            self._base = min(self._base, self._learner.unseen())
        self._anchor = request


class _PromptWeight:
    """Counts the recorded part of a prompt, once until the prompt changes."""

    def __init__(self, by: Estimator) -> None:
        self._by = by
        self._prompt: Prompt | None = None
        self._tokens = 0

    def __call__(self, prompt: Prompt) -> int:
        if prompt is not self._prompt and prompt != self._prompt:
            self._tokens = sum(prompt_tokens(self._by, prompt))
        self._prompt = prompt
        return self._tokens
