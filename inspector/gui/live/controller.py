"""Start a run, a proxy or a receiver in a job, follow its recording, and close it with the window."""

from collections.abc import Callable
from threading import Lock
from typing import Generic, Protocol, TypeVar

from PySide6.QtCore import QObject

from inspector.core.errors import InspectorError
from inspector.gui.bridge import Bridge, Frames
from inspector.workbench.state import State
from inspector.workbench.workbench import Workbench


class Closable(Protocol):
    """A run, a proxy or a receiver that was started."""

    def close(self) -> None:
        """Stop the service. May be called twice."""


class LiveView(Protocol):
    """The view of a run, a proxy or a receiver in the State."""

    @property
    def record(self) -> str:
        """Path of the recording; empty if nothing is recorded."""


Service = TypeVar("Service", bound=Closable)
View = TypeVar("View", bound=LiveView)


class LiveController(QObject, Generic[Service, View]):
    """Controls at most one service at a time, and its view in the State.

    Args:
        workbench: Holds the State.
        bridge: Runs the jobs.
        follow: Opens a recording and follows it.
        frame_ms: Minimum milliseconds between two calls of `_show_status`, however often other threads report.
        find_view: Returns the view of a State.
        show_view: Shows a view in the State of the workbench; None: there is no service.
    """

    def __init__(
        self,
        workbench: Workbench,
        bridge: Bridge,
        follow: Callable[[str], None],
        frame_ms: int,
        find_view: Callable[[State], View | None],
        show_view: Callable[[View | None], None],
    ) -> None:
        super().__init__()
        self._workbench = workbench
        self._bridge = bridge
        self._follow = follow
        self._find_view = find_view
        self._show_view = show_view
        self._service: Service | None = None
        """The service that was started; used on the GUI thread only."""
        self._unclaimed: Service | None = None
        """The service that a job has started and the GUI thread has not taken over yet."""
        self._closed = False
        self._lock = Lock()
        """Guards `_unclaimed` and `_closed`, because the window may close while a job starts a service."""
        self._frames = Frames(self._show_status, frame_ms)

    @property
    def status(self) -> View | None:
        """The view in the State; None while there is no service."""
        return self._find_view(self._workbench.state)

    def _show_status(self) -> None:
        """Show the current status in the State."""
        raise NotImplementedError

    def _start(self, make: Callable[[], Service]) -> None:
        """Run `make` in a job and take over its result. Show an InspectorError that it raises as a failure."""

        def job() -> Service:
            service = make()
            with self._lock:
                is_late = self._closed
                self._unclaimed = None if is_late else service
            if is_late:
                service.close()
            return service

        self._bridge.run(
            lambda task: job(),
            self._take_over,
            self._fail,
            fell=lambda failure: self._give_up(),
            lane="wait",
        )

    def _take_over(self, service: Service) -> None:
        with self._lock:
            self._unclaimed = None
        if self._closed:
            return
        self._service = service
        self._begin_work(service)
        if self.status is not None:
            self._follow(self.status.record)
        self._show_status()

    def _begin_work(self, service: Service) -> None:
        """Do what a subclass needs once after a service was started, before its recording is opened."""

    def _fail(self, error: InspectorError) -> None:
        self._give_up()
        self._workbench.failed(str(error))

    def _give_up(self) -> None:
        """Allow another start, unless the service runs and only showing it failed."""
        if self._service is None:
            self._show_view(None)

    def show_recording(self) -> None:
        """Open the recording and follow it, unless it is already open."""
        view = self.status
        if self._service is None or view is None or not view.record:
            return
        if not self._workbench.state.is_open(view.record):
            self._follow(view.record)

    def _release(self) -> Service | None:
        """Return the service for the caller to close, and forget it."""
        service = self._service
        self._service = None
        return service

    def close(self) -> None:
        """Close the service, even one that is still starting, when the window closes."""
        with self._lock:
            self._closed = True
            unclaimed = self._unclaimed
            self._unclaimed = None
        self._frames.close()
        for service in (unclaimed, self._release()):
            if service is not None:
                service.close()
