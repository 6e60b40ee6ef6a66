"""Going to a place of the session in one step: thread, request, message."""

from PySide6.QtCore import QTimer

from inspector.workbench.state import State
from inspector.workbench.workbench import Workbench


def stand_at(workbench: Workbench, at: int | None) -> None:
    """Move to request `at` of the thread; to the end if there is none, as for a change that was never sent."""
    thread = workbench.state.thread
    workbench.move(
        at if at is not None and thread is not None and at < len(thread.requests) else None
    )


def go_to(
    workbench: Workbench, thread_id: str, at: int | None, message_id: str, stay: bool = False
) -> None:
    """Move to request `at` of the thread (beyond its last one: to the end), and select the message.

    `stay`: leave the playhead where it is. Another thread is analysed first; the jump waits for it.
    """

    def land() -> None:
        if workbench.state.thread is not None and not stay:
            stand_at(workbench, at)
        workbench.select(message_id)

    if workbench.state.thread_id == thread_id:
        land()
        return

    def look(state: State) -> None:
        if state.thread_id == thread_id:
            stop()
            QTimer.singleShot(
                0, land
            )  # not from within: the new thread is still on its way to others

    workbench.choose_thread(thread_id)
    if workbench.state.thread_id == thread_id:
        land()
    else:
        stop = workbench.subscribe(look)
