"""What a need asks, in words; what an answer by hand is made of, and how the person can make it fail."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from inspector.core.answering import http_failure
from inspector.core.message import Message, Text
from inspector.core.needs import (
    Answer,
    AskModel,
    ContextWindowExceeded,
    Failure,
    Need,
    ProviderFailure,
    ReadFile,
    RemoteCompact,
    RunTools,
    SaveText,
    SaveTranscript,
    Summarize,
    Timeout,
)
from inspector.core.words import plural
from inspector.gui.look.number_formats import grouped
from inspector.workbench.state import PendingNeed

PERSON = "person"


def asked(asking: PendingNeed) -> str:
    """One line: who asks what, the how-manieth of this step, within which limits."""
    tier = {"": "What is due", "turn": "The turn"}.get(asking.tier, asking.tier)
    words = [f"{tier} asks for {_what(asking.need)}", f"call {asking.number} of this step"]
    limit = getattr(asking.need, "timeout_s", None)
    if limit:
        words.append(f"within {limit:g} s")
    most = getattr(asking.need, "max_tokens", None)
    if most:
        words.append(f"at most {grouped(most)} tokens")
    return " · ".join(words)


def _what(need: Need) -> str:
    match need:
        case Summarize(purpose=purpose):
            return f"a model's {purpose}"
        case RemoteCompact(messages=messages):
            return f"a remote compact of {plural(len(messages), 'message')}"
        case ReadFile(path=path):
            return f"the file {path}"
        case SaveTranscript(messages=messages):
            return f"{plural(len(messages), 'message')} to be kept on disk"
        case SaveText():
            return "a text to be kept on disk"
        case AskModel():
            return "the model's next answer"
        case RunTools():
            return "tools to be run"


def instructions_of(need: Need) -> str | None:
    """The system prompt of the call; None where a need has none."""
    return need.instructions if isinstance(need, Summarize | RemoteCompact) else None


def text_of(need: Need) -> str | None:
    """The text of the call; None where a need has none."""
    return need.text if isinstance(need, Summarize | SaveText) else None


def messages_of(need: Need) -> tuple[Message, ...]:
    """The messages that are sent as chat."""
    return need.messages if isinstance(need, Summarize | RemoteCompact | SaveTranscript) else ()


def edited(need: Need, instructions: str, text: str) -> Need:
    """The need as the person left it."""
    match need:
        case Summarize():
            return replace(need, instructions=instructions, text=text)
        case RemoteCompact():
            return replace(need, instructions=instructions)
        case _:
            return need


def by_hand(need: Need, text: str) -> Answer:
    """What the person pasted, as the tier wants it."""
    if isinstance(need, RemoteCompact):
        return Answer(messages=(Message("by-hand", "assistant", (Text(text),), summary=True),), by=PERSON)
    return Answer(text=text, by=PERSON)


def wanted(need: Need) -> str:
    """What the answer's editor asks for."""
    match need:
        case SaveTranscript() | SaveText():
            return "The path under which it was kept"
        case ReadFile():
            return "The content of the file"
        case _:
            return "Paste or write the answer"


def _timed_out(need: Need) -> Failure:
    limit = getattr(need, "timeout_s", None)
    return Timeout(f"no answer within {limit:g} s" if limit else "no answer in time")


def _status(status: int, message: str) -> Callable[[Need], Failure]:
    return lambda need: http_failure(status, message)


FAILURES: Sequence[tuple[str, Callable[[Need], Answer | Failure]]] = (
    ("Time out", _timed_out),
    ("403 forbidden", _status(403, "403: this key may not do that")),
    ("404 not found", _status(404, "404: there is no such model or endpoint")),
    ("429 too many requests", _status(429, "429: too many requests")),
    ("500 server error", _status(500, "500: the server failed")),
    ("Context window exceeded", lambda need: ContextWindowExceeded("the prompt is too long for the model's window")),
    ("Empty output", lambda need: Answer(by=PERSON)),
    ("Broken stream", lambda need: ProviderFailure("the stream broke off before its end", kind="broken")),
)
"""The ways in which the person can make a call fail, as if the provider had: words of the menu, what the tier gets."""
