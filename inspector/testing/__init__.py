"""A pytest plugin: assertions about compaction policies on recorded sessions, and a report of their numbers.

pytest loads `inspector.testing.plugin` (entry point `pytest11`). The other modules are loaded when one of the
assertions is first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspector.testing.checks import (
        assert_survives,
        assert_valid,
        max_cost,
        max_pressure,
        no_overflow,
    )

__all__ = ["assert_survives", "assert_valid", "max_cost", "max_pressure", "no_overflow"]


def __getattr__(name: str) -> Any:
    """Load the assertions when one of them is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from inspector.testing import checks

    return getattr(checks, name)
