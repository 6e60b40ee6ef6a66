"""Read OpenHands' log of completions: one file per call, with the whole buffer, the tools, the window and the response.

The files of one conversation are in one folder, and their names end in the time of the call.
"""

import re
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import PurePath
from typing import Any

from inspector.core.dialects.openai_chat import CHAT
from inspector.core.formats.calls import CallList, chat_call
from inspector.core.formats.format import FedValues, Head
from inspector.core.formats.payload.exchange import BodyPair
from inspector.core.formats.reading import ProblemList, iso_time
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.identity import hash_of
from inspector.core.session import Session, Thread
from inspector.core.untyped import count_of, list_of, object_of, text_of

NAME = "openhands-log"
_TIMED = re.compile(r"(.+-)\d{9,}(?:\.\d+)?(?:-\w+)?")
_GLOB = re.compile(r"([][*?])")


_CALL = {"messages": "<any>", "response": "<any>", "cost": "<any>"}
SIGNS = FileSigns(
    FileSign({**_CALL, "latency_sec": "<any>"}, "document"),
    FileSign({**_CALL, "kwargs": "<any>"}, "document"),
)


def _is_call(value: Any) -> bool:
    keys, others = ("messages", "response", "cost"), ("latency_sec", "kwargs")
    is_object = isinstance(value, Mapping)
    return is_object and all(key in value for key in keys) and any(key in value for key in others)


def companions(path: PurePath) -> Sequence[str]:
    """Return a glob for the other calls of the same model."""
    timed = _TIMED.fullmatch(path.stem)
    return (_GLOB.sub(r"[\1]", timed[1]) + "*.json",) if timed else ()


def is_companion(head: Head, session: Session) -> bool:
    """Does the call begin with the same two messages as the session?"""
    return _is_call(head.document) and _start(head.document) == session.id


def _start(value: Mapping[str, Any]) -> str:
    messages = value.get("messages")
    return hash_of(messages[:2] if isinstance(messages, list) else None, size=8)


def read(fed: FedValues) -> Session:
    """Read one call from each file, in the order of their times."""
    problems = ProblemList()
    calls = CallList(is_one=True)
    rows: list[tuple[float, str, Mapping[str, Any]]] = []
    for line, value, file in fed:
        if isinstance(value, Mapping):
            when = value.get("timestamp")
            rows.append((float(when) if isinstance(when, int | float) else 0.0, file, value))
        else:
            problems.note(line, "not the log of a call", value, file)
    for _, _, value in sorted(rows, key=itemgetter(0, 1)):
        calls.add(_call(value))
    name = _start(rows[0][2]) if rows else ""
    return Session(
        NAME, calls.threads()[0] or (Thread("main"),), problems, client="OpenHands", id=name
    )


def _call(value: Mapping[str, Any]) -> BodyPair:
    """Return the call of a file. A model without function calling gets its tools in the prompt, so none are listed."""
    response = object_of(value, "response")
    raw = value.get("raw_response")
    sent = object_of(value, "kwargs").get("tools") if "kwargs" in value else value.get("tools")
    written = isinstance(raw, Mapping) or "raw_messages" in value
    answered = CHAT.answer(raw if isinstance(raw, Mapping) else response)
    messages = list_of(value.get("messages"))
    answer = answered[0] if answered else None
    tools = [] if written else list_of(sent)
    time = iso_time(value.get("timestamp"), unit=1)
    window = count_of(value.get("context_window")) or None
    return chat_call(
        messages,
        answer,
        CHAT.usage(response.get("usage")),
        tools=tools,
        model=text_of(response.get("model")),
        finish=CHAT.finish(response),
        time=time,
        window=window,
    )
