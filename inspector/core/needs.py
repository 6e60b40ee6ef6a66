"""The requests that a tier can make to the outside (needs), the answers, and the failures.

A tier never calls a model, reads a file or looks at the clock. It is a generator that yields a Need, is sent the
Answer or has a Failure thrown in, and returns its Outcome. The caller decides who answers: a provider, the offline
summariser, a recording, a script, or the person at the window.
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
    """Purpose of the call, in a word or two: summary, history, turn prefix, verification."""
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
    """Read the current text of a file in the agent's workspace, at most `max_chars` code points of it."""

    path: str
    max_chars: int | None = None
    recorded: str | None = None
    """The file's content as the buffer still holds it, for answerers that cannot read the file; None if it does not."""


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
    """Ask the model for its next answer to this buffer: the agent's own call."""

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
"""Only an agent's loop yields the last two, never a tier."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a need. Which fields are set depends on the need."""

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
    """Milliseconds until the failure; 0 if not measured."""


class ContextWindowExceeded(Failure):
    """The model refused: the prompt is larger than its window."""


FailureKind: TypeAlias = Literal[
    "http", "connection", "broken", "empty", "missing", "refused", "other"
]


class ProviderFailure(Failure):
    """Any other failure of the provider, or of another answerer."""

    def __init__(
        self, message: str, status: int | None = None, kind: FailureKind = "other"
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.retry_after_s: float | None = None
        """Seconds after which the provider allows another attempt; None if it does not say."""


class Timeout(Failure):
    """No answer within the need's `timeout_s`."""


FAILURES: Mapping[str, type[Failure]] = MappingProxyType(
    {"context_window_exceeded": ContextWindowExceeded, "timeout": Timeout}
)
"""Failures by their names in JSON. Any other failure is a ProviderFailure."""


def failure_name(failure: Failure) -> str:
    """Return the name of a failure in JSON; empty for a ProviderFailure."""
    return next((name for name, kind in FAILURES.items() if isinstance(failure, kind)), "")


T = TypeVar("T")
Conversation: TypeAlias = Generator[Need, Answer, T]
"""A generator that yields needs, is sent answers (or has a Failure thrown in), and returns T."""


def drive(conversation: Conversation[T], answer: Callable[[Need], Answer]) -> T:
    """Run a conversation to its end. `answer` answers every need, or raises a Failure."""
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
