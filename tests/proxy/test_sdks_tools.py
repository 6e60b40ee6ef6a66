"""A small agent on each SDK's asynchronous client, streaming, with tools, from question to last word: through the proxy
as without it, and then in the recording."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import httpx2
import pytest

from inspector.proxy.relay.server import ProxyServer
from inspector.simulated.server import SimulatedServer
from inspector.transcripts.files import open_transcript

TASK = "Please repair the parser in src/a.py"
RESULT = "def parse(text):"
_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
NAMES = ("list_files", "read_file", "edit_file", "write_file")

Told: TypeAlias = list[tuple[str, Any]]
"""What was called, with which arguments, and last what was said."""


async def _anthropic(url: str) -> Told:
    import anthropic

    tools: Any = [{"name": name, "description": name, "input_schema": _SCHEMA} for name in NAMES]
    messages: list[Any] = [{"role": "user", "content": TASK}]
    told: Told = []
    http = httpx2.AsyncClient(trust_env=False)
    async with anthropic.AsyncAnthropic(
        api_key="sk-secret", base_url=url, http_client=http, max_retries=0
    ) as client:
        while True:
            asked = client.messages.stream(
                model="simulated", max_tokens=900, messages=messages, tools=tools
            )
            async with asked as stream:
                answer = await stream.get_final_message()
            messages.append(
                {"role": "assistant", "content": [block.model_dump() for block in answer.content]}
            )
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                return [*told, ("", answer.content[0].model_dump()["text"])]
            told += [(call.name, call.input) for call in calls]
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": RESULT} for call in calls
            ]
            messages.append({"role": "user", "content": results})


def _client(url: str) -> Any:
    import openai

    http = openai.DefaultAsyncHttpxClient(trust_env=False)
    return openai.AsyncOpenAI(
        api_key="sk-secret", base_url=f"{url}/v1", http_client=http, max_retries=0
    )


async def _chat(url: str) -> Told:
    functions = [{"name": name, "description": name, "parameters": _SCHEMA} for name in NAMES]
    tools: Any = [{"type": "function", "function": one} for one in functions]
    messages: list[Any] = [{"role": "user", "content": TASK}]
    told: Told = []
    async with _client(url) as client:
        while True:
            async with client.chat.completions.stream(
                model="simulated", messages=messages, tools=tools
            ) as stream:
                answer = (await stream.get_final_completion()).choices[0].message
            if not answer.tool_calls:
                return [*told, ("", answer.content)]
            calls = [
                call.model_dump(include={"id", "type", "function"}) for call in answer.tool_calls
            ]
            for call in calls:
                call["function"].pop("parsed_arguments", None)
            messages.append({"role": "assistant", "content": answer.content, "tool_calls": calls})
            told += [(call["function"]["name"], call["function"]["arguments"]) for call in calls]
            messages += [
                {"role": "tool", "tool_call_id": call["id"], "content": RESULT} for call in calls
            ]


async def _responses(url: str) -> Told:
    """By `previous_response_id`: each request brings only what is new."""
    tools: Any = [
        {"type": "function", "name": name, "parameters": _SCHEMA, "strict": False} for name in NAMES
    ]
    new: Any = [{"role": "user", "content": TASK}]
    previous: Any = None
    told: Told = []
    async with _client(url) as client:
        while True:
            more = {"previous_response_id": previous} if previous else {}
            async with client.responses.stream(
                model="simulated", input=new, tools=tools, **more
            ) as stream:
                answer = await stream.get_final_response()
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                return [*told, ("", answer.output_text)]
            previous = answer.id
            told += [(call.name, call.arguments) for call in calls]
            new = [
                {"type": "function_call_output", "call_id": call.call_id, "output": RESULT}
                for call in calls
            ]


@pytest.mark.parametrize("agent", [_anthropic, _chat, _responses])
def test_an_agent_at_work(
    simulated: SimulatedServer, tmp_path: Path, agent: Callable[[str], Awaitable[Told]]
) -> None:
    async def run(url: str) -> Told:
        return await agent(url)

    direct = asyncio.run(run(simulated.url))
    bodies = [seen.body for seen in simulated.world.seen]
    simulated.world.forget()
    with ProxyServer(simulated.url, tmp_path / "recording.jsonl") as proxy:
        through = asyncio.run(run(proxy.url))
    assert through == direct
    assert [seen.body for seen in simulated.world.seen] == bodies
    assert len(direct) > len(NAMES)
    session = open_transcript(tmp_path / "recording.jsonl")
    (thread,) = session.threads
    assert (len(thread.requests), list(session.problems)) == (len(bodies), [])
    buffer = thread.requests[-1].buffer()
    assert buffer.messages[0].text == TASK
    assert sum(len(message.calls) for message in buffer.messages) == len(direct) - 1
