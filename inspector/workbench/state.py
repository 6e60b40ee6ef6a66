"""All that the window shows, as one frozen value. State flows down, intents go up to the Workbench."""

from dataclasses import dataclass, replace

from inspector.core.buffer import Buffer
from inspector.core.session import Request, Session, Thread
from inspector.core.tokens.pressure import Pressures
from inspector.core.tokens.windows import Window


@dataclass(frozen=True, slots=True)
class Opening:
    """A transcript on its way in: `done` of `total` bytes."""

    path: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """What is open and where we stand in it. Derived values (`pressures`, `window`) are worked out by the Workbench."""

    session: Session | None = None
    opening: Opening | None = None
    """Set while a transcript is being read; `session` may then already hold its first requests."""
    failure: str = ""
    """The sentence of the last expected failure, empty when it was dealt with."""
    thread_id: str = "main"
    at: int | None = None
    """Index of the request we look at; None = the buffer after the last record."""
    selected: str = ""
    """Id of the selected message, empty for none."""
    user_window: int | None = None
    """The window the user chose, in tokens."""
    estimator: str = "roku"
    pressures: Pressures | None = None
    """Of the chosen thread, by the chosen estimator."""
    window: Window | None = None

    @property
    def thread(self) -> Thread | None:
        """The chosen thread, or None while nothing is open."""
        if self.session is None:
            return None
        return next((t for t in self.session.threads if t.id == self.thread_id), self.session.main)

    @property
    def request(self) -> Request | None:
        """The request we look at; None at the end of the thread or while nothing is open."""
        thread = self.thread
        if thread is None or self.at is None or not 0 <= self.at < len(thread.requests):
            return None
        return thread.requests[self.at]

    def buffer(self) -> Buffer:
        """The buffer we look at, laid out. O(messages)."""
        request, thread = self.request, self.thread
        if request is not None:
            return request.buffer()
        return Buffer(thread.end.messages(), thread.prompt) if thread else Buffer(())

    def move(self, at: int | None) -> "State":
        """The same, at another request (clamped)."""
        thread = self.thread
        if thread is None or at is None:
            return replace(self, at=None)
        return replace(self, at=max(0, min(at, len(thread.requests) - 1)) if thread.requests else None)
