"""Inspect's evaluation logs: samples, each with the events of its run; every model event holds the whole call.

`.json` logs hold all samples, `.eval` logs are zip files of which `inspector/transcripts/archive.py` makes the same
document. Long texts stand apart (`attachment://`), and in newer logs the messages do, too (`input_refs`). A call inside
a scorer is no step of the sample's conversation. Whether what was read from a cache is part of the input follows from
the total.
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


def split(value: Any) -> Sequence[tuple[HeldSession, Any]]:
    """A sample is a session, called as its file in a `.eval` log is."""
    samples = value.get("samples") if isinstance(value, Mapping) else None
    about = object_of(value, "eval")
    found = []
    for sample in objects_of(samples):
        title = _said(sample.get("input"))
        found.append((HeldSession(f"{sample.get('id')}_epoch_{sample.get('epoch')}", title), (about, sample)))
    return found or [(HeldSession(""), (about, {}))]


def _said(told: Any) -> str:
    """The beginning of the input, which is a text or a list of messages."""
    first = next(iter(objects_of(told)), {})
    text = told if isinstance(told, str) else text_of(first.get("content"))
    return "" if text.startswith(_ATTACHED) else text.strip().partition("\n")[0][:80]


Told: TypeAlias = tuple[tuple[Thread, ...], Sequence[SideCall], list[str]]
"""Threads, calls beside them, notes."""


def read(told: FedValues) -> Session:
    """One sample, with what the log says of the evaluation."""
    (line, (about, sample), file), *_ = told
    problems, texts, model = ProblemList(), _Texts(sample), text_of(about.get("model"))
    events = objects_of(sample.get("events")) or objects_of(object_of(sample, "transcript").get("events"))
    if any(one.get("event") == "model" for one in events):
        threads, sides, notes = _from_events(line, events, texts, model, problems)
    else:
        threads, sides, notes = _from_messages(line, sample, texts, model)
    if error := text_of(object_of(sample, "error").get("message")):
        notes.append(f"The sample ended with an error: {error[:200]}")
    if not sample:
        problems.note(line, "no sample stands in this log", about, file)
    client = f"Inspect {text_of(object_of(about, 'packages').get('inspect_ai'))}".rstrip()
    return Session(NAME, threads, problems, client=client, notes=tuple(notes), side_calls=sides)


def _from_events(
    line: int, events: Sequence[Mapping[str, Any]], texts: "_Texts", model: str, problems: ProblemList
) -> Told:
    calls, spans, cached = CallList(), _Spans(), 0
    sides: list[SideCall] = []
    for event in events:
        spans.see(event)
        if event.get("event") != "model":
            continue
        output, by = object_of(event, "output"), text_of(event.get("model")) or model
        usage, time = _usage(output.get("usage")), text_of(event.get("timestamp"))
        if is_absurd(output.get("usage")):
            problems.note(line, "a count that can be none: what was reported was left out", time)
        choice = next(iter(objects_of(output.get("choices"))), {})
        failed = "" if choice else text_of(event.get("error"))
        if failed or spans.is_scored(event):
            before = sum(len(one.requests) for one in calls.threads()[0][:1])
            kind = "refused" if failed else "scorer"
            sides.append(SideCall(kind, "main", before, None, failed[:200], by, usage, None, line, time))
            continue
        cached += event.get("cache") == "read"
        answer = choice.get("message")
        calls.add(
            chat_call(
                texts.messages(event),
                _wire(texts.whole(answer)) if isinstance(answer, Mapping) else None,
                usage,
                tools=[_tool(texts.whole(one)) for one in objects_of(event.get("tools"))],
                model=text_of(output.get("model")) or by,
                finish=text_of(choice.get("stop_reason")),
                line=line,
                time=time,
            )
        )
    threads, singles = calls.threads()
    told = f"{cached:,} answers came from Inspect's own cache: nothing was sent, and nothing paid."
    return threads or (Thread("main"),), (*sides, *singles), [told] if cached else []


def _from_messages(line: int, sample: Mapping[str, Any], texts: "_Texts", model: str) -> Told:
    """A log without events: the messages at the end, of which every answer was a call."""
    wires = [_wire(texts.whole(one)) for one in objects_of(sample.get("messages"))]
    thread = GrowingThread()
    thread.model = model
    system, rest = split_prompt(wires)
    thread.prompt = Prompt(system)
    output = object_of(sample, "output")
    answers = sum(one.get("role") == "assistant" for one in rest)
    for n, wire in enumerate(rest):
        if wire.get("role") == "assistant":
            usage = _usage(output.get("usage")) if answers == 1 else None
            thread.call(measured(usage), text_of(output.get("model")) or model, line=line)
        thread.hear(CHAT, [wire], f"m{n}", line)
    told = "This log holds no events: the buffers are what stood before each answer at the end."
    return (thread.thread(),), (), [told] if wires else []


class _Texts:
    """The long texts and the messages that stand apart."""

    def __init__(self, sample: Mapping[str, Any]) -> None:
        self._attached = object_of(sample, "attachments") or object_of(object_of(sample, "transcript"), "content")
        pool = list_of(sample.get("message_pool")) or list_of(object_of(sample, "events_data").get("messages"))
        self._pool = [_wire(self.whole(one)) for one in objects_of(pool)]
        self._before: tuple[list[Any], list[dict[str, Any]]] = [], []
        """The last input, and as it was sent: the next one begins with it, as a rule."""

    def whole(self, value: Any) -> Any:
        """The value with its texts in place."""
        if isinstance(value, str):
            found = self._attached.get(value.removeprefix(_ATTACHED)) if value.startswith(_ATTACHED) else None
            return found if isinstance(found, str) else value
        if isinstance(value, list):
            return [self.whole(one) for one in value]
        if isinstance(value, Mapping):
            return {key: self.whole(one) for key, one in value.items()}
        return value

    def messages(self, event: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The input of a call, in the words of Chat Completions."""
        told, before = list_of(event.get("input")), self._before
        same = next((n for n, (one, other) in enumerate(zip(told, before[0], strict=False)) if one != other), None)
        count = min(len(told), len(before[0])) if same is None else same
        wires = [*before[1][:count], *(_wire(self.whole(one)) for one in objects_of(told[count:]))]
        if len(wires) == len(told):  # else some were no messages
            self._before = told, wires
        for span in list_of(event.get("input_refs")):
            if isinstance(span, list) and len(span) == 2 and all(type(one) is int and one >= 0 for one in span):
                wires += self._pool[span[0] : span[1]]
        return wires


class _Spans:
    """Which parts of a run the events lie in."""

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[str, str]] = {}
        """By span: its type, and the span around it."""
        self._steps: list[str] = []

    def see(self, event: Mapping[str, Any]) -> None:
        """A part begins or ends."""
        match event.get("event"):
            case "span_begin":
                self._kinds[text_of(event.get("id"))] = _kind(event), text_of(event.get("parent_id"))
            case "step" if event.get("action") == "begin":
                self._steps.append(_kind(event))
            case "step" if self._steps:
                self._steps.pop()

    def is_scored(self, event: Mapping[str, Any]) -> bool:
        """Was it called by a scorer?"""
        span, seen = text_of(event.get("span_id")), set[str]()
        while span in self._kinds and span not in seen:
            seen.add(span)
            kind, span = self._kinds[span]
            if kind == "scorer":
                return True
        return "scorer" in self._steps


def _kind(event: Mapping[str, Any]) -> str:
    return "scorer" if event.get("type") == "scorer" or event.get("name") == "scorers" else text_of(event.get("type"))


def _wire(message: Mapping[str, Any]) -> dict[str, Any]:
    """An Inspect message in the words of Chat Completions."""
    content, thoughts = message.get("content"), list[str]()
    if isinstance(content, list):
        thoughts = [text_of(one.get("reasoning")) for one in content if _is(one, "reasoning")]
        content = [_block(one) for one in content if not _is(one, "reasoning")]
    error = object_of(message, "error")
    if message.get("role") == "tool" and error:
        content = text_of(error.get("message")) or content
    wire: dict[str, Any] = {"role": message.get("role"), "content": content}
    if thoughts := [one for one in thoughts if one]:
        wire["reasoning_content"] = "\n".join(thoughts)
    if calls := objects_of(message.get("tool_calls")):
        wire["tool_calls"] = [{"id": one.get("id"), "function": _function(one)} for one in calls]
    if "tool_call_id" in message:
        wire["tool_call_id"] = message["tool_call_id"]
    return wire


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, Mapping) and block.get("type") == kind


def _block(block: Any) -> Any:
    return {"type": "image_url", "image_url": {"url": text_of(block.get("image"))}} if _is(block, "image") else block


def _function(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": call.get("function"), "arguments": call.get("arguments")}


def _tool(tool: Any) -> dict[str, Any]:
    function = {key: tool[key] for key in ("name", "description", "parameters") if key in tool}
    return {"type": "function", "function": function}


def _usage(told: Any) -> Usage | None:
    """The prompt is what is not output: with some providers the input counts what came from a cache."""
    if not isinstance(told, Mapping) or is_absurd(told):
        return None
    names = ("input_tokens", "output_tokens", "total_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    given, output, total, read, written = (count_of(told.get(name)) for name in names)
    prompt = total - output if total > output else given
    usage = Usage(max(0, prompt - read - written), read, written, output, count_of(told.get("reasoning_tokens")))
    return measured(usage if usage.prompt == prompt else replace(usage, context=prompt))


FORMAT = Format(
    NAME,
    "Inspect evaluation log",
    _SIGNS,
    partial(ManyReader, NAME, split, read),
    is_many=True,
    grows=True,
    contents=Contents(tokens="yes", system="yes", tools="yes", more="`.eval`, `.json`; a session a sample"),
)
