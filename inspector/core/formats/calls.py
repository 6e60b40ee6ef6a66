"""Whole calls as Chat Completions would write them: what formats turn their records into that log a buffer per call."""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.core.dialects.openai_chat import CHAT
from inspector.core.formats.payload.exchange import BodyPair
from inspector.core.formats.payload.threads import BodyThreads, named_threads
from inspector.core.formats.proxy.pool import Pool
from inspector.core.formats.proxy.session import split_singles
from inspector.core.session import SideCall, Thread
from inspector.core.usage import Usage


def chat_call(
    messages: Sequence[Any],
    answer: Mapping[str, Any] | None,
    usage: Usage | None = None,
    *,
    tools: Sequence[Any] | None = None,
    model: str = "",
    finish: str = "",
    line: int = 0,
    time: str = "",
    window: int | None = None,
) -> BodyPair:
    """Return one call as a Chat Completions request and its response.

    Args:
        messages: The messages of the request.
        answer: The message of the answer; None if none was recorded.
        usage: Left out of the response unless its prompt has more than 1 token: less means not measured.
        tools: Tools that the request offered; None if the file does not hold them.
        model: The model's name.
        finish: Why the answer ended.
        line: Line of the file.
        time: Time of the call, as the file writes it.
        window: The model's context window in tokens, if recorded.
    """
    request: dict[str, Any] = {"messages": list(messages)}
    if tools is not None:
        request |= {"tools": list(tools), "model": model}  # a body that names a model is complete
    response: dict[str, Any] = {"model": model}
    if answer is not None:
        response["choices"] = [{"index": 0, "message": answer, "finish_reason": finish}]
    if usage is not None and usage.prompt > 1:
        response["usage"] = _written(usage)
    return BodyPair(request, response, line, time, window)


def _written(usage: Usage) -> dict[str, Any]:
    within = {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write}
    out = {"reasoning_tokens": usage.reasoning}
    counts = {"prompt_tokens": usage.prompt, "completion_tokens": usage.output}
    return {**counts, "prompt_tokens_details": within, "completion_tokens_details": out}


class CallList:
    """The calls of one session, in order."""

    def __init__(self, *, is_one: bool = False) -> None:
        """Begin without calls. `is_one`: all are of one conversation; else they are grouped by what they share."""
        self._threads = BodyThreads(CHAT, Pool(), is_one=is_one)

    def add(self, call: BodyPair) -> None:
        """Take the next call of the row."""
        self._threads.add(call)

    def threads(self) -> tuple[tuple[Thread, ...], Sequence[SideCall]]:
        """The threads, and single calls beside them that offered no tools where the others did."""
        if not self._threads.all:
            return (), ()
        steps, singles = split_singles(self._threads.all)
        return named_threads(steps), [
            single.steps[0].side_call("main", 0, None) for single in singles
        ]
