"""What an Anthropic Messages response reports: tokens, and what the provider cleared before the model read."""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.core.usage import Usage, is_absurd


def read_usage(usage: Any, *, output_is_final: bool = True) -> Usage | None:
    """What one call reported; None where `usage` holds no counts.

    With several iterations the cost is their sum and the context is that of the last one that made a message.
    """
    if not has_counts(usage):
        return None
    return None if is_absurd(usage) else read_counts(usage, output_is_final=output_is_final)


def read_counts(usage: Mapping[str, Any], *, output_is_final: bool) -> Usage:
    """The same of an object that is known to hold counts, none of them absurd."""
    rounds = usage.get("iterations")
    if isinstance(rounds, list) and len(rounds) > 1:
        counted = [one for one in rounds if isinstance(one, dict)]
        if len(counted) > 1:
            return _summed(usage, counted, output_is_final=output_is_final)
    fresh, read, output = _int(usage, "input_tokens"), _int(usage, _READ), _int(usage, "output_tokens")
    write = _written(usage)
    hourly = min(_hourly(usage), write)
    return Usage(fresh, read, write, output, _reasoning(usage), output_is_final, cache_write_1h=hourly)


def has_counts(usage: Any) -> bool:
    """Is it what a call reported?"""
    return isinstance(usage, dict) and ("input_tokens" in usage or bool(_COUNTS & usage.keys()))


_READ = "cache_read_input_tokens"
_WRITE = "cache_creation_input_tokens"
_LIVES = "cache_creation"
_COUNTS = frozenset({"input_tokens", "output_tokens", _READ, _WRITE})


def _summed(usage: Mapping[str, Any], rounds: Sequence[Mapping[str, Any]], *, output_is_final: bool) -> Usage:
    input_, read, output = (sum(_int(one, key) for one in rounds) for key in ("input_tokens", _READ, "output_tokens"))
    write = sum(map(_written, rounds))
    if any(_LIVES in one for one in rounds):
        hourly = sum(map(_hourly, rounds))
    else:  # told of one round, or of all together: where there is one kind only, all rounds wrote that
        hourly = write if _hourly(usage) and not _life(usage, "5m") else _hourly(usage)
    last = next((one for one in reversed(rounds) if "message" in str(one.get("type"))), rounds[-1])
    context = _int(last, "input_tokens") + _int(last, _READ) + _written(last)
    return Usage(input_, read, write, output, _reasoning(usage), output_is_final, context, min(hourly, write))


def _written(usage: Mapping[str, Any]) -> int:
    """Tokens written to the cache: as told in all, else the sum of those for five minutes and those for an hour."""
    return _int(usage, _WRITE) or _life(usage, "5m") + _hourly(usage)


def _hourly(usage: Mapping[str, Any]) -> int:
    """Of them, those for an hour."""
    return _life(usage, "1h")


def _life(usage: Mapping[str, Any], life: str) -> int:
    lives = usage.get(_LIVES)
    return _int(lives, f"ephemeral_{life}_input_tokens") if isinstance(lives, dict) else 0


def _reasoning(usage: Mapping[str, Any]) -> int:
    details = usage.get("output_tokens_details")
    return _int(details, "thinking_tokens") if isinstance(details, dict) else 0


def _int(values: Mapping[str, Any], key: str) -> int:
    value = values.get(key)
    return value if type(value) is int and value > 0 else 0


def read_edits(response: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """What the provider says it cleared of the buffer before the model read it (`context_management.applied_edits`)."""
    told = response.get("context_management")
    edits = told.get("applied_edits") if isinstance(told, Mapping) else None
    return tuple(one for one in edits if isinstance(one, Mapping)) if isinstance(edits, list) else ()
