"""The running state: failed summaries in a row. Upstream keeps none; safe mode gives up after some."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from inspector.core.errors import InspectorError
from inspector.core.message import Json
from inspector.core.policies.learn_claude_code.settings import Settings


@dataclass(frozen=True, slots=True)
class Running:
    """`open`: no auto compaction any more in this session."""

    failures: int = 0
    open: bool = False

    def failed(self, settings: Settings) -> "Running":
        """After one more failed summary; only safe mode counts."""
        if not settings.safe:
            return self
        failures = self.failures + 1
        return Running(failures, failures >= settings.max_summary_failures)


def dump(running: Running) -> dict[str, Any]:
    """As JSON."""
    return {"breaker": asdict(running)}


def load(data: Json) -> Running:
    """From JSON; what is missing is as at the start. Raises InspectorError."""
    if not isinstance(data, Mapping):
        raise InspectorError("The state file must hold a JSON object, as --save-state writes it.")
    breaker = data.get("breaker", {})
    if not isinstance(breaker, Mapping):
        raise InspectorError("The state file cannot be read: breaker must be an object.")
    failures, is_open = breaker.get("failures", 0), breaker.get("open", False)
    if type(failures) is not int or failures < 0 or type(is_open) is not bool:
        raise InspectorError("The state file cannot be read: failures must be a number, open true or false.")
    return Running(failures, is_open)
