"""One exchange over HTTP told to the log; what Amazon Bedrock says in words of its own becomes Anthropic's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inspector.core.formats.traffic.bedrock import (
    AGENT,
    CONVERSE,
    agent_calls,
    converse_request,
    converse_response,
    stream_events,
)
from inspector.core.formats.traffic.event_stream import DamagedMessage, StreamMessage, stream_messages
from inspector.core.formats.traffic.log import TrafficLog, header, header_pairs, is_call, model_in, path_of, plain_body
from inspector.core.untyped import fields_of

_BINARY = "vnd.amazon.eventstream"


@dataclass(frozen=True, slots=True)
class CapturedRequest:
    """A request, as the capture has it. `size`: bytes on the wire."""

    method: str
    url: Any
    headers: Any
    body: Any
    time: str = ""
    size: Any = None
    line: int = 0


def asks_model(method: str, url: Any, body: Any) -> bool:
    """Is a model asked, or an agent that asks one?"""
    path = path_of(url)
    return is_call(method, url, body) or bool(CONVERSE.search(path) or AGENT.search(path))


def tell(log: TrafficLog, asked: CapturedRequest, status: Any, body: Any, headers: Any, **came: Any) -> None:
    """The request, and what came back: nothing has where there is neither `status` nor `body`."""
    path, said = path_of(asked.url), header_pairs(headers)
    binary = isinstance(body, bytes) and _BINARY in header(said, "content-type")
    messages = _messages(log, body) if binary else []
    if AGENT.search(path):
        _agent(log, asked, messages)
        return
    question, more = plain_body(asked.body), dict[str, Any]()
    if binary:
        body = stream_events(messages)
    if found := CONVERSE.search(path):
        more = {"dialect": "anthropic", "model": model_in(path)}
        question = converse_request(fields_of(question))
        told = plain_body(body, said)
        body = converse_response(told) if not found[2] and isinstance(told, Mapping) else body
    number = log.ask(
        asked.method, asked.url, asked.headers, question, asked.time, size=asked.size, line=asked.line, **more
    )
    if status or body:
        log.answer(number, status, body, headers, **came)


def _messages(log: TrafficLog, data: bytes) -> list[StreamMessage]:
    found: list[StreamMessage] = []
    for one in stream_messages(data):
        if isinstance(one, DamagedMessage):
            log.skip(0, f"an event stream is damaged at byte {one.at:,}: {one.why}", "")
        else:
            found.append(one)
    return found


def _agent(log: TrafficLog, asked: CapturedRequest, messages: list[StreamMessage]) -> None:
    """Calls of models stand in the answer; what was asked of the agent is none."""
    calls = agent_calls(messages)
    if not calls:
        log.note("An agent of Bedrock was asked without traces: what its models were sent is not in this file.")
    for call in calls:
        number = log.ask(
            "POST",
            asked.url,
            asked.headers,
            call.request,
            call.time or asked.time,
            dialect="anthropic",
            model=call.model,
            aside=call.aside,
        )
        if call.response is not None:
            log.answer(number, 200, call.response)
