"""One conversation in every way that tracers are known to write it: other names, other places, other order."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inspector.core.message import part_text
from inspector.transcripts.files import open_transcript
from tests.core.formats.traces_written import (
    ANSWERS,
    CALLS,
    SAID,
    SYSTEM,
    TOKENS,
    TOLD,
    TOOLS,
    TRACE,
    arguments_of,
    content,
    counted,
    keyed,
    observation,
    otlp,
    parts,
    spoken,
    turn,
    typed,
)


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
