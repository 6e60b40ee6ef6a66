"""The estimators of Pulse, Pi and learn-claude-code, by the cases of the specification."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.jsontext import dumps
from inspector.core.message import Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.pulse import POLICY
from inspector.core.tokens.estimators import buffer_tokens, count
from inspector.core.tokens.harnesses import Chars4, LearnClaudeCode, Pi, u16


def message(role: Role, *parts: Part) -> Message:
    return Message("m", role, parts)


def user(text: str) -> Message:
    return message("user", Text(text))


IMAGE = Image("image/png", "AAAA")


@pytest.mark.parametrize(
    ("messages", "tokens"),
    [
        pytest.param([user("hello")], 3, id="C-EST-1"),
        pytest.param([user("中文")], 2, id="C-EST-3 Chinese"),
        pytest.param([user("😀")], 2, id="C-EST-3 emoji"),
        pytest.param([user("a"), user("b")], 3, id="C-EST-4"),
        pytest.param([], 0, id="empty"),
        pytest.param([user("x" * 191962), *[user("q")] * 6], 47999, id="C-TRG-1"),
        pytest.param([user("x" * 191963), *[user("q")] * 6], 48000, id="C-TRG-2"),
    ],
)
def test_pulse(messages: list[Message], tokens: int) -> None:
    assert buffer_tokens(Chars4(), messages, Prompt("not counted", (Tool("t", {}),))) == tokens


def test_pulse_counts_content_with_parts_as_compact_json() -> None:
    content = '[{"type":"text","text":"é"},{"type":"tool-call","toolCallId":"c","toolName":"ls","input":{"a":1}}]'
    assert (
        Chars4().weigh(message("assistant", Text("é"), ToolCall("c", "ls", {"a": 1})))
        == len(content) + 9
    )


def test_pulse_counts_answers_and_results_as_the_sdk_shapes_them() -> None:
    """An answer is a list of parts even where it is one text; the summary that Pulse puts there is a text."""
    answer = message("assistant", Text("r1"))
    assert Chars4().weigh(answer) == len('[{"type":"text","text":"r1"}]') + 9
    assert Chars4().weigh(replace(answer, summary=True)) == 2 + 9
    assert Chars4().weigh(message("system", Text("r1"))) == 2 + 6
    said = '[{"type":"tool-result","toolCallId":"c","toolName":"","output":{"type":"text","value":"out"}}]'
    assert Chars4().weigh(message("tool", ToolResult("c", "out"))) == len(said) + 4


def test_pulse_counts_the_name_of_the_tool_in_its_result() -> None:
    """Whatever order lists are counted in, and whatever of them."""
    call, out = (
        message("assistant", ToolCall("c", 'lök"', {})),
        message("tool", ToolResult("c", "out")),
    )
    other = [
        message("assistant", ToolCall("d", "ls", {})),
        message("tool", ToolResult("d", "", is_error=True)),
    ]
    settings = POLICY.settings()
    for listed in ([call, out], [user("go"), call, out, *other], [*other], [call]):
        wanted = [
            {
                "assistant": [
                    {"type": "tool-call", "toolCallId": one.id, "toolName": one.name, "input": {}}
                    for one in m.calls
                ],
                "tool": [
                    {
                        "type": "tool-result",
                        "toolCallId": m.result.call_id,
                        "toolName": {"c": 'lök"', "d": "ls"}[m.result.call_id],
                        "output": {
                            "type": "error-text" if m.result.is_error else "text",
                            "value": m.result.content,
                        },
                    }
                ]
                if m.result
                else [],
                "user": m.text,
            }[m.role]
            for m in listed
        ]
        texts = [one if isinstance(one, str) else dumps(one) for one in wanted]
        units = sum(u16(text) + len(m.role) for text, m in zip(texts, listed, strict=True))
        assert (
            POLICY.measure(PolicyContext(Buffer(tuple(listed)), settings, POLICY.fresh(settings)))
            == (-(-units // 4),) * 2
        )


@pytest.mark.parametrize(
    ("messages", "tokens"),
    [
        pytest.param([user("abcde")], 2, id="P-EST-1"),
        pytest.param([user("中文中文中")], 2, id="P-EST-1 Chinese"),
        pytest.param([message("user", Text("abcd"), IMAGE)], 1, id="P-EST-2 user"),
        pytest.param([message("tool", ToolResult("c", ""), IMAGE)], 1200, id="P-EST-2 result"),
        pytest.param([user("x" * 400)], 100, id="P-EST-6"),
        pytest.param([], 0, id="P-EST-6 empty"),
        pytest.param(
            [message("assistant", Text("ab"), Thinking("cd"), ToolCall("id", "ef", {"g": 1}))],
            4,
            id="answer",
        ),
        pytest.param([user("a"), user("b")], 2, id="a ceiling a message"),
    ],
)
def test_pi(messages: list[Message], tokens: int) -> None:
    assert buffer_tokens(Pi(), messages, Prompt("not counted")) == tokens


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 9, 100])
def test_learn_claude_code(length: int) -> None:
    assert count(LearnClaudeCode(), user("x" * length)) == (31 + length) // 4


def test_learn_claude_code_escapes() -> None:
    assert count(LearnClaudeCode(), user("中" * 10)) == (31 + 60) // 4
    assert LearnClaudeCode().text("中文中文中") == 1


def test_learn_claude_code_counts_blocks() -> None:
    blocks = [{"type": "tool_result", "tool_use_id": "c", "content": "a\nb"}]
    wire = json.dumps({"role": "user", "content": blocks})
    assert LearnClaudeCode().weigh(message("tool", ToolResult("c", "a\nb"))) == len(wire) // 4


def test_learn_claude_code_counts_what_python_cannot_nest() -> None:
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    assert LearnClaudeCode().weigh(message("assistant", ToolCall("c", "x", deep))) > 2500


@given(st.text())
def test_utf16_units(text: str) -> None:
    assert u16(text) == len(text) + sum(ord(c) > 0xFFFF for c in text)
