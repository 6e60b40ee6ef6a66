"""A conversation of OpenHands (V1) as its SDK keeps it: a folder with a file an event, and the state beside them.

The state holds what each call used, by the name of its answer. The files come in any order, and more while the agent
works; they are put in the order of their times.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from inspector.core.formats.format import BuiltReader, Head
from inspector.core.formats.openhands import v1
from inspector.core.session import Session
from inspector.core.untyped import object_of, text_at

STATE, EVENTS = "base_state.json", "events/event-*.json"


def sniff(head: Head) -> float:
    """Sure of the state; of events as `v1` is."""
    return 1.0 if is_state(head.document) else v1.sniff(head)


def is_state(value: Any) -> bool:
    """An agent with its model, in a workspace."""
    return bool(object_of(object_of(value, "agent"), "llm")) and "workspace" in value and "kind" not in value


def companions(path: PurePath) -> Sequence[str]:
    """The other files of the folder."""
    if path.name == STATE:
        return (EVENTS,)
    return (PurePath(EVENTS).name, f"../{STATE}") if PurePath(path.parent.name, path.name).match(EVENTS) else ()


def is_companion(head: Head, session: Session) -> bool:
    """They lie alone in a folder of their own."""
    del session
    return sniff(head) > 0


class OpenHandsFolderReader(BuiltReader):
    """A `Reader`: of lines as they come, or of the files of a folder."""

    def __init__(self) -> None:
        super().__init__()
        self._log = v1.EventLogReader()
        self._first: tuple[int, Any, str] | None = None
        """What the file that was opened begins with: where others come it is one of them."""
        self._states: list[Mapping[str, Any]] = []
        self._events: list[tuple[str, str, int, Any]] = []
        """By time."""

    def _take(self, line: int, value: Any, file: str) -> None:
        if not file and not self._states and (self._first is not None or not is_state(value)):
            self._first = self._first or (line, value, file)
            self._log.feed(line, value, file)
            return
        if self._first is not None:
            self._keep(*self._first)
            self._first = None
        self._keep(line, value, file)

    def _keep(self, line: int, value: Any, file: str) -> None:
        if is_state(value):
            self._states.append(value)
        else:
            self._events.append((text_at(value, "timestamp"), file, line, value))

    def _build(self) -> Session:
        if not self._states and not self._events:
            return self._log.session()
        log = v1.EventLogReader()
        for state in self._states:
            log.take_state(state)
        for _, file, line, value in sorted(self._events, key=lambda one: one[:2]):
            log.feed(line, value, file)
        return log.session()
