"""Amazon Bedrock in an HTTP archive: whole answers, binary streams with their checks, what an agent traced."""

import json
import zlib
from base64 import b64encode
from typing import Any

from inspector.core.formats.detect import detect
from inspector.core.formats.format import Head
from inspector.core.formats.traffic.bedrock import DamagedMessage, StreamMessage, stream_messages
from inspector.core.session import Session
from tests.core.formats.feeding import told
from tests.core.formats.traffic_samples import buffers, prompts


def frame(kind: str, value: Any, **headers: str) -> bytes:
    """A message of a binary event stream."""
    named = {
        ":event-type": kind,
        ":content-type": "application/json",
        ":message-type": "event",
        **headers,
    }
    head = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + len(text).to_bytes(2, "big") + text.encode()
        for name, text in named.items()
    )
    payload = json.dumps(value).encode()
    start = (16 + len(head) + len(payload)).to_bytes(4, "big") + len(head).to_bytes(4, "big")
    start += zlib.crc32(start).to_bytes(4, "big")
    data = start + head + payload
    return data + zlib.crc32(data).to_bytes(4, "big")


def bedrock(path: str, body: Any, said: bytes | Any) -> Session:
    """The session of an archive with this one exchange."""
    content: dict[str, Any] = {
        "mimeType": "application/json",
        "text": json.dumps(said) if not isinstance(said, bytes) else "",
    }
    if isinstance(said, bytes):
        content = {"mimeType": "x", "text": b64encode(said).decode(), "encoding": "base64"}
    kind = "application/vnd.amazon.eventstream" if isinstance(said, bytes) else "application/json"
    request = {
        "method": "POST",
        "url": f"https://bedrock.example.com{path}",
        "headers": [],
        "postData": {"text": json.dumps(body)},
    }
    response = {
        "status": 200,
        "headers": [{"name": "Content-Type", "value": kind}],
        "content": content,
    }
    archive = {
        "log": {
            "entries": [
                {
                    "startedDateTime": "2026-01-01T00:00:00Z",
                    "request": request,
                    "response": response,
                }
            ]
        }
    }
    format_ = detect(Head([archive], archive))
    assert format_.name == "har"
    return told(format_, [(1, archive)])


CONVERSE = {
    "system": [{"text": "You count."}, {"cachePoint": {"type": "default"}}],
    "messages": [
        {"role": "user", "content": [{"text": "Count."}]},
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "t", "name": "next", "input": {"after": 0}}}],
        },
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "t",
                        "content": [{"json": {"n": 1}}],
                        "status": "success",
                    }
                }
            ],
        },
    ],
    "toolConfig": {
        "tools": [
            {
                "toolSpec": {
                    "name": "next",
                    "description": "d",
                    "inputSchema": {"json": {"type": "object"}},
                }
            }
        ]
    },
}
USED = {"inputTokens": 50, "outputTokens": 4, "totalTokens": 84, "cacheReadInputTokens": 30}


def check_converse(session: Session) -> None:
    (request,) = session.main.requests
    assert buffers(session.main) == [["user: Count.", "assistant: next", 'tool: {"n":1}']]
    assert (request.prompt.system, [tool.name for tool in request.prompt.tools or ()]) == (
        "You count.",
        ["next"],
    )
    assert request.usage
    assert (request.usage.prompt, request.usage.cache_read, request.usage.output) == (80, 30, 4)
    assert (request.model, request.finish) == ("oak-2:0", "end_turn")
    assert session.main.end.messages()[-1].text == "One."


def test_bedrock_converse() -> None:
    said = {
        "output": {"message": {"role": "assistant", "content": [{"text": "One."}]}},
        "stopReason": "end_turn",
        "usage": USED,
    }
    check_converse(bedrock("/model/oak-2%3A0/converse", CONVERSE, said))


def test_bedrock_converse_as_a_stream() -> None:
    said = [
        frame("messageStart", {"role": "assistant"}),
        frame(
            "contentBlockDelta",
            {"delta": {"reasoningContent": {"text": "Hm."}}, "contentBlockIndex": 0},
        ),
        frame(
            "contentBlockDelta",
            {"delta": {"reasoningContent": {"signature": "sig"}}, "contentBlockIndex": 0},
        ),
        frame("contentBlockDelta", {"delta": {"text": "On"}, "contentBlockIndex": 1}),
        frame("contentBlockDelta", {"delta": {"text": "e."}, "contentBlockIndex": 1}),
        frame("contentBlockStop", {"contentBlockIndex": 1}),
        frame("messageStop", {"stopReason": "end_turn"}),
        frame("metadata", {"usage": USED, "metrics": {"latencyMs": 9}}),
    ]
    session = bedrock("/model/oak-2%3A0/converse-stream", CONVERSE, b"".join(said))
    check_converse(session)
    thinking = session.main.end.messages()[-1].parts[0]
    assert (thinking.text, thinking.signature) == ("Hm.", "sig")  # type: ignore[union-attr]


def test_bedrock_invoke_as_a_stream() -> None:
    """A model's own events, wrapped in base64."""
    body = {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Count."}],
    }
    events = [
        {
            "type": "message_start",
            "message": {
                "type": "message",
                "role": "assistant",
                "usage": {"input_tokens": 9, "output_tokens": 1},
            },
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "One."},
        },
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 3},
        },
        {"type": "message_stop"},
    ]
    said = b"".join(
        frame("chunk", {"bytes": b64encode(json.dumps(one).encode()).decode()}) for one in events
    )
    session = bedrock("/model/oak-2%3A0/invoke-with-response-stream", body, said)
    assert (buffers(session.main), prompts(session)) == ([["user: Count."]], [[(9, 3)]])
    assert session.main.requests[0].model == "oak-2:0"
    failed = said[: len(said) // 3] + b"broken"
    assert any(
        "damaged at byte" in one.what
        for one in bedrock("/model/m/invoke-with-response-stream", body, failed).problems
    )


def test_an_agent_of_bedrock_tells_the_calls_of_its_models() -> None:
    """Several in one exchange; the request says the user's words only."""

    def traced(**parts: Any) -> bytes:
        return frame("trace", {"agentId": "a", "trace": {"orchestrationTrace": parts}})

    def asked(n: int, *messages: Any, kind: str = "ORCHESTRATION") -> bytes:
        text = json.dumps({"system": "You count.", "messages": messages})
        return traced(
            modelInvocationInput={
                "traceId": f"t-{n}",
                "foundationModel": "oak-2",
                "text": text,
                "type": kind,
            }
        )

    def said(n: int, text: str, used: int) -> bytes:
        usage = {"inputTokens": used, "outputTokens": 2}
        return traced(
            modelInvocationOutput={
                "traceId": f"t-{n}",
                "rawResponse": {"content": text},
                "metadata": {"usage": usage},
            }
        )

    user, one = {"role": "user", "content": "Count."}, {"role": "assistant", "content": "One."}
    parts = [asked(0, user), said(0, "One.", 40), asked(1, user, one, user), said(1, "Two.", 52)]
    path = "/agents/A/agentAliases/B/sessions/C/text"
    session = bedrock(path, {"inputText": "Count.", "enableTrace": True}, b"".join(parts))
    assert buffers(session.main) == [
        ["user: Count."],
        ["user: Count.", "assistant: One.", "user: Count."],
    ]
    assert prompts(session) == [[(40, 2), (52, 2)]]
    sorting = {"role": "user", "content": "Is it a question? Count."}
    before = [asked(7, sorting, kind="PRE_PROCESSING"), said(7, "Yes.", 30)]
    session = bedrock(path, {"inputText": "Count.", "enableTrace": True}, b"".join(before + parts))
    assert prompts(session) == [[(40, 2), (52, 2)]], (
        "what only sorts questions is no step of the agent"
    )
    assert [(one.kind, one.thread, one.before_request) for one in session.side_calls] == [
        ("pre-processing", "main", 0)
    ]
    alone = bedrock(path, {"inputText": "Count.", "enableTrace": True}, b"".join(before))
    assert prompts(alone) == [[(30, 2)]], "unless it is all that there is"
    untraced = bedrock(path, {"inputText": "Count."}, frame("chunk", {"bytes": "T25lLg=="}))
    assert not untraced.main.requests
    assert any("not in this file" in note for note in untraced.notes)


def test_an_event_stream_is_checked() -> None:
    whole = frame("a", {"n": 1}) + frame("b", {"n": 2})
    found = list(stream_messages(whole))
    assert [one.headers[":event-type"] for one in found if isinstance(one, StreamMessage)] == [
        "a",
        "b",
    ]
    half = len(whole) // 2
    spoilt_payload = bytes([*whole[: half - 6], whole[half - 6] ^ 1, *whole[half - 5 :]])
    first, second = stream_messages(spoilt_payload)
    assert isinstance(first, DamagedMessage)
    assert first.at == 0
    assert isinstance(second, StreamMessage)
    for n in range(len(whole)):
        for data in (whole[:n], whole[:n] + bytes([whole[n] ^ 0x55]) + whole[n + 1 :], whole[n:]):
            for message in stream_messages(data):
                assert isinstance(message, StreamMessage | DamagedMessage)
