"""Convert opencode's stored messages and their parts to ours, as opencode sends them.

An assistant message usually holds one step, in older versions several; each step is one model call. opencode stores a
tool call and its result as one part; here they become two messages.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.core.formats.reading import iso_time, with_reasoning
from inspector.core.jsontext import dumps
from inspector.core.message import (
    Image,
    Mark,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from inspector.core.untyped import list_of, object_of, text_under
from inspector.core.usage import Usage, is_absurd

CLEARED = "[Old tool result content cleared]"
INTERRUPTED = "[Tool execution was interrupted]"
QUESTION = "What did we do so far?"
BY_USER = "The following tool was executed by the user"
_PLAIN = ("text/plain", "application/x-directory")
"""MIME types of attached files whose content is in text parts."""
_SILENT = ("step-start", "step-finish", "patch", "snapshot", "agent", "retry")
SENT = ("text", "file", "reasoning", "tool", "compaction", "subtask")
KINDS = frozenset((*_SILENT, *SENT))


@dataclass(frozen=True, slots=True)
class ModelStep:
    """One model call of a stored message: its usage and its times."""

    before: int
    """Number of messages of the stored message that come before the answer of this call."""
    usage: Usage | None
    finish: str
    begun: int = 0
    """Time at which the call began, in ms since 1970; 0 if not recorded."""
    first: int = 0
    """Time of the first part of the answer, in ms since 1970; 0 if not recorded."""
    ended: int = 0
    """Time of the complete answer, before its tools run, in ms since 1970; 0 if not recorded."""

    @property
    def first_byte_ms(self) -> float | None:
        """Time in ms from the beginning of the call to the first part of its answer; None if not recorded."""
        return float(self.first - self.begun) if 0 < self.begun <= self.first else None

    @property
    def elapsed_ms(self) -> float | None:
        """Time in ms from the beginning of the call to its end; None if not recorded."""
        return float(self.ended - self.begun) if 0 < self.begun <= self.ended else None


@dataclass(frozen=True, slots=True)
class MessageUnit:
    """A message that opencode stored, as neutral messages, with the model calls recorded in it."""

    info: Mapping[str, Any]
    messages: tuple[Message, ...] = ()
    steps: tuple[ModelStep, ...] = ()
    sent: bool = True
    """True if later calls send the messages. A failed answer is not sent again."""
    pruned: tuple[tuple[int, str], ...] = ()
    """For each tool result that was cleared, the time in ms since 1970 and the id of its message."""
    marker: Mapping[str, Any] = field(default_factory=dict)
    """The part of a user's message that requests a compaction; empty if there is none."""


def read_opencode_user(info: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> MessageUnit:
    """Read a message of the user, or one that the client wrote in the user's name."""
    content: list[Part] = []
    is_typed = False
    for part in parts:
        read = _read_user_part(part)
        if read is not None:
            content.append(read)
            is_typed = is_typed or _is_typed(part)
    mark: Mark = "" if is_typed else "meta"
    message = Message(string(info, "id"), "user", tuple(content), mark=mark, time=time_of(info))
    markers = [part for part in parts if part.get("type") == "compaction"]
    return MessageUnit(info, (message,) if content else (), marker=markers[-1] if markers else {})


def _read_user_part(part: Mapping[str, Any]) -> Part | None:
    """Read a part of a user's message as it is sent; None if the part is not sent."""
    match part.get("type"):
        case "text":
            text = string(part, "text")
            return Text(text) if text and part.get("ignored") is not True else None
        case "file":
            return _file(part) if part.get("mime") not in _PLAIN else None
        case "compaction":
            return Text(QUESTION)
        case "subtask":
            return Text(BY_USER)
    return None


def _is_typed(part: Mapping[str, Any]) -> bool:
    """Did the user, and not the client, add this part?"""
    kind = part.get("type")
    return kind == "file" or (kind == "text" and part.get("synthetic") is not True)


def read_assistant(
    info: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], *, last: bool
) -> MessageUnit:
    """Read an answer. Only in the last message of a session (`last`) may a tool still run, without a result."""
    messages: list[Message] = []
    steps: list[ModelStep] = []
    pruned: list[tuple[int, str]] = []
    runs = _runs(parts)
    before = 0
    for n, run in enumerate(runs):
        if n == 0 or any(part.get("type") == "step-finish" for part in runs[n - 1]):
            # A step without a `step-finish` part was tried again, with the same buffer.
            before = len(messages)
        step = _step(info, run, before, is_last=n == len(runs) - 1)
        if step is not None:
            step = _timed(step, info, run, runs[n - 1] if n else ())
            steps.append(step)
        messages += _laid(info, run, n, step.usage if step else None, last)
        pruned += _pruned(run)
    return MessageUnit(
        info,
        messages=tuple(messages),
        steps=tuple(steps),
        sent=_is_sent(info, parts),
        pruned=tuple(pruned),
    )


def _runs(parts: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Group the parts of an answer by step."""
    runs: list[list[Mapping[str, Any]]] = [[]]
    for part in parts:
        if part.get("type") == "step-start" and runs[-1]:
            runs.append([])
        runs[-1].append(part)
    return runs


def _step(
    info: Mapping[str, Any], run: Sequence[Mapping[str, Any]], before: int, *, is_last: bool
) -> ModelStep | None:
    """Return the model call of a step; None if the user ran a command without the model, or the call was refused."""
    end: Mapping[str, Any] = next(
        (part for part in reversed(run) if part.get("type") == "step-finish"), {}
    )
    sources = (end, info) if is_last else (end,)
    usage = next(
        (usage for source in sources if (usage := read_step_usage(source)) is not None), None
    )
    finish = string(end, "reason") or (string(info, "finish") if is_last else "")
    is_begun = any(part.get("type") == "step-start" for part in run)
    is_refused = info.get("error") is not None
    if usage is None and not finish and (not is_begun or is_refused):
        return None
    return ModelStep(before, usage, finish)


def _timed(
    step: ModelStep,
    info: Mapping[str, Any],
    run: Sequence[Mapping[str, Any]],
    former: Sequence[Mapping[str, Any]],
) -> ModelStep:
    """Return a step with its times: it begins when the previous step has ended, and ends when its tools begin."""
    own = _times(run)
    states = [object_of(part, "state") for part in run if part.get("type") == "tool"]
    tool_starts = [
        start for state in states if (start := _count(object_of(state, "time"), "start"))
    ]
    former_ends = [max(_end(part), _end(object_of(part, "state"))) for part in former]
    begun = max(former_ends) if former else created(info)
    first = min([*(start for start, _ in own), *tool_starts], default=0)
    ended = max([*(end for _, end in own), *tool_starts], default=0)
    if not ended and not states and not former:
        ended = _count(object_of(info, "time"), "completed")
    return replace(step, begun=begun, first=first, ended=ended)


def _times(run: Iterable[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Return the start and end times of the texts and thoughts of a step, in ms since 1970."""
    times = (object_of(part, "time") for part in run if part.get("type") in ("text", "reasoning"))
    return [
        (start, max(start, _count(time, "end")))
        for time in times
        if (start := _count(time, "start"))
    ]


def _end(value: Mapping[str, Any]) -> int:
    return _count(object_of(value, "time"), "end")


def _is_sent(info: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> bool:
    error = info.get("error")
    if error is None:
        return True
    aborted = isinstance(error, dict) and error.get("name") == "MessageAbortedError"
    return aborted and any(part.get("type") not in ("step-start", "reasoning") for part in parts)


def _laid(
    info: Mapping[str, Any],
    run: Sequence[Mapping[str, Any]],
    n: int,
    usage: Usage | None,
    last: bool,
) -> list[Message]:
    """Return the answer of a step and the results of its tools."""
    name = string(info, "id") + (f".{n}" if n else "")
    time = time_of(info)
    content = [part for part in map(_read_answer_part, run) if part is not None]
    tools = [part for part in run if part.get("type") == "tool"]
    together = f"{name} tools" if len(tools) > 1 else ""
    answers = [
        (string(tool, "id"), _answer(tool, object_of(tool, "state"), last)) for tool in tools
    ]
    results = [
        Message(result_id, role="tool", parts=answer, together=together, time=time)
        for result_id, answer in answers
        if answer
    ]
    parts = (
        with_reasoning(content, usage.reasoning) if usage and usage.reasoning else tuple(content)
    )
    return [Message(name, "assistant", parts, time=time), *results] if parts else []


def _read_answer_part(part: Mapping[str, Any]) -> Part | None:
    """Read a part of an answer; None if the part is not sent."""
    match part.get("type"):
        case "text":
            text = string(part, "text")
            return Text(text) if text else None
        case "reasoning":
            text = string(part, "text")
            signature = signature_in(object_of(part, "metadata"))
            return Thinking(text, signature) if text or signature else None
        case "tool":
            arguments = object_of(part, "state").get("input", {})
            return ToolCall(string(part, "callID"), string(part, "tool"), arguments)
    return None


def _answer(part: Mapping[str, Any], state: Mapping[str, Any], last: bool) -> tuple[Part, ...]:
    """Return the result of a tool, followed by its files; empty while the tool runs."""
    call = string(part, "callID")
    status = state.get("status")
    if status == "completed":
        files = [
            _file(file) for file in list_of(state.get("attachments")) if isinstance(file, dict)
        ]
        return (ToolResult(call, string(state, "output")), *files)
    if status == "error":
        about = object_of(state, "metadata")
        if about.get("interrupted") is True and isinstance(output := about.get("output"), str):
            return (ToolResult(call, output),)
        return (ToolResult(call, string(state, "error"), is_error=True),)
    return () if last else (ToolResult(call, INTERRUPTED, is_error=True),)


def cleared_result(message: Message) -> Message:
    """Return a tool result as it is sent after pruning: a placeholder, without images."""
    result = message.result
    part = ToolResult(
        result.call_id if result else "", CLEARED, result.is_error if result else False
    )
    return replace(message, parts=(part,), mark="placeholder")


def _pruned(run: Iterable[Mapping[str, Any]]) -> list[tuple[int, str]]:
    pruned = []
    for part in run:
        state = object_of(part, "state") if part.get("type") == "tool" else {}
        when = object_of(state, "time").get("compacted")
        if (
            state.get("status") == "completed"
            and isinstance(when, int | float)
            and -1 < when < 1 << 53
        ):
            pruned.append((int(when), string(part, "id")))
    return pruned


def _file(part: Mapping[str, Any]) -> Part:
    return file_part(string(part, "mime"), string(part, "url"), part)


def file_part(mime: str, url: str, part: Mapping[str, Any]) -> Part:
    """Return an attached file as an image, or as an opaque part for other MIME types."""
    if mime.startswith("image/"):
        head, comma, data = url.partition(",")
        return Image(mime, data) if comma and head.startswith("data:") else Image(mime, "", url)
    return Opaque(mime or "file", dict(part), len(url))


def signature_in(metadata: Mapping[str, Any]) -> str:
    """Return the signature or encrypted reasoning in the metadata of any provider; empty if there is none."""
    for about in metadata.values():
        if isinstance(about, dict):
            signature = text_under(
                about, "signature", "reasoningEncryptedContent", "thoughtSignature"
            )
            if signature:
                return signature
    return ""


def read_step_usage(value: Mapping[str, Any]) -> Usage | None:
    """Return the usage of a step; None if it is absent or all zero. `input` counts the uncached tokens.

    `output` includes the reasoning tokens unless the total shows that they are counted separately.
    """
    tokens = object_of(value, "tokens")
    cache = object_of(tokens, "cache")
    fresh, output, reasoning = (_count(tokens, name) for name in ("input", "output", "reasoning"))
    read = _count(cache, "read")
    write = _count(cache, "write")
    if not fresh + output + reasoning + read + write or is_absurd(tokens):
        return None
    total = tokens.get("total")
    if type(total) is int and total == fresh + read + write + output + reasoning:
        output += reasoning
    return Usage(fresh, read, write, output=output, reasoning=reasoning)


def _count(value: Mapping[str, Any], key: str) -> int:
    number = value.get(key)
    return int(number) if isinstance(number, int | float) and 0 < number < 1 << 53 else 0


def time_of(info: Mapping[str, Any]) -> str:
    """Return when the message was created, in ISO 8601; empty if not recorded."""
    return iso_time(created(info))


def created(info: Mapping[str, Any]) -> int:
    """Return when the message was created, in ms since 1970; 0 if not recorded."""
    return _count(object_of(info, "time"), "created")


def string(value: Mapping[str, Any], key: str) -> str:
    """Return the value of a key as text: JSON if it is no text, empty if it is missing."""
    field = value.get(key)
    if field is None:
        return ""
    return field if isinstance(field, str) else dumps(field)
