"""Read tau-bench's results: a list of trials of tasks, one conversation each.

The file records neither the tokens of a call nor the tools that were offered.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from inspector.core.buffer import Prompt
from inspector.core.dialects.openai_chat import CHAT
from inspector.core.formats.format import Contents, FedValues, Format
from inspector.core.formats.growing import GrowingThread, split_prompt
from inspector.core.formats.many import ManyReader
from inspector.core.formats.reading import ProblemList
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.session import HeldSession, Session
from inspector.core.untyped import list_of, object_of, objects_of, text_of

NAME = "tau-bench"


_TRIAL = {"task_id": "<any>", "traj": []}
_SIGNS = FileSigns(FileSign([_TRIAL], "document", sure=0.97), FileSign(_TRIAL, "every", sure=0.97))


def split_trials(value: Any) -> Sequence[tuple[HeldSession, Any]]:
    """Return each trial of a task as a session."""
    rows = objects_of(value if isinstance(value, list) else [value])
    return [
        (HeldSession(f"{row.get('task_id')}_trial_{row.get('trial', 0)}", _title(row)), row)
        for row in rows
    ]


def _title(row: Mapping[str, Any]) -> str:
    instruction = text_of(object_of(object_of(row, "info"), "task").get("instruction"))
    reward = row.get("reward")
    lead = (
        f"reward {reward:g}: "
        if isinstance(reward, int | float) and not isinstance(reward, bool)
        else ""
    )
    return f"{lead}{instruction}".partition("\n")[0][:80]


def read(fed: FedValues) -> Session:
    """Read one trial of a task."""
    thread = GrowingThread()
    problems = ProblemList()
    for line, value, _ in fed:
        system, rest = split_prompt(list_of(value.get("traj")))
        thread.prompt = Prompt(system)
        for n, message in enumerate(rest):
            if not isinstance(message, Mapping):
                problems.note(line, "not a message", message)
                continue
            if message.get("role") == "assistant":
                thread.call(None, line=line)
            thread.hear(CHAT, [message], f"m{n}", line)
    return Session(NAME, (thread.thread(),), problems, client="tau-bench")


FORMAT = Format(
    NAME,
    title="tau-bench result",
    sniff=_SIGNS,
    start=partial(ManyReader, NAME, split_trials, read),
    is_many=True,
    grows=True,
    contents=Contents(system="yes", more="a session a trial of a task"),
)
