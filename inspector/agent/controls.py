"""What the person wants of a run: set from any thread, obeyed by the run's own thread at the next place where it can.

The run asks (`reason`, `next_wish`, `reply`) and waits here; nothing is polled. Whatever waits ends at
once with RunStopped when the run is stopped.
"""

import threading
from collections import deque
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from inspector.agent.status import Breakpoints, Permit, Stop
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.needs import Answer, Failure

_Mode: TypeAlias = Literal["go", "pause", "model", "tool", "stepped"]
_GOING = ("go", "model", "tool")
NEED = "need"


class RunStopped(Exception):
    """The person has ended the run."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """Another buffer for the thread that is paused; `running` None = as it was."""

    buffer: Buffer
    running: Any = None


class Controls:
    """One run's. Every method returns at once, but for those of the run itself, which say so."""

    def __init__(self, breakpoints: Breakpoints) -> None:
        self._changed = threading.Condition()
        self._mode: _Mode = "go"
        self._stopped = False
        self._paused = False
        self._breakpoints = breakpoints
        self._wishes: deque[Replacement] = deque()
        self._asked = ""
        """The question that waits for an answer: the id of a permission, or NEED."""
        self._reply: Permit | Answer | Failure | None = None

    # what the person does

    def go(self) -> None:
        """Run on, to the next breakpoint or to the end."""
        self._set_mode("go")

    def pause(self) -> None:
        """Stop at the next place where one can: before a tier, a model call or a tool call."""
        self._set_mode("pause")

    def step_model(self) -> None:
        """Run on until one model call has been answered."""
        self._set_mode("model")

    def step_tool(self) -> None:
        """Run on until one tool call has its result."""
        self._set_mode("tool")

    def _set_mode(self, mode: _Mode) -> None:
        with self._changed:
            self._mode = mode
            self._changed.notify_all()

    def stop(self) -> None:
        """End the run now: the model call is cancelled, a running command is killed with its children."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def break_at(self, breakpoints: Breakpoints) -> None:
        """Other breakpoints from now on."""
        with self._changed:
            self._breakpoints = breakpoints

    def permit(self, id: str, how: Permit) -> None:  # noqa: A002
        """Answer the permission of that id; one that is no longer asked for is ignored."""
        with self._changed:
            if id == self._asked:
                self._reply = how
                self._changed.notify_all()

    def replace(self, buffer: Buffer, running: Any = None) -> None:
        """Put another buffer (and running state) into the thread that is paused. Its prompt stays.

        Raises InspectorError if none is paused.
        """
        with self._changed:
            if not self._paused or self._mode in _GOING:
                raise InspectorError("Another buffer can be put in only while the run is paused.")
            self._wishes.append(Replacement(buffer, running))
            self._changed.notify_all()

    def answer(self, reply: Answer | Failure) -> None:
        """Meet the need that is open, or fail it. Raises InspectorError where none is."""
        with self._changed:
            if self._asked != NEED:
                raise InspectorError("No need is open that could be answered.")
            self._reply = reply
            self._changed.notify_all()

    # what the run does, on its own thread

    @property
    def breakpoints(self) -> Breakpoints:
        with self._changed:
            return self._breakpoints

    def is_stopped(self) -> bool:
        """For those who cancel what is under way."""
        return self._stopped

    def check(self) -> None:
        """Raises RunStopped."""
        if self._stopped:
            raise RunStopped

    def reason(self) -> Stop:
        """Does the person want a pause here, and why? Empty = no. Raises RunStopped."""
        with self._changed:
            self.check()
            return {"pause": "by hand", "stepped": "step"}.get(self._mode, "")  # type: ignore[return-value]

    def done(self, what: Literal["model", "tool"]) -> None:
        """A model call was answered, a tool call has its result: a step may be over."""
        with self._changed:
            if self._mode == what:
                self._mode = "stepped"

    def begin_pause(self) -> None:
        """From here on the person may replace."""
        with self._changed:
            if self._mode in _GOING:
                self._mode = "pause"
            self._paused = True

    def next_wish(self) -> Replacement | None:
        """Wait, paused, for another buffer; None = run on. Raises RunStopped."""
        with self._changed:
            while not self._wishes:
                self.check()
                if self._mode in _GOING:
                    self._paused = False
                    return None
                self._changed.wait()
            return self._wishes.popleft()

    def ask(self, question: str) -> None:
        """From here on its answer is listened to. To be called before the status says that it is asked."""
        with self._changed:
            self._asked, self._reply = question, None

    def reply(self) -> Any:
        """Wait for the answer. Raises RunStopped."""
        with self._changed:
            while self._reply is None:
                self.check()
                self._changed.wait()
            found, self._asked, self._reply = self._reply, "", None
            return found

    def rest(self, seconds: float) -> None:
        """Wait. Raises RunStopped as soon as the run is stopped."""
        with self._changed:
            self._changed.wait_for(self.is_stopped, seconds)
            self.check()
