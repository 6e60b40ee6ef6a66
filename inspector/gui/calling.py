"""Keep the answerer of the workbench's model calls until kind, model or session change.

Keeping one answerer lets calls share a prompt cache, and lets a simulated provider continue between steps.
"""

import threading
from typing import TYPE_CHECKING

from inspector.core.answering import Answerer
from inspector.core.errors import InspectorError
from inspector.core.tokens.windows import model_at
from inspector.workbench.state import State

if TYPE_CHECKING:
    from inspector.providers.answerers import Answering


class Calling:
    """The function that `Workbench(answerers=...)` expects. Jobs call it on their worker threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: tuple[str, str, str] = ("", "", "")
        self._open: Answering | None = None
        self._answerer: Answerer | None = None

    def __call__(self, who: str, state: State) -> Answerer:
        """Return the answerer named `who`. Raises InspectorError."""
        from inspector.agent.workspace import WorkspaceAnswerer

        model = model_of(state)
        key = (who, model, state.session.path if state.session else "")
        with self._lock:
            if self._answerer is None or key != self._key:
                self._close_answerer()
                self._open = _open_answerer(who, model)
                self._key = key
                # Files come from the recording.
                self._answerer = WorkspaceAnswerer(self._open, root=None)
            return self._answerer

    def close(self) -> None:
        """Close the current answerer."""
        with self._lock:
            self._close_answerer()

    def _close_answerer(self) -> None:
        former = self._open
        self._open = None
        self._answerer = None
        if former is not None:
            former.close()


def model_of(state: State) -> str:
    """Return the name of the model that answers: the user's choice, or the session's model at the current request."""
    if state.choices.model or state.thread is None:
        return state.choices.model
    return model_at(state.thread, state.at)


def _open_answerer(who: str, model: str) -> "Answering":
    # Importing takes 0.1 s, so only if needed.
    from inspector.providers.answerers import answerer

    try:
        return answerer(who, model)
    except InspectorError as failure:
        raise InspectorError(str(failure).replace("with --model", "under Tiers")) from None
