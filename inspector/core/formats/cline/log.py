"""The log of a task (`ui_messages.json`): its calls, what was reported for them, and what was cut off before them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.formats.times import iso_time
from inspector.core.untyped import count_of, object_in, text_at
from inspector.core.usage import Usage

Cut = tuple[int, int]
"""First and last item of the history that is left out."""


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A call that the log tells."""

    time: str
    model: str
    index: int | None
    """Of the last item of the history when the call was written down, -1 for none; the question comes after it."""
    usage: Usage | None
    cancelled: bool
    cut: Cut | None


def logged_calls(log: Sequence[Any]) -> list[LoggedCall]:
    """The calls, in order. Each is written down before its cut is made, so that the next one tells it."""
    calls: list[LoggedCall] = []
    told: list[Cut | None] = []
    last: Cut | None = None
    for record in log:
        if not isinstance(record, dict):
            continue
        last = _cut(record.get("conversationHistoryDeletedRange")) or last
        if record.get("say") == "api_req_started":
            calls.append(_call(record))
            told.append(_cut(record.get("conversationHistoryDeletedRange")))
    cuts = [*told[1:], last]
    return [
        LoggedCall(one.time, one.model, one.index, one.usage, one.cancelled, cut)
        for one, cut in zip(calls, cuts, strict=False)
    ]


def _call(record: Mapping[str, Any]) -> LoggedCall:
    index, about = record.get("conversationHistoryIndex"), object_in(record.get("text"))
    return LoggedCall(
        time=iso_time(record.get("ts")),
        model=model_of(record),
        index=index if type(index) is int and index >= -1 else None,
        usage=_usage(about),
        cancelled=bool(about.get("cancelReason")),
        cut=None,
    )


def model_of(record: Mapping[str, Any]) -> str:
    """The model that a record, or an item of the history, names."""
    return text_at(record.get("modelInfo"), "modelId")


def _usage(about: Mapping[str, Any]) -> Usage | None:
    """None while the call goes on, and where it was cancelled: all zero.

    With providers like OpenAI `tokensIn` is 0, and `cacheWrites` holds what did not come from the cache.
    """
    names = ("tokensIn", "cacheReads", "cacheWrites", "tokensOut")
    fresh, read, write, output = (count_of(about.get(name)) for name in names)
    if max(fresh + read + write, output) <= 1:
        return None
    return Usage(fresh, read, write, output) if fresh else Usage(write, read, 0, output)


def _cut(value: Any) -> Cut | None:
    match value:
        case [int(first), int(last)] if 0 <= first <= last:
            return first, last
    return None


def title_of(log: Sequence[Any]) -> str:
    """What the user typed first."""
    for record in log:
        if isinstance(record, dict) and record.get("say") in ("task", "text") and isinstance(record.get("text"), str):
            return str(record["text"]).strip().partition("\n")[0][:120]
    return ""
