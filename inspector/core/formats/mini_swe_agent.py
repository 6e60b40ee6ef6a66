"""Read mini-swe-agent's trajectories: one conversation in order, every answer with the provider's whole response.

Text answers (version 1), tool calls (version 2) and answers of the Responses API are in one list of messages. The bash
tool that version 2 offers is not in the file. The last message, with the role `exit`, was not sent.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from inspector.core.buffer import Prompt
from inspector.core.dialects.dialect import Dialect
from inspector.core.dialects.openai_chat import CHAT
from inspector.core.dialects.openai_responses import RESPONSES
from inspector.core.formats.format import Contents, DocumentReader, FedValues, Format
from inspector.core.formats.growing import GrowingThread, measured, split_prompt
from inspector.core.formats.reading import ProblemList, iso_time
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.session import Session
from inspector.core.untyped import object_of, text_of

NAME = "mini-swe-agent"


_SIGNS = FileSigns(
    FileSign({"messages": [], "trajectory_format": f"{NAME}*"}, "document"),
    FileSign({"messages": [], "info": {"mini_version": "<any>"}}, "document", sure=0.95),
)


def read(fed: FedValues) -> Session:
    """Read the session from the document."""
    thread = GrowingThread()
    problems = ProblemList()
    client = "mini-swe-agent"
    name = ""
    notes = []
    for line, value, file in fed:
        messages = value.get("messages") if isinstance(value, Mapping) else None
        if not isinstance(messages, list):
            problems.note(line, "not a trajectory", value, file)
            continue
        info = object_of(value, "info")
        client = f"mini-swe-agent {text_of(info.get('mini_version'))}".rstrip()
        name = text_of(value.get("instance_id"))
        thread.model = text_of(object_of(object_of(info, "config"), "model").get("model_name"))
        system, rest = split_prompt(messages)
        thread.prompt = Prompt(system)
        for n, message in enumerate(rest, len(messages) - len(rest)):
            if isinstance(message, Mapping):
                _take(thread, line, message, f"m{n}")
            else:
                problems.note(line, "not a message", message, file)
        if error := text_of(info.get("exception_str")):
            notes.append(f"The run ended with an error: {error[:200]}")
    return Session(NAME, (thread.thread(),), problems, client=client, id=name, notes=tuple(notes))


def _take(thread: GrowingThread, line: int, message: Mapping[str, Any], name: str) -> None:
    if message.get("role") == "exit":
        return
    extra = object_of(message, "extra")
    time = iso_time(extra.get("timestamp"), unit=1)
    whole = message.get("object") == "response"
    dialect: Dialect = RESPONSES if whole or message.get("type") == "function_call_output" else CHAT
    if whole or message.get("role") == "assistant":
        response = message if whole else object_of(extra, "response")
        by: Dialect = RESPONSES if whole or RESPONSES.is_response(response) else CHAT
        usage = measured(by.usage(response.get("usage")))
        model = text_of(response.get("model")) or thread.model
        thread.call(usage, model, time, by.finish(response), line)
    thread.hear(dialect, RESPONSES.answer(message) if whole else (message,), name, line, time)


FORMAT = Format(
    NAME,
    title="mini-swe-agent trajectory",
    sniff=_SIGNS,
    start=partial(DocumentReader, read),
    grows=True,
    contents=Contents(tokens="yes", system="yes", more="`*.traj.json`"),
)
