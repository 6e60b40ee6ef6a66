"""The plan of a run: task, workspace, provider, policy, limits. It does not change while the run is under way."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.message import Json
from inspector.core.policies.catalogue import DEFAULT_POLICY
from inspector.core.policies.settings import SettingPairs, window_pairs
from inspector.core.session import Thread
from inspector.core.usage import Usage
from inspector.simulated.state import SimulatedServerState

Permissions: TypeAlias = Literal["ask", "always", "never"]
"""What happens to a call that writes or runs something: the user is asked, it is allowed, or it is refused."""
NeedsBy: TypeAlias = Literal["provider", "offline", "hand"]
"""Who answers a tier's needs: the run's own provider, the extractive summariser, or the user."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits at which a run stops or gives up automatically."""

    max_turns: int = 100
    """Maximum number of turns of each thread; a turn is a model call with its tools."""
    max_output: int = 30_000
    """Maximum number of characters of one tool's output that go into the buffer; the middle of a longer output is
    left out.
    """
    retries: int = 5
    """How many times a call is retried that failed for a temporary reason (429, 529, connection)."""
    backoff_s: float = 1.0
    """Seconds before the first retry if the provider names none; doubled for each further retry."""
    longest_wait_s: float = 120.0
    """If the provider demands a longer wait before a retry, in seconds, the call has failed."""


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """The state in which a journal ended: what a resumed run needs besides its main buffer and running state."""

    turn: int = 0
    """Number of finished turns."""
    usage: Usage | None = None
    finish: str = ""
    """Why the last call finished; `usage` is its usage."""
    begun: tuple[str, ...] = ()
    """Ids of calls that had begun and have no result, so that their progress is unknown."""
    threads: Mapping[str, Buffer] = field(default_factory=lambda: MappingProxyType({}))
    running: Mapping[str, dict[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    """Running states as the journal holds them, in JSON; none if another policy continues."""
    recorded: Thread | None = None
    """The main thread with its reported requests."""
    size: int = 0
    """Size of the journal in bytes."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run to be started, resumed or forked."""

    task: str
    """The user's task, which becomes the last user message of the start. Empty if `start` already holds it."""
    workspace: Path
    record: Path
    """Path of the journal: a new file, or (with `resumed`) the journal to continue."""
    provider: str = "simulated"
    """The provider: simulated, anthropic, openai or a URL, as for `--answerer`."""
    model: str = ""
    policy: str = DEFAULT_POLICY
    settings: SettingPairs = ()
    """(key, value) pairs of the policy's settings."""
    window: int | None = None
    """The model's window in tokens; None uses the known one."""
    permissions: Permissions = "ask"
    needs_by: NeedsBy = "provider"
    limits: RunLimits = field(default_factory=RunLimits)
    max_tokens: int | None = None
    """Maximum number of output tokens of a call; None uses the default of the provider's dialect."""
    remote: bool | None = None
    """Whether the provider can compact remotely; None if it is known to. If its endpoint is missing, it is not asked
    again.
    """
    memory: str = ""
    """A file in the workspace with the agent's notes, which serve as the session memory (Roku L2)."""
    start: Buffer | None = None
    """The buffer that the run begins with, followed by `task`; None for the task alone. Its prompt is used
    unchanged.
    """
    running: Any | None = None
    """The policy's running state at the start; None for a fresh one."""
    forked_from: Mapping[str, Json] | None = None
    """The origin of a fork, recorded in the journal: path, session, format, thread, request, changes."""
    resumed: ResumePoint | None = None
    world: SimulatedServerState | None = None
    """State of the simulated provider (pace, faults, window); None for a default one with the plan's window."""

    @property
    def all_settings(self) -> SettingPairs:
        """Return the policy's settings: first the user's window, which applies to every policy, then `settings`."""
        return (*window_pairs(self.window), *self.settings)
