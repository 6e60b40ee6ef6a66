"""One conversation in every way that tracers are known to write it: other names, other places, other order."""

import base64
import csv
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from inspector.core.message import part_text
from inspector.transcripts.files import open_transcript

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


def blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    """As Bedrock's Converse has it."""
    if message["role"] == "tool":
        return [
            {
                "toolResult": {
                    "toolUseId": message["tool_call_id"],
                    "content": [{"text": message["content"]}],
                }
            }
        ]
    said = [{"text": message["content"]}] if "content" in message else []
    calls = message.get("tool_calls", ())
    used = [
        {"toolUseId": one["id"], "name": one["function"]["name"], "input": arguments_of(one)}
        for one in calls
    ]
    return [*said, *({"toolUse": one} for one in used)]


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


def sdk(n: int, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": "chat",
        "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{n + 1:016x}"},
        "parent_id": None,
        "start_time": f"2026-03-01T10:00:{n:02d}.000000Z",
        "end_time": f"2026-03-01T10:00:{n:02d}.500000Z",
        "attributes": attributes,
        **more,
    }


def logged(n: int, name: str, body: dict[str, Any], attributes: dict[str, Any]) -> Any:
    """A record of the log that names its span."""
    record = {
        "eventName": name,
        "body": typed(body),
        "attributes": keyed(attributes),
        "traceId": TRACE,
    }
    return {
        "resourceLogs": [{"scopeLogs": [{"logRecords": [{**record, "spanId": f"{n + 1:016x}"}]}]}]
    }


def lower(text: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", lambda found: "_" + found[1].lower(), text)


def snake(value: Any, packed: bool = False) -> Any:
    """As protobuf's own names have it; ids as they are, or in base64."""
    if isinstance(value, list):
        return [snake(one, packed) for one in value]
    if not isinstance(value, dict):
        return value
    told = {lower(key): snake(one, packed) for key, one in value.items()}
    for key in ("trace_id", "span_id") if packed else ():
        if key in told:
            told[key] = base64.b64encode(bytes.fromhex(told[key])).decode()
    return told


def as_blocks(message: dict[str, Any]) -> dict[str, Any]:
    return {"content": json.dumps(blocks(message))}


def former(
    n: int, write: Callable[[dict[str, Any]], dict[str, Any]]
) -> list[tuple[str, dict[str, Any]]]:
    """An event a message; a tool's is named by the call that it answers."""
    at = ANSWERS[n]
    told = [(f"gen_ai.{one['role']}.message", write(one)) for one in (SYSTEM, *TOLD[:at])]
    answer = write(TOLD[at])
    return [
        *told,
        (
            "gen_ai.choice",
            {"index": 0, "message": answer if "role" in answer else answer["content"]},
        ),
    ]


def plain(message: dict[str, Any]) -> dict[str, Any]:
    told = {key: value for key, value in message.items() if key != "tool_call_id"}
    return {**told, "id": message["tool_call_id"]} if message["role"] == "tool" else told


def as_strings(message: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in plain(message).items()
    }


def flat(n: int) -> dict[str, Any]:
    """OpenInference, with gaps between the numbers."""
    prompt, output = TOKENS[n]
    told: dict[str, Any] = {"llm.model_name": "m-1", "llm.token_count.prompt": prompt}
    told["llm.token_count.completion"] = output

    def put(name: str, message: dict[str, Any]) -> None:
        for key in ("role", "content", "tool_call_id"):
            if key in message:
                told[f"{name}.message.{key}"] = message[key]
        for m, call in enumerate(message.get("tool_calls", ())):
            lead = f"{name}.message.tool_calls.{m}.tool_call"
            told[f"{lead}.id"] = call["id"]
            told.update(
                {f"{lead}.function.{key}": value for key, value in call["function"].items()}
            )

    told_now = [SYSTEM, *TOLD[: ANSWERS[n]]]
    for m, message in enumerate(told_now):
        put(f"llm.input_messages.{3 * m}", message)
    put("llm.output_messages.0", TOLD[ANSWERS[n]])
    return told | {
        f"llm.tools.{5 * m}.tool.json_schema": json.dumps(tool) for m, tool in enumerate(TOOLS)
    }


def nested(told: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in told.items():
        here = found
        *path, last = key.split(".")
        for word in path:
            here = here.setdefault(word, {})
        here[last] = value
    return found


def dotted(message: dict[str, Any]) -> dict[str, Any]:
    told = {f"message.{key}": value for key, value in message.items() if key != "tool_calls"}
    calls = [
        {
            "tool_call.id": one["id"],
            **{f"tool_call.function.{key}": told for key, told in one["function"].items()},
        }
        for one in message.get("tool_calls", ())
    ]
    return told | ({"message.tool_calls": calls} if calls else {})


def table_row(n: int) -> dict[str, Any]:
    """A row of Phoenix's table of spans."""
    prompt, output = TOKENS[n]
    return {
        "name": "chat", "span_kind": "LLM", "parent_id": None, "start_time": f"2026-03-01T10:00:{n:02d}+00:00",
        "end_time": "2026-03-01T10:01:00+00:00", "context.span_id": f"{n:016x}", "context.trace_id": TRACE,
        "attributes.llm.token_count.prompt": float(prompt), "attributes.llm.token_count.completion": float(output),
        "attributes.llm.input_messages": [dotted(one) for one in (SYSTEM, *TOLD[: ANSWERS[n]])],
        "attributes.llm.output_messages": [dotted(TOLD[ANSWERS[n]])],
        "attributes.llm.tools": [{"tool.json_schema": json.dumps(tool)} for tool in TOOLS],
    }  # fmt: skip


def adk(n: int) -> dict[str, Any]:
    tools = [{"function_declarations": [{"name": name} for name in ("look", "open")]}]
    config = {"system_instruction": SYSTEM["content"], "tools": tools}
    asked = {
        "model": "m-1",
        "config": config,
        "contents": [content(one) for one in TOLD[: ANSWERS[n]]],
    }
    answer = {"content": content(TOLD[ANSWERS[n]])}
    told = {
        "gcp.vertex.agent.llm_request": json.dumps(asked),
        "gcp.vertex.agent.llm_response": json.dumps(answer),
    }
    return {key: value for key, value in counted(n).items() if "operation" not in key} | told


def observation(n: int) -> dict[str, Any]:
    prompt, output = TOKENS[n]
    asked = {"messages": [SYSTEM, *TOLD[: ANSWERS[n]]], "tools": TOOLS}
    return {
        "id": f"o{n}", "trace_id": "t", "type": "GENERATION", "parent_observation_id": None,
        "provided_model_name": "m-1",
        "start_time": f"2026-03-01 10:00:{n:02d}.000000", "input": json.dumps(asked),
        "output": json.dumps(TOLD[ANSWERS[n]]), "usage_details": json.dumps({"input": prompt, "output": output}),
    }  # fmt: skip


def chain_message(message: dict[str, Any], **more: Any) -> dict[str, Any]:
    kind = {"user": "Human", "assistant": "AI", "tool": "Tool", "system": "System"}[message["role"]]
    calls = [
        {"id": one["id"], "name": one["function"]["name"], "args": arguments_of(one)}
        for one in message.get("tool_calls", ())
    ]
    told = {
        "content": message.get("content", ""),
        "tool_call_id": message.get("tool_call_id"),
        "tool_calls": calls,
    }
    return {
        "lc": 1,
        "id": ["langchain", "schema", "messages", f"{kind}Message"],
        "kwargs": told | more,
    }


def run(n: int) -> dict[str, Any]:
    """LangSmith, where only the answer tells its tokens."""
    prompt, output = TOKENS[n]
    usage = {"input_tokens": prompt, "output_tokens": output, "total_tokens": prompt + output}
    answer = chain_message(TOLD[ANSWERS[n]], usage_metadata=usage)
    return {
        "id": f"r{n}", "run_type": "llm", "parent_run_id": "root", "dotted_order": f"a.{n}",
        "start_time": f"2026-03-01T10:00:{n:02d}", "extra": {"invocation_params": {"model": "m-1", "tools": TOOLS}},
        "inputs": {"messages": [[chain_message(one) for one in (SYSTEM, *TOLD[: ANSWERS[n]])]]},
        "outputs": {"generations": [[{"message": answer}]]},
    }  # fmt: skip


def generation(n: int) -> dict[str, Any]:
    prompt, output = TOKENS[n]
    data = {
        "type": "generation", "model": "m-1", "input": [SYSTEM, *TOLD[: ANSWERS[n]]], "output": [TOLD[ANSWERS[n]]],
        "usage": {"input_tokens": prompt, "output_tokens": output},
    }  # fmt: skip
    when = f"2026-03-01T10:00:{n:02d}+00:00"
    return {
        "object": "trace.span",
        "id": f"s{n}",
        "started_at": when,
        "ended_at": when,
        "span_data": data,
    }


def event(told: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "gen_ai.client.inference.operation.details", told


def turn(n: int, name: str) -> Any:
    """A trace of its own for every two calls, under the span of a server."""
    one = otlp(n, {**counted(n), **spoken(n)}, parent=100 + n // 2)
    one["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"] = f"{name}{n // 2}"
    return one


CALLS = range(4)
WAYS: dict[str, tuple[bool, list[Any]]] = {
    # are there tools in it, and its values
    "attributes as values": (True, [otlp(n, {**counted(n), **spoken(n, lambda told: told)}) for n in CALLS]),
    "lists of lists": (True, [[[otlp(n, {**counted(n), **spoken(n)})] for n in CALLS]]),
    "protobuf's names": (True, [snake(otlp(n, {**counted(n), **spoken(n)})) for n in CALLS]),
    "ids in base64": (True, [snake(otlp(n, {**counted(n), **spoken(n)}), packed=True) for n in CALLS]),
    "an event with all": (True, [otlp(n, counted(n), [event(spoken(n))]) for n in CALLS]),
    "a log with all": (True, [one for n in CALLS for one in (
        logged(n, *event({}), {**counted(n), **spoken(n)}), otlp(n, counted(n)))]),
    "a log of messages": (False, [one for n in CALLS for one in (
        *(logged(n, name, told, {}) for name, told in former(n, plain)), otlp(n, counted(n)))]),
    "events of messages": (False, [otlp(n, counted(n), former(n, as_strings)) for n in CALLS]),
    "Azure's events": (False, [otlp(n, counted(n), [
        (name, {"gen_ai.event.content": json.dumps(told)}) for name, told in former(n, plain)]) for n in CALLS]),
    "Converse's blocks": (False, [otlp(n, counted(n), former(n, as_blocks)) for n in CALLS]),
    "Google's ADK": (True, [otlp(n, adk(n)) for n in CALLS]),
    "numbers with gaps": (True, [sdk(n, flat(n), span_kind="LLM") for n in CALLS]),
    "nested names": (True, [sdk(n, nested(flat(n)), span_kind="LLM") for n in CALLS]),
    "Phoenix's table": (True, [[table_row(n) for n in CALLS]]),
    "Langfuse's columns": (True, [observation(n) for n in CALLS]),
    "LangChain's counts": (True, [run(n) for n in CALLS]),
    "the SDK's lines": (False, [{"object": "trace", "id": "t"}, *(generation(n) for n in CALLS)]),
    "a trace a turn": (True, [turn(n, "ab") for n in CALLS]),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_it_is_the_same_conversation(way: str, tmp_path: Path) -> None:
    has_tools, values = WAYS[way]
    path = tmp_path / "trace.jsonl"
    for told in (values, values[::-1]) if way != "a log of messages" else (values,):
        path.write_text("\n".join(json.dumps(one) for one in told))
        session = open_transcript(path)
        (main,) = session.threads
        assert [request.view.length for request in main.requests] == list(ANSWERS)
        assert [(one.usage.prompt, one.usage.output) for one in main.requests if one.usage] == list(
            TOKENS
        )
        assert ["|".join(map(part_text, message.parts)) for message in main.end] == SAID
        assert [call.id for message in main.end for call in message.calls] == ["c1", "c2"]
        assert [message.result.call_id for message in main.end if message.result] == ["c1", "c2"]
        assert main.prompt.system == SYSTEM["content"]
        assert [tool.name for tool in main.prompt.tools or ()] == (
            ["look", "open"] if has_tools else []
        )
        assert not session.problems


def test_a_beginning_that_two_share_is_nobodys(tmp_path: Path) -> None:
    """Two are greeted alike; what goes on after that could be either's, and stays apart. What one alone said is its."""

    def spoken_by(name: str, second: int, *said: str) -> dict[str, Any]:
        told = [
            {"role": "assistant" if n % 2 else "user", "content": text}
            for n, text in enumerate(said)
        ]
        attributes = {"gen_ai.input.messages": json.dumps([parts(one) for one in told[:-1]])}
        attributes["gen_ai.output.messages"] = json.dumps([parts(told[-1])])
        context = {"trace_id": f"0x{name}", "span_id": f"0x{second}"}
        return sdk(second, {**counted(0), **attributes}, context=context, parent_id=f"0x{name}")

    path = tmp_path / "trace.json"
    values = [
        spoken_by("a", 1, "Hi.", "Good day."),
        spoken_by("b", 2, "Hi.", "Good day."),
        spoken_by("c", 3, "Hi.", "Good day.", "A goat, please.", "Here."),
        spoken_by("d", 4, "Hi.", "Good day.", "A hen, please.", "Here."),
        spoken_by("e", 5, "Hi.", "Good day.", "A hen, please.", "Here.", "And its eggs.", "There."),
    ]
    path.write_text(json.dumps(values))
    assert [[one.view.length for one in thread.requests] for thread in open_transcript(path).threads] == [
        [1], [1], [3], [3, 5],
    ]  # fmt: skip


@pytest.mark.parametrize("columns", ["usage_details", "tokens"])
def test_a_table_is_the_same_conversation(columns: str, tmp_path: Path) -> None:
    """Langfuse's, with commas, quotes and line ends in its cells."""
    path = tmp_path / "observations.csv"
    rows = []
    for n in CALLS:
        row = {**observation(n), "name": 'a "small", call\nof two lines'}
        if columns == "tokens":
            prompt, output = TOKENS[n]
            row = {camel(key): told for key, told in row.items() if key != "usage_details"}
            row |= {
                "promptTokens": prompt,
                "completionTokens": output,
                "totalTokens": prompt + output,
            }
        rows.append(row)
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(reversed(rows))
    session = open_transcript(path)
    assert session.format == "langfuse"
    assert [request.view.length for request in session.main.requests] == list(ANSWERS)
    assert [
        (one.usage.prompt, one.usage.output) for one in session.main.requests if one.usage
    ] == list(TOKENS)
    assert ["|".join(map(part_text, message.parts)) for message in session.main.end] == SAID
    assert all(request.time for request in session.main.requests)


def camel(key: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), key)


def test_a_list_of_traces_has_their_sessions(tmp_path: Path) -> None:
    """The same words at the same times, in two sessions and in one."""
    path = tmp_path / "traces.json"

    def trace(name: str, session: str, calls: Sequence[int]) -> dict[str, Any]:
        rows = [{**observation(n), "id": f"{name}{n}", "trace_id": name} for n in calls]
        return {"id": name, "sessionId": session, "observations": rows}

    path.write_text(json.dumps([trace("a", "one", CALLS), trace("b", "two", CALLS)]))
    assert [len(thread.requests) for thread in open_transcript(path).threads] == [4, 4]
    path.write_text(json.dumps([trace("a", "one", CALLS[:2]), trace("b", "one", CALLS[2:])]))
    assert [len(thread.requests) for thread in open_transcript(path).threads] == [4]


def test_turns_that_begin_anew_stay_apart(tmp_path: Path) -> None:
    """The same words once more, in a trace of their own, are another conversation."""
    path = tmp_path / "trace.jsonl"
    values = [turn(n, name) for name in ("ab", "cd") for n in CALLS[:2]]
    for n, one in enumerate(values):
        span = one["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
        span["spanId"] = f"{n:016x}"
    path.write_text("\n".join(map(json.dumps, values)))
    assert [len(thread.requests) for thread in open_transcript(path).threads] == [2, 2]
