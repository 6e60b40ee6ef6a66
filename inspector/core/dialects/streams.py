"""Recorded streams put together into the response that they told, whole or cut off.

Server-sent events are parsed on the joined text: where the network cut it into pieces means nothing. What came before a
cut is kept, with the usage as far as it was told.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inspector.core.dialects.gather_anthropic import AnthropicGathering
from inspector.core.dialects.gather_chat import ChatGathering
from inspector.core.dialects.gather_gemini import GeminiGathering
from inspector.core.dialects.gather_responses import ResponsesGathering
from inspector.core.jsontext import NotJson, loads


@dataclass(frozen=True, slots=True)
class Gathered:
    """A response put together."""

    body: Mapping[str, Any]
    """As a call without streaming would have returned it."""
    finished: bool
    """Did the stream come to its own end?"""
    failure: Mapping[str, Any] | None = None
    """The error that it told of, where it did."""


def events(stream: str) -> Iterator[Any]:
    """The parsed data of the events of an event stream, in order. Comments, `[DONE]` and what is no JSON are left out.

    The last event counts without the empty line behind it, if it is whole: a recording may have been cut there.
    """
    data: list[str] = []
    text = stream.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    for line in (*text.split("\n"), ""):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield from _value("\n".join(data))
            data = []


def _value(text: str) -> Iterator[Any]:
    try:
        yield loads(text.encode("utf-8", "replace"))
    except NotJson:
        return


def gather(dialect: str, told: Iterable[Any]) -> Gathered:
    """The response that these events (or WebSocket frames) tell. `dialect` as the payload formats are named."""
    one, whole = _GATHERINGS[dialect]()
    for event in told:
        if isinstance(event, Mapping):
            one.feed(event)
    return Gathered(whole(), one.finished, one.failure)


def _anthropic() -> tuple[Any, Callable[[], dict[str, Any]]]:
    one = AnthropicGathering()
    return one, one.message


def _chat() -> tuple[Any, Callable[[], dict[str, Any]]]:
    one = ChatGathering()
    return one, one.completion


def _responses() -> tuple[Any, Callable[[], dict[str, Any]]]:
    one = ResponsesGathering()
    return one, one.response


def _gemini() -> tuple[Any, Callable[[], dict[str, Any]]]:
    one = GeminiGathering()
    return one, one.response


_GATHERINGS: Mapping[str, Callable[[], tuple[Any, Callable[[], dict[str, Any]]]]] = {
    "anthropic": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "gemini": _gemini,
}
