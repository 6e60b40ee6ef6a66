"""A run resumed: its journal, read by the reader that opens it as a transcript, made into the plan of the rest."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from inspector.agent.asking import INTERRUPTED, open_calls
from inspector.agent.plan import Plan, ResumePoint
from inspector.agent.run import policy_of, window_of
from inspector.agent.tools.toolbox import result_of
from inspector.core.errors import InspectorError
from inspector.core.formats.detect import detect
from inspector.core.formats.journal.reader import MAIN, NAME, JournalReader
from inspector.core.policies.settings import SettingPairs
from inspector.core.untyped import text_at
from inspector.simulated.state import WINDOW, SimulatedServerState
from inspector.transcripts.transcript_file import TranscriptFile

UNDONE = "This call was not run: the user has continued with something else."


def read_journal(path: Path) -> JournalReader:
    """All that a journal holds. Raises NothingToRead, UnknownFormat, InspectorError for another transcript."""
    journal = TranscriptFile(path)
    if detect(journal.head()).name != NAME:
        raise InspectorError(f"{path} is no journal of a run; a transcript can be forked (--fork), not resumed.")
    reader = JournalReader()
    journal.feed(reader)
    if not reader.header or MAIN not in reader.threads:
        raise InspectorError(f"{path} has lost its beginning: it can be forked (--fork), not resumed.")
    return reader


def resume(path: Path, task: str = "", **changes: Any) -> Plan:
    """The plan of the rest of a run. `task`: what to do next, where the run had come to its end or something else is
    wanted. `changes`: fields of the Plan that are to be others than the journal's; of `settings`, those that change.
    Raises InspectorError.
    """
    size = path.stat().st_size if path.is_file() else 0
    reader = read_journal(path)
    main = reader.threads[MAIN]
    plan = _recorded(reader.header, path)
    plan = replace(plan, remote=plan.remote if reader.remote is None else reader.remote)
    plan = replace(plan, **{**changes, "settings": _settings(plan, changes)})
    plan = replace(plan, world=plan.world or _world_again(reader.header.get("world"), plan.window, reader.compacted))
    policy, settings = policy_of(plan, window_of(plan))
    same = plan.policy == reader.header.get("policy") and bool(main.running)
    start, begun = main.buffer, tuple(main.begun)
    if task:
        undone = (result_of(call, INTERRUPTED if call.id in begun else UNDONE) for call in open_calls(start))
        start = start.with_messages((*start.messages, *undone))
    recorded = main.thread()
    requests = recorded.requests
    last = requests[-1] if requests else None
    held = ResumePoint(
        turn=main.turn,
        usage=last.usage if last is not None else None,
        finish=last.finish if last is not None else "",
        begun=begun,
        threads={name: thread.buffer for name, thread in reader.threads.items()},
        running={name: thread.running for name, thread in reader.threads.items()} if same else {},
        recorded=recorded,
        size=size,
    )
    running = policy.load(settings, main.running) if same else None
    return replace(plan, task=task, start=start, running=running, resumed=held)


def _settings(recorded: Plan, changes: Mapping[str, Any]) -> SettingPairs:
    """Those of the journal, and over them those that are changed; another policy knows nothing of the first one's."""
    new = tuple(changes.get("settings", ()))
    if changes.get("policy", recorded.policy) != recorded.policy:
        return new
    named = {key for key, _ in new}
    return (*(pair for pair in recorded.settings if pair[0] not in named), *new)


def _recorded(header: Mapping[str, Any], path: Path) -> Plan:
    settings = header.get("settings")
    window, most = header.get("window_set"), header.get("max_tokens")
    remote = header.get("remote")
    return Plan(
        task="",
        workspace=Path(text_at(header, "workspace") or "."),
        record=path,
        provider=text_at(header, "provider") or "simulated",
        model=text_at(header, "model"),
        policy=text_at(header, "policy") or "roku",
        settings=tuple((str(key), str(value)) for key, value in settings.items()) if isinstance(settings, dict) else (),
        window=window if type(window) is int else None,
        max_tokens=most if type(most) is int else None,
        remote=remote if isinstance(remote, bool) else None,
        memory=text_at(header, "memory"),
    )


def _world_again(recorded: Any, window: int | None, compacted: int) -> SimulatedServerState | None:
    """The same world, after so many remote compactions; None where the journal tells of none."""
    if not isinstance(recorded, Mapping):
        return None
    size, pause, left = recorded.get("window"), recorded.get("pause_s"), recorded.get("compactions")
    return SimulatedServerState(
        window or (size if type(size) is int else WINDOW),
        float(pause) if isinstance(pause, int | float) and 0 <= pause <= 10 else 0.0,
        compactions=max(0, left - compacted) if type(left) is int else None,
    )
