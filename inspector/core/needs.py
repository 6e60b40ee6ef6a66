"""What a tier may ask of the world, what may come back, and how it may fail.

A tier never calls a model, reads a file or looks at the clock. It is a generator that yields a Need, is sent the
Answer or has a Failure thrown in, and returns its Outcome. Who answers (a provider, the offline summariser, a
recording, a script, the person at the window) is somebody else's business.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias, TypeVar

from inspector.core.buffer import Buffer
from inspector.core.message import Message, ToolCall
from inspector.core.usage import Usage


@dataclass(frozen=True, slots=True)
class Summarize:
    """One model call without tools. Its input is `messages` (as chat), then `text`; either may be empty."""

    instructions: str
    """The system prompt."""
    text: str
    messages: tuple[Message, ...] = ()
    max_tokens: int | None = None
    timeout_s: float | None = None
    source: tuple[Message, ...] = ()
    """The messages that `text` was made from: never sent, but an extractive summariser can do more with them."""
    purpose: str = "summary"
    """What it is for, in a word or two: summary, history, turn prefix, verification."""
    headings: tuple[str, ...] = ()
    """Headings that the answer must have; the tier refuses it without them."""


@dataclass(frozen=True, slots=True)
class RemoteCompact:
    """Ask the provider itself to compact `messages` (`POST /responses/compact` or an in-stream trigger)."""

    instructions: str
    messages: tuple[Message, ...]
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The current text of a file of the agent's workspace, at most `max_chars` code points of it."""

    path: str
    max_chars: int | None = None
    recorded: str | None = None
    """What the buffer still holds of it, for those who cannot look at the file as it is now."""


@dataclass(frozen=True, slots=True)
class SaveTranscript:
    """Keep these messages on disk before they are replaced."""

    messages: tuple[Message, ...]
    name: str = "transcript"


@dataclass(frozen=True, slots=True)
class SaveText:
    """Keep a large output on disk."""

    text: str
    name: str = "output"


@dataclass(frozen=True, slots=True)
class AskModel:
    """The agent's own call: the next answer of the model to this buffer."""

    buffer: Buffer
    max_tokens: int | None = None
    stream: bool = True


@dataclass(frozen=True, slots=True)
class RunTools:
    """Execute these calls; the answer's messages are their results, in order."""

    calls: tuple[ToolCall, ...]


Need: TypeAlias = (
    Summarize | RemoteCompact | ReadFile | SaveTranscript | SaveText | AskModel | RunTools
)
"""The last two are asked by an agent's loop only, never by a tier."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. Which fields are set depends on the need."""

    text: str = ""
    """Summarize: the text; ReadFile: the content; SaveTranscript, SaveText: the path."""
    messages: tuple[Message, ...] = ()
    """RemoteCompact: the new messages (opaque parts kept); AskModel: the assistant's message; RunTools: the results."""
    usage: Usage | None = None
    finish: str = ""
    elapsed_ms: int = 0
    by: str = ""
    """Who answered: offline, simulated, anthropic, openai, person, script, recording."""


class Failure(Exception):
    """A need that could not be met; thrown into the tier. `str(failure)` is what the user reads."""

    elapsed_ms: int = 0
    """How long it took to fail, where somebody measured it."""


class ContextWindowExceeded(Failure):
    """The model refused: the prompt is larger than its window."""


FailureKind: TypeAlias = Literal[
    "http", "connection", "broken", "empty", "missing", "refused", "other"
]


class ProviderFailure(Failure):
    """Any other failure of the one who answers."""

    def __init__(
        self, message: str, status: int | None = None, kind: FailureKind = "other"
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.retry_after_s: float | None = None
        """How long the provider wants to be left alone, where it says so."""


class Timeout(Failure):
    """No answer within the need's `timeout_s`."""


FAILURES: Mapping[str, type[Failure]] = MappingProxyType(
    {"context_window_exceeded": ContextWindowExceeded, "timeout": Timeout}
)
"""By their names in JSON; any other is the provider's."""


def failure_name(failure: Failure) -> str:
    """Its name in JSON; empty for any other failure of the provider."""
    return next((name for name, kind in FAILURES.items() if isinstance(failure, kind)), "")


T = TypeVar("T")
Conversation: TypeAlias = Generator[Need, Answer, T]
"""Yields needs, is sent answers (or has a Failure thrown in), returns T."""


def drive(conversation: Conversation[T], answer: Callable[[Need], Answer]) -> T:
    """Run a conversation to its end, with `answer` meeting every need (it raises a Failure where it cannot)."""
    try:
        need = next(conversation)
        while True:
            try:
                reply = answer(need)
            except Failure as failure:
                need = conversation.throw(failure)
            else:
                need = conversation.send(reply)
    except StopIteration as finished:
        value: T = finished.value
        return value
