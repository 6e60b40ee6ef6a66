"""The simulated provider's world behind a run: of its own, or as the journal tells of it, to be the same again."""

from collections.abc import Mapping
from typing import Any

from inspector.simulated.demo import COMPACTIONS, MODEL
from inspector.simulated.world import WINDOW, World


def world_of(model: str, window: int | None) -> World:
    """For a run that brings none. The demo's model is one whose provider soon ceases to compact remotely."""
    return World(window or WINDOW, compactions=COMPACTIONS if model == MODEL else None)


def world_told(world: World | None) -> dict[str, Any] | None:
    """What the journal says of it."""
    if world is None:
        return None
    return {"window": world.window, "pause_s": world.pause_s, "compactions": world.compactions}


def world_again(told: Any, window: int | None, compacted: int) -> World | None:
    """The same world, after so many remote compactions; None where the journal tells of none."""
    if not isinstance(told, Mapping):
        return None
    size, pause, left = told.get("window"), told.get("pause_s"), told.get("compactions")
    return World(
        window or (size if type(size) is int else WINDOW),
        float(pause) if isinstance(pause, int | float) and 0 <= pause <= 10 else 0.0,
        compactions=max(0, left - compacted) if type(left) is int else None,
    )
