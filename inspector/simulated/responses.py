"""OpenAI Responses for the simulated provider, with stored responses and remote compaction."""

from collections.abc import Iterator, Mapping, Sequence
from time import time
from typing import Any

from inspector.core.dialects.openai_responses import RESPONSES, in_namespace
from inspector.core.jsontext import dumps
from inspector.core.message import Message, ToolCall
from inspector.simulated.apis import SimulatedApi, StreamEvent, pieces
from inspector.simulated.call import SimulatedAnswer, SimulatedCall, TokensSpent
from inspector.simulated.faults import ApiError, RequestRefused
from inspector.simulated.talk import seal_summary

STORED = 200
"""Number of responses that are stored for continuation; the oldest are removed first."""


class ResponsesApi(SimulatedApi):
    """The API at `/v1/responses` and `/v1/responses/compact`."""

    dialect = RESPONSES
    needs = ("model",)

    def __init__(self) -> None:
        self._stored: dict[str, list[Any]] = {}
        self._latest: dict[str, list[Any]] | None = None

    def connected(self) -> "ResponsesApi":
        """Return an API for one connection: it shares the stored responses and has its own latest response."""
        api = ResponsesApi()
        api._stored = self._stored
        api._latest = {}
        return api

    def forget(self) -> None:
        """Forget the connection's latest response after a turn that failed."""
        if self._latest:
            self._latest = {}

    def read(self, body: Mapping[str, Any]) -> SimulatedCall:
        items = [*self._before(body.get("previous_response_id")), *self.dialect.items(body)]
        if not items:
            raise RequestRefused(
                ApiError(status=400, message="Missing required parameter: 'input'.", param="input")
            )
        return super().read({**body, "input": items})

    def items(self, body: Mapping[str, Any]) -> list[Any]:
        return [item for item in body["input"] if not is_trigger(item)]

    def _before(self, previous: Any) -> Sequence[Any]:
        if not previous:
            return ()
        stored = (self._latest or {}).get(previous) or self._stored.get(previous)
        if stored is None:
            words = f"Previous response with id '{previous}' not found."
            code = "previous_response_not_found"
            raise RequestRefused(
                ApiError(status=400, message=words, code=code, param="previous_response_id")
            )
        return stored

    def answer(
        self, call: SimulatedCall, spoken: SimulatedAnswer, spent: TokensSpent
    ) -> dict[str, Any]:
        """Return the complete answer. It is stored for `previous_response_id` unless the request forbids that."""
        items = call.body["input"]
        if items and is_trigger(items[-1]):
            return self._response(call, [compaction(call.buffer.messages, call.digest)], spent)
        output: list[dict[str, Any]] = []
        if spoken.text:
            content = [{"type": "output_text", "text": spoken.text, "annotations": []}]
            message = {
                "type": "message",
                "id": f"msg_{call.digest}",
                "role": "assistant",
                "status": "completed",
            }
            output.append({**message, "content": content})
        for index, tool_call in enumerate(spoken.calls):
            named = {
                "id": f"fc_{call.digest}{index}",
                "call_id": tool_call.id,
                "name": tool_call.name,
                "status": "completed",
            }
            if isinstance(tool_call.arguments, str):
                output.append({"type": "custom_tool_call", **named, "input": tool_call.arguments})
            else:
                output.append(
                    {
                        "type": "function_call",
                        **named,
                        "arguments": dumps(tool_call.arguments),
                        **_space(call, tool_call),
                    }
                )
        return self._response(call, output, spent, spoken.finish == "length")

    def begun(self, call: SimulatedCall, spent: TokensSpent) -> dict[str, Any]:
        """Return the response to a beginning that is only stored: it has no output."""
        return self._response(call, [], spent)

    def _response(
        self,
        call: SimulatedCall,
        output: list[dict[str, Any]],
        spent: TokensSpent,
        incomplete: bool = False,
    ) -> dict[str, Any]:
        response = _document(
            f"resp_{call.digest}",
            "incomplete" if incomplete else "completed",
            incomplete_details={"reason": "max_output_tokens"} if incomplete else None,
            error=None,
            model=call.model,
            output=output,
            **_DEFAULTS,
            usage=_usage(spent),
        )
        if self._latest is not None:
            self._latest = {response["id"]: [*call.body["input"], *output]}
        if call.body.get("store") is not False:
            self._stored[response["id"]] = [*call.body["input"], *output]
            while len(self._stored) > STORED:
                del self._stored[next(iter(self._stored))]
        return response

    def events(self, answer: dict[str, Any]) -> Iterator[StreamEvent]:
        begun = {
            **answer,
            "status": "in_progress",
            "output": [],
            "usage": None,
            "incomplete_details": None,
        }
        events = [
            ("response.created", {"response": begun}),
            ("response.in_progress", {"response": begun}),
        ]
        for index, item in enumerate(answer["output"]):
            events += _item_events(index, item)
        events.append((f"response.{answer['status']}", {"response": answer}))
        for number, (name, data) in enumerate(events):
            yield name, {"type": name, "sequence_number": number, **data}

    def failed(self, refusal: ApiError) -> Iterator[StreamEvent]:
        """Yield the error, then the response with the status failed."""
        error = {"code": refusal.code or "server_error", "message": refusal.message}
        # An overflow is reported only by the failed response.
        if error["code"] != "context_length_exceeded":
            yield "error", {"type": "error", "sequence_number": 90, "param": refusal.param, **error}
        response = _document("resp_failed", "failed", error=error, model="", output=[], **_DEFAULTS)
        yield (
            "response.failed",
            {"type": "response.failed", "sequence_number": 91, "response": response},
        )

    def alive(self) -> StreamEvent:
        response = _document("resp_alive", "in_progress", output=[])
        return "response.in_progress", {
            "type": "response.in_progress",
            "sequence_number": 2,
            "response": response,
        }


_DEFAULTS: Mapping[str, Any] = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}


def _document(id_: str, status: str, **fields: Any) -> dict[str, Any]:
    return {"id": id_, "object": "response", "created_at": int(time()), "status": status, **fields}


def _space(call: SimulatedCall, tool_call: ToolCall) -> dict[str, str]:
    """Return the namespace of a call's tool, if it has one."""
    for tool in call.buffer.prompt.tools or ():
        names = [definition.get("name") for definition in in_namespace(tool.definition)]
        if tool_call.name in names:
            return {"namespace": tool.name}
    return {}


def compacted(call: SimulatedCall, spent: TokensSpent) -> dict[str, Any]:
    """Return the answer of `/responses/compact`: all user messages, then one compaction item."""
    users = [
        item
        for item in call.body["input"]
        if isinstance(item, Mapping) and item.get("role") == "user"
    ]
    return {
        "id": f"resp_{call.digest}",
        "object": "response.compaction",
        "created_at": int(time()),
        "output": [*users, compaction(call.buffer.messages, call.digest)],
        "usage": _usage(spent),
    }


def compaction(messages: Sequence[Message], digest: str) -> dict[str, Any]:
    """Return a compaction item, which only the provider can read."""
    return {
        "type": "compaction",
        "id": f"cmp_{digest}",
        "encrypted_content": seal_summary(messages),
    }


def is_trigger(item: Any) -> bool:
    """Does the item ask for a compaction within the stream?"""
    return isinstance(item, Mapping) and item.get("type") == "compaction_trigger"


def _usage(spent: TokensSpent) -> dict[str, Any]:
    return {
        "input_tokens": spent.prompt,
        "input_tokens_details": {"cached_tokens": spent.read, "cache_write_tokens": spent.written},
        "output_tokens": spent.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": spent.prompt + spent.output,
    }


_GIVEN = {
    "function_call": ("arguments", "response.function_call_arguments"),
    "custom_tool_call": ("input", "response.custom_tool_call_input"),
}
"""For each kind of call, the key of its input and the prefix of the events that stream the input."""


def _item_events(index: int, item: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    where = {"output_index": index, "item_id": item["id"]}
    events: list[tuple[str, dict[str, Any]]] = []
    match item["type"]:
        case "message":
            begun = {**item, "status": "in_progress", "content": []}
            part = item["content"][0]
            part_place = {**where, "content_index": 0}
            events.append(
                ("response.content_part.added", {**part_place, "part": {**part, "text": ""}})
            )
            events += [
                ("response.output_text.delta", {**part_place, "delta": piece, "logprobs": []})
                for piece in pieces(part["text"])
            ]
            events.append(
                ("response.output_text.done", {**part_place, "text": part["text"], "logprobs": []})
            )
            events.append(("response.content_part.done", {**part_place, "part": part}))
        case "function_call" | "custom_tool_call" as kind:
            field, name = _GIVEN[kind]
            begun = {**item, "status": "in_progress", field: ""}
            events += [
                (f"{name}.delta", {**where, "delta": piece}) for piece in pieces(item[field])
            ]
            named = {"name": item["name"]} if kind == "function_call" else {}
            events.append((f"{name}.done", {**where, **named, field: item[field]}))
        case _:
            begun = item
    first = ("response.output_item.added", {"output_index": index, "item": begun})
    return [first, *events, ("response.output_item.done", {"output_index": index, "item": item})]
