"""Inspect's evaluation logs: samples, each with the events of its run; every model event holds the whole call.

`.json` logs hold all samples, `.eval` logs are zip files of which `inspector/transcripts/archive.py` makes the same
document. Long texts stand apart (`attachment://`), and in newer logs the messages do, too (`input_refs`). A call inside
a scorer is no step of the sample's conversation. Whether what was read from a cache is part of the input follows from
the total.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from inspector.core.buffer import Prompt
from inspector.core.dialects.openai_chat import CHAT
from inspector.core.formats.calls import CallList, chat_call
from inspector.core.formats.excerpt import excerpt
from inspector.core.formats.format import Contents, Format, Head
from inspector.core.formats.growing import GrowingThread, measured, split_prompt
from inspector.core.formats.many import ManyReader
from inspector.core.session import HeldSession, Problem, Session, SideCall, Thread
from inspector.core.untyped import count_of, list_of, object_of, objects_of, text_of
from inspector.core.usage import Usage, is_absurd

NAME = "inspect"
_ATTACHED = "attachment://"


def sniff(head: Head) -> float:
    """Sure where an evaluation stands with its samples."""
    value = head.document
    if not isinstance(value, Mapping) or not isinstance(about := value.get("eval"), Mapping):
        return 0.0
    return 1.0 if "task" in about and ("samples" in value or "status" in value) else 0.0


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


class SampleReader:
    """A `Reader` of one sample."""

    def __init__(self) -> None:
        self._threads: tuple[Thread, ...] = (Thread("main"),)
        self._sides: list[SideCall] = []
        self._problems: list[Problem] = []
        self._notes: list[str] = []
        self._client = "Inspect"

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take what the log says of the evaluation, and the sample. Never raises for what they hold."""
        about, sample = value
        version = text_of(object_of(about, "packages").get("inspect_ai"))
        self._client = f"Inspect {version}".rstrip()
        model = text_of(about.get("model"))
        texts = _Texts(sample)
        events = list_of(sample.get("events")) or list_of(object_of(sample, "transcript").get("events"))
        calls = [one for one in events if isinstance(one, Mapping) and one.get("event") == "model"]
        if calls:
            self._take_calls(line, events, texts, model)
        else:
            self._take_messages(line, sample, texts, model)
        if error := text_of(object_of(sample, "error").get("message")):
            self._notes.append(f"The sample ended with an error: {error[:200]}")
        if not sample:
            self._problems.append(Problem(line, "no sample stands in this log", excerpt(about), file))

    def _take_calls(self, line: int, events: Sequence[Any], texts: "_Texts", model: str) -> None:
        calls, spans, cached = CallList(), _Spans(), 0
        for event in events:
            if not isinstance(event, Mapping):
                continue
            spans.see(event)
            if event.get("event") != "model":
                continue
            output, by = object_of(event, "output"), text_of(event.get("model")) or model
            usage, time = _usage(output.get("usage")), text_of(event.get("timestamp"))
            if is_absurd(output.get("usage")):
                self._problems.append(Problem(line, "a count that can be none: what was reported was left out", time))
            choice = next(iter(objects_of(output.get("choices"))), {})
            failed = "" if choice else text_of(event.get("error"))
            if failed or spans.is_scored(event):
                before = sum(len(one.requests) for one in calls.threads()[0][:1])
                kind = "refused" if failed else "scorer"
                self._sides.append(SideCall(kind, "main", before, None, failed[:200], by, usage, None, line, time))
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
        if cached:
            self._notes.append(f"{cached:,} answers came from Inspect's own cache: nothing was sent, and nothing paid.")
        threads, singles = calls.threads()
        self._threads = threads or self._threads
        self._sides += singles

    def _take_messages(self, line: int, sample: Mapping[str, Any], texts: "_Texts", model: str) -> None:
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
        self._threads = (thread.thread(),)
        if wires:
            self._notes.append("This log holds no events: the buffers are what stood before each answer at the end.")

    def session(self) -> Session:
        """The session."""
        sides, notes = tuple(self._sides), tuple(self._notes)
        return Session(NAME, self._threads, tuple(self._problems), client=self._client, notes=notes, side_calls=sides)


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
    sniff,
    partial(ManyReader, NAME, split, SampleReader),
    is_many=True,
    grows=True,
    contents=Contents(tokens="yes", system="yes", tools="yes", more="`.eval`, `.json`; a session a sample"),
)
