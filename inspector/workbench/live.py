"""What the window shows of live work: a run of the product's own agent, a receiver of spans, a proxy."""

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
    """A run of the agent, from its start until the user dismisses it."""

    now: "RunStatus"
    breakpoints: "Breakpoints"
    plan: "Plan | None" = None
    """The run's plan; None while it is being prepared."""
    reports: "tuple[TurnReport, ...]" = ()
    """Reports of the newest turns, the newest last."""
    pausing: bool = False
    """The user asked for a pause that has not taken effect yet."""
    remote: bool = False
    """True if the run's provider can compact remotely."""

    @property
    def record(self) -> str:
        """Return the path of the run's journal; empty while there is none."""
        return "" if self.plan is None else str(self.plan.record)

    @property
    def active(self) -> bool:
        """Is the run under way, or about to start?"""
        return self.now.state != "ended"


@dataclass(frozen=True, slots=True)
class ReceiverView:
    """A receiver of spans. Its address is empty until it listens."""

    record: str
    url: str = ""
    spans: int = 0
    """Number of spans received so far."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a held request may become: by the user's steps, and by the policy. None if that is unknown."""

    steps: Steps | None = None
    left: int | None = None
    """Tokens of the buffer after the steps."""
    proposals: "Mapping[str, Proposal]" = field(default_factory=lambda: MappingProxyType({}))
    """What the policy would do, by tier; the key "" holds what all due tiers together would do."""
    policy: str = ""
    """The title of the policy."""
    titles: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The titles of its tiers, by name."""

    @property
    def proposal(self) -> "Proposal | None":
        """Return what all due tiers together would do; None if that is unknown."""
        return self.proposals.get("")


@dataclass(frozen=True, slots=True)
class ProxyView:
    """A proxy. Its address is empty until it listens."""

    upstream: str
    record: str
    rule: "Rule"
    url: str = ""
    trouble: str = ""
    """The recorder's last complaint; empty if there was none."""
    is_next: bool = False
    """True if the next request will be held."""
    holds: "tuple[HoldInfo, ...]" = ()
    under_way: frozenset[int] = frozenset()
    """Numbers of the exchanges that have no answer yet."""
    prospects: Mapping[int, Prospect] = field(default_factory=lambda: MappingProxyType({}))
    """Prospects by the id of the hold."""

    @property
    def busy(self) -> bool:
        """Is any request held or still without an answer?"""
        return bool(self.holds or self.under_way)
