"""mini-swe-agent's trajectories: one conversation in order, every answer with the provider's whole response.

Text answers (version 1), tool calls (2) and answers of the Responses API stand in one list of messages. The bash tool
that version 2 sends along is not in the file. The last message, of the role `exit`, was not sent.
"""

from collections.abc import Mapping
from typing import Any

from inspector.core.buffer import Prompt
from inspector.core.dialects.dialect import Dialect
from inspector.core.dialects.openai_chat import CHAT
from inspector.core.dialects.openai_responses import RESPONSES
from inspector.core.formats.excerpt import excerpt
from inspector.core.formats.format import Contents, Format, Head
from inspector.core.formats.growing import GrowingThread, measured, split_prompt
from inspector.core.formats.times import iso_time
from inspector.core.session import Problem, Session
from inspector.core.untyped import object_of, text_of

NAME = "mini-swe-agent"


def sniff(head: Head) -> float:
    """Sure where the file names its format, or the program that wrote it."""
    value = head.document
    if not isinstance(value, Mapping) or not isinstance(value.get("messages"), list):
        return 0.0
    if text_of(value.get("trajectory_format")).startswith(NAME):
        return 1.0
    return 0.95 if "mini_version" in object_of(value, "info") else 0.0


class MiniSweAgentReader:
    """A `Reader`: the document is fed whole."""

    def __init__(self) -> None:
        self._thread = GrowingThread()
        self._problems: list[Problem] = []
        self._notes: list[str] = []
        self._client, self._id = "mini-swe-agent", ""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take the document. Never raises for what it holds."""
        messages = value.get("messages") if isinstance(value, Mapping) else None
        if not isinstance(messages, list):
            self._problems.append(Problem(line, "not a trajectory", excerpt(value), file))
            return
        info = object_of(value, "info")
        self._client = f"mini-swe-agent {text_of(info.get('mini_version'))}".rstrip()
        self._id = text_of(value.get("instance_id"))
        self._thread.model = text_of(object_of(object_of(info, "config"), "model").get("model_name"))
        system, rest = split_prompt(messages)
        self._thread.prompt = Prompt(system)
        for n, message in enumerate(rest, len(messages) - len(rest)):
            if isinstance(message, Mapping):
                self._take(line, message, f"m{n}")
            else:
                self._problems.append(Problem(line, "not a message", excerpt(message), file))
        if error := text_of(info.get("exception_str")):
            self._notes.append(f"The run ended with an error: {error[:200]}")

    def _take(self, line: int, message: Mapping[str, Any], name: str) -> None:
        if message.get("role") == "exit":
            return
        extra = object_of(message, "extra")
        time = iso_time(extra.get("timestamp"), 1)
        whole = message.get("object") == "response"
        dialect: Dialect = RESPONSES if whole or message.get("type") == "function_call_output" else CHAT
        if whole or message.get("role") == "assistant":
            response = message if whole else object_of(extra, "response")
            self._call(RESPONSES if whole else _dialect_of(response), response, time, line)
        self._thread.hear(dialect, RESPONSES.answer(message) if whole else (message,), name, line, time)

    def _call(self, dialect: Dialect, response: Mapping[str, Any], time: str, line: int) -> None:
        usage = measured(dialect.usage(response.get("usage")))
        finish = dialect.finish(response)
        self._thread.call(usage, text_of(response.get("model")) or self._thread.model, time, finish, line)

    def session(self) -> Session:
        """The session."""
        threads = (self._thread.thread(),)
        return Session(NAME, threads, tuple(self._problems), "", self._client, "", self._id, tuple(self._notes))


def _dialect_of(response: Mapping[str, Any]) -> Dialect:
    return RESPONSES if RESPONSES.is_response(response) else CHAT


FORMAT = Format(
    NAME,
    "mini-swe-agent trajectory",
    sniff,
    MiniSweAgentReader,
    grows=True,
    contents=Contents(tokens="yes", system="yes", more="`*.traj.json`"),
)
