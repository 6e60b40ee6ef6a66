"""Answerers that need no network (the offline summariser, a script), and the log of needs and answers.

An answerer is a function that takes a Need and returns an Answer, or raises a Failure if it cannot answer. `AnswerLog`
wraps any answerer and keeps every need with its answer, so that a step can be shown, replayed and exported.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from inspector.core.dialects.anthropic_usage import read_anthropic_usage
from inspector.core.dialects.neutral import read_messages
from inspector.core.errors import InspectorError
from inspector.core.message import Message, Text
from inspector.core.needs import (
    Answer,
    ContextWindowExceeded,
    Failure,
    Need,
    ProviderFailure,
    ReadFile,
    RemoteCompact,
    SaveText,
    SaveTranscript,
    Summarize,
    Timeout,
    failure_name,
)
from inspector.core.offline import summarise
from inspector.core.words import plural

Answerer: TypeAlias = Callable[[Need], Answer]


@runtime_checkable
class Stoppable(Protocol):
    """An answerer whose running call can be cancelled."""

    def cancel(self) -> None: ...


OFFLINE, RECORDING = "offline", "recording"
"""Values of `Answer.by`: the extractive summariser answered, or the answer is content of the recording."""
NOT_WRITTEN = "(not written)"
"""The path in the answer to a save request that a rehearsal did not carry out."""

_OVERFLOW = re.compile(
    r"(?i)context[ _](?:window|length|limit)|(?:prompt|input) is too long|maximum (?:prompt|context)|too many tokens"
    r"|exceeds? (?:the )?(?:available )?(?:context|maximum)|token limit exceeded"
)


def offline(need: Need) -> Answer:
    """Answer summary needs with the deterministic extractive summariser, and file needs with the recorded content.

    Raises:
        ProviderFailure: The need requires something else: a file that is not recorded, the disk, a tool. Its kind is
            `missing`.
    """
    match need:
        case Summarize():
            return Answer(text=summarise(need), by=OFFLINE)
        case RemoteCompact(messages=messages):
            text = summarise(Summarize(need.instructions, "", source=messages))
            return Answer(
                messages=(Message("offline", "assistant", (Text(text),), summary=True),), by=OFFLINE
            )
        case ReadFile(_, limit, str(text)):
            return Answer(text=text[:limit], by=RECORDING)
        case ReadFile(path):
            raise missing_file(path)
        case _:
            raise ProviderFailure("this model call cannot be answered offline", kind="missing")


def missing_file(path: str) -> ProviderFailure:
    """Return the failure for a file whose content is not in the recording."""
    return ProviderFailure(f"The recording does not hold the content of {path}.", kind="missing")


def missing_files(answered: Sequence["AnsweredNeed"]) -> tuple[int, list[str]]:
    """Return how many files were to be re-attached, and the paths of those that could not be read."""
    paths = [
        (entry.need.path, entry.reply) for entry in answered if isinstance(entry.need, ReadFile)
    ]
    return len(paths), [path for path, reply in paths if isinstance(reply, Failure)]


def missing_files_words(answered: Sequence["AnsweredNeed"]) -> str:
    """Return `2 of 5 files to re-attach are not in the recording: a.py, b.py`; empty if none is missing."""
    count, paths = missing_files(answered)
    if not paths:
        return ""
    verb = "is" if len(paths) == 1 else "are"
    return f"{len(paths)} of {plural(count, 'file')} to re-attach {verb} not in the recording: {', '.join(paths)}"


def rehearsed(answer: Answerer) -> Answerer:
    """Return an answerer for a preview or a replay: it confirms save requests without writing anything.

    All other needs go to `answer`.
    """

    def rehearse(need: Need) -> Answer:
        if isinstance(need, SaveTranscript | SaveText):
            return Answer(text=NOT_WRITTEN, by=OFFLINE)
        return answer(need)

    return rehearse


@dataclass(frozen=True, slots=True)
class AnsweredNeed:
    """A need with its reply: the Answer or the Failure."""

    need: Need
    reply: Answer | Failure


class AnswerLog:
    """Wraps an answerer and records every need with its reply in `asked`."""

    def __init__(self, answer: Answerer) -> None:
        self._answer = answer
        self.asked: list[AnsweredNeed] = []

    def __call__(self, need: Need) -> Answer:
        try:
            reply = self._answer(need)
        except Failure as failure:
            self.asked.append(AnsweredNeed(need, failure))
            raise
        self.asked.append(AnsweredNeed(need, reply))
        return reply


class Scripted:
    """Answers needs in order from a list. After the last reply every need fails as a provider failure."""

    def __init__(self, replies: Sequence[Answer | Failure]) -> None:
        self._replies = list(replies)

    @property
    def left(self) -> int:
        """Return the number of replies that were not used yet."""
        return len(self._replies)

    def __call__(self, need: Need) -> Answer:
        if not self._replies:
            raise ProviderFailure("the script of answers has run out", kind="missing")
        reply = self._replies.pop(0)
        if isinstance(reply, Failure):
            raise reply
        return reply


def http_failure(status: int, message: str, code: str = "", retry_after: str = "") -> Failure:
    """Return the Failure for an HTTP error of a provider: an overflow by its code or text, any other by its status.

    Args:
        status: The HTTP status.
        message: The provider's error text.
        code: The provider's own name of the error (OpenAI's `code`).
        retry_after: The header of that name; it is added to the message.
    """
    sentence = message or f"HTTP {status}"
    if code in _OVERFLOW_CODES or status == 413 or (status == 400 and _OVERFLOW.search(message)):
        return ContextWindowExceeded(message or "context window exceeded")
    if status in (408, 504):
        return Timeout(sentence)
    if retry_after:
        sentence += f" (retry after {retry_after}{' s' if retry_after.isdecimal() else ''})"
    failure = ProviderFailure(sentence, status, "http")
    with suppress(ValueError):  # a date is not a number of seconds
        seconds = float(retry_after)
        failure.retry_after_s = seconds if 0 <= seconds < math.inf else None
    return failure


_OVERFLOW_CODES = ("context_length_exceeded", "model_context_window_exceeded", "request_too_large")


def read_script(value: Any) -> Scripted:
    """Read a script of answers from JSON: a list of `"text"`, `{"text"}`, `{"messages"}` or `{"error"}`.

    Raises InspectorError.
    """
    if not isinstance(value, list):
        raise InspectorError("The answers must be a JSON list, one for each need, in order.")
    return Scripted([_reply(answer, n) for n, answer in enumerate(value)])


def _reply(value: Any, n: int) -> Answer | Failure:
    if isinstance(value, str):
        return Answer(text=value, by="script")
    if isinstance(value, Mapping):
        if "error" in value:
            return _failure(value, n)
        usage = value.get("usage")
        finish = str(value.get("finish") or "")
        if "messages" in value:
            messages = read_messages(value["messages"], f"answer-{n}")
            return Answer(
                messages=messages, usage=read_anthropic_usage(usage), finish=finish, by="script"
            )
        if isinstance(value.get("text"), str):
            return Answer(
                text=value["text"], usage=read_anthropic_usage(usage), finish=finish, by="script"
            )
    raise InspectorError(
        f'Answer {n + 1} must be a text, or an object with "text", "messages" or "error".'
    )


def _failure(value: Mapping[str, Any], n: int) -> Answer | Failure:
    message = str(value.get("message") or "")
    match value["error"]:
        case "context_window_exceeded":
            return ContextWindowExceeded(message or "context window exceeded")
        case "timeout":
            return Timeout(message or "no answer in time")
        case "empty":
            return Answer(by="script")
        case "http":
            status = value.get("status")
            return http_failure(status if isinstance(status, int) else 500, message)
        case other:
            names = "context_window_exceeded, timeout, empty, http"
            raise InspectorError(f"Answer {n + 1} has an unknown error {other!r}; known: {names}.")


def need_document(answered: AnsweredNeed) -> dict[str, Any]:
    """Return a need and its answer as the JSON object that the command line prints."""
    need, reply = answered.need, answered.reply
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(need).__name__).lower()
    document: dict[str, Any] = {"kind": kind, "timeout_s": getattr(need, "timeout_s", None)}
    document["request"] = _request(need)
    if isinstance(reply, Failure):
        name = failure_name(reply) or "provider_failure"
        status = getattr(reply, "status", None)
        document |= {
            "answer": None,
            "error": {"kind": name, "status": status, "message": str(reply)},
        }
    else:
        text = reply.text or "\n".join(message.text for message in reply.messages)
        document |= {"answer": text, "error": None, "by": reply.by}
    return document


def _request(need: Need) -> dict[str, Any]:
    match need:
        case Summarize(instructions, text, messages, max_tokens, _, _, purpose):
            return {
                "purpose": purpose,
                "instructions": instructions,
                "text": text,
                "messages": [message.id for message in messages],
                "max_tokens": max_tokens,
            }
        case RemoteCompact(instructions, messages):
            return {"instructions": instructions, "messages": [message.id for message in messages]}
        case _:
            fields = {name: getattr(need, name, None) for name in ("path", "name", "max_chars")}
            return {name: value for name, value in fields.items() if value}
