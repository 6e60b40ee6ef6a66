"""Jump to a place of the session: thread, request and message."""

from PySide6.QtCore import QTimer

from inspector.workbench.state import State
from inspector.workbench.workbench import Workbench


def stand_at(workbench: Workbench, at: int | None) -> None:
    """Move to request `at` of the thread, or to its end if there is no such request, as for a change never sent."""
    thread = workbench.state.thread
    workbench.move(
        at if at is not None and thread is not None and at < len(thread.requests) else None
    )


def go_to(
    workbench: Workbench, thread_id: str, at: int | None, message_id: str, stay: bool = False
) -> None:
    """Move to request `at` of the thread, or to its end if there is no such request, and select the message.

    If another thread must be analysed first, the jump follows the analysis.

    Args:
        workbench: The workbench to move.
        thread_id: Id of the thread.
        at: Index of the request in the thread; None for the end.
        message_id: Id of the message to select.
        stay: Leave the playhead at its position.
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
            # Not in this call: other subscribers have not received the new thread yet.
            QTimer.singleShot(0, land)

    workbench.choose_thread(thread_id)
    if workbench.state.thread_id == thread_id:
        land()
    else:
        stop = workbench.subscribe(look)
