"""Read OpenHands' events (V1), which have a `kind`: one event per line, or a folder as the SDK stores a conversation.

In such a folder every event is a file, and the state file beside them holds the usage of each call by the id of its
answer. Files come in any order, and more are written while the agent works; the reader sorts them by time.

Events record usage as running sums, after each call and before the event with its answer. The increase of a sum is the
usage of that call. Each sum has the name that the application gave to the model. If no snapshot of the state names the
agent's sum, a usual name is assumed, or else the name of the first call. Calls under other names, such as `condenser`,
are side calls. An answer with several tool calls is several events with one `llm_response_id`.
"""

from collections.abc import Mapping, Sequence
from operator import sub
from pathlib import PurePath
from typing import Any

from inspector.core.buffer import Prompt
from inspector.core.dialects.anthropic import read_block
from inspector.core.dialects.openai_chat import CHAT
from inspector.core.formats.format import FedValues, Head
from inspector.core.formats.growing import GrowingThread, measured
from inspector.core.formats.reading import ProblemList
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.message import Message, Opaque, Part, Text, Thinking
from inspector.core.session import Session
from inspector.core.untyped import (
    count_of,
    fields_of,
    list_of,
    object_of,
    objects_of,
    text_at,
    text_of,
)
from inspector.core.usage import Usage

NAME = "openhands-v1"
STATE, EVENTS = "base_state.json", "events/event-*.json"
_KINDS = (
    "ActionEvent",
    "ObservationEvent",
    "MessageEvent",
    "SystemPromptEvent",
    "Condensation",
    "CondensationRequest",
    "AgentErrorEvent",
    "ConversationStateUpdateEvent",
    "UserRejectObservation",
    "PauseEvent",
)
_USUAL = ("agent", "default")
"""Names of the agent's model in the SDK's examples and in the SDK itself."""
_COUNTS = (
    "prompt_tokens",
    "completion_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)


def _is_state(value: Any) -> bool:
    """Is the value a state file: an agent with its model, and a workspace?"""
    return (
        bool(object_of(object_of(value, "agent"), "llm"))
        and "workspace" in value
        and "kind" not in value
    )


SIGNS = FileSigns(
    FileSign(_is_state, "document"),
    FileSign({"kind": "|".join(sorted(_KINDS)), "source": "<any>"}, "most"),
)


def companions(path: PurePath) -> Sequence[str]:
    """Return globs for the other files of the conversation's folder."""
    if path.name == STATE:
        return (EVENTS,)
    return (
        (PurePath(EVENTS).name, f"../{STATE}")
        if PurePath(path.parent.name, path.name).match(EVENTS)
        else ()
    )


def is_companion(head: Head, session: Session) -> bool:
    """Is the file an event or a state? A folder holds only one conversation."""
    del session
    return SIGNS(head) > 0


def read(fed: FedValues) -> Session:
    """Read the events in the order of their lines, or the files of a folder in the order of their times."""
    log = _EventLog()
    states = [value for _, value, _ in fed if _is_state(value)]
    for state in states:
        log.take_state(state)
    events = [row for row in fed if not _is_state(row[1])]
    if states or any(file for _, _, file in fed):
        events.sort(key=lambda row: (text_at(row[1], "timestamp"), row[2]))
    for line, value, file in events:
        log.take(line, value, file)
    return log.session()


class _EventLog:
    """Appends events to a thread."""

    def __init__(self) -> None:
        self._thread = GrowingThread()
        self._problems = ProblemList()
        self._sums: dict[str, tuple[int, ...]] = {}
        self._own = ""
        """Name of the agent's usage sums; empty while unknown."""
        self._counted: tuple[Usage, str, str, int] | None = None
        """Usage, model, time and line of a call whose answer was not read yet; None if there is none."""
        self._used: dict[str, tuple[str, Usage, str, int | None]] = {}
        """Name, usage, model and window from a state, by answer id, until the event of the answer is read."""
        self._id = ""
        self._answer = ""
        self._events: list[tuple[str, str]] = []

    def take(self, line: int, value: Any, file: str) -> None:
        """Take the next event of the conversation."""
        if not isinstance(value, Mapping) or not isinstance(kind := value.get("kind"), str):
            self._problems.note(line, "not an event", value, file)
            return
        name = text_at(value, "id") or f"L{line}"
        time = text_at(value, "timestamp")
        before = self._thread.view()
        match kind:
            case "SystemPromptEvent":
                self._take_prompt(value)
            case "MessageEvent":
                self._take_message(value, name, line, time)
            case "ActionEvent":
                self._take_action(value, name, line, time)
            case "ConversationStateUpdateEvent":
                self._take_sums(value, line, time)
            case "Condensation":
                self._condense(value, name, line, time)
            case "ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation":
                self._take_result(value, name, line, time)
        if (now := self._thread.view()).stretch is before.stretch and now.length > before.length:
            self._events.append((name, now.tail(before.length)[0].id))

    def take_state(self, state: Mapping[str, Any]) -> None:
        """Take the state file beside the events: the agent's model, and the usage of each call."""
        self._id = text_at(state, "id")
        llm = object_of(object_of(state, "agent"), "llm")
        self._own, self._thread.model = text_at(llm, "usage_id"), text_at(llm, "model")
        for name, metrics in object_of(object_of(state, "stats"), "usage_to_metrics").items():
            for row in objects_of(fields_of(metrics).get("token_usages")):
                usage = _usage(*(count_of(row.get(key)) for key in _COUNTS))
                if (answer := text_at(row, "response_id")) and measured(usage):
                    self._used[answer] = (
                        name,
                        usage,
                        text_at(row, "model"),
                        count_of(row.get("context_window")) or None,
                    )

    def _take_prompt(self, value: Mapping[str, Any]) -> None:
        tools = value.get("tools")
        system = value.get("system_prompt")
        static_text = text_of(system) or text_at(system, "text")
        dynamic_text = text_at(value.get("dynamic_context"), "text")
        text = "\n\n".join(filter(None, (static_text, dynamic_text)))
        definitions = CHAT.prompt({"tools": tools}).tools if isinstance(tools, list) else None
        self._thread.prompt = Prompt(text or None, definitions)

    def _take_message(self, value: Mapping[str, Any], name: str, line: int, time: str) -> None:
        wire = object_of(value, "llm_message") or {
            "role": value.get("source"),
            "content": text_of(value.get("content")),
        }
        if value.get("source") == "agent":
            self._call(text_of(value.get("llm_response_id")) or name, line, time)
        more = value.get("extended_content")
        content = wire.get("content")
        if isinstance(more, list) and isinstance(content, list):
            wire = {**wire, "content": [*content, *more]}
        self._thread.hear(CHAT, [wire], name, line, time)

    def _take_action(self, value: Mapping[str, Any], name: str, line: int, time: str) -> None:
        """Take one tool call of an answer. The first tool call of an answer also adds the model call."""
        answer = text_of(value.get("llm_response_id")) or name
        call = object_of(value, "tool_call")
        parts: list[Part] = []
        if answer != self._answer:
            self._call(answer, line, time)
            blocks = [read_block(dict(block)) for block in objects_of(value.get("thinking_blocks"))]
            thought = text_of(value.get("reasoning_content"))
            parts += blocks or ([Thinking(thought)] if thought else [])
            parts += _texts(value.get("thought"), text_of(value.get("reasoning_content")))
        wire = {
            "id": value.get("tool_call_id"),
            "function": {"name": value.get("tool_name"), **_function(call)},
        }
        for message in CHAT.read({"role": "assistant", "tool_calls": [wire]}, name, line, time):
            parts += message.parts
        self._thread.say(
            [
                Message(
                    name,
                    role="assistant",
                    parts=tuple(parts),
                    together=answer,
                    line=line,
                    time=time,
                )
            ]
        )

    def _call(self, answer: str, line: int, time: str) -> None:
        """Add the model call of an answer, with the usage reported last or recorded in the state."""
        usage, model, when, _ = self._counted or (None, "", time, 0)
        if answer in self._used:
            _, usage, model, window = self._used.pop(answer)
            self._thread.window = window or self._thread.window
        self._counted, self._answer = None, answer
        self._thread.call(usage, model or self._thread.model, when, "", line)

    def _take_result(self, value: Mapping[str, Any], name: str, line: int, time: str) -> None:
        observation = object_of(value, "observation")
        content = (
            observation.get("content")
            if observation
            else value.get("error") or value.get("rejection_reason")
        )
        call = text_of(value.get("tool_call_id"))
        self._answer = ""
        self._thread.hear(
            CHAT, [{"role": "tool", "tool_call_id": call, "content": content}], name, line, time
        )

    def _take_sums(self, value: Mapping[str, Any], line: int, time: str) -> None:
        """Take the running sums by purpose. Their increase is the usage of the call since the previous sums."""
        stats = object_of(value, "value")
        is_snapshot = value.get("key") == "full_state"
        if is_snapshot:
            self._own = (
                text_at(object_of(object_of(stats, "agent"), "llm"), "usage_id") or self._own
            )
            stats = object_of(stats, "stats")
        elif value.get("key") != "stats":
            return
        metrics = object_of(stats, "usage_to_metrics")
        for name, purpose in metrics.items():
            sums = object_of(purpose, "accumulated_token_usage")
            usage = self._growth(name, sums)
            if usage is None or is_snapshot:
                continue
            self._own = self._own or next((usual for usual in _USUAL if usual in metrics), name)
            model = text_of(sums.get("model")) or text_at(purpose, "model_name")
            if name == self._own:
                self._thread.window = count_of(sums.get("context_window")) or self._thread.window
                self._note_usage(usage, model, line, time)
            else:
                self._thread.aside(name, usage, model, line, time)

    def _growth(self, name: str, sums: Mapping[str, Any]) -> Usage | None:
        """Return the increase of the sums of a purpose; None if there was no call."""
        current = tuple(count_of(sums.get(key)) for key in _COUNTS)
        former = self._sums.get(name, (0,) * len(_COUNTS))
        self._sums[name] = current
        prompt, output, read, written, reasoning = map(sub, current, former)
        if prompt <= 0 or min(output, read, written) < 0:
            return None
        return _usage(prompt, output, read, written, reasoning)

    def _note_usage(self, usage: Usage, model: str, line: int, time: str) -> None:
        """Keep a usage for the next answer. A usage still kept has no answer in the file and becomes a side call."""
        if self._counted is not None:
            lost_usage, lost_model, lost_time, lost_line = self._counted
            self._thread.aside("answer not in file", lost_usage, lost_model, lost_line, lost_time)
        self._counted = (usage, model, time, line) if measured(usage) else None

    def _condense(self, value: Mapping[str, Any], name: str, line: int, time: str) -> None:
        if used := self._used.pop(text_of(value.get("llm_response_id")), None):
            self._thread.aside(used[0], used[1], used[2], line, time)
        forgotten = {
            event_id
            for event_id in list_of(value.get("forgotten_event_ids"))
            if isinstance(event_id, str)
        }
        gone = {message for event, message in self._events if event in forgotten}
        summary = text_of(value.get("summary"))
        offset = value.get("summary_offset")
        self._thread.condense(gone, summary, offset, name, line, time)

    def session(self) -> Session:
        """Return the session. Calls that only the state records become side calls."""
        for name, usage, model, _ in self._used.values():
            self._thread.aside("answer not in file" if name == self._own else name, usage, model)
        thread, sides = self._thread.thread(), self._thread.side_calls
        return Session(
            NAME, (thread,), self._problems, client="OpenHands", id=self._id, side_calls=sides
        )


def _usage(prompt: int, output: int, read: int, written: int, reasoning: int) -> Usage:
    """Return a usage. Cached tokens are part of the prompt unless they exceed it."""
    rest = prompt - read - written
    return Usage(
        rest if rest >= 0 else prompt,
        cache_read=max(0, read),
        cache_write=max(0, written),
        output=output,
        reasoning=max(0, reasoning),
    )


def _texts(thought: Any, reasoning: str) -> list[Part]:
    """Return the texts of an answer, without the reasoning that they repeat."""
    texts: list[Part] = []
    for block in list_of(thought):
        text = text_at(block, "text")
        if reasoning and reasoning.strip() in text:
            text = (
                text.replace(reasoning, "").replace("<think>", "").replace("</think>", "").strip()
            )
        if text:
            texts.append(Text(text))
        elif not isinstance(block, Mapping):
            texts.append(Opaque("", block))
    return texts


def _function(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return name and arguments of a tool call in the form of Chat Completions or of the Responses API."""
    inner = object_of(call, "function") or call
    return {key: inner[key] for key in ("name", "arguments") if key in inner}
