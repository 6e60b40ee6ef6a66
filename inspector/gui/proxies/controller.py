"""The proxy and the window: intents go to its gate, what passes and what is held comes back a frame at a time, and the
recording is followed like any transcript. One proxy at a time.

A held request is the last request of its thread in the recording. Steps that are taken there are what goes on in its
place.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from PySide6.QtCore import QObject, QTimer, Signal

from inspector.core.errors import InspectorError
from inspector.gui.bridge import Bridge
from inspector.gui.navigation import go_to
from inspector.gui.proxies.hold_prospects import Prospect, Prospects
from inspector.proxy.holds.hold import HoldInfo, Rule
from inspector.proxy.live_proxy import ExchangeRow, LiveProxy
from inspector.workbench.state import State
from inspector.workbench.steps import Steps
from inspector.workbench.workbench import Workbench

FRAME = 40
"""Milliseconds between two pictures of what passes."""
_BACK = 60
"""Requests of a thread, from its last one back, among which a held one is looked for."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A proxy as the person asked for it."""

    upstream: str
    record: str
    port: int = 0
    rule: Rule = field(default_factory=Rule)


class Proxying(QObject):
    """`changed`: `holds`, `rows`, the rule or the proxy itself are others."""

    changed = Signal()
    held = Signal(object)
    """A request came to be held."""
    _arrived = Signal()

    def __init__(self, workbench: Workbench, bridge: Bridge, follow: Callable[[str], None]) -> None:
        super().__init__()
        self._workbench, self._bridge, self._follow = workbench, bridge, follow
        self.watching: LiveProxy | None = None
        self.holds: tuple[HoldInfo, ...] = ()
        self.rows: tuple[ExchangeRow, ...] = ()
        self._starting = self._on_its_way = self._closed = False
        self._known: set[int] = set()
        self._look_at: int | None = None
        self._prospects = Prospects(bridge, self.changed.emit)
        self._frame = QTimer(self, singleShot=True, interval=FRAME)
        self._frame.timeout.connect(self._show)
        self._arrived.connect(self._frame.start)
        workbench.subscribe(self._seen)

    # -- how it stands -------------------------------------------------------------------------------------------------

    @property
    def active(self) -> bool:
        """Does a proxy listen, or is one about to?"""
        return self._starting or self.watching is not None

    @property
    def busy(self) -> bool:
        """Is anything held, or on its way?"""
        return self.watching is not None and (bool(self.holds) or any(not one.ended for one in self.rows))

    @property
    def shown(self) -> bool:
        """Is the open transcript the recording?"""
        session = self._workbench.state.session
        return session is not None and self.watching is not None and session.path == str(self.watching.record)

    @property
    def rule(self) -> Rule:
        """When requests are held."""
        return self.watching.holds.rule if self.watching is not None else Rule()

    @property
    def is_next(self) -> bool:
        """Will the next request be held?"""
        return self.watching is not None and self.watching.holds.is_next

    def _tell(self) -> None:
        """On the proxy's threads: ask for a picture, unless one is on its way."""
        if not self._on_its_way and not self._closed:
            self._on_its_way = True
            self._arrived.emit()

    def _show(self) -> None:
        self._on_its_way = False  # before it is looked at: what comes now asks again
        watching = self.watching
        if self._closed or watching is None:
            return
        self.holds, self.rows = watching.holds.list(), watching.ledger.rows
        self._prospects.keep(self.holds)
        for hold in self.holds:
            if hold.id not in self._known and hold.time:
                self._known.add(hold.id)
                if self._look_at is None and len(self.holds) == 1:
                    self._look_at = hold.id
                self.held.emit(hold)
        self.changed.emit()
        self._seen(self._workbench.state)

    # -- where a held request stands -----------------------------------------------------------------------------------

    def place(self, hold: HoldInfo) -> tuple[str, int] | None:
        """Thread and request of a held one, where the recording is open and holds it already."""
        session = self._workbench.state.session
        if session is None or not self.shown or not hold.time:
            return None
        for thread in session.threads:
            count = len(thread.requests)
            for at in range(count - 1, max(-1, count - 1 - _BACK), -1):
                if thread.requests[at].time == hold.time:
                    return thread.id, at
        return None

    def steps(self, hold: HoldInfo) -> Steps | None:
        """What the person made of it: steps at its request, or at the end of its thread while it is the last one."""
        state, place = self._workbench.state, self.place(hold)
        if place is None or state.session is None:
            return None
        thread, at = place
        last = at == len(state.session.thread(thread).requests) - 1
        for where in (at, None) if last else (at,):
            steps = state.trees.get((thread, where, state.choices.policy))
            if steps is not None and steps.step is not None:
                return steps
        return None

    def prospect(self, hold: HoldInfo) -> Prospect:
        """What may become of it, as far as it is known."""
        if self.watching is None:
            return Prospect()
        choices = self._workbench.state.choices
        return self._prospects.prospect(self.watching.holds, hold, choices, self.steps(hold))

    def _seen(self, state: State) -> None:
        """The recording has caught up with the request that is to be looked at."""
        hold = next((one for one in self.holds if one.id == self._look_at), None)
        if hold is None:
            self._look_at = None
            return
        place = self.place(hold)
        if place is not None:
            self._look_at = None
            QTimer.singleShot(0, lambda: go_to(self._workbench, *place, ""))  # the others are still being told

    # -- intents -------------------------------------------------------------------------------------------------------

    def begin(self, wanted: Wanted) -> None:
        """Start a proxy. What keeps it from starting is told as the State's failure."""
        if self.active:
            self._workbench.failed("A proxy is running already: stop it before you start another.")
            return
        self._starting = True
        self.changed.emit()
        self._bridge.run(
            lambda task: LiveProxy(wanted.upstream, Path(wanted.record), wanted.port, wanted.rule, self._tell),
            self._begun,
            self._failed,
            fell=lambda failure: self._not_begun(),
            waits=True,
        )

    def _begun(self, watching: LiveProxy) -> None:
        self._starting = False
        if self._closed:
            watching.close()
            return
        self.watching = watching
        self._known.clear()
        self.show_recording()
        self._show()

    def _failed(self, error: InspectorError) -> None:
        self._not_begun()
        self._workbench.failed(str(error))

    def _not_begun(self) -> None:
        self._starting = False
        self.changed.emit()

    def show_recording(self) -> None:
        """Open the recording, and follow it."""
        if self.watching is not None and not self.shown:
            self._follow(str(self.watching.record))

    def stop(self) -> None:
        """End the proxy; the recording stays open."""
        watching, self.watching = self.watching, None
        self.holds, self._look_at = (), None
        if watching is not None:
            self._bridge.run(lambda task: watching.close(), lambda _: None, waits=True)
        self.changed.emit()

    def set_rule(self, rule: Rule) -> None:
        """Hold by another rule from here on."""
        if self.watching is not None:
            self.watching.set_rule(rule)

    def hold_next(self, wanted: bool) -> None:
        """Hold the next request, whatever the rule says."""
        if self.watching is None:
            self._workbench.failed("No proxy is running: begin with “Watch an agent…”.")
        else:
            self.watching.holds.hold_next(wanted)

    def look(self, hold: HoldInfo) -> None:
        """Stand at the held request, as soon as the recording shows it."""
        self._look_at = hold.id
        self.show_recording()
        self._seen(self._workbench.state)

    def forward(self, hold: HoldInfo, *, stepped: bool) -> None:
        """Let it go: with the steps that were taken on it, or as it was."""
        steps = self.steps(hold) if stepped else None
        if stepped and steps is None:
            self._workbench.failed("No step was taken on that request: look at it, run a tier or edit a message there.")
        elif steps is None:
            self._try(lambda watching: watching.holds.release(hold.id))
        elif self.watching is not None:
            try:
                self.watching.holds.release(hold.id, steps.buffer, steps.origin)
            except InspectorError as failure:
                self._workbench.failed(str(failure))
            else:
                self._forget(steps)

    def compact(self, hold: HoldInfo) -> None:
        """Let it go with what the policy proposes."""
        proposal = self.prospect(hold).proposal
        if proposal is None or proposal.after is None or self.watching is None:
            return
        try:
            self.watching.holds.release(hold.id, proposal.after, proposal.before)
        except InspectorError as failure:
            self._workbench.failed(str(failure))
        else:
            self._prospects.took(hold, self._workbench.state.choices, proposal)

    def _forget(self, steps: Steps) -> None:
        """What the steps made is what the recording now holds: they would start from what was never sent."""
        state = self._workbench.state
        trees = {key: one for key, one in state.trees.items() if key[:2] != steps.start[:2]}
        self._workbench.show(replace(state, trees=MappingProxyType(trees)))

    def drop(self, hold: HoldInfo) -> None:
        """Answer it with an error."""
        self._try(lambda watching: watching.holds.drop(hold.id))

    def _try(self, intent: Callable[[LiveProxy], None]) -> None:
        try:
            if self.watching is not None:
                intent(self.watching)
        except InspectorError as failure:
            self._workbench.failed(str(failure))

    def close(self) -> None:
        """The window goes: nothing arrives any more, and the proxy ends."""
        self._closed = True
        self._frame.stop()
        watching, self.watching = self.watching, None
        if watching is not None:
            watching.close()
