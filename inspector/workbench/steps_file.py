"""Saved steps: where they start, and the tier, settings, policy input and answers of each. Loading runs them again.

A file holds no messages except those of answers, so it is small. The buffer that the steps start from comes from the
transcript and must be unchanged. Every step has a fingerprint of its buffer, to check whether a replay ended in the
same buffer.
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
    """Steps that were run again, and the names of those whose buffer differs from the saved one."""

    steps: Steps
    elsewhere: tuple[str, ...] = ()


def write_steps(steps: Steps, source: StepsSource) -> dict[str, Any]:
    """Return all steps of the tree as one JSON document."""
    policy = find_policy(steps.policy)
    return {
        "kind": KIND,
        "version": VERSION,
        "source": to_json(source),
        "thread": steps.thread_id,
        "request": steps.request,
        "policy": steps.policy,
        "start": {
            "messages": len(steps.origin.messages),
            "fingerprint": buffer_fingerprint(steps.origin),
        },
        "state": policy.dump(steps.running),
        "at": steps.at,
        "steps": [_write_step_with_size(step, policy) for step in steps.taken],
    }


def write_step(step: Step, policy: Policy[Any, Any]) -> dict[str, Any]:
    """Return everything that is needed to run a step again from its start."""
    document: dict[str, Any] = {
        "name": step.name,
        "tier": step.tier,
        "parent": step.parent,
        "settings": spell_settings(step.settings, policy),
        "moment": to_json(step.moment),
        "answers": [write_reply(answered.reply) for answered in step.asked],
    }
    if step.called is not None:
        document["called"] = _write_call(step.called)
    if step.edit is not None:
        document["edit"] = write_edit(step.edit)
    if step.recorded is not None:
        document["recorded"] = step.recorded.name
    return document


def _write_step_with_size(step: Step, policy: Policy[Any, Any]) -> dict[str, Any]:
    """Return a step with the size and the fingerprint of its buffer."""
    end = PolicyContext(step.buffer, step.settings, step.running, step.moment)
    raw, calibrated = acting(policy, end).measure(end)
    after = {
        "messages": len(step.buffer.messages),
        "tokens": raw,
        "calibrated": calibrated,
        "fingerprint": buffer_fingerprint(step.buffer),
    }
    return {**write_step(step, policy), "after": after, "state": policy.dump(step.running)}


def spell_settings(settings: Any, policy: Policy[Any, Any]) -> dict[str, str]:
    """Return settings by name in the form that `--set` takes, without those that are None by default and were not
    set.
    """
    own = policy.settings()
    values = (
        (field.name, getattr(settings, field.name), getattr(own, field.name))
        for field in settable_fields(settings)
    )
    return {
        name: _word(value) for name, value, usual in values if not (value is None and usual is None)
    }


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


def _write_call(called: RecordedCall) -> dict[str, Any]:
    messages = [write_message(message) for message in called.messages]
    usage = to_json(called.usage) if called.usage is not None else None
    return {"messages": messages, "usage": usage, "finish": called.finish}


def buffer_fingerprint(buffer: Buffer) -> str:
    """Return a fingerprint of a buffer, which equal buffers share. O(text)."""
    digest = sha256()
    for message in buffer.messages:
        digest.update(dumps(write_message(message)).encode("utf-8", "replace"))
        digest.update(b"\n")
    return digest.hexdigest()[:32]


# -- reading -----------------------------------------------------------------------------------------------------------


def check_document(document: Any) -> Mapping[str, Any]:
    """Return the document if it is one of saved steps. Raises InspectorError."""
    if not isinstance(document, Mapping) or document.get("kind") != KIND:
        raise InspectorError(
            "This file holds no saved steps. Choose a file that was written with “Save steps…”."
        )
    if document.get("version") != VERSION:
        raise InspectorError(
            f"These steps were saved by another version ({document.get('version')!r})."
        )
    return document


def source_of(document: Any) -> StepsSource:
    """Return the transcript that the steps of a document start from. Raises InspectorError."""
    return from_json(StepsSource, check_document(document).get("source"))


def place_of(document: Any) -> tuple[str, int | None]:
    """Return thread and request (None: after the last record) of a document. Raises InspectorError."""
    checked = check_document(document)
    request = checked.get("request")
    return str(checked.get("thread") or "main"), request if isinstance(request, int) else None


def starts_before(document: Any) -> bool:
    """Do saved steps start before a recorded change, which is then their first step?"""
    return any(
        "recorded" in saved_step for saved_step in _read_list(check_document(document), "steps")[:1]
    )


def replay_steps(document: Any, origin: Buffer, recorded: Step | None = None) -> StepsReplay:
    """Run all steps again on the buffer where they started, with their recorded answers. Raises InspectorError.

    Args:
        document: The saved steps.
        origin: The buffer that they start from.
        recorded: Their first step, if they start before a recorded change.
    """
    checked = check_document(document)
    _check_start(checked, origin)
    thread_id, request = place_of(checked)
    policy = find_policy(str(checked.get("policy")))
    steps = Steps(
        thread_id,
        request,
        policy=policy.reference,
        origin=origin,
        running=policy.load(policy.settings(), checked.get("state") or {}),
    )
    elsewhere: list[str] = []
    for number, saved_step in enumerate(_read_list(checked, "steps")):
        parent = saved_step.get("parent")
        if not isinstance(parent, int) or not ORIGIN <= parent < number:
            raise InspectorError(f"Step {number + 1} starts from a step that does not exist.")
        steps = steps.go(parent)
        step = (
            recorded if recorded is not None and not number else run_step(policy, steps, saved_step)
        )
        if buffer_fingerprint(step.buffer) != _object(saved_step, "after").get("fingerprint"):
            elsewhere.append(step.name)
        steps = steps.add(step)
    current_step = checked.get("at")
    if isinstance(current_step, int) and ORIGIN <= current_step < len(steps.taken):
        steps = steps.go(current_step)
    return StepsReplay(steps, tuple(elsewhere))


def run_step(policy: Policy[Any, Any], steps: Steps, saved_step: Mapping[str, Any]) -> Step:
    """Run one saved step at the current step of `steps`. Raises InspectorError."""
    settings = policy.settings(
        tuple((str(key), str(value)) for key, value in _object(saved_step, "settings").items())
    )
    moment = from_json(PolicyInput, _object(saved_step, "moment"))
    tier = str(saved_step.get("tier") or "")
    replies = Scripted([read_reply(answer) for answer in _read_list(saved_step, "answers")])
    called = _read_call(saved_step["called"]) if saved_step.get("called") is not None else None
    edit = read_edit(saved_step["edit"]) if saved_step.get("edit") is not None else None
    context = PolicyContext(steps.buffer, settings, running=steps.state, moment=moment)
    step = complete(begin(policy, tier, context, called, edit), replies)
    step = replace(step, name=str(saved_step.get("name") or step.name))
    saved = saved_step.get("state")
    if saved is None or saved == policy.dump(step.running):
        return step
    # The user closed the breaker manually.
    last = replace(step.outcomes[-1], running=policy.load(settings, saved))
    return replace(step, outcomes=(*step.outcomes[:-1], last))


def _check_start(document: Mapping[str, Any], origin: Buffer) -> None:
    start = _object(document, "start")
    if start.get("fingerprint") != buffer_fingerprint(origin):
        saved_count = start.get("messages")
        count = len(origin.messages)
        raise InspectorError(
            f"These steps start from another buffer: it held {saved_count} messages, the one here holds {count}"
            f"{', and they differ' if saved_count == count else ''}."
        )


def _read_call(value: Any) -> RecordedCall:
    if not isinstance(value, Mapping):
        raise InspectorError("The recorded call of a turn must be a JSON object.")
    usage = from_json(Usage, value["usage"]) if value.get("usage") is not None else None
    return RecordedCall(
        read_messages(value.get("messages") or [], "call"), usage, str(value.get("finish") or "")
    )


def _object(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = document.get(key)
    if not isinstance(value, Mapping):
        raise InspectorError(f"The saved steps lack “{key}”.")
    return value


def _read_list(document: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = document.get(key)
    if not isinstance(value, list) or (
        key == "steps" and not all(isinstance(entry, Mapping) for entry in value)
    ):
        raise InspectorError(f"The saved steps lack “{key}”.")
    return value
