"""Build Chat Completions calls from the records of formats that log the whole buffer of every call."""

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
        answer: The assistant message of the response; None if none was recorded.
        usage: Token usage. A prompt of at most 1 token means that usage was not measured, so it is left out.
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
    """Collects the calls of one session in order and groups them into threads."""

    def __init__(self, *, is_one: bool = False) -> None:
        """Begin without calls. If `is_one`, all calls form one thread; if not, the messages that they share decide."""
        self._threads = BodyThreads(CHAT, Pool(), is_one=is_one)

    def add(self, call: BodyPair) -> None:
        """Append the next call."""
        self._threads.add(call)

    def threads(self) -> tuple[tuple[Thread, ...], Sequence[SideCall]]:
        """Return the threads, and the side calls: single calls that offered no tools although other calls did."""
        if not self._threads.all:
            return (), ()
        steps, singles = split_singles(self._threads.all)
        return named_threads(steps), [
            single.steps[0].side_call("main", before_request=0, compaction=None)
            for single in singles
        ]
