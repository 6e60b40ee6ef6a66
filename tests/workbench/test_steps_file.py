"""Steps saved, run again with their own answers, and exported as a test that passes and can fail."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps, loads, without_surrogates
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.needs import Answer, ContextWindowExceeded, ProviderFailure
from inspector.core.policies.catalogue import POLICIES
from inspector.workbench.regression import pytest_text, run
from inspector.workbench.stepper import DUE, TURN
from inspector.workbench.steps import ORIGIN, Steps
from inspector.workbench.steps_file import (
    StepsSource,
    buffer_fingerprint,
    place_of,
    replay_steps,
    source_of,
    write_steps,
)
from inspector.workbench.workbench import Workbench
from tests.gui.stepping import open_it

SOURCE = StepsSource("/home/me/s.jsonl", "id", "claude-code")
SUMMARY = "Goal: mend it\nAccomplished: much\nKey Decisions: none\nRelevant Files: src/reader.py"


def taken() -> Steps:
    """A branch of two tiers, one with a failure and a retry; a broken breaker that was closed by hand; a repair."""
    desk = Workbench()
    open_it(desk)
    desk.stepping.step("L0")
    desk.stepping.choose(answer_by="hand")
    desk.stepping.step("L3b")
    desk.stepping.answer(ContextWindowExceeded('prompt is too long: 9 > 8 \'quoted\' """ \\'))
    desk.stepping.answer(Answer(SUMMARY, elapsed_ms=1200, by="person"))
    desk.stepping.undo()
    desk.stepping.undo()
    for _ in range(3):
        desk.stepping.step("L3b")
        desk.stepping.answer(ProviderFailure("no", 403, "http"))
    desk.stepping.reset_breaker()
    desk.stepping.choose(answer_by="offline", remote=True)
    desk.stepping.step("L3a")
    desk.stepping.repair()
    desk.stepping.step("")
    steps = desk.state.steps
    assert steps is not None
    return steps.rename(0, "clear the old ones")


def through_json(value: Any) -> Any:
    return loads(dumps(value).encode())


def test_a_replay_ends_where_the_steps_ended() -> None:
    steps = taken()
    replay = replay_steps(through_json(write_steps(steps, SOURCE)), steps.origin)
    assert not replay.elsewhere
    again = replay.steps
    assert (again.at, again.thread_id, again.request) == (steps.at, steps.thread_id, steps.request)
    for one, other in zip(again.taken, steps.taken, strict=True):
        assert (one.name, one.tier, one.parent, one.settings) == (
            other.name,
            other.tier,
            other.parent,
            other.settings,
        )
        assert one.buffer == other.buffer
        assert one.events == other.events
        assert POLICIES["roku"].dump(one.running) == POLICIES["roku"].dump(other.running)


def test_a_document_tells_where_it_starts() -> None:
    document = through_json(write_steps(taken(), SOURCE))
    assert source_of(document) == SOURCE
    assert place_of(document) == ("main", 1)


def test_another_buffer_is_refused() -> None:
    steps = taken()
    document = through_json(write_steps(steps, SOURCE))
    with pytest.raises(
        InspectorError, match="another buffer: it held 21 messages, the one here holds 20"
    ):
        replay_steps(document, steps.origin.with_messages(steps.origin.messages[1:]))
    first = replace(steps.origin.messages[0], parts=(Text("other words"),))
    with pytest.raises(InspectorError, match="and they differ"):
        replay_steps(document, steps.origin.with_messages((first, *steps.origin.messages[1:])))


def test_a_step_that_ends_elsewhere_is_told() -> None:
    steps = taken()
    document = through_json(write_steps(steps, SOURCE))
    document["steps"][0]["settings"]["microcompact_retain_recent"] = "1"
    assert replay_steps(document, steps.origin).elsewhere[0] == "clear the old ones"


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.clear(),
        lambda d: d.update(version=99),
        lambda d: d.update(steps=[3]),
        lambda d: d["steps"][1].update(parent=1),
        lambda d: d["steps"][1].update(answers=None),
        lambda d: d["steps"][0].pop("moment"),
        lambda d: d["steps"][0].update(tier="L9"),
        lambda d: d["steps"][0].update(settings={"nonsense": "1"}),
        lambda d: d.update(policy="none of them"),
        lambda d: d.update(state=3),
    ],
)
def test_a_broken_document_is_one_sentence(change: Any) -> None:
    steps = taken()
    document = through_json(write_steps(steps, SOURCE))
    change(document)
    with pytest.raises(InspectorError):
        replay_steps(document, steps.origin)


def test_a_fingerprint_sees_every_part() -> None:
    call = Message("a", "assistant", (ToolCall("c", "Bash", {"x": 1}),))
    other = replace(call, parts=(ToolCall("c", "Bash", {"x": 2}),))
    assert buffer_fingerprint(Buffer((call,))) != buffer_fingerprint(Buffer((other,)))
    assert buffer_fingerprint(Buffer((call,))) == buffer_fingerprint(Buffer((replace(call),)))


# -- pytest ------------------------------------------------------------------------------------------------------------


def run_pytest(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command: Sequence[str] = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *words,
        path.name,
    )
    env = {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    return subprocess.run(
        command, cwd=path.parent, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_exported_file_passes_and_fails_when_a_setting_is_changed(tmp_path: Path) -> None:
    steps = taken()
    path = tmp_path / "test_steps.py"
    path.write_text(pytest_text(steps, SOURCE), "utf-8")
    ran = run_pytest(path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{len(steps.path())} passed" in ran.stdout
    path.write_text(pytest_text(steps.go(1), SOURCE), "utf-8")
    assert run_pytest(path).returncode == 0
    text = path.read_text("utf-8")
    assert text.count("'microcompact_retain_recent': '3'") == 1, "equal settings stand there once"
    path.write_text(
        text.replace("'microcompact_retain_recent': '3'", "'microcompact_retain_recent': '2'"),
        "utf-8",
    )
    failed = run_pytest(path)
    assert failed.returncode == 1
    assert "2 failed" in failed.stdout


def test_nothing_of_a_transcript_is_code(tmp_path: Path) -> None:
    mean = "''' + __import__('os').abort() + \"\"\"\n# \\ \u2028 \x00 {x} 文件"
    steps = taken()
    first = replace(steps.origin.messages[0], parts=(Text(mean),))
    origin = steps.origin.with_messages((first, *steps.origin.messages[1:]))
    desk = Workbench()
    open_it(desk)
    desk.stepping.put(Steps("main", 1, "roku", origin, steps.running))
    desk.stepping.step("L0")
    made = desk.state.steps
    assert made is not None
    text = pytest_text(made.rename(0, mean), StepsSource(mean, mean, mean))
    names: dict[str, Any] = {}
    path = tmp_path / "test_mean.py"
    path.write_text(text, "utf-8")
    exec(compile(path.read_bytes(), str(path), "exec"), names)
    assert names["SOURCE"]["path"] == mean
    assert loads(names["START"]["messages"][0].encode())["parts"][0]["text"] == mean
    assert run_pytest(path).returncode == 0


ODD_TEXT = st.text(
    st.characters(exclude_categories=())
    | st.sampled_from("\0\r\n\u2028\u2029\x85\ud800\udfff'\"\\{}#\ufeff"),
    max_size=12,
)


def deep(levels: int, inner: str) -> Any:
    value: Any = inner
    for n in range(levels):
        value = [value] if n % 2 else {inner: value}
    return value


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    texts=st.lists(ODD_TEXT, min_size=4, max_size=4),
    levels=st.sampled_from([0, 3, 61, 95, 190, 200]),
    tool=st.sampled_from([0, 59, 60, 61, 100, 200]),
    number=st.sampled_from([0, 1e308, -1e-320, 1 << 63, 0.1]),
)
def test_an_exported_test_compiles_whatever_it_holds(
    texts: list[str], levels: int, tool: int, number: float
) -> None:
    """Surrogates, NULs, ends of lines, quotes; values nested as deeply as they may come; odd ids."""
    one, two, three, four = map(without_surrogates, texts)  # as everything that is read
    call = ToolCall(two, three, {four: deep(levels, one), "n": number})
    prompt = Prompt(three, (Tool(one, {"name": one, "deep": deep(tool, two)}),))
    said = (
        Message(f"{one}1", "user", (Text(two),)),
        Message(f"{two}2", "assistant", (call,)),
        Message(f"{three}3", "tool", (ToolResult(two, one),)),
        Message(f"{four}4", "user", (Text(four),)),
    )
    desk = Workbench()
    open_it(desk)
    desk.stepping.put(Steps("main", 1, "roku", Buffer(said, prompt), taken().running))
    desk.stepping.step("L0")
    desk.editing.rewrite(f"{four}4", 0, f"{one} {three} otherwise")
    made = desk.state.steps
    assert made is not None
    assert len(made.taken) == 2
    text = pytest_text(made.rename(0, texts[0]), StepsSource(*texts[:3]))
    names: dict[str, Any] = {}
    exec(compile(text.encode(), "exported.py", "exec"), names)
    again = run(names["POLICY"], names["START"], names["STATE"], names["STEPS"])
    assert [dict(step.fates) for step in again] == [step["fates"] for step in names["EXPECTED"]]
    assert [list(step.inserted) for step in again] == [
        step["inserted"] for step in names["EXPECTED"]
    ]


def test_without_a_step_there_is_nothing_to_export() -> None:
    with pytest.raises(InspectorError):
        pytest_text(taken().go(ORIGIN), SOURCE)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_replays_exactly_and_exports(name: str) -> None:
    """Each tier once, one after the other, then what is due and a whole turn."""
    desk = Workbench()
    open_it(desk)
    desk.stepping.choose(
        policy=name, settings=(), summary="What happened so far: much.", instructions="the paths"
    )
    desk.set_window(3_000)
    desk.move(0)
    for tier in (*(tier.name for tier in POLICIES[name].tiers), DUE, TURN):
        desk.stepping.step(tier)
        assert not desk.state.failure or (
            tier == DUE and " is due at request 0, so no step" in desk.state.failure
        )
        desk.dismiss()
    steps = desk.state.steps
    assert steps is not None
    replay = replay_steps(through_json(write_steps(steps, SOURCE)), steps.origin)
    assert not replay.elsewhere
    by = POLICIES[name]
    for one, other in zip(replay.steps.taken, steps.taken, strict=True):
        assert one.settings == other.settings
        assert one.moment == other.moment
        assert one.buffer == other.buffer
        assert one.events == other.events
        assert by.dump(one.running) == by.dump(other.running)
    names: dict[str, Any] = {}
    exec(compile(pytest_text(steps, SOURCE), "test_made.py", "exec"), names)
    taken = run(names["POLICY"], names["START"], names["STATE"], names["STEPS"])
    for n in range(len(steps.taken)):
        names["test_step"](taken, n)
