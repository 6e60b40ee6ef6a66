"""How a run begins: forked from any transcript, resumed from its own journal, or as the demo.

A fork is the buffer of one request, changed so that a provider accepts it. Each change is described in a sentence;
messages that need no change stay the same objects. A journal to be resumed is read by the same reader that opens it as
a transcript.

The demo needs no key and no network: a real task with real tools on a throw-away copy of the sample workspace. Every
tier of Roku fires by its own condition in the normal course of turns; none is forced. This is how each is reached:

- L0: results arrive one by one, and only the newest three are kept.
- L1: the log is read piece by piece until 60% of the window is exceeded. There are no notes yet.
- L2: the same again, once the agent has written NOTES.md, which is the session memory.
- L3a: several pieces of the log at once exceed 75%; the provider compacts remotely.
- L3a fails: the next time, the provider no longer has such an endpoint (404). A digest is used, the breaker counts one.
- L3b: from then on the provider counts as unable to compact, and a model summarises.
- L4: a file of single digits, one token per byte, has four times the tokens of an estimate by bytes. The model refuses.

The model is `simulated-demo`; its window is small, and its stream is slow enough for a person to watch.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeAlias
from uuid import uuid4

from inspector.agent.asking import INTERRUPTED, open_calls
from inspector.agent.plan import Permissions, Plan, ResumePoint
from inspector.agent.run import plan_policy, plan_window
from inspector.agent.tools.toolbox import prompt, result_of
from inspector.agent.workspace import saved_path
from inspector.core.buffer import Buffer, Prompt
from inspector.core.errors import InspectorError
from inspector.core.formats.detect import detect
from inspector.core.formats.journal.reader import MAIN, NAME, JournalReader
from inspector.core.message import Json, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from inspector.core.policies.catalogue import DEFAULT_POLICY
from inspector.core.policies.settings import SettingPairs
from inspector.core.session import Session, Thread
from inspector.core.untyped import text_at
from inspector.core.validity import find_refusals, repair
from inspector.core.words import plural
from inspector.resources import resource
from inspector.simulated.demo import COMPACTIONS, MODEL, NOTES_FILE, TASK
from inspector.simulated.state import WINDOW, SimulatedServerState
from inspector.transcripts.transcript_file import TranscriptFile

System: TypeAlias = Literal["recorded", "ours"]
BEGINNING = "(The conversation begins in the middle: what was before is not known.)"
_GOOD_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""Matches call ids that every provider accepts."""


@dataclass(frozen=True, slots=True)
class Fork:
    """`start` and `forked_from` for a Plan, and the changes that were made, in sentences."""

    start: Buffer
    forked_from: dict[str, Json]
    changes: tuple[str, ...]


def fork(
    session: Session,
    thread: Thread,
    at: int | None,
    workspace: Path,
    buffer: Buffer | None = None,
    system: System = "recorded",
) -> Fork:
    """Return a fork that begins at request `at`.

    The tools are the product's own. The system prompt is the transcript's if it holds one, unless `system` is `ours`.

    Args:
        session: The session.
        thread: The thread to fork.
        at: Index of the request; None for the buffer after the last record.
        workspace: The workspace of the run.
        buffer: A manually changed buffer to use instead of the recorded one.
        system: Whose system prompt is used.
    """
    changes: list[str] = []
    if buffer is not None:
        changes.append("The buffer was edited manually before the fork.")
    else:
        buffer = thread.place(at).buffer()
    start = Buffer(
        _prepare_messages(buffer.messages, changes),
        _prompt(buffer.prompt, workspace.resolve(), system, changes),
    )
    place: dict[str, Json] = {"path": session.path, "session": session.id, "format": session.format}
    source: dict[str, Json] = {
        **place,
        "thread": thread.id,
        "request": at,
        "model": thread.model,
        "changes": changes,
    }
    return Fork(start, source, tuple(changes))


def _prompt(recorded: Prompt, workspace: Path, system: System, changes: list[str]) -> Prompt:
    ours = prompt(workspace)
    if recorded.tools is None:
        changes.append(
            "The transcript does not record the agent's tools: the run uses its own tools."
        )
    elif recorded.tools != ours.tools:
        changes.append(
            f"The run's own {len(ours.tools or ())} tools replace the {plural(len(recorded.tools), 'recorded tool')}."
        )
    if system == "recorded" and recorded.system:
        return Prompt(recorded.system, ours.tools)
    if recorded.system:
        changes.append("The run's own system prompt replaces the recorded one.")
    else:
        changes.append("The transcript does not record the system prompt: the run uses its own.")
    return ours


def _prepare_messages(messages: Sequence[Message], changes: list[str]) -> tuple[Message, ...]:
    """Return the messages in a form that every provider accepts."""
    filled = _drop_blank_parts(messages, changes)
    filled = _give_unique_ids(filled, changes)
    filled = _repair_pairs(filled, changes)
    first = next((message for message in filled if message.role != "system"), None)
    if first is not None and first.role == "assistant":
        changes.append("A user message was added before the first assistant message.")
        filled = (Message(f"before-{first.id}", "user", (Text(BEGINNING),), mark="meta"), *filled)
    sealed = sum(
        isinstance(part, Opaque | Thinking) for message in filled for part in message.parts
    )
    if sealed:
        changes.append(
            f"Not sent: {plural(sealed, 'part')} that only the original provider can read (including thinking)."
        )
    return filled


def _drop_blank_parts(messages: Sequence[Message], changes: list[str]) -> tuple[Message, ...]:
    """Return the messages without blank text parts, and without messages that have no content to send."""
    filled: list[Message] = []
    for message in messages:
        parts = tuple(
            part for part in message.parts if not (isinstance(part, Text) and not part.text.strip())
        )
        if any(not isinstance(part, Thinking) for part in parts):
            filled.append(
                message if len(parts) == len(message.parts) else replace(message, parts=parts)
            )
    if len(filled) < len(messages):
        changes.append(
            f"Left out: {plural(len(messages) - len(filled), 'message')} without content."
        )
    return tuple(filled)


def _give_unique_ids(messages: Sequence[Message], changes: list[str]) -> tuple[Message, ...]:
    """Give each call a unique id that every provider accepts; a result belongs to the newest call of its id."""
    names: dict[str, str] = {}
    used = set[str]()
    named: list[Message] = []
    renamed = 0
    for message in messages:
        parts: list[Part] = []
        for part in message.parts:
            new = part
            if isinstance(part, ToolCall):
                name = _valid_id(part.id)
                number = 2
                while name in used:
                    name = _valid_id(f"{part.id}~{number}")
                    number += 1
                used.add(name)
                names[part.id] = name
                new = part if name == part.id else replace(part, id=name)
                renamed += name != part.id
            elif (
                isinstance(part, ToolResult)
                and names.get(part.call_id, part.call_id) != part.call_id
            ):
                new = replace(part, call_id=names[part.call_id])
            parts.append(new)
        is_same = all(new is old for new, old in zip(parts, message.parts, strict=True))
        named.append(message if is_same else replace(message, parts=tuple(parts)))
    if renamed:
        changes.append(
            f"New ids for {plural(renamed, 'tool call')}: an old id was used twice, or some providers refuse it."
        )
    return tuple(named)


def _valid_id(name: str) -> str:
    if _GOOD_ID.fullmatch(name):
        return name
    return f"call_{sha256(name.encode('utf-8', 'replace')).hexdigest()[:24]}"


def _repair_pairs(messages: tuple[Message, ...], changes: list[str]) -> tuple[Message, ...]:
    """Return the messages with every result right after its call and exactly one result per call."""
    bad = [problem.rule for problem in find_refusals(Buffer(messages))]
    if "order" in bad or "duplicate-answer" in bad:
        messages = tuple(_order_results(messages))
        changes.append("Each tool result was moved directly after its call.")
    mended = repair(Buffer(messages), None)
    for event in mended.events:
        dropped, answered = (
            event.fields.get(name) for name in ("dropped_results", "answered_calls")
        )
        if isinstance(dropped, int) and dropped:
            changes.append(f"Left out: {plural(dropped, 'tool result')} without a call.")
        if isinstance(answered, int) and answered:
            changes.append(
                f"{plural(answered, 'tool call')} without a result got a result that says so."
            )
    return mended.buffer.messages


def _order_results(messages: Sequence[Message]) -> Iterator[Message]:
    results: dict[str, Message] = {}
    for message in messages:
        if message.result is not None:
            results.setdefault(message.result.call_id, message)
    owed: list[Message] = []
    for message in messages:
        if message.role != "assistant":
            yield from owed
            owed.clear()
        if message.result is not None:
            continue
        yield message
        owed += (results.pop(call.id) for call in message.calls if call.id in results)
    yield from owed


UNDONE = "This call was not run: the user has continued with something else."


def read_journal(path: Path) -> JournalReader:
    """Read a whole journal. Raises NothingToRead, UnknownFormat, or InspectorError for another kind of transcript."""
    journal = TranscriptFile(path)
    if detect(journal.head()).name != NAME:
        raise InspectorError(
            f"{path} is not the journal of a run; a transcript can be forked (--fork), not resumed."
        )
    reader = JournalReader()
    journal.feed(reader)
    if not reader.header or MAIN not in reader.threads:
        raise InspectorError(
            f"{path} has lost its beginning: it can be forked (--fork), not resumed."
        )
    return reader


def resume(path: Path, task: str = "", **changes: Any) -> Plan:
    """Return the plan for the rest of a run.

    Args:
        path: The journal.
        task: What to do next, if the run had ended or should do something else.
        changes: Fields of the Plan that differ from the journal's; of `settings`, only those that change.

    Raises:
        InspectorError: The journal cannot be resumed.
    """
    size = path.stat().st_size if path.is_file() else 0
    reader = read_journal(path)
    main = reader.threads[MAIN]
    plan = _recorded_plan(reader.header, path)
    plan = replace(plan, remote=plan.remote if reader.remote is None else reader.remote)
    plan = replace(plan, **{**changes, "settings": _settings(plan, changes)})
    plan = replace(
        plan,
        world=plan.world
        or _restore_simulated_state(reader.header.get("world"), plan.window, reader.compacted),
    )
    policy, settings = plan_policy(plan, plan_window(plan))
    is_same_policy = plan.policy == reader.header.get("policy") and bool(main.running)
    start = _without_open_calls(main.buffer, main.begun) if task else main.buffer
    point = _resume_point(reader, size)
    running = None
    if is_same_policy:
        running = policy.load(settings, main.running)
        point = replace(
            point, running={name: thread.running for name, thread in reader.threads.items()}
        )
    return replace(plan, task=task, start=start, running=running, resumed=point)


def _without_open_calls(buffer: Buffer, begun: Container[str]) -> Buffer:
    """Return the buffer with a result for each open call that says whether the call had begun."""
    results = [
        result_of(call, INTERRUPTED if call.id in begun else UNDONE) for call in open_calls(buffer)
    ]
    return buffer.with_messages((*buffer.messages, *results))


def _resume_point(reader: JournalReader, size: int) -> ResumePoint:
    """Return the state in which the journal ends. `size`: bytes of the journal that were read."""
    main = reader.threads[MAIN]
    recorded = main.thread()
    point = ResumePoint(
        turn=main.turn,
        begun=tuple(main.begun),
        threads={name: thread.buffer for name, thread in reader.threads.items()},
        recorded=recorded,
        size=size,
    )
    if not recorded.requests:
        return point
    last = recorded.requests[-1]
    return replace(point, usage=last.usage, finish=last.finish)


def _settings(recorded: Plan, changes: Mapping[str, Any]) -> SettingPairs:
    """Return the journal's settings with the changed ones; for another policy, only the changed ones."""
    new = tuple(changes.get("settings", ()))
    if changes.get("policy", recorded.policy) != recorded.policy:
        return new
    named = {key for key, _ in new}
    kept_pairs = ((key, value) for key, value in recorded.settings if key not in named)
    return (*kept_pairs, *new)


def _recorded_plan(header: Mapping[str, Any], path: Path) -> Plan:
    settings = header.get("settings")
    pairs = settings.items() if isinstance(settings, dict) else ()
    window = header.get("window_set")
    most = header.get("max_tokens")
    remote = header.get("remote")
    plan = Plan(
        task="",
        workspace=Path(text_at(header, "workspace") or "."),
        record=path,
        provider=text_at(header, "provider") or "simulated",
        model=text_at(header, "model"),
        policy=text_at(header, "policy") or DEFAULT_POLICY,
        memory=text_at(header, "memory"),
    )
    settings = tuple((str(key), str(value)) for key, value in pairs)
    window_tokens = window if type(window) is int else None
    max_tokens = most if type(most) is int else None
    is_remote = remote if isinstance(remote, bool) else None
    return replace(
        plan, settings=settings, window=window_tokens, max_tokens=max_tokens, remote=is_remote
    )


def _restore_simulated_state(
    recorded: Any, window: int | None, compacted: int
) -> SimulatedServerState | None:
    """Return the simulated provider's state after `compacted` remote compactions; None if the journal records none."""
    if not isinstance(recorded, Mapping):
        return None
    size = recorded.get("window")
    pause = recorded.get("pause_s")
    left = recorded.get("compactions")
    recorded_window = size if type(size) is int else WINDOW
    pause_s = float(pause) if isinstance(pause, int | float) and 0 <= pause <= 10 else 0.0
    compactions = max(0, left - compacted) if type(left) is int else None
    return SimulatedServerState(window or recorded_window, pause_s, compactions=compactions)


DEMO_WINDOW = 16_000
PACE_S = 0.05
"""Seconds between the events of a stream: the whole demo takes about half a minute."""
_MADE = ("__pycache__",)


def demo_folder() -> Path:
    """Return a new folder for one demo: under the user's data, never among the installed files."""
    return saved_path().parent / "demo" / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid4().hex[:6]}"


_DEMO_SETTINGS = (("opaque_items", "keep"),)
"""Settings of the default policy for the demo: the provider can read its own compactions."""


def demo_plan(
    folder: Path,
    permissions: Permissions = "always",
    pace_s: float = PACE_S,
    policy: str = DEFAULT_POLICY,
) -> Plan:
    """Return the plan of the demo in `folder`, which is created for the workspace and the journal.

    `permissions`: the workspace is a throw-away copy, so changes need no permission; with `ask` the user is asked about
    four
    calls (notes, an edit, two runs of the same tests). Raises InspectorError if the folder exists or cannot be created.
    """
    workspace = folder / "tidewatch"
    copy_sample(workspace)
    return Plan(
        task=TASK,
        workspace=workspace,
        record=folder / "journal.jsonl",
        provider="simulated:responses",
        model=MODEL,
        policy=policy,
        settings=_DEMO_SETTINGS if policy == DEFAULT_POLICY else (),
        window=DEMO_WINDOW,
        permissions=permissions,
        memory=NOTES_FILE,
        world=SimulatedServerState(DEMO_WINDOW, pace_s, compactions=COMPACTIONS),
    )


def copy_sample(workspace: Path) -> None:
    """Copy the sample workspace; the copy is writable even if the installed files are not. Raises InspectorError."""
    source = resource("workspace")
    try:
        workspace.mkdir(parents=True)
        for path in sorted(source.rglob("*")):
            target = workspace / path.relative_to(source)
            if path.is_file() and not set(path.relative_to(source).parts) & set(_MADE):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
    except OSError as why:
        raise InspectorError(
            f"The sample workspace cannot be copied to {workspace}: {why.strerror or why}."
        ) from None
    if not any(workspace.iterdir()):
        raise InspectorError("The sample workspace is not among the installed files.")
