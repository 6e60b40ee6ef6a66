"""Read Anthropic's usage records: the token counts of one request, which may consist of several iterations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspector.core.untyped import count_of, object_of
from inspector.core.usage import Usage, is_absurd


def read_anthropic_usage(usage: Any, *, output_is_final: bool = True) -> Usage | None:
    """Return the usage of one request; None if `usage` has no counts, or impossible ones.

    With several iterations, the counts are their sums, and the context is that of the last iteration with a message.
    """
    if not has_counts(usage):
        return None
    return None if is_absurd(usage) else read_counts(usage, output_is_final=output_is_final)


def read_counts(usage: Mapping[str, Any], *, output_is_final: bool) -> Usage:
    """Return the usage of one request from a record that has counts, none of which is impossible."""
    rounds = usage.get("iterations")
    if isinstance(rounds, list) and rounds:
        counted = [round_ for round_ in rounds if isinstance(round_, dict)]
        # The counts of the record leave these out.
        if len(counted) > 1 or (counted and counted[0].get("type") == "compaction"):
            return _summed(usage, counted, output_is_final=output_is_final)
    fresh, read, output = (
        count_of(usage.get(key)) for key in ("input_tokens", _READ, "output_tokens")
    )
    write = _written(usage)
    hourly = min(_hourly(usage), write)
    return Usage(
        fresh, read, write, output, _reasoning(usage), output_is_final, cache_write_1h=hourly
    )


def has_counts(usage: Any) -> bool:
    """Is this a usage record with counts?"""
    return isinstance(usage, dict) and ("input_tokens" in usage or bool(_COUNTS & usage.keys()))


_READ = "cache_read_input_tokens"

_WRITE = "cache_creation_input_tokens"

_LIVES = "cache_creation"

_COUNTS = frozenset({"input_tokens", "output_tokens", _READ, _WRITE})


def _summed(
    usage: Mapping[str, Any], rounds: Sequence[Mapping[str, Any]], *, output_is_final: bool
) -> Usage:
    """Return the sum of a request's iterations. The context is that of the last iteration that wrote a message."""
    written = sum(map(_written, rounds))
    own = [round_ for round_ in rounds if round_.get("type") != _ADVISOR]
    with_message = [round_ for round_ in own if "message" in str(round_.get("type"))]
    summaries = [round_ for round_ in rounds if round_.get("type") == "compaction"]
    advice = [round_ for round_ in rounds if round_.get("type") == _ADVISOR and round_.get("model")]
    last_round = with_message[-1] if with_message else rounds[-1]
    hourly = min(_summed_hourly(usage, rounds, written), written)
    sums = Usage(
        _sum("input_tokens", rounds),
        cache_read=_sum(_READ, rounds),
        cache_write=written,
        output=_sum("output_tokens", rounds),
        reasoning=_reasoning(usage),
        output_is_final=output_is_final,
        context=_context(last_round),
        cache_write_1h=hourly,
    )
    compacted = _context(summaries[0]) if summaries else 0
    summary_output = _sum("output_tokens", summaries)
    by_others = tuple(map(_read_advice, advice))
    return replace(sums, compacted=compacted, summary_output=summary_output, by_others=by_others)


def _sum(key: str, rounds: Sequence[Mapping[str, Any]]) -> int:
    return sum(count_of(round_.get(key)) for round_ in rounds)


def _summed_hourly(
    usage: Mapping[str, Any], rounds: Sequence[Mapping[str, Any]], written: int
) -> int:
    """Return the tokens written to the cache for one hour.

    The count may be reported by iteration or for the whole request. If the request reports one-hour writes only, all
    writes of its iterations are one-hour writes.
    """
    if any(_LIVES in round_ for round_ in rounds):
        return sum(map(_hourly, rounds))
    is_only_hourly = _hourly(usage) > 0 and not _life(usage, "5m")
    return written if is_only_hourly else _hourly(usage)


_ADVISOR = "advisor_message"
"""Type of an iteration in which another model was called."""


def _read_advice(iteration: Mapping[str, Any]) -> tuple[str, Usage]:
    """Return (model, usage) of an iteration in which another model was called."""
    return str(iteration["model"]), read_counts(iteration, output_is_final=True)


def _context(round_: Mapping[str, Any]) -> int:
    """Return the prompt tokens of one iteration."""
    return count_of(round_.get("input_tokens")) + count_of(round_.get(_READ)) + _written(round_)


def _written(usage: Mapping[str, Any]) -> int:
    """Return the tokens written to the cache: the reported total, or the sum of five-minute and one-hour writes."""
    return count_of(usage.get(_WRITE)) or _life(usage, "5m") + _hourly(usage)


def _hourly(usage: Mapping[str, Any]) -> int:
    """Return the tokens written to the cache for one hour."""
    return _life(usage, "1h")


def _life(usage: Mapping[str, Any], life: str) -> int:
    return count_of(object_of(usage, _LIVES).get(f"ephemeral_{life}_input_tokens"))


def _reasoning(usage: Mapping[str, Any]) -> int:
    return count_of(object_of(usage, "output_tokens_details").get("thinking_tokens"))
