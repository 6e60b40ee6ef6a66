"""Connects the proxy with the window. Only one proxy runs at a time.

Actions of the user are passed to its gate, exchanges and held requests are shown in the State at most once per frame,
and the recording is followed like any transcript. A held request is the last request of its thread in the recording.
Steps taken there change what is forwarded.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from PySide6.QtCore import QTimer

from inspector.core.errors import InspectorError
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.place import context_at
from inspector.core.session import Thread
from inspector.core.tokens.pressure import known_pressures
from inspector.core.tokens.sizing import sizer
from inspector.gui.bridge import Bridge, Task
from inspector.gui.live.controller import LiveController
from inspector.gui.live.status import NO_PROXY
from inspector.gui.navigation import go_to
from inspector.proxy.holds.compacting import DUE, Compactor, Proposal
from inspector.proxy.holds.hold import HoldInfo, Rule
from inspector.proxy.holds.holds import Holds
from inspector.proxy.live_proxy import LiveProxy
from inspector.workbench.live import Prospect, ProxyView
from inspector.workbench.policy_input import policy_of
from inspector.workbench.state import Choices, State
from inspector.workbench.steps import Steps
from inspector.workbench.workbench import Workbench

FRAME = 40
"""Minimum milliseconds between two updates of the proxy's status."""
_BACK = 60
"""Number of newest requests of a thread among which a held request is searched."""


class ProxyController(LiveController[LiveProxy, ProxyView]):
    """Passes the actions of the user to the proxy and shows its status as `State.proxy`."""

    def __init__(self, workbench: Workbench, bridge: Bridge, follow: Callable[[str], None]) -> None:
        super().__init__(
            workbench, bridge, follow, FRAME, lambda state: state.proxy, workbench.show_proxy
        )
        self._finishing: Task | None = None
        """The job that stops a proxy."""
        self._answers_due = False
        """True if requests were under way when the proxy was stopped."""
        self._known: set[int] = set()
        self._look_at: int | None = None
        self._user_window: int | None = None
        """The context window that the user chose for the open recording, in tokens."""
        self._prospects = Prospects(workbench, bridge, lambda: self._follow_state(workbench.state))
        workbench.subscribe(self._follow_state)

    def _show_status(self) -> None:
        proxy = self._service
        status = self.status
        if self._closed or proxy is None or status is None:
            return
        holds = proxy.holds.list()
        new = [hold.id for hold in holds if hold.id not in self._known and hold.time]
        self._known.update(new)
        if new and self._look_at is None and len(holds) == 1:
            self._look_at = new[0]
        self._prospects.keep(holds)
        now = replace(
            status,
            url=proxy.url,
            trouble=proxy.trouble,
            rule=proxy.holds.rule,
            is_next=proxy.holds.is_next,
            holds=holds,
            under_way=proxy.under_way,
        )
        self._workbench.show_proxy(now)

    # -- where a held request stands -----------------------------------------------------------------------------------

    def place(self, hold: HoldInfo) -> tuple[str, int] | None:
        """Return thread and index of a held request; None if the recording is not open or does not have it yet."""
        state = self._workbench.state
        if state.session is None or not state.proxy_is_open or not hold.time:
            return None
        for thread in state.session.threads:
            count = len(thread.requests)
            for request in range(count - 1, max(-1, count - 1 - _BACK), -1):
                if thread.requests[request].time == hold.time:
                    return thread.id, request
        return None

    def steps(self, hold: HoldInfo) -> Steps | None:
        """Return the user's steps on a held request: those at the request or, if it is the last one, at its thread's
        end."""
        state = self._workbench.state
        place = self.place(hold)
        if place is None or state.session is None:
            return None
        thread, request = place
        last = request == len(state.session.thread(thread).requests) - 1
        for where in (request, None) if last else (request,):
            steps = state.trees.get((thread, where, state.choices.policy))
            if steps is not None and steps.stepped:
                return steps
        return None

    def _follow_state(self, state: State) -> None:
        """Update the prospects of held requests, and go to the request to look at once the recording has it."""
        proxy = self._service
        status = state.proxy
        if proxy is None or status is None:
            return
        self._take_window(state)
        prospects = {
            hold.id: self._prospects.prospect(
                proxy.holds, hold, state, self.steps(hold), self.place(hold)
            )
            for hold in status.holds
        }
        if prospects != status.prospects:
            self._workbench.show_proxy(replace(status, prospects=MappingProxyType(prospects)))
        hold = next(
            (candidate for candidate in status.holds if candidate.id == self._look_at), None
        )
        place = self.place(hold) if hold is not None else None
        if hold is None or place is not None:
            self._look_at = None
        if place is not None:
            # After the other subscribers have received the State.
            QTimer.singleShot(0, lambda: go_to(self._workbench, *place, ""))

    def _take_window(self, state: State) -> None:
        """Apply the context window that the user chose for the recording to the rule that holds requests."""
        chosen = state.user_window if state.proxy_is_open else None
        if chosen == self._user_window:
            return
        self._user_window = chosen
        if (
            self._service is not None
            and state.proxy_is_open
            and self._service.holds.rule.window != chosen
        ):
            self.set_rule(replace(self._service.holds.rule, window=chosen))

    # -- intents -------------------------------------------------------------------------------------------------------

    def begin(self, upstream: str, record: Path, port: int = 0, rule: Rule | None = None) -> None:
        """Start a proxy. An error becomes the State's failure."""
        if self.status is not None:
            self._workbench.failed(
                "A proxy is already running: stop that proxy before you start another."
            )
            return
        rule = rule or Rule()
        self._workbench.show_proxy(ProxyView(upstream, str(record), rule))
        self._start(lambda: LiveProxy(upstream, record, port, rule, on_change=self._frames.ask))

    def _begin_work(self, service: LiveProxy) -> None:
        self._known.clear()

    @property
    def is_finishing(self) -> bool:
        """True if the proxy was stopped but answers are still under way."""
        return self._finishing is not None and self._answers_due

    def stop(self, then: Callable[[], object] = lambda: None) -> None:
        """Stop the proxy, then call `then`. The recording stays open.

        Held requests are forwarded unchanged and answers under way are awaited; new requests are refused meanwhile.
        """
        proxy = self._release()
        self._look_at = None
        if proxy is None:
            then()
            return
        status = self.status
        self._answers_due = status is not None and bool(status.busy)
        if self._answers_due:
            self._workbench.note(
                "Held requests are forwarded unchanged. The proxy stops when the answers under way have arrived."
            )
        self._workbench.show_proxy(None)

        def end(_: None) -> None:
            self._finishing = None
            then()

        self._finishing = self._bridge.run(
            lambda task: proxy.finish(lambda: task.stopped), end, lane="wait"
        )

    def set_rule(self, rule: Rule) -> None:
        """Set the rule that holds requests, and use its context window for the open recording, too."""
        self._attempt(lambda proxy: proxy.set_rule(rule))
        state = self._workbench.state
        if (
            state.proxy_is_open
            and state.proxy is not None
            and rule.window != state.proxy.rule.window
        ):
            self._user_window = rule.window
            self._workbench.set_window(rule.window)
        self._show_status()

    def hold_next(self, is_on: bool) -> None:
        """Hold the next request regardless of the rule (`is_on`), or no longer."""
        if self._service is None:
            self._workbench.failed(NO_PROXY)
        self._attempt(lambda proxy: proxy.holds.hold_next(is_on))
        self._show_status()

    def look(self, hold: HoldInfo) -> None:
        """Go to a held request as soon as the recording shows it."""
        self._look_at = hold.id
        self.show_recording()
        self._follow_state(self._workbench.state)

    def forward(self, hold: HoldInfo, stepped: bool) -> None:
        """Forward a held request, with the user's steps on it (`stepped`) or unchanged."""
        steps = self.steps(hold) if stepped else None
        if stepped and steps is None:
            self._workbench.failed(
                "You have not changed the held request: open it, then run a tier or edit a message."
            )
        elif steps is None:
            self._attempt(lambda proxy: proxy.holds.release(hold.id))
        elif self._attempt(lambda proxy: proxy.holds.release(hold.id, steps.buffer, steps.sent)):
            # the recording now holds the result of the steps, so their tree starts from a buffer that was never sent
            state = self._workbench.state
            trees = {key: tree for key, tree in state.trees.items() if key[:2] != steps.start[:2]}
            self._workbench.show(replace(state, trees=MappingProxyType(trees)))

    def compact(self, hold: HoldInfo, tier: str = DUE) -> None:
        """Forward a held request as the policy proposes: after one tier, or after all that are due."""
        prospect = self.status.prospects.get(hold.id) if self.status is not None else None
        proposal = prospect.proposals.get(tier) if prospect is not None else None
        if proposal is not None and proposal.after is not None:
            after = proposal.after
            if self._attempt(lambda proxy: proxy.holds.release(hold.id, after, proposal.before)):
                self._prospects.took(hold, self._workbench.state.choices, proposal)

    def drop(self, hold: HoldInfo) -> None:
        """Answer a held request with an error."""
        self._attempt(lambda proxy: proxy.holds.drop(hold.id))

    def _attempt(self, intent: Callable[[LiveProxy], None]) -> bool:
        """Run an action on the proxy. Return True if it succeeded."""
        try:
            if self._service is not None:
                intent(self._service)
        except InspectorError as failure:
            self._workbench.failed(str(failure))
            return False
        return self._service is not None

    def close(self) -> None:
        """Stop the proxy at once when the window closes."""
        if self._finishing is not None:
            self._finishing.cancel()
        if self._service is not None:
            self._workbench.show_proxy(None)
        super().close()


class Prospects:
    """Computes what would become of held requests: after the chosen policy's tiers, and after the user's steps.

    Jobs compute it, because a tokenizer must read the whole request. `changed` is called whenever a result is ready.
    """

    def __init__(self, workbench: Workbench, bridge: Bridge, changed: Callable[[], None]) -> None:
        self._workbench = workbench
        self._bridge = bridge
        self._told = changed
        self._known: dict[tuple[Any, ...], Any] = {}
        """By hold id and further key values: (object that the key refers to, result).

        The result is None while it is computed.
        """
        self._compactors: dict[tuple[Any, ...], Compactor] = {}

    def prospect(
        self,
        holds: Holds,
        hold: HoldInfo,
        state: State,
        steps: Steps | None,
        place: tuple[str, int] | None,
    ) -> Prospect:
        """Return the prospect of a held request as far as it is known; the missing parts are computed and announced
        later.

        `place` is its thread and request in the open recording; None if it is not there.
        """
        if hold.cannot:
            return Prospect(steps)
        left = None
        if steps is not None and state.session is not None:
            measured = partial(_size_after, state.session.thread(steps.start[0]), steps)
            left = self._find((hold.id, id(steps.buffer)), measured, steps.buffer)
        proposals = self._proposals(holds, hold, state, place) or {}
        policy = policy_of(state)
        titles = {tier.name: tier.title for tier in policy.tiers}
        return Prospect(steps, left, proposals, policy=policy.title, titles=titles)

    def _proposals(
        self, holds: Holds, hold: HoldInfo, state: State, place: tuple[str, int] | None
    ) -> Mapping[str, Proposal] | None:
        """Return what the chosen policy would do, by tier; None until that is known.

        If the recording is open, the proposal is the step that Tiers takes at the request. The sizes are the gate's,
        which counts the whole body with a tokenizer.
        """
        choices = state.choices
        compactor = self._compactor(state.choices)
        if place is None and state.proxy_is_open:
            return None  # the recording will show it in a moment

        def propose() -> Mapping[str, Proposal]:
            context = None if place is None else self._context(state, place)
            buffer = holds.buffer(hold.id) if context is None else context.buffer
            return compactor.propose_tiers(
                hold, buffer, weigh=partial(holds.predicted, hold.id), context=context
            )

        chosen = replace(choices, answer_by="", model="")
        key = hold.id, place, chosen, state.user_window
        proposals: Mapping[str, Proposal] | None = self._find(key, propose)
        return proposals

    def _context(self, state: State, place: tuple[str, int]) -> PolicyContext[Any, Any]:
        """Return the context of the policy at a request of the open recording. O(messages)."""
        assert state.session is not None
        thread = state.session.thread(place[0])
        request = place[1]
        window = self._workbench.find_window(replace(state, thread_id=thread.id), request)
        return context_at(
            policy_of(state), state.choices, thread, request, window, state.session.client
        )

    def took(self, hold: HoldInfo, choices: Choices, proposal: Proposal) -> None:
        """Remember the proposal that was applied to a forwarded request."""
        self._compactor(choices).keep(hold, proposal)

    def keep(self, holds: Iterable[HoldInfo]) -> None:
        """Discard the results about requests that are no longer held."""
        waiting = {hold.id for hold in holds}
        self._known = {key: value for key, value in self._known.items() if key[0] in waiting}

    def _compactor(self, choices: Choices) -> Compactor:
        key = choices.policy, choices.settings
        if key not in self._compactors:
            self._compactors[key] = Compactor(*key)
        return self._compactors[key]

    def _find(self, key: tuple[Any, ...], work: Callable[[], Any], about: object = None) -> Any:
        """Return the result of `work` if it is known, or compute it in a job.

        `about` is kept because its id is in the key.
        """
        if key not in self._known:
            self._known[key] = (about, None)

            def done(value: Any) -> None:
                if key in self._known:
                    self._known[key] = (about, value)
                    self._told()

            # Fails if the request was released meanwhile.
            self._bridge.run(lambda task: work(), done, lambda error: None)
        return self._known[key][1]


def _size_after(thread: Thread, steps: Steps) -> int:
    """Return the tokens after the steps as the gauge shows them."""
    return sizer(known_pressures(thread), steps.start[1]).tokens(steps.buffer)
