"""Connects the span receiver with the window, which follows its recording like any transcript."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from inspector.core.errors import InspectorError
from inspector.gui.bridge import Bridge
from inspector.gui.dialogs.form import new_record
from inspector.gui.live.controller import LiveController
from inspector.proxy.receiver import SpanReceiver
from inspector.safety.folders import make_private_folder
from inspector.workbench.live import ReceiverView
from inspector.workbench.workbench import Workbench

FRAME = 200
"""Minimum milliseconds between two updates of the number of spans."""


class ReceiverController(LiveController[SpanReceiver, ReceiverView]):
    """Starts and stops the receiver, and shows its status as `State.receiver`."""

    def __init__(self, workbench: Workbench, bridge: Bridge, follow: Callable[[str], None]) -> None:
        super().__init__(
            workbench,
            bridge,
            follow,
            FRAME,
            lambda state: state.receiver,
            workbench.show_receiver,
        )

    def begin(self) -> None:
        """Listen at the default port of tracers, or at any free port if that is in use.

        If a receiver is already running, show its recording.
        """
        if self.status is not None:
            self.show_recording()
            return
        record = Path(new_record("recordings", "spans"))
        self._workbench.show_receiver(ReceiverView(str(record)))
        self._start(lambda: _start_receiver(record, self._frames.ask))

    def _show_status(self) -> None:
        view = self.status
        receiver = self._service
        if view is not None and receiver is not None:
            self._workbench.show_receiver(replace(view, url=receiver.url, spans=receiver.spans))

    def stop(self) -> None:
        """Stop the receiver. The recording stays open."""
        receiver = self._release()
        if receiver is not None:
            self._workbench.show_receiver(None)
            self._bridge.run(lambda task: receiver.close(), lambda _: None, lane="wait")


def _start_receiver(record: Path, changed: Callable[[], None]) -> SpanReceiver:
    make_private_folder(record.parent)
    try:
        receiver = SpanReceiver(record, on_change=changed)
    except InspectorError:  # another program listens at that port
        receiver = SpanReceiver(record, port=0, on_change=changed)
    return receiver.start()
