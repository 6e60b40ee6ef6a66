"""The training form of trajectories: a list of whole conversations, one a call, each ending in its answer."""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.core.formats.calls import CallList, chat_call
from inspector.core.formats.format import Head
from inspector.core.session import HeldSession, Problem, Session, Thread
from inspector.core.untyped import objects_of, text_of

NAME = "atif-traces"
_RUN = ("run_id", "trial_name", "task")


def sniff(head: Head) -> float:
    """Sure where every row holds conversations: nobody else calls a list of messages so and names its trial."""
    rows = head.document if isinstance(head.document, list) else list(head.values)
    told = [row.get("conversations") if isinstance(row, Mapping) else None for row in rows[:8]]
    if not told or not all(isinstance(one, list) and one and isinstance(one[0], Mapping) for one in told):
        return 0.0
    if not all("role" in one[0] for one in told if one):
        return 0.0
    return 0.97 if any(key in rows[0] for key in (*_RUN, "episode", "agent")) else 0.9


def split(value: Any) -> Sequence[tuple[HeldSession, Any]]:
    """The calls of one run are a session."""
    runs: dict[str, list[Mapping[str, Any]]] = {}
    for row in value if isinstance(value, list) else [value]:
        if isinstance(row, Mapping):
            name = "/".join(str(row[key]) for key in _RUN if isinstance(row.get(key), str | int))
            runs.setdefault(name, []).append(row)
    return [(HeldSession(name, text_of(rows[0].get("task"))), rows) for name, rows in runs.items()]


class TracesReader:
    """A `Reader` of one run."""

    def __init__(self) -> None:
        self._calls = CallList(is_one=True)
        self._problems: list[Problem] = []
        self._agent = ""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take its conversations. Never raises for what they hold."""
        for row in sorted(value, key=_episode):
            told = row.get("conversations")
            messages = objects_of(told)
            if not messages or messages[-1].get("role") != "assistant":
                self._problems.append(Problem(line, "a conversation that does not end in an answer", "", file))
                continue
            self._agent = self._agent or text_of(row.get("agent"))
            model, time = text_of(row.get("model")), text_of(row.get("date"))
            self._calls.add(chat_call(messages[:-1], messages[-1], model=model, line=line, time=time))

    def session(self) -> Session:
        """The session."""
        threads, _ = self._calls.threads()
        return Session(NAME, threads or (Thread("main"),), tuple(self._problems), client=self._agent)


def _episode(row: Mapping[str, Any]) -> tuple[int, str]:
    told = str(row.get("episode", ""))
    digits = "".join(char for char in told if char.isdecimal())
    return int(digits[:9]) if digits else 0, told
