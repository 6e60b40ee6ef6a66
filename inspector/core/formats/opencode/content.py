"""opencode's stored messages to ours, as it sends them: a message and its parts, step by step.

A message of the assistant holds one step as a rule, several in older versions; each step is one model call. A call and
its answer are one part there, and become two messages here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.core.formats.reading import iso_time, with_reasoning
from inspector.core.jsontext import dumps
from inspector.core.message import Image, Mark, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from inspector.core.untyped import list_of, object_of
from inspector.core.usage import Usage, is_absurd

CLEARED = "[Old tool result content cleared]"
INTERRUPTED = "[Tool execution was interrupted]"
QUESTION = "What did we do so far?"
BY_USER = "The following tool was executed by the user"
_PLAIN = ("text/plain", "application/x-directory")
"""Files whose content was put into text parts when they were attached."""
_SILENT = ("step-start", "step-finish", "patch", "snapshot", "agent", "retry")
SENT = ("text", "file", "reasoning", "tool", "compaction", "subtask")
KINDS = frozenset((*_SILENT, *SENT))


@dataclass(frozen=True, slots=True)
class ModelStep:
    """One model call: how many messages of its stored message stand before its answer, and what was reported."""

    before: int
    usage: Usage | None
    finish: str
    begun: int = 0
    """In ms since 1970, as the next two; 0 where it is not told."""
    first: int = 0
    """When something of the answer was there."""
    ended: int = 0
    """When all of it was: its tools come after that."""

    @property
    def first_byte_ms(self) -> float | None:
        """From its begin."""
        return float(self.first - self.begun) if 0 < self.begun <= self.first else None

    @property
    def elapsed_ms(self) -> float | None:
        """From its begin to its end."""
        return float(self.ended - self.begun) if 0 < self.begun <= self.ended else None


@dataclass(frozen=True, slots=True)
class MessageUnit:
    """What a stored message is to the model."""

    info: Mapping[str, Any]
    messages: tuple[Message, ...] = ()
    steps: tuple[ModelStep, ...] = ()
    sent: bool = True
    """Does it go back to the model? An answer that failed does not."""
    pruned: tuple[tuple[int, str], ...] = ()
    """When an answer of a tool was cleared (ms since 1970), and the id of its message."""
    marker: Mapping[str, Any] = field(default_factory=dict)
    """The part of a user's message that asks for a compaction."""


def read_user(info: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> MessageUnit:
    """A message of the user, or one that the client wrote in the user's name."""
    found: list[Part] = []
    typed = False
    for part in parts:
        kind = part.get("type")
        if kind == "text" and part.get("ignored") is not True and (text := string(part, "text")):
            found.append(Text(text))
            typed = typed or part.get("synthetic") is not True
        elif kind == "file" and part.get("mime") not in _PLAIN:
            found.append(_file(part))
            typed = True
        elif kind == "compaction":
            found.append(Text(QUESTION))
        elif kind == "subtask":
            found.append(Text(BY_USER))
    mark: Mark = "" if typed else "meta"
    message = Message(string(info, "id"), "user", tuple(found), mark=mark, time=time_of(info))
    asked = [part for part in parts if part.get("type") == "compaction"]
    return MessageUnit(info, (message,) if found else (), marker=asked[-1] if asked else {})


def read_assistant(info: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], *, last: bool) -> MessageUnit:
    """An answer. In the last message of a session a tool may still run: its call has no answer yet."""
    messages: list[Message] = []
    steps: list[ModelStep] = []
    pruned: list[tuple[int, str]] = []
    runs = _runs(parts)
    before = 0
    for n, run in enumerate(runs):
        if n == 0 or any(part.get("type") == "step-finish" for part in runs[n - 1]):
            before = len(messages)  # a step that broke off was tried again, with what it had been sent
        step = _step(info, run, before, is_last=n == len(runs) - 1)
        if step is not None:
            step = _timed(step, info, run, runs[n - 1] if n else ())
            steps.append(step)
        messages += _laid(info, run, n, step.usage if step else None, last)
        pruned += _pruned(run)
    return MessageUnit(info, tuple(messages), tuple(steps), _is_sent(info, parts), tuple(pruned))


def _runs(parts: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The parts of each step."""
    runs: list[list[Mapping[str, Any]]] = [[]]
    for part in parts:
        if part.get("type") == "step-start" and runs[-1]:
            runs.append([])
        runs[-1].append(part)
    return runs


def _step(info: Mapping[str, Any], run: Sequence[Mapping[str, Any]], before: int, *, is_last: bool) -> ModelStep | None:
    """The call of a step; None where the model was not called (a command of the user), or refused."""
    end = next((part for part in reversed(run) if part.get("type") == "step-finish"), None)
    usage = read_usage(end) if end else None
    if usage is None and is_last:
        usage = read_usage(info)
    finish = (string(end, "reason") if end else "") or (string(info, "finish") if is_last else "")
    begun = any(part.get("type") == "step-start" for part in run)
    if usage is None and not finish and (not begun or info.get("error") is not None):
        return None
    return ModelStep(before, usage, finish)


def _timed(
    step: ModelStep, info: Mapping[str, Any], run: Sequence[Mapping[str, Any]], former: Sequence[Mapping[str, Any]]
) -> ModelStep:
    """With its times, as its parts tell them: it begins when all before it is done, and ends where its tools begin."""
    own, states = _times(run), [object_of(part, "state") for part in run if part.get("type") == "tool"]
    tools = [begun for state in states if (begun := _count(object_of(state, "time"), "start"))]
    done = [end for part in former for end in (_end(part), _end(object_of(part, "state"))) if end]
    begun = max(done, default=0) if former else created(info)
    first = min([*(start for start, _ in own), *tools], default=0)
    ended = max([*(end for _, end in own), *tools], default=0)
    if not ended and not states and not former:
        ended = _count(object_of(info, "time"), "completed")
    return replace(step, begun=begun, first=first, ended=ended)


def _times(run: Iterable[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Begin and end of what was said and thought."""
    told = (object_of(part, "time") for part in run if part.get("type") in ("text", "reasoning"))
    return [(start, max(start, _count(time, "end"))) for time in told if (start := _count(time, "start"))]


def _end(value: Mapping[str, Any]) -> int:
    return _count(object_of(value, "time"), "end")


def _is_sent(info: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> bool:
    error = info.get("error")
    if error is None:
        return True
    aborted = isinstance(error, dict) and error.get("name") == "MessageAbortedError"
    return aborted and any(part.get("type") not in ("step-start", "reasoning") for part in parts)


def _laid(
    info: Mapping[str, Any], run: Sequence[Mapping[str, Any]], n: int, usage: Usage | None, last: bool
) -> list[Message]:
    """The answer of a step, and those of its tools."""
    name, time = string(info, "id") + (f".{n}" if n else ""), time_of(info)
    said: list[Part] = []
    results: list[Message] = []
    tools = sum(part.get("type") == "tool" for part in run)
    together = f"{name} tools" if tools > 1 else ""
    for part in run:
        kind = part.get("type")
        if kind == "text" and (text := string(part, "text")):
            said.append(Text(text))
        elif kind == "reasoning":
            text, signature = string(part, "text"), signature_in(object_of(part, "metadata"))
            if text or signature:
                said.append(Thinking(text, signature))
        elif kind == "tool":
            state = object_of(part, "state")
            said.append(ToolCall(string(part, "callID"), string(part, "tool"), state.get("input", {})))
            if answer := _answer(part, state, last):
                results.append(Message(string(part, "id"), "tool", answer, together, time=time))
    parts = with_reasoning(said, usage.reasoning) if usage and usage.reasoning else tuple(said)
    return [Message(name, "assistant", parts, time=time), *results] if parts else []


def _answer(part: Mapping[str, Any], state: Mapping[str, Any], last: bool) -> tuple[Part, ...]:
    """What came back from a tool; nothing while it runs."""
    call, status = string(part, "callID"), state.get("status")
    if status == "completed":
        files = [_file(one) for one in list_of(state.get("attachments")) if isinstance(one, dict)]
        return (ToolResult(call, string(state, "output")), *files)
    if status == "error":
        about = object_of(state, "metadata")
        if about.get("interrupted") is True and isinstance(output := about.get("output"), str):
            return (ToolResult(call, output),)
        return (ToolResult(call, string(state, "error"), True),)
    return () if last else (ToolResult(call, INTERRUPTED, True),)


def cleared(message: Message) -> Message:
    """The answer of a tool as it is sent after pruning: its images are gone, too."""
    result = message.result
    part = ToolResult(result.call_id if result else "", CLEARED, result.is_error if result else False)
    return replace(message, parts=(part,), mark="placeholder")


def _pruned(run: Iterable[Mapping[str, Any]]) -> list[tuple[int, str]]:
    found = []
    for part in run:
        state = object_of(part, "state") if part.get("type") == "tool" else {}
        when = object_of(state, "time").get("compacted")
        if state.get("status") == "completed" and isinstance(when, int | float) and -1 < when < 1 << 53:
            found.append((int(when), string(part, "id")))
    return found


def _file(part: Mapping[str, Any]) -> Part:
    return file_part(string(part, "mime"), string(part, "url"), part)


def file_part(mime: str, url: str, part: Mapping[str, Any]) -> Part:
    """A file that was attached: an image, or what only its own program can read."""
    if mime.startswith("image/"):
        head, comma, data = url.partition(",")
        return Image(mime, data) if comma and head.startswith("data:") else Image(mime, "", url)
    return Opaque(mime or "file", dict(part), len(url))


def signature_in(metadata: Mapping[str, Any]) -> str:
    """What only the provider can read: whichever provider it is, in whichever word."""
    for about in metadata.values():
        for key in ("signature", "reasoningEncryptedContent", "thoughtSignature"):
            if isinstance(about, dict) and isinstance(found := about.get(key), str):
                return found
    return ""


def read_usage(value: Mapping[str, Any]) -> Usage | None:
    """What was reported; None where nothing was (all zero). `input` is the uncached part.

    `output` holds the reasoning where there is no total, or the total says so; else it comes on top.
    """
    tokens = object_of(value, "tokens")
    cache = object_of(tokens, "cache")
    fresh, output, reasoning = (_count(tokens, name) for name in ("input", "output", "reasoning"))
    read, write = _count(cache, "read"), _count(cache, "write")
    if not fresh + output + reasoning + read + write or is_absurd(tokens):
        return None
    total = tokens.get("total")
    apart = type(total) is int and total == fresh + read + write + output + reasoning
    return Usage(fresh, read, write, output + (reasoning if apart else 0), reasoning)


def _count(value: Mapping[str, Any], key: str) -> int:
    told = value.get(key)
    return int(told) if isinstance(told, int | float) and 0 < told < 1 << 53 else 0


def time_of(info: Mapping[str, Any]) -> str:
    """When the message was made, in ISO 8601."""
    return iso_time(created(info))


def created(info: Mapping[str, Any]) -> int:
    """When the message was made, in ms since 1970; 0 where it is not told."""
    return _count(object_of(info, "time"), "created")


def string(value: Mapping[str, Any], key: str) -> str:
    """The text under a key; empty where there is none, JSON where it is something else."""
    told = value.get(key)
    return told if isinstance(told, str) else "" if told is None else dumps(told)
