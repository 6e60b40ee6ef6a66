"""Pulse's running state: how often the running call of its loop has compacted."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from inspector.core.errors import InspectorError
from inspector.core.message import Json, Message


@dataclass(frozen=True, slots=True)
class Running:
    """A call of the loop begins with a prompt of the user; `attempts` are counted within it."""

    attempts: int = 0
    prompt: str = ""
    """Id of the user message that the counted attempts belong to."""


def begun(running: Running, messages: Sequence[Message]) -> Running:
    """With a prompt that was not there before, a new call of the loop has begun."""
    newest = next((m.id for m in reversed(messages) if m.role == "user" and not m.summary), "")
    return running if newest == running.prompt else Running(0, newest)


def dump(running: Running) -> dict[str, Any]:
    """As JSON."""
    return asdict(running)


def load(data: Json) -> Running:
    """From JSON; what is missing is as at the start. Raises InspectorError."""
    if not isinstance(data, Mapping):
        raise InspectorError("The state file must hold a JSON object, as --save-state writes it.")
    attempts, prompt = data.get("attempts", 0), data.get("prompt", "")
    if type(attempts) is not int or attempts < 0 or not isinstance(prompt, str):
        raise InspectorError("The state file cannot be read: attempts must be a number, prompt a message's id.")
    return Running(attempts, prompt)
