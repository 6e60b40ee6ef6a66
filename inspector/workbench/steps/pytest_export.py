"""Steps as a file for pytest: the buffer, the steps with their settings and answers, and what came of them.

Everything that comes from a transcript stands in it as a Python literal (`repr`), never as code or comment.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from inspector.core.errors import InspectorError
from inspector.core.jsontext import WRAPPED, dumps, is_deeper, loads
from inspector.core.policies.catalogue import policy
from inspector.workbench.state.steps import Steps
from inspector.workbench.steps.file import Source
from inspector.workbench.steps.regression import ran, start_of, told_path

_HEAD = '''"""Steps on the buffer of one model call, exported by Context Inspector.

Run it with pytest where `inspector` can be imported. The tiers run through the library with the settings and answers
below; each step must end with the same tokens, fates, inserted texts and events as when it was exported.
"""

from typing import Any

import pytest

from inspector.workbench.steps.regression import Ran, run

'''
_TESTS = """

@pytest.fixture(scope="module")
def taken() -> list[Ran]:
    return run(POLICY, START, STATE, STEPS)


@pytest.mark.parametrize("n", range(len(STEPS)), ids=[f"{n + 1}-{one['tier'] or 'due'}" for n, one in enumerate(STEPS)])
def test_step(taken: list[Ran], n: int) -> None:
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
"""Brackets in one another that a literal has: Python's own parser refuses two hundred. Deeper ones stand as JSON."""

_FROM_JSON = "json.loads("


def pytest_text(steps: Steps, source: Source) -> str:
    """The file, for the steps down to where we stand. Raises InspectorError where none was taken."""
    path = steps.path()
    if not path:
        raise InspectorError("There is no step to export here: take one first.")
    told, names = told_path(steps), _Names()
    pieces = [
        f"SOURCE = {_flat({**asdict(source), 'thread': steps.thread_id, 'request': steps.request})}\n",
        f"POLICY = {steps.policy!r}\n",
        f"STATE: dict[str, Any] = {_laid_out(policy(steps.policy).dump(steps.running))}\n",
        *names.settings(told),
        f"STEPS: list[dict[str, Any]] = [\n{''.join(names.step(one) for one in told)}]\n",
        f"EXPECTED: list[dict[str, Any]] = [\n{''.join(_expected(steps, at) for at in path)}]\n",
        _TESTS,
        _start(start_of(steps.origin)),
    ]
    body = "".join(pieces)
    head = _HEAD.replace("from typing", "import json\nfrom typing", 1) if f" {_FROM_JSON}" in body else _HEAD
    return head + body


class _Names:
    """Equal settings stand in the file once, under one name: changing them there changes every step."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def settings(self, told: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        for one in told:
            key = dumps(one["settings"])
            if key not in self._known:
                name = "SETTINGS" if not self._known else f"SETTINGS_{len(self._known) + 1}"
                self._known[key] = name
                yield f"{name} = {_laid_out(one['settings'])}\n"

    def step(self, told: Mapping[str, Any]) -> str:
        """One step as a dict over several lines."""
        lines = [f"        {key!r}: {self._value(key, value)},\n" for key, value in told.items()]
        return f"    {{\n{''.join(lines)}    }},\n"

    def _value(self, key: str, value: Any) -> str:
        return self._known[dumps(value)] if key == "settings" else _flat(value)


def _expected(steps: Steps, at: int) -> str:
    found = asdict(ran(steps, at))
    found["events"] = [list(one) for one in found["events"]]
    lines = [f"        {key!r}: {_expectation(key, value)},\n" for key, value in found.items()]
    return f"    {{\n{''.join(lines)}    }},\n"


def _expectation(key: str, value: Any) -> str:
    if key == "events" and value:
        return f"[\n{''.join(f'            {_flat(one)},{chr(10)}' for one in value)}        ]"
    return _flat(value)


def _laid_out(values: Mapping[str, Any]) -> str:
    """A dict, one key a line."""
    return "{\n" + "".join(f"    {key!r}: {_flat(value)},\n" for key, value in values.items()) + "}"


def _flat(value: Any) -> str:
    """A literal on one line. Through JSON: what is not a plain value there has no place in the file."""
    text = dumps(value)
    plain = loads(text.encode("utf-8", "replace"), deepest=WRAPPED)
    return f"{_FROM_JSON}{text!r})" if is_deeper(plain, _DEEPEST) else repr(plain)


def _start(start: Mapping[str, Any]) -> str:
    messages: Sequence[str] = start["messages"]
    listed = "".join(f"        {line!r},\n" for line in messages)
    head = "".join(f"    {key!r}: {_flat(start[key])},\n" for key in ("system", "tools", "unseen"))
    return f"START: dict[str, Any] = {{\n{head}    'messages': [\n{listed}    ],\n}}\n"
