"""One conversation, as tracers write it."""

import json
from collections.abc import Callable, Sequence
from typing import Any

SYSTEM = {"role": "system", "content": "You keep the barn."}
TOLD: list[dict[str, Any]] = [
    {"role": "user", "content": "Which animals are there?"},
    {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": '{"at": "barn"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "a goat"},
    {"role": "assistant", "content": "One goat."},
    {"role": "user", "content": "Let it out, please."},
    {"role": "assistant", "content": "Opening.",
     "tool_calls": [{"id": "c2", "function": {"name": "open", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c2", "content": "open"},
    {"role": "assistant", "content": "It is out."},
]  # fmt: skip
SAID = ["Which animals are there?", 'look {"at":"barn"}', "a goat", "One goat.", "Let it out, please.",
        "Opening.|open {}", "open", "It is out."]  # fmt: skip
ANSWERS = (1, 3, 5, 7)
"""Where the four calls are answered."""
TOKENS = ((100, 10), (150, 11), (200, 12), (250, 13))
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {}}} for name in ("look", "open")
]
TRACE = "5b8efff798038103d269b633813fc60c"


def arguments_of(call: dict[str, Any]) -> Any:
    return json.loads(call["function"]["arguments"])


def parts(message: dict[str, Any]) -> dict[str, Any]:
    """As the present conventions have it."""
    if message["role"] == "tool":
        told = [
            {
                "type": "tool_call_response",
                "id": message["tool_call_id"],
                "response": message["content"],
            }
        ]
    else:
        told = [{"type": "text", "content": message["content"]}] if "content" in message else []
    for call in message.get("tool_calls", ()):
        name = call["function"]["name"]
        told.append(
            {"type": "tool_call", "id": call["id"], "name": name, "arguments": arguments_of(call)}
        )
    return {"role": message["role"], "parts": told}


def content(message: dict[str, Any]) -> dict[str, Any]:
    """As Google has it."""
    if message["role"] == "tool":
        answer = {"id": message["tool_call_id"], "name": "x", "response": message["content"]}
        return {"role": "user", "parts": [{"function_response": answer}]}
    told: list[dict[str, Any]] = [{"text": message["content"]}] if "content" in message else []
    for call in message.get("tool_calls", ()):
        used = {"id": call["id"], "name": call["function"]["name"], "args": arguments_of(call)}
        told.append({"function_call": used})
    return {"role": "model" if message["role"] == "assistant" else "user", "parts": told}


def counted(n: int) -> dict[str, Any]:
    prompt, output = TOKENS[n]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m-1",
        "gen_ai.usage.input_tokens": prompt,
        "gen_ai.usage.output_tokens": output,
    }


def spoken(n: int, write: Callable[[Any], Any] = json.dumps) -> dict[str, Any]:
    at = ANSWERS[n]
    return {
        "gen_ai.system_instructions": write([{"type": "text", "content": SYSTEM["content"]}]),
        "gen_ai.input.messages": write([parts(one) for one in TOLD[:at]]),
        "gen_ai.output.messages": write([parts(TOLD[at])]),
        "gen_ai.tool.definitions": write(TOOLS),
    }


def typed(value: Any) -> dict[str, Any]:
    """As OTLP writes a value."""
    match value:
        case str():
            return {"stringValue": value}
        case int():
            return {"intValue": str(value)}
        case list():
            return {"arrayValue": {"values": [typed(one) for one in value]}}
        case _:
            return {"kvlistValue": {"values": keyed(value)}}


def keyed(told: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": typed(value)} for key, value in told.items()]


def otlp(
    n: int,
    attributes: dict[str, Any],
    events: Sequence[tuple[str, dict[str, Any]]] = (),
    parent: int = 0,
) -> Any:
    span = {
        "traceId": TRACE,
        "spanId": f"{n + 1:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": "chat",
        "startTimeUnixNano": f"{1_772_359_200 + n}000000000",
        "endTimeUnixNano": f"{1_772_359_200 + n}500000000",
        "attributes": keyed(attributes),
        "events": [{"name": name, "attributes": keyed(told)} for name, told in events],
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def observation(n: int) -> dict[str, Any]:
    prompt, output = TOKENS[n]
    asked = {"messages": [SYSTEM, *TOLD[: ANSWERS[n]]], "tools": TOOLS}
    return {
        "id": f"o{n}", "trace_id": "t", "type": "GENERATION", "parent_observation_id": None,
        "provided_model_name": "m-1",
        "start_time": f"2026-03-01 10:00:{n:02d}.000000", "input": json.dumps(asked),
        "output": json.dumps(TOLD[ANSWERS[n]]), "usage_details": json.dumps({"input": prompt, "output": output}),
    }  # fmt: skip


def turn(n: int, name: str) -> Any:
    """A trace of its own for every two calls, under the span of a server."""
    one = otlp(n, {**counted(n), **spoken(n)}, parent=100 + n // 2)
    one["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"] = f"{name}{n // 2}"
    return one


CALLS = range(4)
