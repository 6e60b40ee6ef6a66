"""Saved steps: where they start, and for each its tier, settings, moment and answers. Loading runs them again.

A file holds no messages but those that were answered, so it is small; the buffer where the steps start comes from the
transcript and must be the same. Every step tells a fingerprint of where it ended: whether a replay ended there, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from inspector.core.answering import Scripted
from inspector.core.buffer import Buffer
from inspector.core.dialects.neutral import read_messages, write_message
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import Policy
from inspector.core.policies.instructions import acting
from inspector.core.policies.settings import settable_fields
from inspector.core.policies.verdict import PolicyInput
from inspector.core.recording import from_json, read_reply, to_json, write_reply
from inspector.core.usage import Usage
from inspector.extensions.policies import find_policy
from inspector.workbench.edits import read_edit, write_edit
from inspector.workbench.stepper import begin, complete
from inspector.workbench.steps import ORIGIN, RecordedCall, Step, Steps

KIND, VERSION = "context-inspector steps", 1


@dataclass(frozen=True, slots=True)
class StepsSource:
    """The transcript that the steps start from."""

    path: str = ""
    session: str = ""
    format: str = ""


@dataclass(frozen=True, slots=True)
class StepsReplay:
    """Steps that were run again, and the names of those that ended elsewhere than when they were saved."""

    steps: Steps
    elsewhere: tuple[str, ...] = ()


def write_steps(steps: Steps, source: StepsSource) -> dict[str, Any]:
    """All steps of the tree as one JSON document."""
    by = find_policy(steps.policy)
    return {
        "kind": KIND,
        "version": VERSION,
        "source": to_json(source),
        "thread": steps.thread_id,
        "request": steps.request,
        "policy": steps.policy,
        "start": {"messages": len(steps.origin.messages), "fingerprint": fingerprint(steps.origin)},
        "state": by.dump(steps.running),
        "at": steps.at,
        "steps": [_written(step, by) for step in steps.taken],
    }


def write_step(step: Step, by: Policy[Any, Any]) -> dict[str, Any]:
    """All that is needed to run a step again where it started."""
    told: dict[str, Any] = {
        "name": step.name,
        "tier": step.tier,
        "parent": step.parent,
        "settings": spelt(step.settings, by),
        "moment": to_json(step.moment),
        "answers": [write_reply(one.reply) for one in step.asked],
    }
    if step.called is not None:
        told["called"] = _written_call(step.called)
    if step.edit is not None:
        told["edit"] = write_edit(step.edit)
    if step.recorded is not None:
        told["recorded"] = step.recorded.name
    return told


def _written(step: Step, by: Policy[Any, Any]) -> dict[str, Any]:
    """The step, and where it ended."""
    end = PolicyContext(step.buffer, step.settings, step.running, step.moment)
    raw, calibrated = acting(by, end).measure(end)
    after = {
        "messages": len(step.buffer.messages),
        "tokens": raw,
        "calibrated": calibrated,
        "fingerprint": fingerprint(step.buffer),
    }
    return {**write_step(step, by), "after": after, "state": by.dump(step.running)}


def spelt(settings: Any, by: Policy[Any, Any]) -> dict[str, str]:
    """Settings by name, as `--set` takes them. What is None unless somebody sets it is left out."""
    own = by.settings()
    told = ((one.name, getattr(settings, one.name), getattr(own, one.name)) for one in settable_fields(settings))
    return {name: _word(value) for name, value, usual in told if not (value is None and usual is None)}


def _word(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "none"
        case tuple() | list():
            return ",".join(map(str, value))
        case _:
            return str(value)


def _written_call(called: RecordedCall) -> dict[str, Any]:
    messages = [write_message(message) for message in called.messages]
    usage = to_json(called.usage) if called.usage is not None else None
    return {"messages": messages, "usage": usage, "finish": called.finish}


def fingerprint(buffer: Buffer) -> str:
    """Equal buffers have equal ones. O(text)."""
    found = sha256()
    for message in buffer.messages:
        found.update(dumps(write_message(message)).encode("utf-8", "replace"))
        found.update(b"\n")
    return found.hexdigest()[:32]


# -- and back ----------------------------------------------------------------------------------------------------------


def check_document(document: Any) -> Mapping[str, Any]:
    """The document, if it is one of ours. Raises InspectorError."""
    if not isinstance(document, Mapping) or document.get("kind") != KIND:
        raise InspectorError("These are no saved steps: choose a file that was written by “save steps”.")
    if document.get("version") != VERSION:
        raise InspectorError(f"These steps were saved by another version ({document.get('version')!r}).")
    return document


def source_of(document: Any) -> StepsSource:
    """Where the steps of a document start. Raises InspectorError."""
    return from_json(StepsSource, check_document(document).get("source"))


def place_of(document: Any) -> tuple[str, int | None]:
    """Thread and request (None = after the last record) of a document. Raises InspectorError."""
    checked = check_document(document)
    request = checked.get("request")
    return str(checked.get("thread") or "main"), request if isinstance(request, int) else None


def starts_before(document: Any) -> bool:
    """Do saved steps start from the buffer before a recorded change, which is the first of them?"""
    return any("recorded" in told for told in _listed(check_document(document), "steps")[:1])


def replay_steps(document: Any, origin: Buffer, recorded: Step | None = None) -> StepsReplay:
    """Run all steps again on the buffer where they started, with their own answers. `recorded`: the first of them, if
    they start before a recorded change. Raises InspectorError."""
    checked = check_document(document)
    _check_start(checked, origin)
    thread_id, request = place_of(checked)
    by = find_policy(str(checked.get("policy")))
    steps = Steps(thread_id, request, by.reference, origin, by.load(by.settings(), checked.get("state") or {}))
    elsewhere: list[str] = []
    for number, told in enumerate(_listed(checked, "steps")):
        parent = told.get("parent")
        if not isinstance(parent, int) or not ORIGIN <= parent < number:
            raise InspectorError(f"Step {number + 1} starts from a step that is not there.")
        steps = steps.go(parent)
        step = recorded if recorded is not None and not number else run_step(by, steps, told)
        if fingerprint(step.buffer) != _object(told, "after").get("fingerprint"):
            elsewhere.append(step.name)
        steps = steps.add(step)
    at = checked.get("at")
    return StepsReplay(
        steps.go(at) if isinstance(at, int) and ORIGIN <= at < len(steps.taken) else steps, tuple(elsewhere)
    )


def run_step(by: Policy[Any, Any], steps: Steps, told: Mapping[str, Any]) -> Step:
    """One saved step, run where `steps` stands. Raises InspectorError."""
    settings = by.settings(tuple((str(key), str(value)) for key, value in _object(told, "settings").items()))
    moment, tier = from_json(PolicyInput, _object(told, "moment")), str(told.get("tier") or "")
    replies = Scripted([read_reply(one) for one in _listed(told, "answers")])
    called = _read_call(told["called"]) if told.get("called") is not None else None
    edit = read_edit(told["edit"]) if told.get("edit") is not None else None
    context = PolicyContext(steps.buffer, settings, steps.state, moment)
    step = complete(begin(by, tier, context, called, edit), replies)
    step = replace(step, name=str(told.get("name") or step.name))
    saved = told.get("state")
    if saved is None or saved == by.dump(step.running):
        return step
    last = replace(step.outcomes[-1], running=by.load(settings, saved))  # the breaker was closed by hand
    return replace(step, outcomes=(*step.outcomes[:-1], last))


def _check_start(document: Mapping[str, Any], origin: Buffer) -> None:
    start = _object(document, "start")
    if start.get("fingerprint") != fingerprint(origin):
        there, here = start.get("messages"), len(origin.messages)
        raise InspectorError(
            f"These steps start from another buffer: it held {there} messages, the one here holds {here}"
            f"{', and they differ' if there == here else ''}."
        )


def _read_call(value: Any) -> RecordedCall:
    if not isinstance(value, Mapping):
        raise InspectorError("The recorded call of a turn must be a JSON object.")
    usage = from_json(Usage, value["usage"]) if value.get("usage") is not None else None
    return RecordedCall(read_messages(value.get("messages") or [], "call"), usage, str(value.get("finish") or ""))


def _object(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = document.get(key)
    if not isinstance(found, Mapping):
        raise InspectorError(f"The saved steps lack “{key}”.")
    return found


def _listed(document: Mapping[str, Any], key: str) -> Sequence[Any]:
    found = document.get(key)
    if not isinstance(found, list) or (key == "steps" and not all(isinstance(one, Mapping) for one in found)):
        raise InspectorError(f"The saved steps lack “{key}”.")
    return found
