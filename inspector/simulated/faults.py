"""Faults on demand, and refusals with the wording and the bodies of the simulated providers.

A request names its own fault (header, query, ending of the model's name), or takes the next one from the queue.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.errors import InspectorError
from inspector.core.message import Message
from inspector.core.untyped import digits_of
from inspector.core.validity import ANTHROPIC, CHAT, RESPONSES, Invalid, find_refusals
from inspector.simulated.call import SimulatedCall

HEADER, QUERY, SUFFIX = "x-simulate-fault", "fault", "!"
"""Where a request names its fault: `x-simulate-fault: 429`, `?fault=429`, `"model": "some-model!429"`."""

STATUSES = (400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 504, 529)
KINDS: Mapping[str, str] = {
    "ok": "no fault: lets one request through",
    "stall": "nothing comes, not even headers; `stall:2` continues after 2 seconds",
    "hang": "the stream begins and falls silent; `hang:5` after 5 events",
    "drip": "the stream never ends: a sign of life every 0.1 seconds",
    "cut": "the connection breaks; `cut:5` after 5 events",
    "end": "the stream ends in good order, but before the answer does; `end:5` after 5 events",
    "error-event": "an error in mid-stream; `error-event:5` after 5 events",
    "empty": "an answer without content",
    "overflow": "the prompt is too long, as an error",
    "overflow-late": "the prompt is too long, reported in a stream that began well",
    "overflow-output": "prompt and max_tokens together are too long (Anthropic's second wording)",
    "no-key": "the key is refused, and repeated in the error",
    "garbage": "200, and then no JSON",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault. `kind` is a name of KINDS or a status; `number` is the number after the colon (seconds or events)."""

    kind: str
    number: float | None = None

    @property
    def status(self) -> int | None:
        """Return the HTTP status of a fault that is a status. `429:7` also sends retry-after 7."""
        return digits_of(self.kind)

    def events(self, usual: int) -> int:
        """Return the number of stream events before the fault occurs; `usual` if the fault does not say."""
        return usual if self.number is None else int(self.number)


NONE = Fault("ok")


def read_faults(text: str) -> list[Fault]:
    """Parse `KIND[:NUMBER][*TIMES]`, for example `429:7*2`, or several separated by commas. Raises InspectorError."""
    return [fault for name in text.split(",") if name.strip() for fault in _read(name.strip())]


def _read(text: str) -> list[Fault]:
    body, _, times = text.partition("*")
    kind, _, number = body.partition(":")
    is_known = kind in KINDS or digits_of(kind) in STATUSES
    try:
        value = float(number) if number else None
        repeat = int(times) if times else 1
    except ValueError:
        is_known = False
        value = None
        repeat = 0
    if not is_known or not 0 <= repeat <= 10_000 or (value is not None and not 0 <= value < 1e6):
        names = ", ".join((*KINDS, *map(str, STATUSES)))
        raise InspectorError(
            f"There is no fault {text!r}. KIND[:NUMBER][*TIMES], with KIND one of {names}."
        )
    return [Fault(kind, value)] * repeat


class FaultQueue:
    """The faults for the next requests, one each, in order. May be filled from any thread."""

    def __init__(self) -> None:
        self._faults: deque[Fault] = deque()

    def push(self, text: str) -> None:
        """Append faults to the queue. Raises InspectorError."""
        self._faults.extend(read_faults(text))

    def next(self) -> Fault:
        """Return the fault for this request; NONE if the queue is empty."""
        return self._faults.popleft() if self._faults else NONE

    def clear(self) -> None:
        self._faults.clear()


def split_model(model: str) -> tuple[str, str]:
    """Return the model's name and the fault that follows it."""
    name, _, fault = model.partition(SUFFIX)
    return name, fault


@dataclass(frozen=True, slots=True)
class ApiError:
    """An error answer. `type` and `code` are the provider's own terms."""

    status: int
    message: str
    type: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None
    retry_after: float | None = None


class RequestRefused(Exception):
    """The request is answered with an error."""

    def __init__(self, refusal: ApiError) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def needed(body: Mapping[str, Any], *names: str) -> None:
    """Raise RequestRefused if one of these fields is missing."""
    for name in names:
        if body.get(name) is None:
            raise RequestRefused(
                ApiError(status=400, message=f"{name}: Field required", param=name)
            )


def anthropic_body(refusal: ApiError) -> dict[str, Any]:
    """Return an error in Anthropic's form."""
    error = {"type": refusal.type, "message": refusal.message}
    return {"type": "error", "error": error, "request_id": "req_simulated"}


def openai_body(refusal: ApiError) -> dict[str, Any]:
    """Return an error in OpenAI's form."""
    error = {
        "message": refusal.message,
        "type": refusal.type,
        "param": refusal.param,
        "code": refusal.code,
    }
    return {"error": error}


_TYPES = {
    401: ("authentication_error", "invalid_api_key"),
    403: ("permission_error", "unsupported_country_region_territory"),
    404: ("not_found_error", "model_not_found"),
    408: ("timeout_error", "timeout"),
    413: ("request_too_large", "request_too_large"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
    504: ("timeout_error", "timeout"),
    529: ("overloaded_error", "server_error"),
}
_TOLD = {
    401: "invalid x-api-key",
    403: "Your API key does not have permission to use the specified resource",
    404: "model: not found",
    413: "Request exceeds the maximum size",
    429: "This request would exceed your organization's rate limit",
    529: "Overloaded",
}


def status_refusal(status: int, retry_after: float | None = None) -> ApiError:
    """Return the refusal for a status that a fault requests."""
    if status >= 500:
        usual = ("api_error", "server_error")
    else:
        usual = ("invalid_request_error", "invalid_request")
    kind, code = _TYPES.get(status, usual)
    text = _TOLD.get(
        status, "Internal server error" if status >= 500 else "The request is not valid"
    )
    return ApiError(status, message=text, type=kind, code=code, retry_after=retry_after)


def overflow(dialect: str, tokens: int, window: int) -> ApiError:
    """Return the refusal of a prompt that is larger than the window."""
    if dialect == ANTHROPIC:
        return ApiError(
            status=400, message=f"prompt is too long: {tokens} tokens > {window} maximum"
        )
    code = "context_length_exceeded"
    if dialect == CHAT:
        text = (
            f"This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} "
            "tokens. Please reduce the length of the messages."
        )
        return ApiError(status=400, message=text, code=code, param="messages")
    if dialect == "gemini":
        return ApiError(
            status=400,
            message=f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window}).",
        )
    text = "Your input exceeds the context window of this model. Please adjust your input and try again."
    return ApiError(status=400, message=text, code=code, param="input")


def output_overflow(tokens: int, max_tokens: int, window: int) -> ApiError:
    """Return Anthropic's second wording of an overflow: prompt and output together are larger than the window."""
    text = (
        f"input length and `max_tokens` exceed context limit: {tokens} + {max_tokens} > {window}, "
        "decrease input length or `max_tokens` and try again"
    )
    return ApiError(status=400, message=text)


def invalid(dialect: str, call: SimulatedCall) -> ApiError | None:
    """Return the first reason for which this provider would refuse the messages; None if it accepts them."""
    messages = call.buffer.messages
    if not messages and dialect != RESPONSES:
        return ApiError(
            status=400, message="messages: at least one message is required", param="messages"
        )
    for problem in find_refusals(call.buffer):
        if dialect in problem.providers:
            return _word_error(dialect, problem, messages)
    return None


def _word_error(dialect: str, problem: Invalid, messages: Sequence[Message]) -> ApiError:
    message = next(message for message in messages if message.id == problem.message)
    base_id = message.id.partition(".")[0]
    called = [
        call.id for call in message.calls if call.id not in _answered_after(message, messages)
    ]
    ids = ", ".join(called) or (message.result.call_id if message.result else "")
    if dialect == ANTHROPIC:
        return ApiError(
            status=400,
            message=f"messages.{base_id}{_ANTHROPICS_WORDS[problem.rule].replace('{ids}', ids)}",
        )
    words = (_CHATS_WORDS if dialect == CHAT else _RESPONSES_WORDS).get(problem.rule, problem.why)
    param = f"messages.[{base_id}].role" if dialect == CHAT else "input"
    return ApiError(status=400, message=words.replace("{ids}", ids), param=param)


def _answered_after(message: Message, messages: Sequence[Message]) -> set[str]:
    """Return the ids of calls that have a result in the turn after a message."""
    answered: set[str] = set()
    start = next(index for index, later in enumerate(messages) if later is message)
    for later in messages[start + 1 :]:
        if later.role not in ("tool", "assistant"):
            break
        if later.result is not None:
            answered.add(later.result.call_id)
    return answered


_ANTHROPICS_WORDS = {
    "call-without-result": (
        ": `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block must "
        "have a corresponding `tool_result` block in the next message."
    ),
    "result-without-call": (
        ".content.0: unexpected `tool_use_id` found in `tool_result` blocks: {ids}. Each `tool_result` block must have "
        "a corresponding `tool_use` block in the previous message."
    ),
    "duplicate-answer": (
        ".content: each tool_use must have a single result. Found multiple `tool_result` blocks: {ids}"
    ),
    "duplicate-call": ".content: `tool_use` ids must be unique",
    "first-role": ': first message must use the "user" role',
    "empty-text": ": text content blocks must be non-empty",
    "empty-message": ": all messages must have non-empty content except for the optional final assistant message",
}
_CHATS_WORDS = {
    "call-without-result": (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The following tool_call_ids did not have response messages: {ids}"
    ),
    "result-without-call": (
        "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
    ),
}
_RESPONSES_WORDS = {
    "call-without-result": "No tool output found for function call {ids}.",
    "result-without-call": "No tool call found for function call output with call_id {ids}.",
}
for _words in (_ANTHROPICS_WORDS, _CHATS_WORDS):
    _words["order"] = _words["call-without-result"]
_CHATS_WORDS["duplicate-answer"] = _CHATS_WORDS["result-without-call"]
