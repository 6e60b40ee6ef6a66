"""How large the model's window is, and how we know.

The user's word; else what the file records; else what the user's table says, or what the client takes for the model's
window by its own list; else what the session gives away; else the model's own window; else unknown. Every source but
the first is checked against the others, and what contradicts becomes a sentence: what is known is never overruled by
what a session only speaks for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.session import Session, Thread
from inspector.core.tokens.catalogue import (
    USUAL_WINDOWS,
    catalogue_window,
    client_window,
    offered_windows,
    own_window,
)
from inspector.core.tokens.change_sizes import counted_before

Source: TypeAlias = Literal["recorded", "inferred", "catalogue", "user", "unknown"]

_MILLION = "[1m]"
"""What Claude Code writes after the model's name for the window of a million."""
FULL_FROM = 0.65
"""A harness that compacts by itself does so above this share of its window (seen: 0.68 to 0.99)."""


@dataclass(frozen=True, slots=True)
class Window:
    """The window in tokens, None where nothing tells."""

    tokens: int | None
    source: Source
    warnings: tuple[str, ...] = ()
    """Sentences: what contradicts the number."""
    basis: str = ""
    """Where the catalogue has it from, in words; empty where that is its list of models."""


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What the calls of one model in one thread give away."""

    largest: int
    """Tokens of the largest context seen, 0 where none was reported."""
    compacted_at: int
    """Tokens of the largest context that the harness compacted by itself, 0 where it never did."""


def find_window(
    session: Session,
    thread: Thread,
    at: int | None = None,
    user: int | None = None,
    models: Mapping[str, int] | None = None,
) -> Window:
    """The window at request `at` (None = the end of the thread). `user`: the user's choice; `models`: their table."""
    model = model_at(thread, at)
    evidence = _evidence(thread, model)
    recorded = _recorded(thread, at)
    if user is not None:
        return Window(user, "user", _against(user, evidence, recorded, "You chose"))
    if recorded is not None:
        return Window(recorded, "recorded", _against(recorded, evidence, None, "The file records"))
    client = client_window(thread.client or session.format, model, models)
    catalogue, basis = client or (catalogue_window(model, models), "")
    if model.lower().endswith(_MILLION):
        return Window(1_000_000, "inferred", _against(1_000_000, evidence, None, "The model's name says"))
    is_listed = client is not None or own_window(model, models or {}) is not None
    inferred = None if is_listed else _inferred(evidence, catalogue, offered_windows(model))
    if inferred is not None:
        return Window(inferred, "inferred", (_why(inferred, evidence, catalogue, model),))
    if catalogue is None:
        return Window(None, "unknown")
    return Window(catalogue, "catalogue", _against(catalogue, evidence, None, "The catalogue says"), basis)


def model_at(thread: Thread, at: int | None) -> str:
    """The model of request `at`, or the last one named before it; else the thread's."""
    last = len(thread.requests) - 1 if at is None else min(at, len(thread.requests) - 1)
    return next((model for n in range(last, -1, -1) if (model := thread.requests[n].model)), thread.model)


def _recorded(thread: Thread, at: int | None) -> int | None:
    """As the file records it for the request, or for the nearest one before, or after."""
    requests = thread.requests
    if thread.window and (at is None or not requests):
        return thread.window
    here = len(requests) if at is None else min(at + 1, len(requests))
    order = (*range(here - 1, -1, -1), *range(here, len(requests)))
    return next((window for n in order if (window := requests[n].window)), None)


def _evidence(thread: Thread, model: str) -> _Evidence:
    largest = max(
        (r.usage.prompt for r in thread.requests if r.usage is not None and r.model in (model, "")), default=0
    )
    compacted_at = 0
    for compaction in thread.compactions:
        if compaction.predicted is not None:  # of a buffer that was perhaps never sent
            continue
        before = counted_before(thread, compaction) or 0
        if model_at(thread, max(0, compaction.before_request - 1)) == model:
            largest = max(largest, before)
            by_itself = compaction.trigger == "auto" and compaction.kind == "summary"  # clearing results comes earlier
            compacted_at = max(compacted_at, before if by_itself else 0)
    return _Evidence(largest, compacted_at)


def _inferred(evidence: _Evidence, catalogue: int | None, offered: Sequence[int]) -> int | None:
    """The window that the evidence speaks for, where the catalogue is silent or contradicted by it.

    Where a session went beyond one size, it had the next that is offered. A compaction below the smallest usual window
    says nothing: a client may be configured to compact that early.
    """
    fits = next((window for window in offered if window >= evidence.largest), None)
    if catalogue is not None and evidence.largest > catalogue:
        return fits
    compacted_when_full = fits is not None and fits >= USUAL_WINDOWS[0] and evidence.compacted_at >= FULL_FROM * fits
    if compacted_when_full and (catalogue is None or evidence.compacted_at < FULL_FROM * catalogue):
        return fits
    return None


def _why(inferred: int, evidence: _Evidence, catalogue: int | None, model: str) -> str:
    if catalogue is None:
        return (
            f"No catalogue knows {model or 'the model'}; a compaction at {evidence.compacted_at:,} tokens "
            f"speaks for a window of {inferred:,}."
        )
    seen = f"a context of {evidence.largest:,} tokens"
    if evidence.largest <= catalogue:
        seen = f"an automatic compaction at {evidence.compacted_at:,} tokens"
    return f"The catalogue says {catalogue:,} for {model}, but {seen} speaks for {inferred:,}."


def _against(window: int, evidence: _Evidence, recorded: int | None, says: str) -> tuple[str, ...]:
    warnings = []
    if 0 < evidence.compacted_at < FULL_FROM * window:
        warnings.append(
            f"{says} {window:,} tokens, but the harness compacted by itself at {evidence.compacted_at:,}: "
            "it may have been configured for a smaller window."
        )
    if evidence.largest > window:
        warnings.append(f"{says} {window:,} tokens, but a context of {evidence.largest:,} was seen.")
    if recorded is not None and recorded != window:
        warnings.append(f"{says} {window:,} tokens, but the file records {recorded:,}.")
    return tuple(warnings)
