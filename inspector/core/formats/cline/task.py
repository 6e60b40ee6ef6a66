"""Read tasks of Cline and Roo Code: calls and cuts from the log shown to the user, buffers from the history sent.

Without the history, the buffers are as the client shows them: each call with the text of the message that it sent, each
answer in pieces. Without the log, it is unknown which messages were cut off before a call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath
from typing import Any

from inspector.core.buffer import EMPTY_VIEW, Stretch, View
from inspector.core.dialects.anthropic import read_wire_messages
from inspector.core.facts.rules import rule
from inspector.core.formats.format import (
    AgentFolder,
    Contents,
    DocumentReader,
    FedValues,
    Format,
    Head,
)
from inspector.core.formats.reading import ProblemList, iso_time
from inspector.core.jsontext import dumps
from inspector.core.message import Message
from inspector.core.session import Compaction, Request, Session, Thread
from inspector.core.untyped import count_of, object_in, object_of, objects_of, text_at, text_of
from inspector.core.usage import Usage

Cut = tuple[int, int]
"""Indexes of the first and last item of the history that were cut off."""


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A call that the log records."""

    time: str
    model: str
    index: int | None
    """Index of the last item of the history when the call was logged, -1 for none. The next item is the question."""
    usage: Usage | None
    cancelled: bool
    cut: Cut | None


def logged_calls(log: Sequence[Any]) -> list[LoggedCall]:
    """Return the calls of the log, in order. A call is logged before its cut, so the next call shows the cut."""
    calls: list[LoggedCall] = []
    cuts: list[Cut | None] = []
    last: Cut | None = None
    for record in objects_of(log):
        cut = _cut(record.get("conversationHistoryDeletedRange"))
        last = cut or last
        if record.get("say") == "api_req_started":
            calls.append(_read_call(record))
            cuts.append(cut)
    return [replace(call, cut=cut) for call, cut in zip(calls, [*cuts[1:], last], strict=False)]


def _read_call(record: Mapping[str, Any]) -> LoggedCall:
    index = record.get("conversationHistoryIndex")
    about = object_in(record.get("text"))
    index = index if type(index) is int and index >= -1 else None
    is_cancelled = bool(about.get("cancelReason"))
    time = iso_time(record.get("ts"))
    return LoggedCall(
        time, task_model(record), index, usage=_reported(about), cancelled=is_cancelled, cut=None
    )


def task_model(record: Mapping[str, Any]) -> str:
    """Return the model that a record, or an item of the history, names."""
    return text_at(record.get("modelInfo"), "modelId")


def _reported(about: Mapping[str, Any]) -> Usage | None:
    """Return the usage of a call; None if all counts are zero (a call in progress or cancelled).

    With providers like OpenAI `tokensIn` is 0, and `cacheWrites` holds the uncached tokens of the prompt.
    """
    names = ("tokensIn", "cacheReads", "cacheWrites", "tokensOut")
    fresh, read, write, output = (count_of(about.get(name)) for name in names)
    if max(fresh + read + write, output) <= 1:
        return None
    return Usage(fresh, read, write, output) if fresh else Usage(write, read, output=output)


def _cut(value: Any) -> Cut | None:
    match value:
        case [int(first), int(last)] if 0 <= first <= last:
            return first, last
    return None


def title_of(log: Sequence[Any]) -> str:
    """Return the first line of what the user typed first, at most 120 characters."""
    for record in objects_of(log):
        if record.get("say") in ("task", "text") and isinstance(record.get("text"), str):
            return str(record["text"]).strip().partition("\n")[0][:120]
    return ""


NAME = "cline"
_LOG, _HISTORY = "ui_messages.json", "api_conversation_history.json"
_TASK = "<task>\n"
_RESULT = rule("clients.result")
_CUTS = 50
"""Highest number of different cuts that are applied; each costs a copy of the history."""
_NO_HISTORY = (
    "This is the log of the task: it records the tokens of the calls and what the user typed. Everything "
    "else that was sent is in api_conversation_history.json, which is not beside it."
)
_AS_SHOWN = (
    "This is the log of the task: messages are as the client shows them, and answers lack their tool "
    "calls. The messages as sent are in api_conversation_history.json, which is not beside it."
)
_NO_LOG = (
    "This is the history of the task alone: what was cut off before a call is recorded in ui_messages.json, which is "
    "not beside it, so buffers may hold more than was sent. What came from the cache and what was written to it are "
    "one number here, shown as read."
)
_APART = "The log does not record which part of the history each call sent, so tokens are shown, but no buffers."


def sniff(head: Head) -> float:
    """Return the sureness that the file is a task: 1.0 for a log, 0.95 or 1.0 for a history with the client's signs."""
    if is_log(head.document):
        return 1.0
    if not is_history(head.document):
        return 0.0
    rows = objects_of(head.document[:40])
    if any("modelInfo" in row or "metrics" in row for row in rows):
        return 1.0
    is_wrapped = item_text(rows[0]).startswith(_TASK)  # both clients wrap the first prompt
    has_times = sum("ts" in row for row in rows) > len(rows) // 2
    return 0.95 if is_wrapped or has_times else 0.0


def companions(path: PurePath) -> Sequence[str]:
    """Return the names of the log and of the history."""
    return (_LOG, _HISTORY)


def is_companion(head: Head, session: Session) -> bool:
    """Is the file the log or the history of a task? Both are in the folder of the task."""
    del session
    return is_log(head.document) or is_history(head.document)


def read(fed: FedValues) -> Session:
    """Read the log and the history of a task; either may be missing."""
    problems = ProblemList()
    log, history = _choose_files(fed, problems)
    task = _TaskHistory(shown_history(log or ()) if history is None else history)
    calls, notes = _find_calls(log, history, task)
    sent = [call for call in calls if call.usage is not None or not call.cancelled]
    for call in sent:
        task.take(call)
    title = title_of(log or ()) or task.title
    end = task.end(calls[-1].cut if calls else None)
    typed = _typed_views(log, sent) if log and history is None else ()
    main = Thread(
        id="main",
        title=title,
        model=task.model,
        requests=task.requests,
        messages=task.messages,
        end=end,
        compactions=task.compactions,
        typed=typed,
    )
    return Session(
        NAME, (main,), [*problems, *task.problems], client="Cline or Roo Code", notes=notes
    )


def _choose_files(
    fed: FedValues, problems: ProblemList
) -> tuple[Sequence[Any] | None, Sequence[Any] | None]:
    """Return the log and the history, each the first of its kind."""
    log: Sequence[Any] | None = None
    history: Sequence[Any] | None = None
    for line, value, file in fed:
        if is_log(value) and log is None:
            log = value
        elif is_history(value) and history is None:
            history = value
        else:
            problems.note(line, "neither the log nor the history of a task", value, file)
    return log, history


def _find_calls(
    log: Sequence[Any] | None, history: Sequence[Any] | None, task: "_TaskHistory"
) -> tuple[list[LoggedCall], tuple[str, ...]]:
    """Return the calls from the log, or from the history without a log, and notes about what is missing."""
    if log is None:
        return task.calls(), (_NO_LOG,) if history is not None else ()
    calls = logged_calls(log)
    if history is None:
        return calls, (_AS_SHOWN if any(call.index is not None for call in calls) else _NO_HISTORY,)
    calls = task.placed(calls)
    return calls, (_APART,) if any(call.index is None for call in calls) else ()


def _typed_views(log: Sequence[Any], calls: Sequence[LoggedCall]) -> list[View]:
    """Return for each call the view of the typed messages that it sent, from the log alone."""
    typed: dict[int, Mapping[str, Any]] = {}
    last = -1
    for record in objects_of(log):
        index = record.get("conversationHistoryIndex")
        last = index if type(index) is int and -1 <= index <= len(log) else last
        is_first = not typed and record.get("say") in ("task", "text")
        text = text_at(record, "text")
        if text and (is_first or record.get("say") == "user_feedback"):
            typed[last + 1] = {"role": "user", "content": text, "ts": record.get("ts")}
    history = _TaskHistory([typed.get(n, {}) for n in range(last + 2)])
    for call in calls:
        history.take(call)
    return [request.view for request in history.requests]


_SAID = frozenset(
    {
        "text",
        "tool",
        "command",
        "use_mcp_server",
        "completion_result",
        "plan_mode_respond",
        "followup",
    }
)
"""Values of `say` and `ask` whose records show a part of an answer."""
_READING = frozenset(
    {
        "readFile",
        "listFilesTopLevel",
        "listFilesRecursive",
        "searchFiles",
        "listCodeDefinitionNames",
    }
)
"""Tools whose `content` in the log is their result and not written by the model."""


def shown_history(log: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Return the history as the log shows it.

    The record of a call holds the text of the last message that it sent. The following records show the answer in
    pieces. Items of the history that the log does not show are empty.
    """
    items: dict[int, dict[str, Any]] = {}
    answer: list[dict[str, Any]] = []
    for record in objects_of(log):
        if record.get("say") == "api_req_started":
            index, answer = _read_call(record).index, []
            if index is None or index > len(log):
                continue
            question = text_at(object_in(record.get("text")), "request")
            items[index + 1] = {"role": "user", "content": question, "ts": record.get("ts")}
            items[index + 2] = {"role": "assistant", "content": answer, "ts": record.get("ts")}
        else:
            answer += _answer_blocks(record)
    return [items.get(n, {}) for n in range(max(items, default=-1) + 1)]


def _answer_blocks(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the part of an answer that a record shows, as content blocks; empty if it shows something else."""
    text = text_at(record, "text")
    if not text:
        return []
    if record.get("say") == "reasoning":
        return [{"type": "thinking", "thinking": text}]
    if record.get("say") not in _SAID and record.get("ask") not in _SAID:
        return []
    call = object_in(text) if record.get("say") == "tool" or record.get("ask") == "tool" else {}
    if call.get("tool") in _READING:
        text = dumps({name: value for name, value in call.items() if name != "content"})
    return [{"type": "text", "text": text}]


class _TaskHistory:
    """The history of a task as messages, and the requests and compactions built on it."""

    def __init__(self, history: Sequence[Any]) -> None:
        self._items = [item for item in history if isinstance(item, dict)]
        self.messages: list[Message] = []
        self._starts: list[int] = []
        """Index of the first message of each item of the history, and at the end the number of all messages."""
        self.requests: list[Request] = []
        self.compactions: list[Compaction] = []
        self.problems = ProblemList()
        for n, item in enumerate(self._items):
            self._starts.append(len(self.messages))
            self.messages += _messages(n, item)
        self._starts.append(len(self.messages))
        self._whole = Stretch(own=self.messages)
        self._cuts: dict[Cut, Stretch] = {}
        self._cut: Cut | None = None

    @property
    def title(self) -> str:
        """First line of the first prompt, which the client wraps in `<task>`; empty if it is not wrapped."""
        first = self.messages[0].text if self.messages else ""
        return first.removeprefix(_TASK).partition("\n")[0][:120] if first.startswith(_TASK) else ""

    @property
    def model(self) -> str:
        """The model of the last request."""
        return self.requests[-1].model if self.requests else ""

    def calls(self) -> list[LoggedCall]:
        """Return one call for each answer of the history, for a task without a log."""
        return [
            LoggedCall(
                iso_time(item.get("ts")),
                task_model(item),
                index=n - 2,
                usage=_usage(item),
                cancelled=False,
                cut=None,
            )
            for n, item in enumerate(self._items)
            if item.get("role") == "assistant"
        ]

    def placed(self, calls: list[LoggedCall]) -> list[LoggedCall]:
        """Return the calls that have usage, with the indexes of their answers.

        Return `calls` unchanged if no index is missing, or if the numbers of such calls and of answers differ.
        """
        if all(call.index is not None for call in calls):
            return calls
        answers = self.calls()
        measured = [call for call in calls if call.usage is not None]
        if len(measured) != len(answers):
            return calls
        return [
            replace(call, model=call.model or answer.model, index=answer.index, cancelled=False)
            for call, answer in zip(measured, answers, strict=True)
        ]

    def take(self, call: LoggedCall) -> None:
        """Add the request of a call, and a compaction if something was cut off before it."""
        view, model, number = EMPTY_VIEW, call.model, len(self.requests)
        if call.index is not None and self._items:
            end = min(call.index + 2, len(self._items))
            if not model and end < len(self._items):
                model = task_model(self._items[end])
            cut = call.cut if call.cut and call.cut[1] < end else None
            view = self._view(cut, end)
            self._note_cut(cut, number, call.time)
        self.requests.append(
            Request(number, view, usage=call.usage, model=model or self.model, time=call.time)
        )

    def end(self, cut: Cut | None) -> View:
        """Return the buffer that the next call would send, with `cut` left out."""
        return self._view(cut if cut and cut[1] < len(self._items) else None, len(self._items))

    def _view(self, cut: Cut | None, end: int) -> View:
        """Return the messages of the first `end` items of the history, without the cut."""
        length = self._starts[end]
        if cut is None:
            return View(self._whole, length)
        first = self._starts[cut[0]]
        after = self._starts[cut[1] + 1]
        stretch = self._cuts.get(cut)
        if stretch is None:
            if len(self._cuts) == _CUTS:
                self.problems.note(
                    0, f"more than {_CUTS} cuts of the history: the others are not followed"
                )
            if len(self._cuts) >= _CUTS:
                self._cuts[cut] = self._whole
                return View(self._whole, length)
            stretch = self._cuts[cut] = Stretch(View(self._whole, first), self.messages[after:])
        return View(stretch, length if stretch is self._whole else first + length - after)

    def _note_cut(self, cut: Cut | None, number: int, time: str) -> None:
        """Record a new cut as a compaction that clears the messages which the previous cut did not."""
        if cut is None:
            return
        if cut != self._cut and self._cuts[cut] is not self._whole:
            before = range(self._cut[0], self._cut[1] + 1) if self._cut else range(0)
            ids: list[str] = []
            for n in range(cut[0], cut[1] + 1):
                if n not in before:
                    ids += [
                        message.id
                        for message in self.messages[self._starts[n] : self._starts[n + 1]]
                    ]
            self.compactions.append(
                Compaction(number, "truncation", "edit", cleared=tuple(ids), time=time)
            )
        self._cut = cut


def item_text(item: Mapping[str, Any]) -> str:
    """Return the text at the beginning of an item's content; empty if the content begins with another block."""
    content = item.get("content")
    first = content[0] if isinstance(content, list) and content else content
    return text_of(first) or text_at(first, "text")


def _messages(n: int, item: Mapping[str, Any]) -> list[Message]:
    if not item:
        return []
    is_result = item.get("role") == "user" and _RESULT.match(item_text(item)) is not None
    messages = read_wire_messages(
        text_at(item, "role"),
        item.get("content"),
        id=f"{n}",
        time=iso_time(item.get("ts")),
        summary=item.get("isSummary") is True,
        mark="meta" if is_result else "",
    )
    return [message for message in messages if message.parts]


def _usage(item: Mapping[str, Any]) -> Usage | None:
    """Return the usage of a history item; None if not recorded. `cached` is the sum of cache reads and writes."""
    tokens = object_of(object_of(item, "metrics"), "tokens")
    prompt, cached, output = (
        count_of(tokens.get(name)) for name in ("prompt", "cached", "completion")
    )
    return (
        Usage(prompt, cache_read=cached, output=output)
        if max(prompt + cached, output) > 1
        else None
    )


def is_log(value: Any) -> bool:
    """Is this the log of a task: a list of records shown to the user?"""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and "ts" in first and first.get("type") in ("say", "ask")


def is_history(value: Any) -> bool:
    """Is this the history of a task: a list of messages as they are sent?"""
    first = value[0] if isinstance(value, list) and value else None
    return (
        isinstance(first, dict)
        and first.get("role") in ("user", "assistant")
        and "content" in first
    )


FORMAT = Format(
    NAME,
    title="Cline or Roo Code task",
    sniff=sniff,
    start=partial(DocumentReader, read),
    companions=companions,
    is_companion=is_companion,
    grows=True,
    of_folder=(_LOG, _HISTORY, "task_metadata.json", "history_item.json", "context_history.json"),
    folders=(
        AgentFolder(
            "*/User/globalStorage/*/tasks/*/ui_messages.json", ".config", "XDG_CONFIG_HOME"
        ),
        AgentFolder(
            "*/User/globalStorage/*/tasks/*/ui_messages.json", "Library/Application Support"
        ),
        AgentFolder("data/tasks/*/ui_messages.json", ".cline"),
    ),
    contents=Contents(tokens="yes", more="`ui_messages.json` with `api_conversation_history.json`"),
)
