"""Where a run stops by itself. A value: the person sets another one whenever they want, also while it runs."""

from dataclasses import dataclass

ANY = "*"
"""Every tier, every tool."""


@dataclass(frozen=True, slots=True)
class Breakpoints:
    """All off by default. They hold in sub-agents as well."""

    requests: bool = False
    """Before every model call."""
    watermark: float | None = None
    """Before a model call whose buffer has come to this share of the window (0.6), once each time it gets there."""
    tiers: frozenset[str] = frozenset()
    """Before one of these tiers fires; ANY = before any."""
    overflow: bool = False
    """When the model has refused the buffer as too long, before the policy reacts."""
    tools: frozenset[str] = frozenset()
    """Before a call of one of these tools; ANY = before any."""
    errors: bool = False
    """When a model call has failed for good. Going on asks again; without it the run ends there."""

    def on_tier(self, name: str) -> bool:
        """Is there a breakpoint on this tier?"""
        return ANY in self.tiers or name in self.tiers

    def on_tool(self, name: str) -> bool:
        """Is there a breakpoint on this tool?"""
        return ANY in self.tools or name in self.tools
