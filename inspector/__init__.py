"""Context Inspector: the debugger for an LLM agent's context window.

The library is `inspector.api`, whose names can be imported from here; it is loaded when the first of them is asked for.
"""

__version__ = "0.2.0"

TYPE_CHECKING = False
"""Replaces `typing.TYPE_CHECKING`: importing `typing` would delay the status line."""
if TYPE_CHECKING:
    from inspector.api import (
        Buffer,
        CompactionResult,
        InspectorError,
        PolicyRunner,
        breakdown,
        bundled_sample,
        cost,
        find_lost,
        find_pins,
        measure,
        offline,
        open_session,
        policy,
        policy_from,
        read_request,
        replay,
        write_request,
    )

__all__ = [
    "Buffer",
    "CompactionResult",
    "InspectorError",
    "PolicyRunner",
    "breakdown",
    "bundled_sample",
    "cost",
    "find_lost",
    "find_pins",
    "measure",
    "offline",
    "open_session",
    "policy",
    "policy_from",
    "read_request",
    "replay",
    "write_request",
]


def __getattr__(name: str) -> object:
    """Load the library when one of its names is first used, so that importing the package alone costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from inspector import api

    return getattr(api, name)
