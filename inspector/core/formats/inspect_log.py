"""Read Inspect's evaluation logs: samples with the events of their runs. Every model event holds a whole call.

`.json` logs hold all samples. `.eval` logs are zip files that `inspector/transcripts/archive.py` turns into the same
document. Long texts are stored separately (`attachment://`), and in newer logs messages are, too (`input_refs`). A call
made by a scorer is not part of the sample's conversation. The total shows whether the input includes cached tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from inspector.core.buffer import Prompt
from inspector.core.dialects.openai_chat import CHAT
from inspector.core.formats.calls import CallList, chat_call
from inspector.core.formats.format import Contents, FedValues, Format
from inspector.core.formats.growing import GrowingThread, measured, split_prompt
from inspector.core.formats.many import ManyReader
from inspector.core.formats.reading import ProblemList
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.session import HeldSession, Session, SideCall, Thread
from inspector.core.untyped import count_of, list_of, object_of, objects_of, text_of
from inspector.core.usage import Usage, is_absurd

NAME = "inspect"
_ATTACHED = "attachment://"


_SIGNS = FileSigns(
    FileSign({"eval": {"task": "<any>"}, "samples": "<any>"}, "document"),
    FileSign({"eval": {"task": "<any>"}, "status": "<any>"}, "document"),
)


def split_samples(value: Any) -> Sequence[tuple[HeldSession, Any]]:
    """Return each sample as a session, named after its file in a `.eval` log."""
    samples = value.get("samples") if isinstance(value, Mapping) else None
    about = object_of(value, "eval")
    sessions = []
    for sample in objects_of(samples):
        title = _first_line(sample.get("input"))
        sessions.append(
            (HeldSession(f"{sample.get('id')}_epoch_{sample.get('epoch')}", title), (about, sample))
        )
    return sessions or [(HeldSession(""), (about, {}))]


def _first_line(value: Any) -> str:
    """Return the beginning of the input, which is a text or a list of messages."""
    first = next(iter(objects_of(value)), {})
    text = value if isinstance(value, str) else text_of(first.get("content"))
    return "" if text.startswith(_ATTACHED) else text.strip().partition("\n")[0][:80]


ReadThreads: TypeAlias = tuple[tuple[Thread, ...], Sequence[SideCall], list[str]]
"""Threads, side calls, notes."""


def read(fed: FedValues) -> Session:
    """Read one sample of an evaluation."""
    (line, (about, sample), file), *_ = fed
    problems = ProblemList()
    texts = _Texts(sample)
    model = text_of(about.get("model"))
    events = objects_of(sample.get("events")) or objects_of(
        object_of(sample, "transcript").get("events")
    )
    if any(event.get("event") == "model" for event in events):
        threads, sides, notes = _EventReader(line, texts, model, problems).read(events)
    else:
        threads, sides, notes = _from_messages(line, sample, texts, model)
    if error := text_of(object_of(sample, "error").get("message")):
        notes.append(f"The sample ended with an error: {error[:200]}")
    if not sample:
        problems.note(line, "this log holds no sample", about, file)
    client = f"Inspect {text_of(object_of(about, 'packages').get('inspect_ai'))}".rstrip()
    return Session(NAME, threads, problems, client=client, notes=tuple(notes), side_calls=sides)


class _EventReader:
    """Reads the calls of a sample from its events."""

    def __init__(self, line: int, texts: "_Texts", model: str, problems: ProblemList) -> None:
        self._line, self._texts, self._model, self._problems = line, texts, model, problems
        self._calls = CallList()
        self._side_calls: list[SideCall] = []
        self._cached = 0
        """Number of answers that came from Inspect's own cache."""

    def read(self, events: Sequence[Mapping[str, Any]]) -> ReadThreads:
        """Return the threads, side calls and notes of all events."""
        spans = _Spans()
        for event in events:
            spans.see(event)
            if event.get("event") == "model":
                self._take_call(event, is_scored=spans.is_scored(event))
        threads, singles = self._calls.threads()
        note = f"{self._cached:,} answers came from Inspect's own cache: nothing was sent, and nothing paid."
        return (
            threads or (Thread("main"),),
            (*self._side_calls, *singles),
            [note] if self._cached else [],
        )

    def _take_call(self, event: Mapping[str, Any], *, is_scored: bool) -> None:
        output = object_of(event, "output")
        model = text_of(event.get("model")) or self._model
        usage = _usage(output.get("usage"))
        time = text_of(event.get("timestamp"))
        if is_absurd(output.get("usage")):
            self._problems.note(
                self._line, "an impossible token count: the reported usage was left out", time
            )
        choice = next(iter(objects_of(output.get("choices"))), {})
        failure = "" if choice else text_of(event.get("error"))
        if failure or is_scored:
            before = sum(len(thread.requests) for thread in self._calls.threads()[0][:1])
            kind = "refused" if failure else "scorer"
            side_call = SideCall(
                kind,
                thread="main",
                before_request=before,
                what=failure[:200],
                model=model,
                usage=usage,
                line=self._line,
                time=time,
            )
            self._side_calls.append(side_call)
            return
        self._cached += event.get("cache") == "read"
        answer = choice.get("message")
        sent = self._texts.messages(event)
        wire_answer = _wire(self._texts.whole(answer)) if isinstance(answer, Mapping) else None
        tools = [_tool(self._texts.whole(tool)) for tool in objects_of(event.get("tools"))]
        call = chat_call(
            sent,
            wire_answer,
            usage,
            tools=tools,
            model=text_of(output.get("model")) or model,
            finish=text_of(choice.get("stop_reason")),
            line=self._line,
            time=time,
        )
        self._calls.add(call)


def _from_messages(
    line: int, sample: Mapping[str, Any], texts: "_Texts", model: str
) -> ReadThreads:
    """Read a log without events from its final messages, in which every answer was a call."""
    wires = [_wire(texts.whole(message)) for message in objects_of(sample.get("messages"))]
    thread = GrowingThread()
    thread.model = model
    system, rest = split_prompt(wires)
    thread.prompt = Prompt(system)
    output = object_of(sample, "output")
    answers = sum(wire.get("role") == "assistant" for wire in rest)
    for n, wire in enumerate(rest):
        if wire.get("role") == "assistant":
            usage = _usage(output.get("usage")) if answers == 1 else None
            thread.call(measured(usage), text_of(output.get("model")) or model, line=line)
        thread.hear(CHAT, [wire], f"m{n}", line)
    note = "This log holds no events: the buffers are the messages before each answer at the end."
    return (thread.thread(),), (), [note] if wires else []


class _Texts:
    """The long texts and the messages that a log stores separately from its events."""

    def __init__(self, sample: Mapping[str, Any]) -> None:
        self._attached = object_of(sample, "attachments") or object_of(
            object_of(sample, "transcript"), "content"
        )
        pool = list_of(sample.get("message_pool")) or list_of(
            object_of(sample, "events_data").get("messages")
        )
        self._pool = [_wire(self.whole(message)) for message in objects_of(pool)]
        self._before: tuple[list[Any], list[dict[str, Any]]] = [], []
        """The last input, and its wire messages. The next input usually begins with the same messages."""

    def whole(self, value: Any) -> Any:
        """Return a copy of the value with the attached texts inserted."""
        if isinstance(value, str):
            text = (
                self._attached.get(value.removeprefix(_ATTACHED))
                if value.startswith(_ATTACHED)
                else None
            )
            return text if isinstance(text, str) else value
        if isinstance(value, list):
            return list(map(self.whole, value))
        if isinstance(value, Mapping):
            return {key: self.whole(field) for key, field in value.items()}
        return value

    def messages(self, event: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the input of a call as Chat Completions writes it."""
        rows = list_of(event.get("input"))
        (former_rows, former_wires) = self._before
        same = 0
        for row, former in zip(rows, former_rows, strict=False):
            if row != former:
                break
            same += 1
        wires = [*former_wires[:same], *(_wire(self.whole(row)) for row in objects_of(rows[same:]))]
        if len(wires) == len(rows):  # every row was a message
            self._before = rows, wires
        for span in list_of(event.get("input_refs")):
            match span:
                case [int(start), int(end)] if start >= 0 and end >= 0:
                    wires += self._pool[start:end]
        return wires


class _Spans:
    """The spans and steps of a run, which show the events of scorers."""

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[str, str]] = {}
        """Type and parent span of each span, by id."""
        self._steps: list[str] = []

    def see(self, event: Mapping[str, Any]) -> None:
        """Take an event, which may begin or end a span or step."""
        match event.get("event"):
            case "span_begin":
                self._kinds[text_of(event.get("id"))] = (
                    _kind(event),
                    text_of(event.get("parent_id")),
                )
            case "step" if event.get("action") == "begin":
                self._steps.append(_kind(event))
            case "step" if self._steps:
                self._steps.pop()

    def is_scored(self, event: Mapping[str, Any]) -> bool:
        """Did a scorer make this call?"""
        span = text_of(event.get("span_id"))
        seen = set[str]()
        while span in self._kinds and span not in seen:
            seen.add(span)
            kind, span = self._kinds[span]
            if kind == "scorer":
                return True
        return "scorer" in self._steps


def _kind(event: Mapping[str, Any]) -> str:
    if event.get("name") == "scorers":
        return "scorer"
    return text_of(event.get("type"))


def _wire(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return an Inspect message as Chat Completions writes it."""
    content = message.get("content")
    thoughts = list[str]()
    if isinstance(content, list):
        thoughts = [text_of(block.get("reasoning")) for block in content if _is(block, "reasoning")]
        content = [_block(block) for block in content if not _is(block, "reasoning")]
    error = object_of(message, "error")
    if message.get("role") == "tool" and error:
        content = text_of(error.get("message")) or content
    wire: dict[str, Any] = {"role": message.get("role"), "content": content}
    if any(thoughts):
        wire["reasoning_content"] = "\n".join(filter(None, thoughts))
    if calls := objects_of(message.get("tool_calls")):
        wire["tool_calls"] = [{"id": call.get("id"), "function": _function(call)} for call in calls]
    if "tool_call_id" in message:
        wire["tool_call_id"] = message["tool_call_id"]
    return wire


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, Mapping) and block.get("type") == kind


def _block(block: Any) -> Any:
    return (
        {"type": "image_url", "image_url": {"url": text_of(block.get("image"))}}
        if _is(block, "image")
        else block
    )


def _function(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": call.get("function"), "arguments": call.get("arguments")}


def _tool(tool: Any) -> dict[str, Any]:
    function = {key: tool[key] for key in ("name", "description", "parameters") if key in tool}
    return {"type": "function", "function": function}


def _usage(counts: Any) -> Usage | None:
    """Return a usage; None if not measured. The prompt is the total without the output.

    With some providers `input_tokens` includes the tokens read from a cache.
    """
    if not isinstance(counts, Mapping) or is_absurd(counts):
        return None
    names = (
        "input_tokens",
        "output_tokens",
        "total_tokens",
        "input_tokens_cache_read",
        "input_tokens_cache_write",
    )
    input_, output, total, read, written = (count_of(counts.get(name)) for name in names)
    prompt = total - output if total > output else input_
    usage = Usage(
        max(0, prompt - read - written),
        read,
        cache_write=written,
        output=output,
        reasoning=count_of(counts.get("reasoning_tokens")),
    )
    return measured(usage if usage.prompt == prompt else replace(usage, context=prompt))


FORMAT = Format(
    NAME,
    title="Inspect evaluation log",
    sniff=_SIGNS,
    start=partial(ManyReader, NAME, split_samples, read),
    is_many=True,
    grows=True,
    contents=Contents(
        tokens="yes", system="yes", tools="yes", more="`.eval`, `.json`; a session a sample"
    ),
)
