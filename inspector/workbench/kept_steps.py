"""Keep the steps of a file while another file is open, and restore them when the file is opened again.

They are kept for one run of the program. A tree is restored only if the file still holds the messages that the tree
starts from: after a change of the file, old steps would show content that the file no longer has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from inspector.core.session import Session
from inspector.core.words import plural
from inspector.workbench.state import State
from inspector.workbench.steps import Origin, Steps

FILES = 8
"""Largest number of files whose steps are kept, because the messages that the steps start from stay in memory."""
Trees: TypeAlias = Mapping[Origin, Steps]


@dataclass(frozen=True, slots=True)
class FileSteps:
    """The steps on one file, and the thread and request at which the user left it."""

    trees: Trees
    thread_id: str
    at: int | None
    failures: Sequence[str] = ()
    """Why steps that came with the file could not be run on it."""


class KeptSteps:
    """The steps of files that were open earlier, by path."""

    def __init__(self) -> None:
        self._files: dict[str, FileSteps] = {}
        self.last_note = ""
        """The sentence about the file that was left last; empty if it had no steps."""

    def leave(self, state: State) -> str:
        """Keep the steps of the open file. Return a sentence about them; empty if there are none to keep."""
        self.last_note = ""
        session = state.session
        trees = {origin: steps for origin, steps in state.trees.items() if steps.own}
        if session is None or not session.path or not trees:
            return ""
        self._files.pop(session.path, None)
        while len(self._files) >= FILES:
            del self._files[next(iter(self._files))]
        self._files[session.path] = FileSteps(MappingProxyType(trees), state.thread_id, state.at)
        count = plural(_count(trees), "step")
        name = Path(session.path).name
        self.last_note = (
            f"Kept {count} on {name} until the program ends. Open the file again to see them."
        )
        return self.last_note

    def put(self, path: str, steps: FileSteps | None) -> None:
        """Keep steps that came with the file at `path`, unless the user's own steps on it are kept already."""
        if steps is not None:
            self._files.setdefault(path, steps)

    def of(self, path: str) -> FileSteps | None:
        """Return the steps that are kept for the file at `path`."""
        return self._files.get(path)

    def forget(self, path: str) -> None:
        """Drop the kept steps of a file that is open again."""
        self._files.pop(path, None)


def restore_steps(state: State, before: FileSteps, stays: bool) -> State:
    """Give the open file its steps back, and return to the request at which the user left it.

    Args:
        state: The current state.
        before: The steps, thread and request that were kept.
        stays: The user has moved since the file was opened again, so the current request is not changed.
    """
    session = state.session
    if session is None:
        return state
    valid = {origin: steps for origin, steps in before.trees.items() if _has_start(session, steps)}
    state = replace(
        state, trees=MappingProxyType({**valid, **state.trees}), note=_note(session, before, valid)
    )
    if stays or not valid:
        return state
    return replace(state, thread_id=before.thread_id, at=before.at)


def _has_start(session: Session, steps: Steps) -> bool:
    """Does the file still hold the request and the messages that the steps start from? O(messages).

    Messages that are only in the policy's own buffer are ignored: the file never held them.
    """
    thread = next((thread for thread in session.threads if thread.id == steps.thread_id), None)
    if thread is None or (steps.request is not None and steps.request >= len(thread.requests)):
        return False
    recorded = {message.id: message for message in thread.messages}
    shared = [message for message in steps.origin.messages if message.id in recorded]
    return bool(shared) and all(message == recorded[message.id] for message in shared)


def _note(session: Session, before: FileSteps, valid: Trees) -> str:
    name = Path(session.path).name
    back = _count(valid)
    lost = _count(before.trees) - back
    sentences = []
    if back:
        sentences.append(f"Restored {plural(back, 'step')} on {name}.")
    if lost:
        sentences.append(f"Dropped {plural(lost, 'step')} on {name}, because the file has changed.")
    sentences += [f"Steps of {name} were left out: {failure}" for failure in before.failures]
    return " ".join(sentences)


def _count(trees: Trees) -> int:
    return sum(steps.own for steps in trees.values())
