"""OpenHands' events (V0): what a user, the agent and its environment did, one conversation a list.

An answer of the model stands on the action that it asked for and again on the observation: by its id it is one call.
Of an observation the model reads what OpenHands made of it, which is not always its `content`: the report of an edit
instead of the difference, the end of a command with its exit code. Prompt and tools stand only in newer files.
`output.jsonl` holds a run a line; in older ones nothing tells which calls were made with how many tokens.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.core.buffer import Prompt
from inspector.core.dialects.openai_chat import CHAT
from inspector.core.formats.excerpt import excerpt
from inspector.core.formats.format import Head
from inspector.core.formats.growing import GrowingThread, measured
from inspector.core.session import HeldSession, Problem, Session
from inspector.core.untyped import fields_of, list_of, object_of, text_at, text_of

NAME = "openhands"
_SILENT = ("null", "agent_state_changed", "recall", "think_ack", "success")
"""Observations that are not sent."""
_NOT_SAID = ("change_agent_state", "recall", "pause", "resume", "condensation_request", "system", "null")
"""Actions that are neither an answer of the model nor said to it."""


def sniff(head: Head) -> float:
    """Sure where events have a source and an action or an observation; of a run, where its history has."""
    value = head.document
    if isinstance(value, list):
        return 0.97 if value and _is_event(value[0]) else 0.0
    first = value if value is not None else next(iter(head.values), None)
    about = fields_of(first)
    if _is_event(next(iter(list_of(about.get("trajectory"))), None)):
        return 0.97
    history = about.get("history")
    if isinstance(history, list) and history and ("instruction" in about or "git_patch" in about):
        return 0.97 if _acts(history[0][0] if isinstance(history[0], list) and history[0] else history[0]) else 0.0
    return 0.97 if value is None and _is_event(first) else 0.0


def _is_event(value: Any) -> bool:
    return _acts(value) and "source" in value and ("args" in value or "extras" in value or "cause" in value)


def _acts(value: Any) -> bool:
    return isinstance(value, Mapping) and any(isinstance(value.get(key), str) for key in ("action", "observation"))


def split(value: Any) -> Sequence[tuple[HeldSession | None, Any]]:
    """A list of events is one conversation, so are lines with an event each; of `output.jsonl` every line is one."""
    if _is_event(value):
        return [(None, [value])]
    if isinstance(value, Mapping) and isinstance(value.get("trajectory"), list):  # as its server gives it out
        value = value["trajectory"]
    if isinstance(value, Mapping) and isinstance(value.get("history"), list):
        named = next((str(value[key]) for key in ("instance_id", "id") if isinstance(value.get(key), int | str)), "")
        issue = object_of(value, "issue")
        title = text_of(issue.get("title")) or text_of(value.get("instruction")).partition("\n")[0][:80]
        return [(HeldSession(named or str(issue.get("number") or ""), title), value)]
    return [(HeldSession(""), value)]


class OpenHandsReader:
    """A `Reader` of one conversation."""

    def __init__(self) -> None:
        self._thread = GrowingThread()
        self._problems: list[Problem] = []
        self._answers: set[str] = set()
        self._events: list[tuple[Any, str]] = []
        """Id of every event that was said, and the id of its message."""
        self._bare = False
        self._id = ""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take all events. Never raises for what they hold."""
        history = value.get("history") if isinstance(value, Mapping) else value
        self._id = text_at(value, "instance_id")
        for n, event in enumerate(list_of(history)):
            for one in event if isinstance(event, list) else (event,):
                if _acts(one):
                    self._take(one, f"e{one.get('id', n)}", line)
                else:
                    self._problems.append(Problem(line, "not an event", excerpt(one), file))

    def _take(self, event: Mapping[str, Any], name: str, line: int) -> None:
        time, before = text_of(event.get("timestamp")), len(self._thread.view())
        if event.get("action") == "system":
            self._take_prompt(object_of(event, "args"))
        elif event.get("action") == "condensation":
            self._condense(object_of(event, "args"), name, line, time)
        elif isinstance(event.get("observation"), str):
            self._observe(event, name, line, time)
        elif event.get("action") not in _NOT_SAID:
            self._act(event, name, line, time)
        if len(self._thread.view()) > before:
            self._events.append((event.get("id"), self._thread.view().tail(before)[0].id))

    def _take_prompt(self, told: Mapping[str, Any]) -> None:
        tools = told.get("tools")
        known = CHAT.prompt({"tools": tools}).tools if isinstance(tools, list) else None
        self._thread.prompt = Prompt(text_of(told.get("content")) or None, known)

    def _act(self, event: Mapping[str, Any], name: str, line: int, time: str) -> None:
        args = object_of(event, "args") or event
        if event.get("source") == "user" or (not event.get("source") and not self._thread.view().length):
            self._thread.hear(CHAT, [{"role": "user", "content": _words(args)}], name, line, time)
            return
        told = object_of(object_of(event, "tool_call_metadata"), "model_response")
        answer = CHAT.answer(told)
        key = text_of(told.get("id"))
        if answer and key and key in self._answers:
            return  # another call of the same answer
        if answer:
            self._answers.add(key)
            usage = measured(CHAT.usage(told.get("usage")))
            self._thread.call(usage, text_of(told.get("model")), time, CHAT.finish(told), line)
            self._thread.hear(CHAT, answer, name, line, time)
            return
        self._bare = True
        self._thread.call(None, "", time, "", line)
        self._thread.hear(CHAT, [{"role": "assistant", "content": _said(event, args)}], name, line, time)

    def _observe(self, event: Mapping[str, Any], name: str, line: int, time: str) -> None:
        told = object_of(event, "tool_call_metadata")
        call = text_of(told.get("tool_call_id"))
        if event["observation"] in _SILENT and not call:
            return
        wire: dict[str, Any] = {"role": "user", "content": observed(event)}
        if call:
            wire = {"role": "tool", "tool_call_id": call, "content": observed(event)}
        if wire["content"] or call:
            self._thread.hear(CHAT, [wire], name, line, time)

    def _condense(self, args: Mapping[str, Any], name: str, line: int, time: str) -> None:
        """Events are forgotten; a summary may stand in their place."""
        forgotten = set(map(str, list_of(args.get("forgotten_event_ids"))))
        first, last = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
        if isinstance(first, int) and isinstance(last, int):
            forgotten |= {str(event) for event, _ in self._events if isinstance(event, int) and first <= event <= last}
        if forgotten:
            gone = {message for event, message in self._events if str(event) in forgotten}
            offset = args.get("summary_offset")
            self._thread.condense(gone, text_of(args.get("summary")), offset, name, line, time)

    def session(self) -> Session:
        """The session so far."""
        notes = ["Some answers stand there without what the provider reported of them."] if self._bare else []
        threads = (self._thread.thread(),)
        return Session(NAME, threads, tuple(self._problems), client="OpenHands", id=self._id, notes=tuple(notes))


def _words(args: Mapping[str, Any]) -> Any:
    images = [url for key in ("image_urls", "images_urls") for url in list_of(args.get(key))]
    text = text_of(args.get("content"))
    if not images:
        return text
    return [{"type": "text", "text": text}, *({"type": "image_url", "image_url": {"url": url}} for url in images)]


def _said(event: Mapping[str, Any], args: Mapping[str, Any]) -> str:
    """What an action without the model's answer tells of it: what was thought, and what was to be done."""
    words = [text_of(args.get(key)) for key in ("thought", "content", "command", "code", "final_thought")]
    return "\n".join(word for word in words if word) or text_of(event.get("message"))


def observed(event: Mapping[str, Any]) -> str:
    """What the model reads of an observation."""
    extras, content = object_of(event, "extras"), text_of(event.get("content"))
    if told := text_of(extras.get("formatted_output_and_error")):
        return told
    about = object_of(extras, "metadata")
    if event["observation"] == "run" and about:
        ends = [f"{text_of(about.get('prefix'))}{content}{text_of(about.get('suffix'))}"]
        if folder := text_of(about.get("working_dir")):
            ends.append(f"[Current working directory: {folder}]")
        if python := text_of(about.get("py_interpreter_path")):
            ends.append(f"[Python interpreter: {python}]")
        if isinstance(code := about.get("exit_code"), int) and code != -1:
            ends.append(f"[Command finished with exit code {code}]")
        return "\n".join(ends)
    return content or text_of(event.get("message")) * (event["observation"] not in _SILENT)
