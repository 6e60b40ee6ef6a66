"""What a run is to be: task, workspace, provider, policy, limits. Nothing of it changes while it runs."""

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
"""What happens with a call that writes or runs something: the person is asked, it is done, it is refused."""
NeedsBy: TypeAlias = Literal["provider", "offline", "hand"]
"""Who answers a tier's needs: the run's own provider, the extractive summariser, the person."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """When a run stops automatically."""

    max_turns: int = 100
    """Model calls with their tools, of each thread."""
    max_output: int = 30_000
    """Characters of one tool's output that go into the buffer; the middle of a longer one is left out."""
    retries: int = 5
    """How often a call is made again that failed for a reason that passes (429, 529, connection)."""
    backoff_s: float = 1.0
    """Seconds before the first retry where the provider names none; doubled each time."""
    longest_wait_s: float = 120.0
    """A provider that wants to be left alone for longer has failed."""


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Where a journal left off: what a resumed run needs besides its main buffer and running state."""

    turn: int = 0
    """Turns that were finished."""
    usage: Usage | None = None
    finish: str = ""
    """Of the last call."""
    begun: tuple[str, ...] = ()
    """Ids of calls that had begun and have no result, so that their progress is unknown."""
    threads: Mapping[str, Buffer] = field(default_factory=lambda: MappingProxyType({}))
    running: Mapping[str, dict[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    """Running states in JSON as the journal holds them; none if another policy continues."""
    recorded: Thread | None = None
    """The main thread: what its calls reported."""
    size: int = 0
    """Bytes of the journal."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A run to be started, resumed or forked."""

    task: str
    """What the person wants; the last user message of the start. Empty where `start` says it all."""
    workspace: Path
    record: Path
    """The journal: a new file, or (with `resumed`) the one that is resumed."""
    provider: str = "simulated"
    """simulated, anthropic, openai or a URL, as for `--answerer`."""
    model: str = ""
    policy: str = DEFAULT_POLICY
    settings: SettingPairs = ()
    """KEY, VALUE pairs of the policy."""
    window: int | None = None
    """Tokens of the model's window; None = as the tables know it."""
    permissions: Permissions = "ask"
    needs_by: NeedsBy = "provider"
    limits: RunLimits = field(default_factory=RunLimits)
    max_tokens: int | None = None
    """Output tokens of a call; None = as the provider's dialect has it."""
    remote: bool | None = None
    """Can the provider compact? None: if it is known to. A provider without such an endpoint is not asked again."""
    memory: str = ""
    """A file of the workspace with the agent's notes, which are the session memory (Roku L2)."""
    start: Buffer | None = None
    """What the run begins with, `task` after it; None = the task alone. Its prompt is used as it stands."""
    running: Any | None = None
    """The policy's running state to begin with; None = a fresh one."""
    forked_from: Mapping[str, Json] | None = None
    """Written into the journal: path, session, format, thread, request, changes."""
    resumed: ResumePoint | None = None
    world: SimulatedServerState | None = None
    """The simulated provider's own world (pace, faults, window); None = one as large as `window`."""

    @property
    def all_settings(self) -> SettingPairs:
        """The settings of the policy: the window that the person names holds for every policy, then the others."""
        return (*window_pairs(self.window), *self.settings)
