"""Prompt caching: what goes over the wire so that the provider's cache holds, and what it reports."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Prompt, Tool
from inspector.core.dialects.tool_shapes import for_anthropic, for_chat, for_responses
from inspector.core.jsontext import dumps
from inspector.core.message import Message, Text
from inspector.core.needs import AskModel, Summarize
from inspector.core.policies.roku.settings import Detector
from inspector.providers.adapters import put_cache_marker
from inspector.providers.answerers import Api
from inspector.providers.requests import FrozenTools, freeze
from inspector.simulated.server import SimulatedServer
from tests.providers.providing import (
    GREP,
    READ,
    WIRES,
    asking,
    bodies,
    call,
    provider,
    result,
    user,
)

LONG = "The parser reads one line at a time and keeps what it cannot read. " * 120


def _markers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        if "cache_control" in value:
            yield value
        for inner in value.values():
            yield from _markers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _markers(inner)


MARKED = Tool(READ.name, {**READ.definition, "cache_control": {"type": "ephemeral"}})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "messages",
    [
        (user("u", "hello"),),
        (user("u", "hello"), call("a", "c1"), result("r", "c1", "what was read")),
        (user("u", "hello"), call("a", "c1"), result("r", "c1", "")),
        (user("u", "hello"), Message("a", "assistant", (Text("begun"),))),
        (replace(user("u", "x"), parts=(Text("one"), Text("two"))),),
    ],
    ids=["text", "result", "empty result", "assistant", "two blocks"],
)
def test_anthropic_gets_one_marker_on_the_last_block(
    simulated: SimulatedServer, messages: tuple[Message, ...]
) -> None:
    """Recorded markers (clients put some on tools) are taken off: the newest one must not be one too many."""
    with provider(simulated, "anthropic") as one:
        one.ask(AskModel(asking(*messages, tools=(MARKED, GREP)), 500))
    (body,) = bodies(simulated)
    assert list(_markers(body)) == [body["messages"][-1]["content"][-1]]
    assert body["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}


def test_the_marker_skips_what_cannot_carry_it() -> None:
    """Thinking and empty text are refused with a marker: the block before gets it."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    wire: list[dict[str, Any]] = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": [thinking, {"type": "text", "text": ""}]},
    ]
    put_cache_marker(wire)
    assert list(_markers(wire)) == [
        {"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}
    ]


def test_openai_gets_the_session_as_cache_key(simulated: SimulatedServer) -> None:
    with provider(simulated, "responses", session="session-7") as one:
        one.ask(AskModel(asking()))
        one.summarize(Summarize("Summarise.", "x"))
    assert [body["prompt_cache_key"] for body in bodies(simulated)] == ["session-7"] * 2


def test_a_foreign_server_gets_no_field_it_may_not_know(simulated: SimulatedServer) -> None:
    with provider(simulated, "chat") as one:
        one.ask(AskModel(asking(), 500))
    (body,) = bodies(simulated)
    assert set(body) == {"model", "messages", "tools", "max_tokens", "stream", "stream_options"}


@pytest.mark.parametrize("wire", WIRES)
def test_reads_and_writes_reach_the_usage_and_the_detector(
    simulated: SimulatedServer, wire: Api
) -> None:
    """The second call reads what the first wrote; another system prompt loses it, and the detector says why."""
    first = asking(user("u", LONG), tools=(READ,))
    with provider(simulated, wire) as one:
        answer = one.ask(AskModel(first))
        calls = answer.messages[-1].calls
        longer = first.with_messages(
            (*first.messages, *answer.messages, result("r", calls[0].id, "read"))
        )
        again = one.ask(AskModel(longer))
        other = one.ask(AskModel(replace(longer, prompt=Prompt("You sing.", longer.prompt.tools))))
    assert answer.usage is not None
    assert again.usage is not None
    assert other.usage is not None
    assert answer.usage.cache_read == 0
    assert answer.usage.cache_write > 1_000
    assert again.usage.cache_read > 1_000
    assert again.usage.cache_read <= answer.usage.prompt
    assert other.usage.cache_read == 0
    assert again.usage.prompt == other.usage.prompt  # "You code." and "You sing." weigh the same

    detector = Detector().record_prompt_state(longer.prompt, "m")
    detector, found = detector.check_response(again.usage.cache_read * 10)
    detector = detector.record_prompt_state(Prompt("You sing.", longer.prompt.tools), "m")
    _, found = detector.check_response(other.usage.cache_read)
    assert found is not None
    assert found.changed == ("system_prompt",)


def _tools_on_the_wire(body: bytes) -> bytes:
    """The bytes of the `tools` list, cut out of the raw request."""
    start = body.index(b'"tools":') + len(b'"tools":')
    depth, quoted, at = 0, False, start
    while True:
        byte = body[at : at + 1]
        if quoted:
            at += byte == b"\\"
            quoted = byte != b'"'
        elif byte == b'"':
            quoted = True
        elif byte in b"[{":
            depth += 1
        elif byte in b"]}":
            depth -= 1
            if depth == 0:
                return body[start : at + 1]
        at += 1


def _shuffled(tool: Tool) -> Tool:
    """The same tool, its keys the other way round."""
    assert isinstance(tool.definition, dict)
    return Tool(tool.name, dict(reversed(tool.definition.items())))


@pytest.mark.parametrize("wire", WIRES)
def test_the_bytes_of_the_tools_stay_the_same(simulated: SimulatedServer, wire: Api) -> None:
    """Whatever order tools and keys come in later: on the wire they stand as they stood first."""
    with provider(simulated, wire) as one:
        for n, tools in enumerate([(READ, GREP), (READ, GREP), (_shuffled(GREP), _shuffled(READ))]):
            one.ask(AskModel(asking(user("u", f"turn {n}"), tools=tools)))
        frozen = one.frozen(Prompt("", (READ, GREP)))
    sent = [_tools_on_the_wire(seen.body) for seen in simulated.world.seen]
    assert sent == [frozen.json] * 3
    assert "«ü»".encode() in frozen.json


@pytest.mark.parametrize("wire", WIRES)
def test_other_tools_are_frozen_anew(simulated: SimulatedServer, wire: Api) -> None:
    with provider(simulated, wire) as one:
        one.ask(AskModel(asking(tools=(READ,))))
        one.ask(AskModel(asking(tools=(READ, GREP))))
    first, second = (_tools_on_the_wire(seen.body) for seen in simulated.world.seen)
    assert first != second
    assert b"Grep" in second


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.text(max_size=6), _JSON, max_size=4), max_size=4), st.randoms())
def test_frozen_tools_hold_any_order_and_nothing_else(
    definitions: list[dict[str, Any]], random: Any
) -> None:
    tools = [Tool(str(n), definition) for n, definition in enumerate(definitions)]
    frozen = freeze(tools, lambda tool: tool.definition)
    again = [_shuffled(tool) for tool in tools]
    random.shuffle(again)
    assert frozen.holds(again)
    assert dumps(frozen.definitions()).encode() == frozen.json
    assert not frozen.holds([*tools, Tool("more", {"name": "more", "x": 1})])
    assert FrozenTools().holds([])


CODEX = Tool(
    "shell",
    {"type": "function", "name": "shell", "description": "d", "parameters": {"type": "object"}},
)
CHAT = Tool(
    "shell", {"type": "function", "function": {"name": "shell", "parameters": {"type": "object"}}}
)
CUSTOM = Tool(
    "apply_patch",
    {"type": "custom", "name": "apply_patch", "description": "free text", "format": {}},
)
PI = Tool(
    "bash", {"name": "bash", "description": "d", "parameters": {"type": "object", "properties": {}}}
)
OWN_ANTHROPIC = Tool("bash", {"type": "bash_20250124", "name": "bash"})
OWN_OPENAI = Tool("web_search", {"type": "web_search"})


@pytest.mark.parametrize("tool", [READ, CODEX, CHAT, CUSTOM, PI], ids=lambda tool: tool.name)
def test_a_tool_of_the_client_goes_to_everybody(tool: Tool) -> None:
    anthropic, chat, responses = for_anthropic(tool), for_chat(tool), for_responses(tool)
    assert anthropic["name"] == tool.name
    assert anthropic["input_schema"]["type"] == "object"
    assert chat["function"]["name"] == tool.name
    assert responses["name"] == tool.name
    assert orjson.dumps([anthropic, chat, responses])


def test_a_providers_own_tool_stays_with_it() -> None:
    assert for_anthropic(OWN_ANTHROPIC) == OWN_ANTHROPIC.definition
    assert for_chat(OWN_ANTHROPIC) is None
    assert for_responses(OWN_ANTHROPIC) is None
    assert for_responses(OWN_OPENAI) == OWN_OPENAI.definition
    assert for_anthropic(OWN_OPENAI) is None
    assert for_chat(OWN_OPENAI) is None
