"""The simulated provider as anybody's client sees it: plain HTTP, no SDK."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.errors import InspectorError
from inspector.core.jsontext import loads
from inspector.core.message import Message, Text
from inspector.simulated.arguments import ArgumentSource, fill
from inspector.simulated.call import SimulatedAnswer, SimulatedCall, within
from inspector.simulated.faults import FaultQueue, read_faults
from inspector.simulated.server import SimulatedServer
from inspector.simulated.state import PromptCache, PromptCounts
from tests.providers.providing import GREP, READ

MESSAGES, CHAT, RESPONSES = "/v1/messages", "/v1/chat/completions", "/v1/responses"
TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}
TOOL_RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}
TOOL_CALL = {"id": "call_1", "type": "function", "function": {"name": "Read", "arguments": "{}"}}


@pytest.fixture
def http(simulated: SimulatedServer) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=simulated.url, trust_env=False, timeout=60) as client:
        yield client


def _user(content: Any = "hello") -> dict[str, Any]:
    return {"role": "user", "content": content}


def _messages(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 500, "messages": list(messages or (_user(),)), **more}


def _chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages or (_user(),)), **more}


def _responses(*items: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "input": list(items or (_user(),)), **more}


def test_server_when_it_was_closed_keeps_nothing_of_what_it_was_sent() -> None:
    with SimulatedServer() as server:
        httpx2.get(server.url)
        world = weakref.ref(server.world)
    del server
    gc.collect()
    assert world() is None


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "10.0.0.1", ""]
)
def test_it_answers_to_this_machine_only(http: httpx2.Client, host: str) -> None:
    assert http.post(MESSAGES, json=_messages(), headers={"host": host}).status_code == 403


def test_a_web_page_may_not_use_it(http: httpx2.Client) -> None:
    for origin in ("https://evil.example", "null"):
        assert http.post(MESSAGES, json=_messages(), headers={"origin": origin}).status_code == 403
    port = http.base_url.port
    for headers in ({"host": f"localhost:{port}"}, {"origin": f"http://127.0.0.1:{port}"}):
        assert http.post(MESSAGES, json=_messages(), headers=headers).status_code == 200


REFUSED: list[tuple[str, Any, str]] = [
    (MESSAGES, {"model": "m", "messages": [_user()]}, "max_tokens: Field required"),
    (MESSAGES, {"max_tokens": 5, "messages": [_user()]}, "model: Field required"),
    (MESSAGES, {"model": "m", "max_tokens": 5, "messages": []}, "at least one message"),
    (
        MESSAGES,
        _messages({"role": "assistant", "content": "hi"}, _user()),
        'first message must use the "user" role',
    ),
    (
        MESSAGES,
        _messages(_user(), {"role": "assistant", "content": ""}, _user()),
        "messages.1: all messages must have",
    ),
    (
        MESSAGES,
        _messages(_user(), {"role": "assistant", "content": [TOOL_USE]}, _user()),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
    ),
    (MESSAGES, _messages(_user(), {"role": "assistant", "content": [TOOL_USE]}), "toolu_1"),
    (
        MESSAGES,
        _messages(_user([TOOL_RESULT])),
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.",
    ),
    (
        MESSAGES,
        _messages(
            _user([{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5)
        ),
        "Found 5",
    ),
    (
        CHAT,
        _chat(_user(), {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]}, _user()),
        "did not have response messages: call_1",
    ),
    (
        CHAT,
        _chat(_user(), {"role": "tool", "tool_call_id": "call_1", "content": "x"}),
        "messages with role 'tool'",
    ),
    (
        RESPONSES,
        _responses({"type": "function_call", "call_id": "call_1", "name": "R", "arguments": "{}"}),
        "No tool output",
    ),
    (
        RESPONSES,
        _responses({"type": "function_call_output", "call_id": "call_1", "output": "x"}),
        "No tool call found",
    ),
    (RESPONSES, {"model": "m", "input": []}, "'input'"),
    (RESPONSES, _responses(previous_response_id="resp_nobody"), "resp_nobody"),
]


@pytest.mark.parametrize(("path", "body", "told"), REFUSED)
def test_what_the_real_ones_refuse_is_refused_in_their_words(
    http: httpx2.Client, path: str, body: Any, told: str
) -> None:
    answer = http.post(path, json=body)
    assert answer.status_code == 400
    assert told in answer.json()["error"]["message"]
    assert answer.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    "path", [MESSAGES, CHAT, RESPONSES, RESPONSES + "/compact", MESSAGES + "/count_tokens"]
)
@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"model": 5, "messages": 7, "input": 7}']
)
def test_a_body_that_is_none(http: httpx2.Client, path: str, body: bytes) -> None:
    assert http.post(path, content=body).status_code == 400


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        (
            MESSAGES,
            _messages(),
            {
                "type": "invalid_request_error",
                "message": r"prompt is too long: %d tokens > 3 maximum",
            },
        ),
        (
            CHAT,
            _chat(),
            {
                "message": "This model's maximum context length is 3 tokens. However, your messages resulted in %d "
                "tokens. Please reduce the length of the messages.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": "context_length_exceeded",
            },
        ),
        (
            RESPONSES,
            _responses(),
            {
                "message": "Your input exceeds the context window of this model. "
                "Please adjust your input and try again.",
                "type": "invalid_request_error",
                "param": "input",
                "code": "context_length_exceeded",
            },
        ),
    ],
)
def test_overflow_bodies(
    simulated: SimulatedServer, http: httpx2.Client, path: str, body: Any, expected: Any
) -> None:
    tokens = http.post(MESSAGES + "/count_tokens", json=_messages()).json()["input_tokens"]
    simulated.world.window = 3
    answer = http.post(path, json=body)
    message = expected["message"] % tokens if "%d" in expected["message"] else expected["message"]
    assert answer.status_code == 400
    assert answer.json()["error"] == {**expected, "message": message}


def test_a_fault_comes_by_header_query_or_model_and_leaves_the_queue_alone(
    simulated: SimulatedServer, http: httpx2.Client
) -> None:
    simulated.world.faults.push("ok,529")
    own = [
        http.post(MESSAGES, json=_messages(), headers={"x-simulate-fault": "429:7"}),
        http.post(MESSAGES, json=_messages(), params={"fault": "403"}),
        http.post(MESSAGES, json={**_messages(), "model": "m!500"}),
    ]
    assert [one.status_code for one in own] == [429, 403, 500]
    assert own[0].headers["retry-after"] == "7"
    assert [http.post(MESSAGES, json=_messages()).status_code for _ in range(3)] == [200, 529, 200]
    assert http.post(MESSAGES, json=_messages(), params={"fault": "nonsense"}).status_code == 400


@pytest.mark.parametrize(
    ("path", "count"), [(MESSAGES, "/count_tokens"), (RESPONSES, "/input_tokens")]
)
def test_the_count_is_the_prompt_that_is_then_reported(
    http: httpx2.Client, path: str, count: str
) -> None:
    body = _messages() if path == MESSAGES else _responses()
    counted = http.post(path + count, json=body).json()["input_tokens"]
    assert counted == http.post(path, json=body).json()["usage"]["input_tokens"] > 0


def test_counting_takes_no_fault(simulated: SimulatedServer, http: httpx2.Client) -> None:
    simulated.world.faults.push("500")
    assert http.post(MESSAGES + "/count_tokens", json=_messages()).status_code == 200
    assert http.post(MESSAGES, json=_messages()).status_code == 500


def test_previous_response_goes_on_from_there(http: httpx2.Client) -> None:
    first = http.post(RESPONSES, json=_responses(_user("my name is Ada"))).json()
    second = http.post(
        RESPONSES, json=_responses(_user("more"), previous_response_id=first["id"])
    ).json()
    alone = http.post(RESPONSES, json=_responses(_user("more"))).json()
    assert "3 messages" in second["output"][0]["content"][0]["text"]
    assert second["usage"]["input_tokens"] > alone["usage"]["input_tokens"]
    unstored = http.post(RESPONSES, json=_responses(_user("x"), store=False)).json()
    assert (
        http.post(RESPONSES, json=_responses(previous_response_id=unstored["id"])).status_code
        == 400
    )


def test_the_same_conversation_gets_the_same_answer(http: httpx2.Client) -> None:
    body = _messages(_user("fix src/a.py"), tools=[READ.definition])
    once, twice = http.post(MESSAGES, json=body).json(), http.post(MESSAGES, json=body).json()
    other = http.post(
        MESSAGES, json=_messages(_user("fix src/b.py"), tools=[READ.definition])
    ).json()
    assert once == twice
    assert once["content"] != other["content"]


def _events(text: str) -> list[Any]:
    return [loads(line[6:].encode()) for line in text.splitlines() if line.startswith("data: {")]


def test_the_streams_have_the_events_of_the_real_ones(http: httpx2.Client) -> None:
    said = http.post(MESSAGES, json=_messages(tools=[READ.definition], stream=True))
    kinds = [event["type"] for event in _events(said.text)]
    assert said.headers["content-type"].startswith("text/event-stream")
    assert kinds[:2] == ["message_start", "ping"]
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 2

    events = _events(http.post(RESPONSES, json=_responses(stream=True)).text)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [events[0]["type"], events[-1]["type"]] == ["response.created", "response.completed"]
    whole = events[-1]["response"]["output"][0]["content"][0]["text"]
    assert (
        "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
        == whole
    )

    text = http.post(CHAT, json=_chat(stream=True)).text
    assert text.endswith("data: [DONE]\n\n")
    assert not any(event.get("usage") for event in _events(text))  # only where it is asked for
    asked = _events(
        http.post(CHAT, json=_chat(stream=True, stream_options={"include_usage": True})).text
    )
    assert (asked[-1]["choices"], asked[-1]["usage"]["completion_tokens"] > 0) == ([], True)


def test_a_websocket_is_told_to_use_http(http: httpx2.Client) -> None:
    assert http.get(RESPONSES).status_code == 426
    assert http.get("/v1/models").json()["data"]


# -- what it says -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "text", "tools", "summary"),
    [
        ("Answer with Goal: Accomplished: Key Decisions: Relevant Files:", "User: x", [], True),
        ("You are a context summarization assistant", "x", [], True),
        (
            "You code.",
            "CRITICAL: Respond with TEXT ONLY. Create a detailed summary of the conversation.",
            [READ],
            True,
        ),
        ("You code.", "Fix the parser", [READ], False),
        ("You code. Provide a summary when done.", "Fix the parser", [READ], False),
        ("You code.", "hello", [], False),
    ],
)
def test_it_summarises_when_asked(
    http: httpx2.Client, system: str, text: str, tools: list[Tool], summary: bool
) -> None:
    body = _messages(
        _user("start"), {"role": "assistant", "content": "ok"}, _user(text), system=system
    )
    answer = http.post(MESSAGES, json={**body, "tools": [tool.definition for tool in tools]}).json()
    assert ("(offline summary" in answer["content"][0]["text"]) is summary


def test_reminders_do_not_begin_the_script_again(http: httpx2.Client) -> None:
    """Clients add reminders in the user's name after results: the script must still come to its end."""
    messages = [_user("Fix the parser in src/a.py")]
    tools = [READ.definition, GREP.definition]
    for _ in range(12):
        answer = http.post(MESSAGES, json=_messages(*messages, tools=tools)).json()
        if answer["stop_reason"] == "end_turn":
            break
        call = next(block for block in answer["content"] if block["type"] == "tool_use")
        reminder = {"type": "text", "text": "<system-reminder>be good</system-reminder>"}
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": "nothing"}
        messages += [{"role": "assistant", "content": answer["content"]}, _user([result, reminder])]
    assert answer["stop_reason"] == "end_turn"


_SCHEMA = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer"},
            {"type": "boolean"},
            {"enum": ["a", "b"]},
            {},
            {"type": []},
        ]
    ),
    lambda inner: (
        st.fixed_dictionaries({"type": st.just("array"), "items": inner})
        | st.dictionaries(
            st.sampled_from(["path", "cmd", "old", "new", "x"]), inner, max_size=3
        ).map(lambda found: {"type": "object", "properties": found, "required": list(found)})
        | inner.map(lambda one: {"anyOf": [one]})
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["file_path", "pattern", "edits", "n"]), _SCHEMA, min_size=1)
)
def test_arguments_hold_what_the_schema_requires(properties: dict[str, Any]) -> None:
    known = ArgumentSource(("src/a.py",), ("parser",), ("a line of code",), 1)
    made = fill({"type": "object", "properties": properties, "required": list(properties)}, known)
    assert set(made) == set(properties)


@given(st.text(max_size=300), st.integers(0, 60))
def test_an_answer_is_cut_at_its_limit(text: str, limit: int) -> None:
    cut = within(SimulatedAnswer(text), limit)
    assert cut.tokens <= limit
    assert text.startswith(cut.text)
    assert (cut.finish == "length") is (SimulatedAnswer(text).tokens > limit)


# -- cache and faults -------------------------------------------------------------------------------------------------


def _call(*texts: str) -> SimulatedCall:
    messages = tuple(Message(str(n), "user", (Text(text),)) for n, text in enumerate(texts))
    return SimulatedCall(
        Buffer(messages, Prompt("system", ())), "m", None, False, {}, len(messages)
    )


def test_the_cache_reads_the_longest_common_prefix_until_it_is_cold() -> None:
    now = [0.0]
    cache, counts = PromptCache(300, lambda: now[0]), PromptCounts()
    long = "one two three four five six seven " * 200
    first, longer, other = _call(long), _call(long, "more"), _call("x " + long)
    whole = counts.prefixes(first)[-1].tokens
    assert cache.use("k", counts.prefixes(first)) == (0, whole)
    read, written = cache.use("k", counts.prefixes(longer))
    assert (read, written) == (whole, counts.prefixes(longer)[-1].tokens - whole)
    assert cache.use("k", counts.prefixes(other))[0] == 0
    assert cache.use("another key", counts.prefixes(longer))[0] == 0
    now[0] = 299.0
    assert cache.use("k", counts.prefixes(longer))[1] == 0  # and is kept for 300 s more
    now[0] = 598.0
    assert cache.use("k", counts.prefixes(longer))[1] == 0
    now[0] = 900.0
    assert cache.use("k", counts.prefixes(longer))[0] == 0


def test_a_short_prompt_is_not_cached() -> None:
    cache, counts = PromptCache(), PromptCounts()
    assert [cache.use("k", counts.prefixes(_call("short"))) for _ in range(2)] == [(0, 0), (0, 0)]


def test_anthropic_caches_only_what_is_marked(http: httpx2.Client) -> None:
    text = {"type": "text", "text": "one two three four five six " * 300}
    for marker, cached in (({}, False), ({"cache_control": {"type": "ephemeral"}}, True)):
        body = _messages(_user([{**text, **marker}]))
        http.post(MESSAGES, json=body)
        usage = http.post(MESSAGES, json=body).json()["usage"]
        assert (usage["cache_read_input_tokens"] > 0) is cached


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("429", ["429"]),
        ("429:7*2", ["429", "429"]),
        ("ok, ok ,cut:5", ["ok", "ok", "cut"]),
        ("stall:0.5", ["stall"]),
        ("", []),
        ("500*0", []),
    ],
)
def test_faults_are_written_so(text: str, kinds: list[str]) -> None:
    assert [fault.kind for fault in read_faults(text)] == kinds


@pytest.mark.parametrize(
    "text",
    ["nope", "429:x", "429*x", "299", "cut:-1", "500*-1", "500*99999999", "stall:nan", "stall:inf"],
)
def test_no_fault_is_told(text: str) -> None:
    with pytest.raises(InspectorError, match="no fault"):
        FaultQueue().push(text)


AGENT = {
    "type": "object",
    "properties": {
        name: {"type": "string"} for name in ("description", "prompt", "subagent_type", "model")
    },
    "required": ["description", "prompt"],
}
SPAWN = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("task_name", "message", "agent_type")},
    "required": ["task_name", "message"],
}
HAND_ON = 'Please let a sub-agent "general" read notes.txt and say how many lines it has.'


def test_a_sub_agent_is_started_where_the_user_wants_one(http: httpx2.Client) -> None:
    """With whichever tool there is for it; without one the agent does it itself."""
    task = "read notes.txt and say how many lines it has."
    tools = [READ.definition, {"name": "Agent", "description": "starts one", "input_schema": AGENT}]
    told = http.post("/v1/messages", json=_messages(_user(HAND_ON), tools=tools)).json()
    (call,) = [block for block in told["content"] if block["type"] == "tool_use"]
    assert (call["name"], call["input"]) == (
        "Agent",
        {"description": task, "prompt": task, "subagent_type": "general"},
    )
    told = http.post("/v1/messages", json=_messages(_user(HAND_ON), tools=tools[:1])).json()
    assert [block["name"] for block in told["content"] if block["type"] == "tool_use"] == [
        READ.name
    ]
    told = http.post("/v1/messages", json=_messages(_user(task), tools=tools)).json()
    assert [block["name"] for block in told["content"] if block["type"] == "tool_use"] == [
        READ.name
    ]


def test_a_tool_in_a_namespace_is_called_there(http: httpx2.Client) -> None:
    spawn = {"type": "function", "name": "spawn_agent", "parameters": SPAWN}
    tools = [{"type": "namespace", "name": "collaboration", "tools": [spawn]}]
    told = http.post(
        "/v1/responses", json=_responses({"role": "user", "content": HAND_ON}, tools=tools)
    ).json()
    (call,) = [item for item in told["output"] if item["type"] == "function_call"]
    assert (call["name"], call["namespace"]) == ("spawn_agent", "collaboration")
    given = loads(call["arguments"].encode())
    assert (given["task_name"], given["agent_type"]) == ("read_notes_txt_and_say_h", "general")
