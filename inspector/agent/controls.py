"""What the person wants of a run: set from any thread, obeyed by the run's own thread at the next place where it can.

The run asks (`reason`, `next_wish`, `permission`, `reply`) and waits here; nothing is polled. Whatever waits ends at
once with Stopped when the run is stopped.
"""

import threading
from collections import deque
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from inspector.agent.breakpoints import Breakpoints
from inspector.agent.plan import NeedsBy
from inspector.agent.standing import Stop
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.needs import Answer, Failure

Permit: TypeAlias = Literal["once", "always", "no"]
_Mode: TypeAlias = Literal["go", "pause", "model", "tool", "stepped"]


class Stopped(Exception):
    """The person has ended the run."""


@dataclass(frozen=True, slots=True)
class Replace:
    """Another buffer for the thread that is paused; `running` None = as it was."""

    buffer: Buffer
    running: Any = None


class Controls:
    """One run's. Every method returns at once, but for those of the run itself, which say so."""

    def __init__(self, breakpoints: Breakpoints, needs_by: NeedsBy) -> None:
        self._changed = threading.Condition()
        self._mode: _Mode = "go"
        self._stopped = False
        self._paused = False
        self._breakpoints = breakpoints
        self._needs_by: NeedsBy = needs_by
        self._wishes: deque[Replace] = deque()
        self._asked = ""
        self._permit: Permit | None = None
        self._needing = False
        self._reply: Answer | Failure | None = None

    # what the person does

    def set_mode(self, mode: _Mode) -> None:
        """Run on (`go`, `model`, `tool`), or pause at the next place."""
        with self._changed:
            self._mode = mode
            self._changed.notify_all()

    def stop(self) -> None:
        """End the run."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def break_at(self, breakpoints: Breakpoints) -> None:
        """Other breakpoints."""
        with self._changed:
            self._breakpoints = breakpoints

    def answer_needs_by(self, who: NeedsBy) -> None:
        """Who answers from now on."""
        with self._changed:
            self._needs_by = who

    def permit(self, id: str, how: Permit) -> None:  # noqa: A002
        """Answer the permission that is asked for."""
        with self._changed:
            if id == self._asked:
                self._permit = how
                self._changed.notify_all()

    def replace(self, wish: Replace) -> None:
        """Raises InspectorError where the run is not paused."""
        with self._changed:
            if not self._paused or self._mode in ("go", "model", "tool"):
                raise InspectorError("Another buffer can be put in only while the run is paused.")
            self._wishes.append(wish)
            self._changed.notify_all()

    def answer(self, reply: Answer | Failure) -> None:
        """Raises InspectorError where no need is open."""
        with self._changed:
            if not self._needing:
                raise InspectorError("No need is open that could be answered.")
            self._reply = reply
            self._changed.notify_all()

    # what the run does, on its own thread

    @property
    def breakpoints(self) -> Breakpoints:
        """As they are now."""
        with self._changed:
            return self._breakpoints

    @property
    def needs_by(self) -> NeedsBy:
        """As it is now."""
        with self._changed:
            return self._needs_by

    def is_stopped(self) -> bool:
        """For those who cancel what is under way."""
        return self._stopped

    def check(self) -> None:
        """Raises Stopped."""
        if self._stopped:
            raise Stopped

    def reason(self) -> Stop:
        """Does the person want a pause here, and why? Empty = no. Raises Stopped."""
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
            if self._mode in ("go", "model", "tool"):
                self._mode = "pause"
            self._paused = True

    def next_wish(self) -> Replace | None:
        """Wait, paused, for another buffer; None = run on. Raises Stopped."""
        with self._changed:
            while not self._wishes:
                self.check()
                if self._mode in ("go", "model", "tool"):
                    self._paused = False
                    return None
                self._changed.wait()
            return self._wishes.popleft()

    def ask_permission(self, id: str) -> None:  # noqa: A002
        """From here on `permit` is listened to. Before it is told that it is asked for."""
        with self._changed:
            self._asked, self._permit = id, None

    def permission(self) -> Permit:
        """Wait for it. Raises Stopped."""
        with self._changed:
            while self._permit is None:
                self.check()
                self._changed.wait()
            how, self._asked, self._permit = self._permit, "", None
            return how

    def open_need(self) -> None:
        """From here on `answer` is listened to."""
        with self._changed:
            self._needing, self._reply = True, None

    def reply(self) -> Answer | Failure:
        """Wait for it. Raises Stopped."""
        with self._changed:
            while self._reply is None:
                self.check()
                self._changed.wait()
            found, self._needing, self._reply = self._reply, False, None
            return found

    def rest(self, seconds: float) -> None:
        """Wait. Raises Stopped as soon as the run is stopped."""
        with self._changed:
            self._changed.wait_for(self.is_stopped, seconds)
            self.check()
