"""What OpenClaw tells the model of its runtime: a message that stays in the file and is sent with one prompt only.

The client takes it out as soon as another prompt stands (`stripHistoricalRuntimeContextCustomMessages`).
"""

from collections.abc import Callable, Sequence
from typing import Any

RUNTIME_CONTEXT = "openclaw.runtime-context"


def is_runtime_context(value: Any) -> bool:
    """Of a message as of a record."""
    return isinstance(value, dict) and value.get("customType") == RUNTIME_CONTEXT


def without_stale(values: Sequence[Any], answers: int, is_answer: Callable[[Any], bool]) -> list[Any]:
    """The messages of a run that are sent: `answers` of them are older than it. O(values)."""
    prompt = -1
    for n, value in enumerate(values):
        answers -= is_answer(value)
        if answers < 0:
            break
        if isinstance(value, dict) and value.get("role") == "user":
            prompt = n
    first, last = prompt, prompt + 1
    while first > 0 and is_runtime_context(values[first - 1]):
        first -= 1
    while last < len(values) and is_runtime_context(values[last]):
        last += 1
    return [value for n, value in enumerate(values) if first <= n < last or not is_runtime_context(value)]
