"""The library: its page runs as written, its names load nothing of the window, proxy or agent, errors are sentences."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import inspector
from inspector import api
from inspector.core.errors import InspectorError
from inspector.core.needs import Answer, Summarize

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
SAMPLE = ROOT / "resources" / "sample.jsonl"
BODY = {
    "system": "be brief",
    "tools": [{"name": "Read", "description": "reads", "input_schema": {"type": "object"}}],
    "messages": [
        *(
            {"role": ("user", "assistant")[place % 2], "content": f"word {place} " * 900}
            for place in range(20)
        ),
        {"role": "user", "content": "read a.py"},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "call-1", "name": "Read", "input": {"path": "a.py"}}
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "call-1", "content": "x = 1"}],
        },
    ],
}


@pytest.fixture(scope="module")
def session() -> api.Session:
    """The sample."""
    return inspector.open_session(SAMPLE)


def test_examples_of_the_page_run_in_any_folder_as_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for example in EXAMPLES:
        exec(compile(example, "docs/library.md", "exec"), names)
    assert names["compacted"].succeeded
    assert len(names["next_body"]["messages"]) < len(names["body"]["messages"])
    names["test_first_message_of_the_user_survives_what_is_due"]()


def test_names_of_the_package_are_those_of_the_library_and_of_the_page() -> None:
    assert set(inspector.__all__) <= set(api.__all__)
    for name in inspector.__all__:
        assert getattr(inspector, name) is getattr(api, name)
    functions = [name for name in inspector.__all__ if name.islower() and name != "offline"]
    assert [name for name in functions if f"`{name}(" not in PAGE] == []
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = inspector.nonsense


def test_library_when_imported_loads_no_window_proxy_agent_or_sdk() -> None:
    code = (
        "import sys, inspector; inspector.open_session; "
        "bad = ('PySide6', 'pyqtgraph', 'aiohttp', 'anthropic', 'openai'); "
        "bad += ('inspector.gui', 'inspector.proxy', 'inspector.agent'); "
        "print([name for name in sys.modules if name.startswith(bad)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_policy_on_a_request_body_says_what_is_due_and_compacts_with_own_answers() -> None:
    buffer = inspector.read_request(BODY, "anthropic")
    assert [message.role for message in buffer.messages[-3:]] == ["user", "assistant", "tool"]
    runner = inspector.policy("roku", window=20_000)
    assert [verdict.tier for verdict in runner.explain(buffer) if verdict.due] == ["L1", "L3b"]
    asked = []

    def answer(need: api.Need) -> api.Answer:
        asked.append(need)
        assert isinstance(need, Summarize)
        return Answer(text="\n".join(f"{heading}\nwords" for heading in need.headings), by="a test")

    compacted = runner.compact(buffer, "L3b", answer=answer)
    assert compacted.succeeded
    assert [one.need for one in compacted.asked] == asked
    body = inspector.write_request(compacted.buffer, "anthropic", model="m", max_tokens=5)
    assert (body["model"], body["max_tokens"], body["system"]) == ("m", 5, "be brief")


@pytest.mark.parametrize("shape", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_body_when_written_and_read_again_is_the_same_conversation(shape: api.Shape) -> None:
    buffer = inspector.read_request(BODY, "anthropic")
    again = inspector.read_request(inspector.write_request(buffer, shape), shape)
    assert [message.text for message in again.messages] == [
        message.text for message in buffer.messages
    ]
    assert [message.role for message in again.messages] == [
        message.role for message in buffer.messages
    ]


def test_reported_size_when_learned_changes_what_the_policy_counts() -> None:
    buffer = inspector.read_request(BODY, "anthropic")
    runner = inspector.policy("roku", window=400_000)
    state = runner.learn(buffer, 300_000)
    before, after = (
        next(verdict for verdict in runner.explain(buffer, state=known) if verdict.tier == "L1")
        for known in (None, state)
    )
    assert (before.due, after.due) == (False, False) or after.why != before.why
    assert before.why != after.why


def test_recorded_session_gives_the_numbers_of_the_command_line(session: api.Session) -> None:
    pressure = inspector.measure(session, 78)
    assert (pressure.tokens, pressure.kind) == (152_241, "reported")
    assert inspector.breakdown(session, 78).tree.tokens == 152_241
    (loss,) = inspector.find_lost(session)
    assert loss.before_request == 79
    assert f"{inspector.cost(session).subtotal.usd:.2f}" == "8.67"
    assert any(
        pin.text.startswith("CLAUDE")
        for pin in inspector.find_pins(session, texts=["CLAUDE.md has the house"])
    )
    report = inspector.replay(session, inspector.policy("none"))
    assert report.over > 0


def test_failures_are_sentences(session: api.Session) -> None:
    calls = (
        lambda: inspector.open_session("no-such-file"),
        lambda: inspector.policy("no-such-policy"),
        lambda: inspector.policy("roku", nonsense=1),
        lambda: inspector.policy("roku").compact_at(session, 78, "L9"),
        lambda: inspector.measure(session, thread="nobody"),
        lambda: inspector.read_request({}, "anthropic"),
    )
    for call in calls:
        with pytest.raises(InspectorError, match=r"\w+ \w+"):
            call()


def test_measure_when_given_a_buffer_of_ones_own_counts_it() -> None:
    body = {"system": "You are careful.", "messages": [{"role": "user", "content": "hello " * 100}]}
    buffer = api.read_request(body, "anthropic")
    assert api.measure(buffer).kind == "counted"
    assert 100 < (api.measure(buffer).tokens or 0) < 130
    assert (api.measure(buffer, model="claude-opus-4-5").tokens or 0) > (
        api.measure(buffer).tokens or 0
    )


def test_read_request_when_the_shape_is_unknown_names_the_shapes() -> None:
    with pytest.raises(InspectorError, match="no shape 'foo'"):
        api.read_request({"messages": []}, "foo")  # type: ignore[arg-type]
