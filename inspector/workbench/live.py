"""What runs beside the transcript that is open, as the window shows it: a run of our own agent, a proxy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from inspector.workbench.steps import Steps

if TYPE_CHECKING:  # neither is loaded before the first run or proxy
    from inspector.agent.plan import Plan
    from inspector.agent.status import Breakpoints, RunStatus, TurnReport
    from inspector.proxy.holds.compacting import Proposal
    from inspector.proxy.holds.hold import HoldInfo, Rule


@dataclass(frozen=True, slots=True)
class RunView:
    """A run, from its start until the person takes it away."""

    now: "RunStatus"
    breakpoints: "Breakpoints"
    plan: "Plan | None" = None
    """None while it is being prepared."""
    reports: "tuple[TurnReport, ...]" = ()
    """Its newest turns, the newest last."""
    pausing: bool = False
    """The person wants it to pause, and it has not come to a place where it can."""
    remote: bool = False
    """Its provider can compact remotely."""

    @property
    def record(self) -> str:
        """Path of its journal; empty while there is none."""
        return "" if self.plan is None else str(self.plan.record)

    @property
    def active(self) -> bool:
        """Is it under way, or about to be?"""
        return self.now.state != "ended"


@dataclass(frozen=True, slots=True)
class ReceiverView:
    """A receiver of spans that listens, or is about to: its address is empty until then."""

    record: str
    url: str = ""
    spans: int = 0
    """Received so far."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """What may become of a held request: by the person's steps, by the policy. None where that is not known."""

    steps: Steps | None = None
    left: int | None = None
    """Tokens that the steps leave."""
    proposals: "Mapping[str, Proposal]" = field(default_factory=lambda: MappingProxyType({}))
    """What the policy would do, by tier; under "" what all tiers that are due would do together."""
    policy: str = ""
    """The title of the policy."""
    titles: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The titles of its tiers, by name."""

    @property
    def proposal(self) -> "Proposal | None":
        """What all tiers that are due would do; None: not known."""
        return self.proposals.get("")


@dataclass(frozen=True, slots=True)
class ProxyView:
    """A proxy that listens, or is about to: its address is empty until then."""

    upstream: str
    record: str
    rule: "Rule"
    url: str = ""
    trouble: str = ""
    """What the recorder complained of last; empty for nothing."""
    is_next: bool = False
    """The next request will be held."""
    holds: "tuple[HoldInfo, ...]" = ()
    under_way: frozenset[int] = frozenset()
    """Numbers of the exchanges that have no answer yet."""
    prospects: Mapping[int, Prospect] = field(default_factory=lambda: MappingProxyType({}))
    """By the id of the hold."""

    @property
    def busy(self) -> bool:
        """Is anything held, or on its way?"""
        return bool(self.holds or self.under_way)
