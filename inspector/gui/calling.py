"""The answerer of the workbench's model calls. It is kept until kind, model or session change, so that calls share a
prompt cache and a simulated provider keeps running between steps."""

import threading
from typing import TYPE_CHECKING

from inspector.core.answering import Answerer
from inspector.core.errors import InspectorError
from inspector.core.tokens.windows import model_at
from inspector.workbench.state import State

if TYPE_CHECKING:
    from inspector.providers.answerers import Answering


class Calling:
    """As `Workbench(answerers=...)` wants it. Asked on the threads of jobs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: tuple[str, str, str] = ("", "", "")
        self._open: Answering | None = None
        self._answerer: Answerer | None = None

    def __call__(self, who: str, state: State) -> Answerer:
        """The answerer of that name. Raises InspectorError."""
        from inspector.agent.workspace import WorkspaceAnswerer

        model = model_of(state)
        key = (who, model, state.session.path if state.session else "")
        with self._lock:
            if self._answerer is None or key != self._key:
                self._let_go()
                self._open, self._key = _opened(who, model), key
                self._answerer = WorkspaceAnswerer(
                    self._open, None
                )  # files are what the recording holds of them
            return self._answerer

    def close(self) -> None:
        """Let go of what was opened."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        former, self._open, self._answerer = self._open, None, None
        if former is not None:
            former.close()


def model_of(state: State) -> str:
    """The model that answers: the user's word, else the session's where we stand."""
    if state.choices.model or state.thread is None:
        return state.choices.model
    return model_at(state.thread, state.at)


def _opened(who: str, model: str) -> "Answering":
    from inspector.providers.answerers import (
        answerer,
    )  # a tenth of a second, so only when somebody is asked

    try:
        return answerer(who, model)
    except InspectorError as failure:
        raise InspectorError(str(failure).replace("with --model", "under Tiers")) from None
