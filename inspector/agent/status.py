"""The current status of a run, and the user's controls over it.

The window shows the status together with the journal: the journal holds everything permanent, the status only what is
in progress (streaming text, open questions). The controls may be set from any thread, and the run's own thread obeys
them at the next possible point. The run asks (`reason`, `next_wish`, `reply`) and waits without polling. Every wait
ends at once with RunStopped when the run is stopped.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, Literal, TypeAlias

from inspector.agent.tools.common import Question
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import ToolCall
from inspector.core.needs import Answer, Failure, Need
from inspector.core.policies.verdict import Verdict
from inspector.core.tokens.pressure import Pressure, PressureKind

RunState: TypeAlias = Literal[
    "starting", "calling", "tool", "tier", "paused", "asking", "needing", "ended"
]
"""The states of a run.

calling: the model answers; tool: a tool runs; tier: a tier runs; paused: the user may look and change; asking: the user
must permit a call (`permit`); needing: the user must answer a tier's need (`answer`); ended: the run is over.
"""
Stop: TypeAlias = Literal[
    "", "by hand", "step", "request", "watermark", "tier", "overflow", "tool", "error"
]
"""Why a run paused."""
End: TypeAlias = Literal["", "done", "error", "stopped", "max turns"]

ANY = "*"
"""In a breakpoint, means every tier or every tool."""


@dataclass(frozen=True, slots=True)
class Breakpoints:
    """Where a run pauses. All are off by default; they also apply to sub-agents."""

    requests: bool = False
    """Pause before every model call."""
    watermark: float | None = None
    """Pause before a model call whose buffer reaches this share of the window (such as 0.6), once each time it does."""
    tiers: frozenset[str] = frozenset()
    """Pause before one of these tiers fires; ANY means every tier."""
    overflow: bool = False
    """Pause when the model has refused the buffer as too long, before the policy reacts."""
    tools: frozenset[str] = frozenset()
    """Pause before a call of one of these tools; ANY means every tool."""
    errors: bool = False
    """Pause when a model call has finally failed. Resuming repeats the call; without this breakpoint the run ends."""


Permit: TypeAlias = Literal["once", "always", "no"]


@dataclass(frozen=True, slots=True)
class Permission:
    """A call that needs permission.

    `what` says exactly what the call will do. `id` identifies this question, because ids of calls may repeat.
    """

    id: str
    call: ToolCall
    what: Question


@dataclass(frozen=True, slots=True)
class TurnReport:
    """The report of one finished turn: a model call with its tools. Each is a line of `run`."""

    number: int
    """Number of the turn across all threads, from 1."""
    turn: int
    """Number of the turn in its thread, from 0."""
    thread: str
    reported: int | None
    """Prompt tokens that the provider reported."""
    estimated: int
    calibrated: int
    """Prompt tokens by the policy's own estimator before the call: `estimated` is uncalibrated, this is calibrated."""
    expected: Pressure
    """The size of the prompt that was predicted before the call."""
    output: int | None
    window: int | None
    fired: tuple[str, ...]
    """Names of the tiers that did something in this turn, in order."""
    tools: tuple[str, ...]
    finish: str
    text: str
    error: str = ""

    @property
    def ratio(self) -> float | None:
        return self.tokens / self.window if self.window else None

    @property
    def tokens(self) -> int:
        """Return the prompt's tokens: reported, or else predicted or estimated."""
        return (self.expected.tokens or 0) if self.reported is None else self.reported

    @property
    def kind(self) -> PressureKind:
        return self.expected.kind if self.reported is None else "reported"


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The status of a run at one moment."""

    state: RunState = "starting"
    why: str = ""
    """A sentence that says why the run is paused, what it waits for, or when it retries."""
    stop: Stop = ""
    end: End = ""
    thread: str = "main"
    """The active thread: main, or the id of the call that started a sub-agent."""
    turn: int = 0
    text: str = ""
    """The text of the model so far in the current call."""
    calls: tuple[ToolCall, ...] = ()
    """Tool calls of the last answer that have not been run yet, the next one first."""
    asked: Permission | None = None
    need: Need | None = None
    """The need that waits for `answer`."""
    verdict: Verdict | None = None
    """The tier that is about to fire, if the run paused for it."""
    buffer: Buffer = field(default_factory=lambda: Buffer(()))
    """The current buffer of the thread, which `replace` changes."""
    running: Any = None
    """The policy's running state that belongs to the buffer."""
    tokens: int = 0
    """Predicted tokens of the next prompt."""
    kind: PressureKind = "unknown"
    believed: int = 0
    """Tokens of the buffer by the policy's own count, which its tiers are compared with."""
    window: int | None = None
    error: str = ""
    """The error message; kept if the error has ended the run."""
    report: TurnReport | None = None
    """The newest finished turn. Its `number` shows whether it was published before."""


Publish: TypeAlias = Callable[[RunStatus], None]
PACE_S = 1 / 30
"""Shortest time in seconds between two updates that only add text."""


class StatusPublisher:
    """Publishes one status at a time; updates of streamed text are limited to a readable pace."""

    def __init__(self, publish: Publish, first: RunStatus) -> None:
        self._publish = publish
        self._lock = threading.RLock()
        self.status = first
        self._due = 0.0
        self._pieces: list[str] | None = None

    def publish(self, **changes: Any) -> None:
        """Change these fields of the status and publish it."""
        with self._lock:
            self.status = replace(self.status, **changes)
            self._publish(self.status)

    def begin_text(self) -> Callable[[str], None]:
        """Return a function that takes pieces of an answer's text, on any thread, until `end_text` is called."""
        with self._lock:
            pieces: list[str] = []
            self._pieces = pieces

        def hear(piece: str) -> None:
            with self._lock:
                if self._pieces is not pieces:
                    return
                pieces.append(piece)
                if monotonic() >= self._due:
                    self._due = monotonic() + PACE_S
                    self.publish(text="".join(pieces))

        return hear

    def end_text(self) -> None:
        """End the streamed text: the call has ended, and its text is in the buffer or dropped."""
        with self._lock:
            self._pieces = None
            if self.status.text:
                self.status = replace(self.status, text="")


_Mode: TypeAlias = Literal["go", "pause", "model", "tool", "stepped"]
_GOING = ("go", "model", "tool")
NEED = "need"


class RunStopped(Exception):
    """The user has ended the run."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """A new buffer for the paused thread; `running` None keeps the running state."""

    buffer: Buffer
    running: Any = None


class Controls:
    """The user's controls over one run. Methods return at once, except those for the run itself that say they wait."""

    def __init__(self, breakpoints: Breakpoints) -> None:
        self._changed = threading.Condition()
        self._mode: _Mode = "go"
        self._stopped = False
        self._paused = False
        self._breakpoints = breakpoints
        self._wishes: deque[Replacement] = deque()
        self._asked = ""
        """The open question: the id of a permission, or NEED; empty if there is none."""
        self._reply: Permit | Answer | Failure | None = None

    # for the user

    def go(self) -> None:
        """Resume, until the next breakpoint or the end."""
        self._set_mode("go")

    def pause(self) -> None:
        """Pause at the next possible point: before a tier, a model call or a tool call."""
        self._set_mode("pause")

    def step_model(self) -> None:
        """Resume until one model call has been answered."""
        self._set_mode("model")

    def step_tool(self) -> None:
        """Resume until one tool call has its result."""
        self._set_mode("tool")

    def _set_mode(self, mode: _Mode) -> None:
        with self._changed:
            self._mode = mode
            self._changed.notify_all()

    def stop(self) -> None:
        """End the run now: the model call is cancelled, a running command and its children are killed."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def break_at(self, breakpoints: Breakpoints) -> None:
        """Use other breakpoints from now on."""
        with self._changed:
            self._breakpoints = breakpoints

    def permit(self, id: str, how: Permit) -> None:  # noqa: A002
        """Answer the permission with this id; an id that is no longer open is ignored."""
        with self._changed:
            if id == self._asked:
                self._reply = how
                self._changed.notify_all()

    def replace(self, buffer: Buffer, running: Any = None) -> None:
        """Replace the buffer (and running state) of the paused thread. Its prompt is kept.

        Raises InspectorError if the run is not paused.
        """
        with self._changed:
            if not self._paused or self._mode in _GOING:
                raise InspectorError("The buffer can be replaced only while the run is paused.")
            self._wishes.append(Replacement(buffer, running))
            self._changed.notify_all()

    def answer(self, reply: Answer | Failure) -> None:
        """Answer the open need, or fail it. Raises InspectorError if there is none."""
        with self._changed:
            if self._asked != NEED:
                raise InspectorError("The run is not waiting for an answer.")
            self._reply = reply
            self._changed.notify_all()

    # for the run, on its own thread

    @property
    def breakpoints(self) -> Breakpoints:
        with self._changed:
            return self._breakpoints

    def is_stopped(self) -> bool:
        """Is the run stopped? Passed to functions that cancel work."""
        return self._stopped

    def check(self) -> None:
        """Return at once unless the run is stopped. Raises RunStopped."""
        if self._stopped:
            raise RunStopped

    def reason(self) -> Stop:
        """Return why the user wants a pause here; empty if they do not. Raises RunStopped."""
        with self._changed:
            self.check()
            return {"pause": "by hand", "stepped": "step"}.get(self._mode, "")  # type: ignore[return-value]

    def done(self, what: Literal["model", "tool"]) -> None:
        """Note that a model call or a tool call is finished, which may end a step."""
        with self._changed:
            if self._mode == what:
                self._mode = "stepped"

    def begin_pause(self) -> None:
        """Enter a pause, in which `replace` is allowed."""
        with self._changed:
            if self._mode in _GOING:
                self._mode = "pause"
            self._paused = True

    def next_wish(self) -> Replacement | None:
        """Wait during a pause for another buffer; None means resume. Raises RunStopped."""
        with self._changed:
            while not self._wishes:
                self.check()
                if self._mode in _GOING:
                    self._paused = False
                    return None
                self._changed.wait()
            return self._wishes.popleft()

    def ask(self, question: str) -> None:
        """Open a question. Call this before the status says that it is asked."""
        with self._changed:
            self._asked = question
            self._reply = None

    def reply(self) -> Any:
        """Wait for the answer to the open question. Raises RunStopped."""
        with self._changed:
            while self._reply is None:
                self.check()
                self._changed.wait()
            reply = self._reply
            self._asked = ""
            self._reply = None
            return reply

    def rest(self, seconds: float) -> None:
        """Wait for `seconds`. Raises RunStopped as soon as the run is stopped."""
        with self._changed:
            self._changed.wait_for(self.is_stopped, seconds)
            self.check()
