"""What happens in the plays, the same for every actor: the options of provider and proxy, what must come of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.clients.actor import Limits, Trait


@dataclass(frozen=True, slots=True)
class Scenario:
    """`faults` of the provider's calls, after those that come before the first real one. `tiny`: the actor's limits
    make it compact by itself. `status` and `compactions` that must come of it."""

    name: str
    faults: Callable[[Trait], Sequence[str]]
    tiny: bool = False
    proxy: Callable[[Trait], Sequence[str]] = lambda trait: ()
    """Options of the proxy."""
    pause_s: float = 0
    """How long the person at the proxy's terminal thinks about each held request."""
    changes: bool = False
    """Does the proxy change what the provider reads?"""
    status: Callable[[Trait], int] = lambda trait: 0
    compactions: Callable[[Trait], int] = lambda trait: 0

    def provider(self, trait: Trait) -> list[str]:
        """The options of the simulated provider."""
        faults = [
            one
            for fault in ["ok"] * trait.first + list(self.faults(trait))
            for one in ("--fault", fault)
        ]
        scale = ["--usage-scale", str(trait.scale)] if self.tiny else []
        return [*faults, *scale, *([] if trait.websocket else ["--no-websocket"])]

    def limits(self, trait: Trait) -> Limits | None:
        """When the actor compacts."""
        return trait.compacts_at if self.tiny else None


SCENARIOS = (
    Scenario("task", lambda trait: ()),
    Scenario("compaction", lambda trait: (), tiny=True, compactions=lambda trait: 1),
    Scenario(
        "overflow",
        lambda trait: ("ok*5", "overflow"),
        status=lambda trait: trait.overflow,
        compactions=lambda trait: int(trait.own_way_out),
    ),
    Scenario("too-many-requests", lambda trait: ("ok", "429:1")),
    Scenario("overloaded", lambda trait: ("ok*2", "529")),
    Scenario("cut-stream", lambda trait: ("ok", "cut:6"), status=lambda trait: trait.cut),
    Scenario(
        "pause",
        lambda trait: (),
        proxy=lambda trait: ("--pause-at", "0.001", "--window", "200000"),
        pause_s=6,
    ),
    Scenario(
        "intervention",
        lambda trait: (),
        proxy=lambda trait: (
            "--pause-at",
            "0.5",
            "--window",
            str(trait.window),
            "--compact-with",
            "roku",
        ),
        changes=True,
    ),
)
