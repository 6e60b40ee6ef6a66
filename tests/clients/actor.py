"""An actor: a real agent's command line, how it is dressed for a play and how it is called on. One file each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

ROOT = Path(__file__).resolve().parent.parent.parent
INSTALLED = ROOT / ".clients"
URL = "http://127.0.0.1:8099"
"""Where every actor finds its provider, or the proxy in front of it."""
KEY = "sk-not-a-key-of-anybody"


@dataclass(frozen=True, slots=True)
class Limits:
    """When the actor compacts by itself: at `at` tokens, keeping `keep`."""

    at: int
    keep: int


@dataclass(frozen=True, slots=True)
class Dress:
    """Files under its home, and the whole of its environment but HOME, TMPDIR and PATH."""

    files: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trait:
    """What is known of an actor's ways on one wire."""

    compacts_at: Limits | None = None
    """Limits at which the task of the plays makes it compact; None: it cannot be made to."""
    first: int = 0
    """Calls before the first real one (a prewarm, a title)."""
    scale: float = 1.0
    """How heavy a token must be for that."""
    overflow: int = 1
    """Its exit status when the prompt is said to be too long."""
    cut: int = 0
    """Its exit status when a stream breaks off once."""
    window: int = 15_000
    """Tokens of a window of which the task of the plays fills more than half, and never all."""
    own_way_out: bool = False
    """It compacts then, and goes on."""
    only_new: bool = False
    """A request brings only what is new."""
    websocket: bool = True
    """Is it to be had from the provider?"""


class Actor(Protocol):
    """What a file of an actor offers as `ACTOR`."""

    @property
    def name(self) -> str:
        """Its folder in `packaging/clients/`."""
        ...

    @property
    def wires(self) -> Mapping[str, Trait]:
        """The ways in which it speaks to a provider."""
        ...

    def dress(self, wire: str, limits: Limits | None) -> Dress:
        """For one play."""
        ...

    @property
    def transcripts(self) -> str:
        """Where it writes its own transcripts, under its home; the newest first wanted is that of its last session."""
        ...

    @property
    def writes(self) -> Literal["all", "talk"]:
        """What of that which it sends is read from its own transcript: all, or all but its instructions and tools."""
        ...

    @property
    def helper(self) -> str:
        """The kind of sub-agent that it can be told to start; empty: it has none."""
        ...

    def again(self, wire: str, words: str) -> Sequence[str]:
        """The command line that goes on with its last session."""
        ...

    def calls(self, wire: str, task: str, limits: Limits | None) -> Sequence[Sequence[str]]:
        """Its command lines, one after the other."""
        ...


def node_of(name: str, package: str = "") -> str:
    """The Node that comes with a client, else the machine's."""
    own = INSTALLED / name / "node_modules" / package / "bin" / "node"
    return str(own) if package and own.is_file() else "node"


def program(name: str, command: str) -> str:
    """A command that the client's packages bring."""
    return str(INSTALLED / name / "node_modules" / ".bin" / command)
