"""A run with a thread of its own. Everything the person may do to it is a method here; it tells how it stands.

All methods return at once and may be called from any thread. What they lead to is told by `tell`, which is called from
the run's own threads, never twice at a time.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.needs import Answer, Failure
from inspector.live.agent.breakpoints import Breakpoints
from inspector.live.agent.plan import NeedsBy, Plan
from inspector.live.agent.standing import Standing

Tell: TypeAlias = Callable[[Standing], None]
Permit: TypeAlias = Literal["once", "always", "no"]


class Runner:
    """One run. `start` it, `close` it when done."""

    def __init__(self, plan: Plan, tell: Tell, breakpoints: Breakpoints | None = None) -> None:
        """Raises InspectorError for a provider, model, policy, setting, workspace or journal that will not do."""
        raise NotImplementedError

    def start(self, paused: bool = False) -> None:
        """Begin; with `paused` it stops before its first model call."""
        raise NotImplementedError

    def go(self) -> None:
        """Run on, to the next breakpoint or to the end."""
        raise NotImplementedError

    def pause(self) -> None:
        """Stop at the next place where one can: before a tier, a model call or a tool call."""
        raise NotImplementedError

    def step_model(self) -> None:
        """Run on until one model call has been answered."""
        raise NotImplementedError

    def step_tool(self) -> None:
        """Run on until one tool call has its result."""
        raise NotImplementedError

    def stop(self) -> None:
        """End the run now: the model call is cancelled, a running command is killed with its children."""
        raise NotImplementedError

    def break_at(self, breakpoints: Breakpoints) -> None:
        """Other breakpoints from now on."""
        raise NotImplementedError

    def permit(self, id: str, how: Permit) -> None:  # noqa: A002
        """Answer the permission of that id; one that is no longer asked for is ignored."""
        raise NotImplementedError

    def replace(self, buffer: Buffer, running: Any = None) -> None:
        """Put another buffer (and running state) into the thread that is paused. Raises InspectorError if none is."""
        raise NotImplementedError

    def answer_needs_by(self, who: NeedsBy) -> None:
        """Who answers the needs of tiers from now on."""
        raise NotImplementedError

    def answer(self, reply: Answer | Failure) -> None:
        """Meet the need that is open, or fail it."""
        raise NotImplementedError

    @property
    def standing(self) -> Standing:
        """How it stands now."""
        raise NotImplementedError

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the run has ended; False where it has not by then."""
        raise NotImplementedError

    def close(self) -> None:
        """Stop it if it still runs, wait for its thread, close what it opened. May be called twice."""
        raise NotImplementedError
