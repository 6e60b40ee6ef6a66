"""Who answers a tier's needs: chosen by name."""

from inspector.core.answering import Answerer, offline
from inspector.core.buffer import Prompt
from inspector.core.errors import InspectorError


def answerer(who: str, model: str = "", prompt: Prompt | None = None) -> Answerer:
    """`offline`. Raises InspectorError for anyone else."""
    if who == "offline":
        return offline
    raise InspectorError(f"There is no answerer {who!r}; this version has offline.")
