"""Read OpenHands' events (V0): what the user, the agent and the environment did, as one list per conversation.

An answer of the model is recorded with the action that it requested and again with the observation. The two records
have the same id, so they count as one call. The model reads an observation as OpenHands presents it, which is not
always its `content`: the report of an edit in place of the diff, the output of a command with its exit code. Only newer
files hold prompt and tools. `output.jsonl` holds one run per line; older versions of it do not record the calls and
their tokens.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.core.buffer import Prompt
from inspector.core.dialects.openai_chat import CHAT
from inspector.core.formats.format import FedValues
from inspector.core.formats.growing import GrowingThread, measured
from inspector.core.formats.reading import ProblemList
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.session import HeldSession, Session
from inspector.core.untyped import fields_of, list_of, object_of, text_at, text_of
from inspector.core.usage import Usage

NAME = "openhands"
_SILENT = ("null", "agent_state_changed", "recall", "think_ack", "success")
"""Types of observations that are not sent."""
_NOT_SAID = (
    "change_agent_state",
    "recall",
    "pause",
    "resume",
    "condensation_request",
    "system",
    "null",
)
"""Types of actions that are neither an answer of the model nor sent to it."""


def _is_run(value: Any) -> bool:
    """Is the value a line of `output.jsonl`?"""
    about = fields_of(value)
    history = about.get("history")
    if not isinstance(history, list) or not history:
        return False
    if "instruction" not in about and "git_patch" not in about:
        return False
    first = history[0]
    if isinstance(first, list) and first:
        first = first[0]
    return _acts(first)


def _is_event(value: Any) -> bool:
    return (
        _acts(value)
        and "source" in value
        and ("args" in value or "extras" in value or "cause" in value)
    )


def _acts(value: Any) -> bool:
    return isinstance(value, Mapping) and any(
        isinstance(value.get(key), str) for key in ("action", "observation")
    )


SIGNS = FileSigns(
    FileSign([_is_event], "document", sure=0.97),
    FileSign({"trajectory": [_is_event]}, sure=0.97),
    FileSign(_is_run, sure=0.97),
    FileSign(lambda value: not isinstance(value, list) and _is_event(value), sure=0.97),
)


def split_conversations(value: Any) -> Sequence[tuple[HeldSession | None, Any]]:
    """Return the conversations of a value.

    A list of events is one conversation. Lines with one event each form one conversation together. Every line of
    `output.jsonl` is a conversation.
    """
    if _is_event(value):
        return [(None, [value])]
    # The form in which OpenHands' server exports it.
    if isinstance(value, Mapping) and isinstance(value.get("trajectory"), list):
        value = value["trajectory"]
    if isinstance(value, Mapping) and isinstance(value.get("history"), list):
        ids = (value.get(key) for key in ("instance_id", "id"))
        issue = object_of(value, "issue")
        name = next((str(id_) for id_ in ids if isinstance(id_, int | str)), "")
        number = str(issue.get("number") or "")
        instruction = text_of(value.get("instruction"))
        first_line = instruction.partition("\n")[0][:80]
        title = text_of(issue.get("title")) or first_line
        return [(HeldSession(name or number, title), value)]
    return [(HeldSession(""), value)]


def read(fed: FedValues) -> Session:
    """Read the events of one conversation."""
    conversation = _EventList()
    problems = ProblemList()
    name = ""
    for line, value, file in fed:
        history = value.get("history") if isinstance(value, Mapping) else value
        name = text_at(value, "instance_id")
        for n, entry in enumerate(list_of(history)):
            for event in entry if isinstance(entry, list) else (entry,):
                if _acts(event):
                    conversation.take(event, f"e{event.get('id', n)}", line)
                else:
                    problems.note(line, "not an event", event, file)
    notes = (
        ("For some answers the file does not hold the usage that the provider reported.",)
        if conversation.is_bare
        else ()
    )
    return Session(
        NAME, (conversation.thread.thread(),), problems, client="OpenHands", id=name, notes=notes
    )


class _EventList:
    """Appends events to a thread."""

    def __init__(self) -> None:
        self.thread = GrowingThread()
        self.is_bare = False
        """True if an answer was recorded without the provider's response."""
        self._answers: set[tuple[str, Usage | None]] = set()
        """Id and usage of the answers read so far. The id alone is not enough, because ids may be redacted."""
        self._events: list[tuple[Any, str]] = []
        """Id of every event in the buffer, and the id of its first message."""

    def take(self, event: Mapping[str, Any], name: str, line: int) -> None:
        """Take the next event of the conversation."""
        time = text_of(event.get("timestamp"))
        before = len(self.thread.view())
        if event.get("action") == "system":
            self._take_prompt(object_of(event, "args"))
        elif event.get("action") == "condensation":
            self._condense(object_of(event, "args"), name, line, time)
        elif isinstance(event.get("observation"), str):
            self._observe(event, name, line, time)
        elif event.get("action") not in _NOT_SAID:
            self._act(event, name, line, time)
        if len(self.thread.view()) > before:
            self._events.append((event.get("id"), self.thread.view().tail(before)[0].id))

    def _take_prompt(self, args: Mapping[str, Any]) -> None:
        tools = args.get("tools")
        definitions = CHAT.prompt({"tools": tools}).tools if isinstance(tools, list) else None
        self.thread.prompt = Prompt(text_of(args.get("content")) or None, definitions)

    def _act(self, event: Mapping[str, Any], name: str, line: int, time: str) -> None:
        args = object_of(event, "args") or event
        if event.get("source") == "user" or (
            not event.get("source") and not self.thread.view().length
        ):
            self.thread.hear(CHAT, [{"role": "user", "content": _words(args)}], name, line, time)
            return
        response = object_of(object_of(event, "tool_call_metadata"), "model_response")
        answer = CHAT.answer(response)
        usage = measured(CHAT.usage(response.get("usage")))
        key = text_of(response.get("id")), usage
        if answer and key[0] and key in self._answers:
            return  # another call of the same answer
        if answer:
            self._answers.add(key)
            self.thread.call(
                usage, text_of(response.get("model")), time, CHAT.finish(response), line
            )
            self.thread.hear(CHAT, answer, name, line, time)
            return
        self.is_bare = True
        self.thread.call(None, "", time, "", line)
        self.thread.hear(
            CHAT, [{"role": "assistant", "content": _said(event, args)}], name, line, time
        )

    def _observe(self, event: Mapping[str, Any], name: str, line: int, time: str) -> None:
        metadata = object_of(event, "tool_call_metadata")
        call = text_of(metadata.get("tool_call_id"))
        if event["observation"] in _SILENT and not call:
            return
        wire: dict[str, Any] = {"role": "user", "content": observed(event)}
        if call:
            wire = {"role": "tool", "tool_call_id": call, "content": observed(event)}
        if wire["content"] or call:
            self.thread.hear(CHAT, [wire], name, line, time)

    def _condense(self, args: Mapping[str, Any], name: str, line: int, time: str) -> None:
        """Remove the forgotten events from the buffer; a summary may replace them."""
        forgotten = set(map(str, list_of(args.get("forgotten_event_ids"))))
        first = args.get("forgotten_events_start_id")
        last = args.get("forgotten_events_end_id")
        if isinstance(first, int) and isinstance(last, int):
            forgotten |= {
                str(event)
                for event, _ in self._events
                if isinstance(event, int) and first <= event <= last
            }
        if forgotten:
            gone = {message for event, message in self._events if str(event) in forgotten}
            offset = args.get("summary_offset")
            self.thread.condense(
                gone,
                summary=text_of(args.get("summary")),
                offset=offset,
                name=name,
                line=line,
                time=time,
            )


def _words(args: Mapping[str, Any]) -> Any:
    images = [url for key in ("image_urls", "images_urls") for url in list_of(args.get(key))]
    text = text_of(args.get("content"))
    if not images:
        return text
    return [
        {"type": "text", "text": text},
        *({"type": "image_url", "image_url": {"url": url}} for url in images),
    ]


def _said(event: Mapping[str, Any], args: Mapping[str, Any]) -> str:
    """Return the text of an answer that the event does not hold, from the action's thought and command."""
    words = [
        text_of(args.get(key)) for key in ("thought", "content", "command", "code", "final_thought")
    ]
    return "\n".join(word for word in words if word) or text_of(event.get("message"))


def observed(event: Mapping[str, Any]) -> str:
    """Return the text that the model reads for an observation."""
    extras = object_of(event, "extras")
    content = text_of(event.get("content"))
    if formatted := text_of(extras.get("formatted_output_and_error")):
        return formatted
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
