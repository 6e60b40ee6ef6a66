"""Find the size of the model's window, and its source.

The sources, in order of priority: the user's choice; the recorded window; the user's table, or the client's own list of
windows; the window that the session's sizes suggest; the model's own window. If there is none of these, the window is
unknown. A contradiction between a source and the recorded sizes becomes a warning: a suggestion never overrules a known
window.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.heavy import KnownByThread
from inspector.core.session import Request, Session, Thread
from inspector.core.tokens.catalogue import (
    USUAL_WINDOWS,
    catalogue_window,
    client_window,
    offered_windows,
    own_window,
)
from inspector.core.tokens.change_sizes import counted_before
from inspector.core.tokens.pressure import count_same_requests

Source: TypeAlias = Literal["recorded", "inferred", "catalogue", "user", "unknown"]

_MILLION = "[1m]"
"""Suffix that Claude Code adds to the model's name for the window of a million tokens."""
FULL_FROM = 0.65
"""A harness that compacts automatically does so above this share of its window (observed: 0.68 to 0.99)."""


@dataclass(frozen=True, slots=True)
class Window:
    """The window in tokens; None if it is unknown."""

    tokens: int | None
    source: Source
    warnings: tuple[str, ...] = ()
    """Sentences about contradictions of the number."""
    basis: str = ""
    """The catalogue's source, in words; empty if that is its list of models."""


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The sizes of one model's calls in one thread that indicate the window."""

    largest: int
    """Tokens of the largest context; 0 if none was reported."""
    compacted_at: int
    """Tokens of the largest context that the harness compacted automatically; 0 if it never did."""


def find_window(
    session: Session,
    thread: Thread,
    at: int | None = None,
    user: int | None = None,
    models: Mapping[str, int] | None = None,
) -> Window:
    """Find the window at a request.

    Args:
        session: The session.
        thread: One of its threads.
        at: The request; None: the end of the thread.
        user: The user's choice in tokens, if any.
        models: The user's table of windows by model.
    """
    model = model_at(thread, at)
    evidence = _evidence(thread, model)
    recorded = _recorded(thread, at)
    if user is not None:
        return Window(user, "user", _against(user, evidence, recorded, says="You chose"))
    if recorded is not None:
        return Window(
            recorded,
            "recorded",
            _against(recorded, evidence, recorded=None, says="The file records"),
        )
    client = client_window(thread.client or session.format, model, models)
    catalogue, basis = client or (catalogue_window(model, models), "")
    if model.lower().endswith(_MILLION):
        return Window(
            tokens=1_000_000,
            source="inferred",
            warnings=_against(
                window=1_000_000, evidence=evidence, recorded=None, says="The model's name says"
            ),
        )
    is_listed = client is not None or own_window(model, models or {}) is not None
    inferred = None if is_listed else _inferred(evidence, catalogue, offered_windows(model))
    if inferred is not None:
        return Window(inferred, "inferred", (_why(inferred, evidence, catalogue, model),))
    if catalogue is None:
        return Window(tokens=None, source="unknown")
    return Window(
        catalogue,
        source="catalogue",
        warnings=_against(catalogue, evidence, recorded=None, says="The catalogue says"),
        basis=basis,
    )


def model_at(thread: Thread, at: int | None) -> str:
    """Return the model of request `at`, or the last one named before it; else the thread's."""
    last = len(thread.requests) - 1
    if at is not None:
        last = min(at, last)
    for index in range(last, -1, -1):
        model = thread.requests[index].model
        if model:
            return model
    return thread.model


@dataclass(frozen=True, slots=True)
class _Reports:
    """The evidence about windows in the requests of a thread, without the last one."""

    requests: Sequence[Request]
    settled: int
    """Number of the first requests that do not change when the thread grows."""
    largest: Mapping[str, int]
    """Tokens of the largest prompt among these requests, by model."""
    has_windows: bool
    """Does one of these requests record a window?"""


_KNOWN = KnownByThread[_Reports]()


def _known_reports(thread: Thread) -> _Reports:
    """Return the evidence in all requests but the last one, cached for the last few threads. O(new requests)."""
    return _KNOWN.get(thread, "", lambda former: _look_at_reports(thread, former))


def _look_at_reports(thread: Thread, former: _Reports | None) -> _Reports:
    requests = thread.requests
    start = 0
    largest: dict[str, int] = {}
    has_windows = False
    if (
        former is not None
        and count_same_requests(former.requests[: former.settled], requests) == former.settled
    ):
        start = former.settled
        largest = dict(former.largest)
        has_windows = former.has_windows
    settled = max(start, len(requests) - 1)
    for request in requests[start:settled]:
        largest[request.model] = max(largest.get(request.model, 0), _prompt_of(request))
        has_windows = has_windows or bool(request.window)
    return _Reports(requests, settled, largest, has_windows)


def _prompt_of(request: Request) -> int:
    return request.usage.prompt if request.usage is not None else 0


def _recorded(thread: Thread, at: int | None) -> int | None:
    """Return the window that the file records for the request, else for the nearest earlier request, else for a later
    one."""
    requests = thread.requests
    if thread.window and (at is None or not requests):
        return thread.window
    if not _known_reports(thread).has_windows and not any(
        request.window for request in requests[-1:]
    ):
        return None
    next_request = len(requests) if at is None else min(at + 1, len(requests))
    earlier_nearest_first = range(next_request - 1, -1, -1)
    later = range(next_request, len(requests))
    for index in (*earlier_nearest_first, *later):
        window: int | None = requests[index].window
        if window:
            return window
    return None


def _evidence(thread: Thread, model: str) -> _Evidence:
    reports = _known_reports(thread)
    prompts = [
        _prompt_of(request)
        for request in thread.requests[reports.settled :]
        if request.model in (model, "")
    ]
    largest = max(reports.largest.get(model, 0), reports.largest.get("", 0), *prompts, 0)
    compacted_at = 0
    for compaction in thread.compactions:
        if compaction.predicted is not None:  # its buffer was perhaps never sent
            continue
        before = counted_before(thread, compaction) or 0
        if model_at(thread, max(0, compaction.before_request - 1)) == model:
            largest = max(largest, before)
            # Clients clear results at smaller sizes.
            is_automatic = compaction.trigger == "auto" and compaction.kind == "summary"
            compacted_at = max(compacted_at, before if is_automatic else 0)
    return _Evidence(largest, compacted_at)


def _inferred(evidence: _Evidence, catalogue: int | None, offered: Sequence[int]) -> int | None:
    """Return the window that the evidence suggests, if the catalogue has none or contradicts the evidence; else None.

    A session with a context larger than one offered window had the next larger window. A compaction below the smallest
    usual window is no evidence, because a client may be configured to compact that early.
    """
    fits = next((window for window in offered if window >= evidence.largest), None)
    if catalogue is not None and evidence.largest > catalogue:
        return fits
    compacted_when_full = (
        fits is not None and fits >= USUAL_WINDOWS[0] and evidence.compacted_at >= FULL_FROM * fits
    )
    if compacted_when_full and (catalogue is None or evidence.compacted_at < FULL_FROM * catalogue):
        return fits
    return None


def _why(inferred: int, evidence: _Evidence, catalogue: int | None, model: str) -> str:
    if catalogue is None:
        return (
            f"No catalogue lists {model or 'the model'}; the compaction at {evidence.compacted_at:,} "
            f"tokens suggests a window of {inferred:,}."
        )
    seen = f"a context of {evidence.largest:,} tokens"
    if evidence.largest <= catalogue:
        seen = f"an automatic compaction at {evidence.compacted_at:,} tokens"
    return (
        f"The catalogue lists {catalogue:,} tokens for {model}, but this session had {seen}, so {inferred:,} "
        "is assumed."
    )


def _against(window: int, evidence: _Evidence, recorded: int | None, says: str) -> tuple[str, ...]:
    warnings = []
    if 0 < evidence.compacted_at < FULL_FROM * window:
        warnings.append(
            f"{says} {window:,} tokens, but the harness compacted automatically at {evidence.compacted_at:,}: "
            "it may have been configured for a smaller window."
        )
    if evidence.largest > window:
        warnings.append(f"{says} {window:,} tokens, but this session reached {evidence.largest:,}.")
    if recorded is not None and recorded != window:
        warnings.append(f"{says} {window:,} tokens, but the file records {recorded:,}.")
    return tuple(warnings)
