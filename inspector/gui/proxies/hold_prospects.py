"""What would become of held requests: by the chosen policy, and with the steps that were taken. Worked out elsewhere,
since a tokenizer reads all of it; told when it is known."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import policy
from inspector.gui.bridge import Bridge
from inspector.proxy.holds.compacting import Compactor, Proposal
from inspector.proxy.holds.hold import HoldInfo
from inspector.proxy.holds.holds import Holds
from inspector.workbench.state import Choices
from inspector.workbench.steps import Steps


@dataclass(frozen=True, slots=True)
class Prospect:
    """What may become of a held request: by the person's steps, by the policy. None where that is not known."""

    steps: Steps | None = None
    left: int | None = None
    """Tokens that the steps leave."""
    proposal: Proposal | None = None
    policy: str = ""
    """Its title."""


class Prospects:
    """`told` is called as soon as something more is known."""

    def __init__(self, bridge: Bridge, told: Callable[[], None]) -> None:
        self._bridge, self._told = bridge, told
        self._known: dict[tuple[Any, ...], Any] = {}
        """By hold and what was asked: what that is about, and what is known; None while it is being worked out."""
        self._compactors: dict[tuple[Any, ...], Compactor] = {}

    def prospect(self, holds: Holds, hold: HoldInfo, choices: Choices, steps: Steps | None) -> Prospect:
        """As far as it is known; the rest is told of later."""
        if hold.cannot:
            return Prospect(steps)
        left = None
        if steps is not None:
            buffer = steps.buffer
            left = self._find((hold.id, id(buffer)), partial(holds.predicted, hold.id, buffer), buffer)
        compactor = self._compactor(choices)

        def propose() -> Proposal:
            return compactor.propose(hold, holds.buffer(hold.id), partial(holds.predicted, hold.id))

        proposal = self._find((hold.id, choices.policy, choices.settings), propose)
        return Prospect(steps, left, proposal, policy(choices.policy).title)

    def took(self, hold: HoldInfo, choices: Choices, proposal: Proposal) -> None:
        """It goes on like that."""
        self._compactor(choices).keep(hold, proposal)

    def keep(self, holds: Iterable[HoldInfo]) -> None:
        """Only these still wait."""
        waiting = {hold.id for hold in holds}
        self._known = {key: value for key, value in self._known.items() if key[0] in waiting}

    def _compactor(self, choices: Choices) -> Compactor:
        key = choices.policy, choices.settings
        if key not in self._compactors:
            self._compactors[key] = Compactor(*key)
        return self._compactors[key]

    def _find(self, key: tuple[Any, ...], work: Callable[[], Any], about: object = None) -> Any:
        """`about` is kept as long as what is known of it, since its id stands in the key."""
        if key not in self._known:
            self._known[key] = (about, None)

            def done(found: Any) -> None:
                if key in self._known:
                    self._known[key] = (about, found)
                    self._told()

            self._bridge.run(lambda task: work(), done, _gone)
        return self._known[key][1]


def _gone(error: InspectorError) -> None:
    """It was let go meanwhile: nobody asks any more."""
    del error
