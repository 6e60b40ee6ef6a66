"""Read OpenClaw trajectories: the context compiled for each run, and all messages at the end of the run.

The calls of a run are the answers that its last event holds and its first event does not, each with its own usage. The
usage of the run is their sum. An event above 262,144 bytes is a stub, which records nothing of the run but that sum.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from inspector.core.buffer import NOT_IN_FILE, Prompt, Tool, View
from inspector.core.formats.growing import GrowingThread
from inspector.core.formats.pi.messages import FAILED, read_message, read_usage
from inspector.core.formats.reading import ProblemList, RecordPosition, iso_time
from inspector.core.identity import hash_of
from inspector.core.message import Message
from inspector.core.prefix import Prefix
from inspector.core.session import Compaction, Session
from inspector.core.untyped import count_of, object_of, objects_of, text_of

TRAJECTORY = "openclaw-trajectory"
SCHEMA = "openclaw-trajectory"
_RUNTIME_CONTEXT = "openclaw.runtime-context"
"""Type of the message in which OpenClaw describes its runtime. It stays in the file but is sent with one prompt only:
the client removes all but the latest (`stripHistoricalRuntimeContextCustomMessages`)."""


class TrajectoryReader:
    """The `Reader` of OpenClaw trajectories."""

    def __init__(self) -> None:
        self._about: Mapping[str, Any] = {}
        self._thread = GrowingThread()
        self._laid: list[Message] = []
        """The messages in the buffer now."""
        self._known: dict[str, Message] = {}
        self._problems = ProblemList()
        self._run: tuple[int, View] | None = None
        """Number of answers before the open run, and the buffer of its first call; None if no run is open."""
        self._runs = self._stubs = self._hidden = 0
        """Number of runs; number of runs that end in stubs; input tokens reported for the runs with stubs."""
        self._stubbed = False

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take one event. Malformed events become problems and never raise."""
        kind, data = (
            (value.get("type"), value.get("data")) if isinstance(value, dict) else (None, None)
        )
        if not isinstance(kind, str) or not isinstance(data, dict):
            self._problems.note(line, "not an event of a trajectory", value, file)
            return
        self._about = self._about or value
        self._thread.model = text_of(value.get("modelId")) or self._thread.model
        where = RecordPosition(f"L{line}", line, text_of(value.get("ts")))
        if kind == "context.compiled":
            self._begin(data, where)
        elif kind == "model.completed":
            self._end(data, where)
        elif kind == "trace.artifacts" and self._stubbed:
            self._hidden += count_of(object_of(data, "usage").get("input"))

    def _begin(self, data: Mapping[str, Any], where: RecordPosition) -> None:
        self._runs += 1
        prompt, self._run = compiled_prompt(data), None
        if prompt is not NOT_IN_FILE:  # a stub holds no prompt, which has most likely not changed
            self._thread.prompt = prompt
        messages = data.get("messages")
        self._stubbed = not isinstance(messages, list)
        if isinstance(messages, list):
            question = {
                "role": "user",
                "content": [{"type": "text", "text": text_of(data.get("prompt"))}],
            }
            stand = [*messages, question] if data.get("prompt") else messages
            answers = sum(map(_is_answer, messages))
            self._lay(without_stale(stand, answers, _is_answer), where)
            self._run = answers, self._thread.view()

    def _end(self, data: Mapping[str, Any], where: RecordPosition) -> None:
        """Add the calls of the run, or only its first call if the end of the run is a stub."""
        run, self._run = self._run, None
        snapshot = data.get("messagesSnapshot")
        if isinstance(snapshot, list):
            answers = run[0] if run else sum(message.role == "assistant" for message in self._laid)
            for message, value in self._lay(without_stale(snapshot, answers, _is_answer), where):
                if _is_answer(value):
                    answers -= 1
                    if answers < 0:
                        self._call(value, self._thread.view(message), where)
        else:
            self._stubs += 1
            self._stubbed = True
            if run is not None:
                self._thread.call(
                    None, self._thread.model, where.time, line=where.line, sent=run[1]
                )

    def _call(self, value: Mapping[str, Any], view: View, where: RecordPosition) -> None:
        usage = read_usage(value)
        finish = text_of(value.get("stopReason"))
        if usage is None and finish in FAILED:
            return
        model = text_of(value.get("model")) or self._thread.model
        self._thread.call(usage, model, _at(value, where).time, finish, where.line, view)

    def _lay(
        self, values: Sequence[Any], where: RecordPosition
    ) -> list[tuple[int, Mapping[str, Any]]]:
        """Replace the buffer by these messages. O(values).

        Returns:
            Each value with the length of the buffer before it, in messages.
        """
        counted: Counter[str] = Counter()
        messages: list[Message] = []
        places: list[tuple[int, Mapping[str, Any]]] = []
        for value in values:
            if not isinstance(value, dict):
                continue
            places.append((len(messages), value))
            if not _is_failed(value) and (message := self._message(value, counted, where)).parts:
                messages.append(message)
        same = 0
        for old, new in zip(self._laid, messages, strict=False):
            if old is not new:
                break
            same += 1
        self._thread.become(messages, same, self._compaction(messages[same:], same, where))
        self._laid = messages
        return places

    def _message(
        self, value: Mapping[str, Any], counted: Counter[str], where: RecordPosition
    ) -> Message:
        """Return the message of a value: one object for equal contents, because values have no id and times change."""
        names = ("role", "content", "summary", "toolCallId", "customType")
        name = hash_of([value.get(key) for key in names], size=6)
        counted[name] += 1
        name = f"{name}.{counted[name]}" if counted[name] > 1 else name
        message = self._known.get(name)
        if message is None:
            message = self._known[name] = read_message(value, _at(value, where)._replace(id=name))
            if message.parts:
                self._thread.note([message])
        return message

    def _compaction(
        self, new: Sequence[Message], same: int, where: RecordPosition
    ) -> Compaction | None:
        summary = next(
            (message for message in new if message.summary and message.line == where.line), None
        )
        if summary is None:
            return None
        old = {message.id for message in self._laid}
        kept_count = same + sum(message.id in old for message in new)
        return Compaction(
            before_request=0,
            trigger="",
            summary=summary,
            kept=kept_count,
            line=where.line,
            time=where.time,
        )

    def session(self) -> Session:
        """Return the session so far."""
        return Session(
            format=TRAJECTORY,
            threads=(self._thread.thread(),),
            problems=Prefix(self._problems),
            client="OpenClaw",
            id=text_of(self._about.get("sessionId")),
            notes=tuple(self._notes()),
        )

    def _notes(self) -> list[str]:
        if not self._stubs:
            return []
        reported = f"; their calls reported {self._hidden:,} tokens in" if self._hidden else ""
        return [
            f"{self._stubs:,} of {self._runs:,} runs end without their events: OpenClaw leaves out events "
            "above its limit. "
            f"What they sent is not in this file{reported}."
        ]


def compiled_prompt(data: Any) -> Prompt:
    """Return the system prompt and the tools of a run; NOT_IN_FILE if the event is a stub."""
    if not isinstance(data, dict) or not isinstance(system := data.get("systemPrompt"), str):
        return NOT_IN_FILE
    tools = data.get("tools")
    if not isinstance(tools, list):
        return Prompt(system)
    return Prompt(
        system, tuple(Tool(text_of(tool.get("name")), tool) for tool in objects_of(tools))
    )


def _at(value: Mapping[str, Any], where: RecordPosition) -> RecordPosition:
    """Return the position with the message's own time, if it has one."""
    return where._replace(time=iso_time(value.get("timestamp")) or where.time)


def _is_answer(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and value.get("role") == "assistant"
        and value.get("provider") != "openclaw"
    )


def _is_failed(value: Mapping[str, Any]) -> bool:
    return value.get("role") == "assistant" and value.get("stopReason") in FAILED


def is_runtime_context(value: Any) -> bool:
    """Is this message or record a runtime context, which is sent with one prompt only?"""
    return isinstance(value, dict) and value.get("customType") == _RUNTIME_CONTEXT


def without_stale(
    values: Sequence[Any], answers: int, is_answer: Callable[[Any], bool]
) -> list[Any]:
    """Return the messages that a run sends: without the runtime contexts of earlier prompts. O(values).

    Args:
        values: The messages, up to the end of the run at most.
        answers: Number of answers before the run.
        is_answer: Returns whether a value is an answer of the model.
    """
    prompt = -1
    for n, value in enumerate(values):
        answers -= is_answer(value)
        if answers < 0:
            break
        if isinstance(value, dict) and value.get("role") == "user":
            prompt = n
    first, last = prompt, prompt + 1
    while first > 0 and is_runtime_context(values[first - 1]):
        first -= 1
    while last < len(values) and is_runtime_context(values[last]):
        last += 1
    return [
        value
        for n, value in enumerate(values)
        if first <= n < last or not is_runtime_context(value)
    ]
