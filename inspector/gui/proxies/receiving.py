"""The receiver of spans and the window: it begins with a click, and its recording is followed like any transcript. One
at a time."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject

from inspector.core.errors import InspectorError
from inspector.gui.bridge import Bridge, Frames
from inspector.gui.dialogs.form import new_record
from inspector.proxy.receiver import SpanReceiver
from inspector.workbench.live import ReceiverView
from inspector.workbench.workbench import Workbench

FRAME = 200
"""Milliseconds between two counts of the spans."""


class ReceiverController(QObject):
    """What the person wants of the receiver comes in as method calls; how it stands is `State.receiver`."""

    def __init__(self, workbench: Workbench, bridge: Bridge, follow: Callable[[str], None]) -> None:
        super().__init__()
        self._workbench, self._bridge, self._follow = workbench, bridge, follow
        self._receiver: SpanReceiver | None = None
        self._closed = False
        self._frames = Frames(self._show, FRAME)

    def begin(self) -> None:
        """Listen at the default port of tracers, else at any free one; if a receiver is running, show its recording."""
        if self._workbench.state.receiver is not None:
            self.show_recording()
            return
        record = Path(new_record("recordings", "spans"))
        self._workbench.show_receiver(ReceiverView(str(record)))
        self._bridge.run(
            lambda task: _listening(record, self._frames.ask),
            self._begun,
            self._failed,
            fell=lambda failure: self._workbench.show_receiver(None),
            lane="wait",
        )

    def _begun(self, receiver: SpanReceiver) -> None:
        if self._closed:
            receiver.close()
            return
        self._receiver = receiver
        self.show_recording()
        self._show()

    def _failed(self, error: InspectorError) -> None:
        self._workbench.show_receiver(None)
        self._workbench.failed(str(error))

    def _show(self) -> None:
        view, receiver = self._workbench.state.receiver, self._receiver
        if view is not None and receiver is not None:
            self._workbench.show_receiver(replace(view, url=receiver.url, spans=receiver.spans))

    def show_recording(self) -> None:
        """Open the recording, and follow it."""
        state = self._workbench.state
        if self._receiver is not None and state.receiver is not None and not state.receiver_is_open:
            self._follow(state.receiver.record)

    def stop(self) -> None:
        """End it; the recording stays open."""
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            self._workbench.show_receiver(None)
            self._bridge.run(lambda task: receiver.close(), lambda _: None, lane="wait")

    def close(self) -> None:
        """End the receiver when the window closes."""
        self._closed = True
        self._frames.close()
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.close()


def _listening(record: Path, changed: Callable[[], None]) -> SpanReceiver:
    try:
        record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as why:
        raise InspectorError(f"{record.parent} cannot be created: {why.strerror or why}.") from None
    try:
        receiver = SpanReceiver(record, on_change=changed)
    except InspectorError:  # somebody else listens there
        receiver = SpanReceiver(record, port=0, on_change=changed)
    return receiver.start()
