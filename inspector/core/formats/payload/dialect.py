"""What differs between the providers' payloads, as one value; how a value is taken apart into request and answer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.buffer import Prompt
from inspector.core.message import Message
from inspector.core.usage import Usage

Units = Iterable[Sequence[Message]]
"""Messages by wire message. Ids do not count: they are given by content (see `payload_messages`)."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One provider's way to write request and response."""

    name: str
    key: str
    """Under which the request body holds its messages."""
    read: Callable[[Sequence[Any], int, str], Units]
    """(wire messages, line, time) -> messages, one sequence for each wire message."""
    body: Callable[[Mapping[str, Any]], Sequence[Any]]
    """The wire messages of a request body that are not its prompt."""
    prompt: Callable[[Mapping[str, Any]], Prompt]
    answer: Callable[[Mapping[str, Any]], Sequence[Any]]
    """The wire messages of a response body: what the next request will repeat."""
    usage: Callable[[Any], Usage | None]
    finish: Callable[[Mapping[str, Any]], str]
    side: Callable[[Mapping[str, Any]], str]
    """Why a request body is not a step of the conversation: title, prewarm, ...; empty where it is one."""
    is_response: Callable[[Mapping[str, Any]], bool]
    is_message: Callable[[Any], bool]
    """Is it one message of the list under `key`, standing alone?"""
    counts: str = "usage"
    """Under which a response tells its usage."""
    pair: Callable[[Units, Iterable[Message]], Units] = lambda units, before: units
    """(messages read, messages in front of them) -> the same, with names for calls and results that have none."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request with its response, as far as the file holds them."""

    request: Mapping[str, Any] | None
    response: Mapping[str, Any] | None = None
    line: int = 0
    time: str = ""

    @property
    def model(self) -> str:
        """Named by the response, else by the request."""
        for body in (self.response, self.request):
            for key in ("model", "modelVersion"):
                if body is not None and isinstance(model := body.get(key), str):
                    return model
        return ""

    @property
    def previous(self) -> str:
        """The response that the request goes on from; empty where it is complete in itself."""
        name = self.request.get("previous_response_id") if self.request is not None else None
        return name if isinstance(name, str) else ""

    @property
    def response_id(self) -> str:
        """The name of the response; empty where the file does not hold it."""
        name = self.response.get("id") if self.response is not None else None
        return name if isinstance(name, str) else ""


def exchange(dialect: Dialect, value: Any, line: int) -> Exchange | None:
    """A request body, a response, `{"request", "response"}`, or a list of messages. None for anything else."""
    if isinstance(value, list):
        return Exchange({dialect.key: value}, None, line)
    if not isinstance(value, Mapping) or dialect.is_message(value):
        return None
    if isinstance(request := value.get("request"), Mapping):
        time = next((t for key in _TIMES if isinstance(t := value.get(key), str)), "")
        response = unwrapped(value.get("response"))
        known = response if response and (dialect.is_response(response) or _counted(response)) else None
        return Exchange(request, known, line, time) if is_body(dialect, request) else None
    if response := _response(dialect, value):
        return Exchange(None, response, line)
    return Exchange(value, None, line) if is_body(dialect, value) else None


_TIMES = ("timestamp", "time", "created_at", "ts")


def is_body(dialect: Dialect, value: Mapping[str, Any]) -> bool:
    """A request body, or just an object with the message list."""
    return isinstance(value.get(dialect.key), list | str)


def unwrapped(value: Any) -> Mapping[str, Any] | None:
    """The response where the value is an event around one (`response.completed`), else the value itself."""
    inner = value.get("response") if isinstance(value, Mapping) and "output" not in value else None
    body = inner if isinstance(inner, Mapping) else value
    return body if isinstance(body, Mapping) else None


def _response(dialect: Dialect, value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    inner = unwrapped(value)
    return inner if inner is not None and dialect.is_response(inner) else None


def _counted(response: Mapping[str, Any]) -> bool:
    """The answer of a `count_tokens` call."""
    return "input_tokens" in response and len(response) <= 2


def side_reason(dialect: Dialect, one: Exchange) -> str:
    """Why the exchange is no step of the conversation; empty where it is one."""
    if one.response is not None and _counted(one.response):
        return "token count"
    return dialect.side(one.request) if one.request is not None else ""
