"""Needs in words, the editable texts of a need, and the user's ways to respond: an answer or a failure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

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
from inspector.workbench.words.tier_words import name_asker

PERSON = "person"


def asking_words(asking: PendingNeed) -> str:
    """Return one line: which tier asks for what, the number of the call in its step, and its limits."""
    words = [
        f"{name_asker(asking.tier)} asks for {need_words(asking.need)}",
        f"call {asking.number} of this step",
    ]
    limit = getattr(asking.need, "timeout_s", None)
    if limit:
        words.append(f"within {limit:g} s")
    most = getattr(asking.need, "max_tokens", None)
    if most:
        words.append(f"at most {grouped(most)} tokens")
    return " · ".join(words)


_ANSWER, _PATH = "Paste or write the answer", "The path of the saved file"
_ASKS: Mapping[type[Need], tuple[Callable[[Any], str], str]] = {
    Summarize: (lambda need: f"a model's {need.purpose}", _ANSWER),
    RemoteCompact: (
        lambda need: f"a remote compaction of {plural(len(need.messages), 'message')}",
        _ANSWER,
    ),
    ReadFile: (lambda need: f"the file {need.path}", "The content of the file"),
    SaveTranscript: (
        lambda need: f"{plural(len(need.messages), 'message')} to be saved on disk",
        _PATH,
    ),
    SaveText: (lambda need: "a text to be saved on disk", _PATH),
    AskModel: (lambda need: "the model's next answer", _ANSWER),
    RunTools: (lambda need: "tools to be run", _ANSWER),
}
"""By type of need: a function that describes what it asks for, and the placeholder of the editor for its answer."""


def need_words(need: Need) -> str:
    """Return what a need asks for, such as `a model's summary`."""
    return _ASKS[type(need)][0](need)


def answer_hint(need: Need) -> str:
    """Return the placeholder of the editor for the answer, with the required headings."""
    hint = _ASKS[type(need)][1]
    headings = need.headings if isinstance(need, Summarize) else ()
    return f"{hint}. Required headings: {', '.join(headings)}" if headings else hint


def instructions_of(need: Need) -> str | None:
    """Return the system prompt of the call; None if that kind of need has none."""
    return need.instructions if isinstance(need, Summarize | RemoteCompact) else None


def summary_text(need: Need) -> str | None:
    """Return the text of the call; None if that kind of need has none."""
    return need.text if isinstance(need, Summarize | SaveText) else None


def edited(need: Need, instructions: str, text: str) -> Need:
    """Return the need with the texts that the user edited."""
    match need:
        case Summarize():
            return replace(need, instructions=instructions, text=text)
        case RemoteCompact():
            return replace(need, instructions=instructions)
        case _:
            return need


def by_hand(need: Need, text: str) -> Answer:
    """Return the text that the user pasted as an answer in the form that the tier expects."""
    if isinstance(need, RemoteCompact):
        return Answer(
            messages=(Message("by-hand", "assistant", (Text(text),), summary=True),), by=PERSON
        )
    return Answer(text=text, by=PERSON)


def _timed_out(need: Need) -> Failure:
    limit = getattr(need, "timeout_s", None)
    return Timeout(f"no answer within {limit:g} s" if limit else "no answer in time")


def _status(status: int, message: str) -> Callable[[Need], Failure]:
    return lambda need: http_failure(status, message)


FAILURES: Sequence[tuple[str, Callable[[Need], Answer | Failure]]] = (
    ("Time out", _timed_out),
    ("403 forbidden", _status(403, "403: this key has no permission")),
    ("404 not found", _status(404, "404: there is no such model or endpoint")),
    ("429 too many requests", _status(429, "429: too many requests")),
    ("500 server error", _status(500, "500: the server failed")),
    (
        "Context window exceeded",
        lambda need: ContextWindowExceeded("the prompt is too long for the model's window"),
    ),
    ("Empty output", lambda need: Answer(by=PERSON)),
    (
        "Broken stream",
        lambda need: ProviderFailure("the stream broke off before its end", kind="broken"),
    ),
)
"""The failures that the user can simulate: text in the menu, and a function that returns what the tier receives."""
