"""Export steps as a regression test: the file for pytest, the functions that it calls, and the results that it expects.

The exported file holds everything: buffer, running state, settings, policy inputs and answers. It needs this library
and pytest, but no transcript, network or window. Text of a transcript is written as a Python literal (`repr`), never as
code or comment.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.dialects.neutral import read_buffer, write_message
from inspector.core.diff import message_lines
from inspector.core.errors import InspectorError
from inspector.core.jsontext import WRAPPED, dumps, is_deeper, loads
from inspector.core.outcome import Event, FateName
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.instructions import acting
from inspector.extensions.policies import find_policy
from inspector.workbench.steps import ORIGIN, Steps
from inspector.workbench.steps_file import StepsSource, run_step, write_step


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step, as plain values that can be compared and printed."""

    fired: tuple[str, ...]
    succeeded: bool
    error: str
    before: int
    """Tokens before the step by the policy's own estimator, uncalibrated."""
    after: int
    """Tokens after the step by the policy's own estimator, uncalibrated."""
    calibrated: int
    """Tokens after the step by the policy's own estimator, calibrated."""
    fates: Mapping[str, FateName]
    """The fates by message id, without kept messages."""
    inserted: tuple[str, ...]
    """Texts of the new messages."""
    events: tuple[tuple[str, Mapping[str, Any]], ...]
    """(name, fields) in order."""


Ran = StepResult  # the name that tests exported by older versions use


def ran(steps: Steps, at: int) -> StepResult:
    """Return the result of the step `at`."""
    step = steps.taken[at]
    policy = find_policy(steps.policy)
    parent_state = steps.running if step.parent == ORIGIN else steps.taken[step.parent].running
    start = PolicyContext(
        steps.buffer_of(step.parent), step.settings, running=parent_state, moment=step.moment
    )
    policy = acting(policy, start)
    before, _ = policy.measure(start)
    after, calibrated = policy.measure(start.after(*step.outcomes))
    fates = steps.fates(at)
    changed = {fate.id: fate.name for fate in fates if fate.name != "kept"}
    inserted = [fate.after for fate in fates if fate.before is None and fate.after is not None]
    events = tuple((event.name, _plain_fields(event)) for event in step.events)
    texts = tuple(map(message_lines, inserted))
    return StepResult(
        step.fired,
        step.succeeded,
        step.error,
        before,
        after,
        calibrated,
        fates=changed,
        inserted=texts,
        events=events,
    )


def _plain_fields(event: Event) -> Mapping[str, Any]:
    """Return the fields of an event as plain JSON values."""
    fields: Mapping[str, Any] = loads(dumps(dict(event.fields)).encode(), deepest=WRAPPED)
    return fields


def run(
    policy_name: str, start: Mapping[str, Any], state: Any, steps: Sequence[Mapping[str, Any]]
) -> list[StepResult]:
    """Run the steps one after the other from `start`, whose `messages` are JSON texts. Raises InspectorError."""
    policy = find_policy(policy_name)
    messages = [
        loads(line.encode("utf-8", "replace"), deepest=WRAPPED) for line in start["messages"]
    ]
    origin = read_buffer({**start, "messages": messages})
    tree = Steps(
        "main",
        request=None,
        policy=policy.reference,
        origin=origin,
        running=policy.load(policy.settings(), state),
    )
    for step in steps:
        tree = tree.add(run_step(policy, tree, step))
    return [ran(tree, step_index) for step_index in range(len(tree.taken))]


def describe_start(buffer: Buffer) -> dict[str, Any]:
    """Return a buffer in the form that `run` takes."""
    tools = buffer.prompt.tools
    tool_documents = None
    if tools is not None:
        tool_documents = [{"name": tool.name, "definition": tool.definition} for tool in tools]
    return {
        "system": buffer.prompt.system,
        "tools": tool_documents,
        "unseen": buffer.prompt.unseen,
        "messages": [dumps(write_message(message)) for message in buffer.messages],
    }


def write_path(steps: Steps) -> list[dict[str, Any]]:
    """Return the steps down to the current one, in the form that `run` takes.

    The running state is computed again. If the user changed it between two steps (closed a breaker), it is saved with
    the step.
    """
    policy = find_policy(steps.policy)
    written = []
    start, running = _start_of_own_steps(steps)
    again = replace(steps, origin=start, running=running, taken=(), at=ORIGIN, against=None)
    for step_index in steps.own_path:
        step = steps.taken[step_index]
        saved_step = write_step(step, policy)
        again = again.add(run_step(policy, again, saved_step))
        state = policy.dump(step.running)
        if policy.dump(again.state) != state:
            saved_step["state"] = state
            again = again.undo().add(run_step(policy, again.undo(), saved_step))
        written.append({key: value for key, value in saved_step.items() if key != "parent"})
    return written


def _start_of_own_steps(steps: Steps) -> tuple[Buffer, Any]:
    """Return the buffer that the user's own steps start from, and the policy's running state there."""
    base = steps.base(steps.at)
    return steps.buffer_of(base), steps.running if base == ORIGIN else steps.taken[base].running


_HEAD = '''"""Steps on the buffer of one model call, exported by Context Inspector.

Run it with pytest where `inspector` can be imported. The tiers run through the library with the settings and answers
below; each step must end with the same tokens, fates, inserted texts and events as when it was exported.
"""

from typing import Any

import pytest

from inspector.workbench.regression import StepResult, run

'''
_TESTS = """

@pytest.fixture(scope="module")
def taken() -> list[StepResult]:
    return run(POLICY, START, STATE, STEPS)


@pytest.mark.parametrize("n", range(len(STEPS)), ids=[f"{n + 1}-{one['tier'] or 'due'}" for n, one in enumerate(STEPS)])
def test_step(taken: list[StepResult], n: int) -> None:
    step, expected = taken[n], EXPECTED[n]
    assert (step.succeeded, step.error) == (expected["succeeded"], expected["error"])
    assert step.fired == tuple(expected["fired"])
    assert (step.before, step.after, step.calibrated) == (expected["before"], expected["after"], expected["calibrated"])
    assert dict(step.fates) == expected["fates"]
    assert list(step.inserted) == expected["inserted"]
    assert [[name, dict(fields)] for name, fields in step.events] == expected["events"]


# The buffer where the steps start: one message a line.
"""

_DEEPEST = 60
"""Deepest nesting of a Python literal; Python's parser refuses 200 levels. Deeper values are written as JSON."""

_FROM_JSON = "json.loads("


def pytest_text(steps: Steps, source: StepsSource) -> str:
    """Return the file for the steps down to the current one. Raises InspectorError if there are none."""
    path = steps.own_path
    if not path:
        raise InspectorError("There is no step to export here: take a step first.")
    start, running = _start_of_own_steps(steps)
    written = write_path(steps)
    names = _Names()
    place = {**asdict(source), "thread": steps.thread_id, "request": steps.request}
    state = find_policy(steps.policy).dump(running)
    settings = list(names.settings(written))  # before the steps, which refer to them
    step_texts = "".join(names.step(saved_step) for saved_step in written)
    expected_texts = "".join(_expected_text(steps, step) for step in path)
    pieces = [
        f"SOURCE = {_flat(place)}\n",
        f"POLICY = {steps.policy!r}\n",
        f"STATE: dict[str, Any] = {_dict_text(state)}\n",
        *settings,
        f"STEPS: list[dict[str, Any]] = [\n{step_texts}]\n",
        f"EXPECTED: list[dict[str, Any]] = [\n{expected_texts}]\n",
        _TESTS,
        _start(describe_start(start)),
    ]
    body = "".join(pieces)
    head = _HEAD
    if f" {_FROM_JSON}" in body:
        head = _HEAD.replace("from typing", "import json\nfrom typing", 1)
    return head + body


class _Names:
    """Names the settings in the file: equal settings are written once, so that one edit changes every step that uses
    them.
    """

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def settings(self, saved_steps: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        for saved_step in saved_steps:
            key = dumps(saved_step["settings"])
            if key not in self._known:
                name = "SETTINGS" if not self._known else f"SETTINGS_{len(self._known) + 1}"
                self._known[key] = name
                yield f"{name} = {_dict_text(saved_step['settings'])}\n"

    def step(self, saved_step: Mapping[str, Any]) -> str:
        """Return one step as a dict over several lines."""
        lines = [
            f"        {key!r}: {self._value(key, value)},\n" for key, value in saved_step.items()
        ]
        return f"    {{\n{''.join(lines)}    }},\n"

    def _value(self, key: str, value: Any) -> str:
        return self._known[dumps(value)] if key == "settings" else _flat(value)


def _expected_text(steps: Steps, at: int) -> str:
    result = asdict(ran(steps, at))
    result["events"] = [list(event) for event in result["events"]]
    lines = [f"        {key!r}: {_expectation(key, value)},\n" for key, value in result.items()]
    return f"    {{\n{''.join(lines)}    }},\n"


def _expectation(key: str, value: Any) -> str:
    if key == "events" and value:
        return f"[\n{''.join(f'            {_flat(event)},{chr(10)}' for event in value)}        ]"
    return _flat(value)


def _dict_text(values: Mapping[str, Any]) -> str:
    """Return a dict as text, one key per line."""
    return "{\n" + "".join(f"    {key!r}: {_flat(value)},\n" for key, value in values.items()) + "}"


def _flat(value: Any) -> str:
    """Return a value as a literal on one line. It passes through JSON, so that the file holds only plain values."""
    text = dumps(value)
    plain = loads(text.encode("utf-8", "replace"), deepest=WRAPPED)
    return f"{_FROM_JSON}{text!r})" if is_deeper(plain, _DEEPEST) else repr(plain)


def _start(start: Mapping[str, Any]) -> str:
    messages: Sequence[str] = start["messages"]
    listed = "".join(f"        {line!r},\n" for line in messages)
    head = "".join(f"    {key!r}: {_flat(start[key])},\n" for key in ("system", "tools", "unseen"))
    return f"START: dict[str, Any] = {{\n{head}    'messages': [\n{listed}    ],\n}}\n"
