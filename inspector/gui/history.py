"""Back and Forward: the places that the user visited, as a browser keeps its pages.

A place is what can be seen: the file, the workspace with the panels in front, the agent, the request, the selected
message and the step. Moving from one request to the next is not a jump. Neither are moves of the program while a file
is read or followed, or while a tier waits for an answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from PySide6.QtCore import QObject

from inspector.core.session import Session
from inspector.gui.docks import Docks
from inspector.gui.look.build import delayed
from inspector.gui.navigation import go_to
from inspector.workbench.state import Following
from inspector.workbench.steps import ORIGIN, RECORDED
from inspector.workbench.workbench import Workbench

MOST = 100
"""Number of places that are kept in each direction."""
SETTLE_MS = 60
"""Milliseconds during which changes count as one action, and so as one jump."""
DRAG_S = 0.7
"""Maximum number of seconds between two moves of the playhead that belong to one drag."""
PATIENCE_S = 20.0
"""Seconds after which the program stops trying to reach a place."""


@dataclass(frozen=True, slots=True)
class VisitedPlace:
    """The file, panels, request and step that the user saw."""

    path: str
    following: Following
    workspace: str
    panels: tuple[str, ...]
    """Titles of the panels in front."""
    maximised: str
    """Title of the maximised panel; empty if there is none."""
    thread_id: str
    at: int | None
    policy: str
    step: int | None
    """Index of the user's step that is shown; None for the recorded buffer."""
    selected: str
    """Id of the message that the user selected; empty for the newest one."""
    tier: str | None
    """Selected tier, as in `State.pointed`."""

    def is_jump_from(self, other: "VisitedPlace") -> bool:
        """Return True if a change from `other` to this place is a jump."""
        return self._scene != other._scene or (self.at != other.at and not self._is_next_to(other))

    def is_move_from(self, other: "VisitedPlace") -> bool:
        """Return True if only the request differs from `other`."""
        return self._scene == other._scene and self.at != other.at

    def is_same_request(self, other: "VisitedPlace") -> bool:
        """Return True if both show the same request of the same agent in the same workspace."""
        return (self.path, self.workspace, self.thread_id, self.at) == (
            other.path,
            other.workspace,
            other.thread_id,
            other.at,
        )

    @property
    def _scene(self) -> tuple[object, ...]:
        """All fields whose change is a jump, except the request.

        Selecting a message, a tier or a policy is not a jump.
        """
        return self.path, self.workspace, self.panels, self.maximised, self.thread_id, self.step

    def _is_next_to(self, other: "VisitedPlace") -> bool:
        return self.at is not None and other.at is not None and abs(self.at - other.at) <= 1


class History(QObject):
    """Records the places that the user visits, and goes back and forward among them."""

    def __init__(
        self,
        owner: QObject,
        workbench: Workbench,
        docks: Docks,
        open_path: Callable[[str, Following], None],
        changed: Callable[[bool, bool], None],
    ) -> None:
        """Connect to the workbench and the docks.

        Args:
            open_path: Opens a file, and follows it if its second argument says so.
            changed: Called with whether there is a place to go back to, and whether there is one to go forward to.
        """
        super().__init__(owner)
        self._workbench = workbench
        self._docks = docks
        self._open_path = open_path
        self._changed = changed
        self._back: list[VisitedPlace] = []
        self._forward: list[VisitedPlace] = []
        self._here: VisitedPlace | None = None
        self._target: VisitedPlace | None = None
        """The place that is being restored; changes in the meantime are not jumps."""
        self._given_up_at = 0.0
        self._moved_at = 0.0
        self._session: Session | None = None
        self._soon = delayed(self, SETTLE_MS, self._note_place)
        workbench.subscribe(lambda state: self._look_soon())
        docks.rearranged.connect(self._look_soon)

    def go_back(self) -> None:
        """Return to the place from which the last jump started."""
        self._begin_walk(self._back, self._forward)

    def go_forward(self) -> None:
        """Return to the place from which the last `go_back` started."""
        self._begin_walk(self._forward, self._back)

    # -- watching ------------------------------------------------------------------------------------------------------

    def _look_soon(self) -> None:
        if not self._soon.isActive():
            self._soon.start()

    def _note_place(self) -> None:
        """Record the current place, and the previous one if a jump led here."""
        now = self._place()
        if now is None:
            return
        session = self._session
        self._session = self._workbench.state.session
        has_grown = (
            session is not self._session and self._here is not None and self._here.path == now.path
        )
        if self._target is not None:
            self._approach(self._target, now)
            now = self._place() or now
        elif self._here is not None and not has_grown and now.is_jump_from(self._here):
            self._note_jump(now, self._here)
        self._here = now

    def _note_jump(self, now: VisitedPlace, before: VisitedPlace) -> None:
        is_move = now.is_move_from(before)
        is_drag = is_move and monotonic() - self._moved_at < DRAG_S
        self._moved_at = monotonic() if is_move else 0.0
        if not is_drag:
            self._back = [*self._back, before][-MOST:]
            self._forward = []
            self._report_change()

    def _place(self) -> VisitedPlace | None:
        """Return where the user is; None while nothing is open or the window is still being built."""
        state = self._workbench.state
        docks = self._docks
        busy = state.opening is not None or state.asking is not None
        if state.session is None or busy or not docks.isVisible() or not docks.ready:
            return None
        steps = state.taken
        step = steps.at if steps is not None and steps.stepped else None
        return VisitedPlace(
            state.session.path,
            state.following,
            workspace=docks.current.name,
            panels=docks.in_front,
            maximised=docks.maximised,
            thread_id=state.thread_id,
            at=state.at,
            policy=state.choices.policy,
            step=step,
            selected=state.selected if self._workbench.has_selection else "",
            tier=state.pointed,
        )

    def _report_change(self) -> None:
        self._changed(bool(self._back), bool(self._forward))

    # -- going ---------------------------------------------------------------------------------------------------------

    def _begin_walk(self, places: list[VisitedPlace], others: list[VisitedPlace]) -> None:
        self._note_place()  # notes a jump since the last look
        current = self._here
        while places and current is not None and not places[-1].is_jump_from(current):
            places.pop()
        if places and current is not None:
            others.append(current)
            self._target = places.pop()
            self._given_up_at = monotonic() + PATIENCE_S
            self._lead_to(self._target)
        self._report_change()

    def _lead_to(self, place: VisitedPlace) -> None:
        session = self._workbench.state.session
        if session is None or session.path != place.path:
            self._open_path(place.path, place.following)
            return  # continues in `_approach` when the file is open
        self._docks.choose(place.workspace)
        self._docks.bring_in_front(place.panels, place.maximised)
        self._workbench.stepping.adopt(place.policy)
        go_to(self._workbench, place.thread_id, place.at, place.selected)
        self._look_soon()

    def _approach(self, target: VisitedPlace, now: VisitedPlace) -> None:
        """Take the next step towards the target, as far as the window is ready for it."""
        was_elsewhere = self._here is not None and self._here.path != now.path
        if now.path == target.path and was_elsewhere:
            self._lead_to(target)
        if (now := self._place() or now).is_same_request(target):
            self._restore_step(target)
            self._target = None
        elif monotonic() > self._given_up_at:
            self._target = None

    def _restore_step(self, place: VisitedPlace) -> None:
        state = self._workbench.state
        steps = state.taken
        if steps is not None and state.asking is None:
            start = ORIGIN if steps.recorded is None else RECORDED
            step = start if place.step is None else place.step
            if step != steps.at and step < len(steps.taken):
                self._workbench.stepping.go(step)
        self._workbench.previews.point(place.tier)
