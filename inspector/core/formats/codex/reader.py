"""Read Codex rollouts: the main file and the files of its sub-agents, one thread per file."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from inspector.core.formats.codex.rollout import Rollout
from inspector.core.formats.reading import ProblemList
from inspector.core.prefix import Prefix
from inspector.core.session import BEGINS_LATE, Session, SideCall, Sign, Thread

NAME = "codex"


class CodexReader:
    """A `Reader` with one `Rollout` per file. `session` costs O(threads)."""

    def __init__(self) -> None:
        self._problems = ProblemList()
        self._rollouts: dict[str, Rollout] = {"": Rollout("", self._problems)}

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take one record. Malformed records become problems and never raise."""
        rollout = self._rollouts.get(file)
        if rollout is None:
            rollout = self._rollouts[file] = Rollout(file, self._problems)
        rollout.take(line, value)

    def session(self) -> Session:
        """Return the session so far."""
        main = self._rollouts[""]
        rollouts = tuple(self._rollouts.values())
        side_calls: list[SideCall] = []
        signs: list[Sign] = []
        for rollout in rollouts:
            side_calls += [
                replace(call, thread=_name(rollout)) for call in rollout.calls.side_calls
            ]
            signs += [replace(sign, thread=_name(rollout)) for sign in rollout.signs]
        threads = tuple(_thread(rollout, rollouts) for rollout in rollouts)
        client = f"Codex {main.meta.version}".rstrip() if main.meta else "Codex"
        session_id = main.meta.id if main.meta else ""
        return Session(
            format=NAME,
            threads=threads,
            problems=Prefix(self._problems),
            client=client,
            id=session_id,
            notes=_notes(main),
            side_calls=tuple(side_calls),
            signs=tuple(signs),
        )


def _thread(rollout: Rollout, rollouts: Sequence[Rollout]) -> Thread:
    parent = _parent(rollout, rollouts)
    return replace(
        rollout.calls.thread(),
        id=_name(rollout),
        title=rollout.meta.title if rollout.meta else "",
        parent=_name(parent) if parent else "",
        parent_call=_parent_call(rollout, parent),
        begins_late=rollout.headless,
    )


def _name(rollout: Rollout) -> str:
    if not rollout.file:
        return "main"
    return rollout.meta.id if rollout.meta and rollout.meta.id else rollout.file


def _parent(rollout: Rollout, rollouts: Sequence[Rollout]) -> Rollout | None:
    """Return the rollout of the parent thread; the main rollout if the parent was not read."""
    if not rollout.file:
        return None
    parent_id = rollout.meta.parent if rollout.meta else ""
    by_id = (other for other in rollouts if parent_id and other.meta and other.meta.id == parent_id)
    return next(by_id, rollouts[0])


def _parent_call(rollout: Rollout, parent: Rollout | None) -> str:
    """Return the id of the parent's tool call whose result names this thread; empty if there is none."""
    own = rollout.meta.id if rollout.meta else ""
    if parent is None or not own:
        return ""
    return next((call for call, output in parent.spawned if own in output), "")


def _notes(main: Rollout) -> tuple[str, ...]:
    notes = []
    if main.headless:
        notes.append(BEGINS_LATE)
    if main.meta and main.meta.parent:
        notes.append(f"This is the thread of a sub-agent, started by thread {main.meta.parent}.")
    return tuple(notes)
