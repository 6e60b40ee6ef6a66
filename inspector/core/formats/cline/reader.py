"""The reader of Cline's and Roo Code's tasks: calls and cuts by the log (`ui_messages.json`), buffers by the history.

Alone the log tells tokens, and no buffer; the history tells buffers, and not what was cut off before a call.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.buffer import EMPTY_VIEW, Stretch, View
from inspector.core.dialects.anthropic import read_messages
from inspector.core.formats.format import BuiltReader
from inspector.core.formats.reading import excerpt, iso_time
from inspector.core.message import Message
from inspector.core.session import Compaction, Problem, Request, Session, Thread
from inspector.core.untyped import count_of, object_in, object_of, text_at
from inspector.core.usage import Usage

Cut = tuple[int, int]
"""First and last item of the history that is left out."""


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A call that the log tells."""

    time: str
    model: str
    index: int | None
    """Of the last item of the history when the call was written down, -1 for none; the question comes after it."""
    usage: Usage | None
    cancelled: bool
    cut: Cut | None


def logged_calls(log: Sequence[Any]) -> list[LoggedCall]:
    """The calls, in order. Each is written down before its cut is made, so that the next one tells it."""
    calls: list[LoggedCall] = []
    told: list[Cut | None] = []
    last: Cut | None = None
    for record in log:
        if not isinstance(record, dict):
            continue
        last = _cut(record.get("conversationHistoryDeletedRange")) or last
        if record.get("say") == "api_req_started":
            calls.append(_call(record))
            told.append(_cut(record.get("conversationHistoryDeletedRange")))
    cuts = [*told[1:], last]
    return [
        LoggedCall(one.time, one.model, one.index, one.usage, one.cancelled, cut)
        for one, cut in zip(calls, cuts, strict=False)
    ]


def _call(record: Mapping[str, Any]) -> LoggedCall:
    index, about = record.get("conversationHistoryIndex"), object_in(record.get("text"))
    return LoggedCall(
        time=iso_time(record.get("ts")),
        model=model_of(record),
        index=index if type(index) is int and index >= -1 else None,
        usage=_reported(about),
        cancelled=bool(about.get("cancelReason")),
        cut=None,
    )


def model_of(record: Mapping[str, Any]) -> str:
    """The model that a record, or an item of the history, names."""
    return text_at(record.get("modelInfo"), "modelId")


def _reported(about: Mapping[str, Any]) -> Usage | None:
    """None while the call goes on, and where it was cancelled: all zero.

    With providers like OpenAI `tokensIn` is 0, and `cacheWrites` holds what did not come from the cache.
    """
    names = ("tokensIn", "cacheReads", "cacheWrites", "tokensOut")
    fresh, read, write, output = (count_of(about.get(name)) for name in names)
    if max(fresh + read + write, output) <= 1:
        return None
    return Usage(fresh, read, write, output) if fresh else Usage(write, read, 0, output)


def _cut(value: Any) -> Cut | None:
    match value:
        case [int(first), int(last)] if 0 <= first <= last:
            return first, last
    return None


def title_of(log: Sequence[Any]) -> str:
    """What the user typed first."""
    for record in log:
        if isinstance(record, dict) and record.get("say") in ("task", "text") and isinstance(record.get("text"), str):
            return str(record["text"]).strip().partition("\n")[0][:120]
    return ""


NAME = "cline"
_TASK = "<task>\n"
_RESULT = re.compile(r"\[\w+(?: for [^\n]*)?\] Result:")
"""How the client begins what a tool gave back, where it sends that as text of the user."""
_CUTS = 50
"""Different cuts that are followed; each costs a copy of the history."""
_NO_HISTORY = (
    "This is the log of the task: it tells the tokens of the calls. What was sent stands in "
    "api_conversation_history.json, which is not beside it."
)
_NO_LOG = (
    "This is the history of the task alone: what was cut off before a call stands in ui_messages.json, which is not "
    "beside it, so buffers may hold more than was sent. What came from the cache and what was written to it are one "
    "number here, shown as read."
)
_APART = "The log does not tell which part of the history a call was sent: tokens are shown, and no buffers."


class ClineReader(BuiltReader):
    """A `Reader`. Both files are documents: a change means a fresh one."""

    def __init__(self) -> None:
        super().__init__()
        self._log: Sequence[Any] | None = None
        self._history: Sequence[Any] | None = None

    def _take(self, line: int, value: Any, file: str) -> None:
        if is_log(value) and self._log is None:
            self._log = value
        elif is_history(value) and self._history is None:
            self._history = value
        else:
            self._problems.append(Problem(line, "neither the log nor the history of a task", excerpt(value), file))

    def _build(self) -> Session:
        calls, task = logged_calls(self._log or ()), _TaskHistory(self._history or ())
        notes = []
        if self._log is None:
            calls = task.calls()
            notes = [_NO_LOG] if self._history is not None else []
        elif self._history is None:
            notes = [_NO_HISTORY]
        else:
            calls = task.placed(calls)
            notes = [_APART] if any(call.index is None for call in calls) else []
        for call in calls:
            if call.usage is not None or not call.cancelled:
                task.take(call)
        made = task.requests
        main = Thread(
            id="main",
            title=title_of(self._log or ()) or task.title,
            model=made[-1].model if made else "",
            requests=made,
            messages=task.messages,
            end=task.end(calls[-1].cut if calls else None),
            compactions=task.compactions,
        )
        problems = [*self._problems, *task.problems]
        return Session(NAME, (main,), problems, client="Cline or Roo Code", notes=tuple(notes))


class _TaskHistory:
    """The history as messages, and the views of it that calls were sent."""

    def __init__(self, history: Sequence[Any]) -> None:
        self._items = [item for item in history if isinstance(item, dict)]
        self.messages: list[Message] = []
        self._starts: list[int] = []
        """Where each item begins among the messages; at its end, where the next would."""
        self.requests: list[Request] = []
        self.compactions: list[Compaction] = []
        self.problems: list[Problem] = []
        for n, item in enumerate(self._items):
            self._starts.append(len(self.messages))
            self.messages += _messages(n, item)
        self._starts.append(len(self.messages))
        self._whole = Stretch(own=self.messages)
        self._cuts: dict[Cut, Stretch] = {}
        self._cut: Cut | None = None

    @property
    def title(self) -> str:
        """What the user typed first, as the client wraps it."""
        first = self.messages[0].text if self.messages else ""
        return first.removeprefix(_TASK).partition("\n")[0][:120] if first.startswith(_TASK) else ""

    def calls(self) -> list[LoggedCall]:
        """The answers, where no log tells the calls."""
        return [
            LoggedCall(iso_time(item.get("ts")), model_of(item), n - 2, _usage(item), False, None)
            for n, item in enumerate(self._items)
            if item.get("role") == "assistant"
        ]

    def placed(self, calls: list[LoggedCall]) -> list[LoggedCall]:
        """Calls without an index, each with that of its answer, where there are as many calls as answers."""
        if all(call.index is not None for call in calls):
            return calls
        answers, made = self.calls(), [call for call in calls if call.usage is not None]
        if len(made) != len(answers):
            return calls
        return [
            LoggedCall(one.time, one.model or told.model, told.index, one.usage, False, one.cut)
            for one, told in zip(made, answers, strict=True)
        ]

    def take(self, call: LoggedCall) -> None:
        """A call: what it was sent, and whether something was cut off before it."""
        view, model, number = EMPTY_VIEW, call.model, len(self.requests)
        if call.index is not None and self._items:
            end = min(call.index + 2, len(self._items))
            if not model and end < len(self._items):
                model = model_of(self._items[end])
            cut = call.cut if call.cut and call.cut[1] < end else None
            view = self._view(cut, end)
            if cut and cut != self._cut and self._cuts[cut] is not self._whole:
                self._note(cut, number, call.time)
            self._cut = cut or self._cut
        model = model or (self.requests[-1].model if self.requests else "")
        self.requests.append(Request(number, view, usage=call.usage, model=model, time=call.time))

    def end(self, cut: Cut | None) -> View:
        """What the next call would send."""
        return self._view(cut if cut and cut[1] < len(self._items) else None, len(self._items))

    def _view(self, cut: Cut | None, end: int) -> View:
        """The history up to an item, without what was cut off."""
        length = self._starts[end]
        if cut is None:
            return View(self._whole, length)
        first, after = self._starts[cut[0]], self._starts[cut[1] + 1]
        stretch = self._cuts.get(cut)
        if stretch is None:
            if len(self._cuts) == _CUTS:
                self.problems.append(Problem(0, f"more than {_CUTS} cuts of the history: the others are not followed"))
            if len(self._cuts) >= _CUTS:
                self._cuts[cut] = self._whole
                return View(self._whole, length)
            stretch = self._cuts[cut] = Stretch(View(self._whole, first), self.messages[after:])
        return View(stretch, length if stretch is self._whole else first + length - after)

    def _note(self, cut: Cut, number: int, time: str) -> None:
        """Only what was not cut off before: the range only grows."""
        before = range(self._cut[0], self._cut[1] + 1) if self._cut else range(0)
        items = [n for n in range(cut[0], cut[1] + 1) if n not in before]
        gone = [message.id for n in items for message in self.messages[self._starts[n] : self._starts[n + 1]]]
        self.compactions.append(Compaction(number, "truncation", "edit", cleared=tuple(gone), time=time))


def _messages(n: int, item: Mapping[str, Any]) -> list[Message]:
    content = item.get("content")
    first = content[0] if isinstance(content, list) and content else content
    text = first.get("text") if isinstance(first, dict) else first
    told = item.get("role") == "user" and isinstance(text, str) and _RESULT.match(text) is not None
    read = read_messages(
        text_at(item, "role"),
        content,
        id=f"{n}",
        time=iso_time(item.get("ts")),
        summary=item.get("isSummary") is True,
        mark="meta" if told else "",
    )
    return [message for message in read if message.parts]


def _usage(item: Mapping[str, Any]) -> Usage | None:
    """`cached` holds what was read from the cache and what was written to it."""
    tokens = object_of(object_of(item, "metrics"), "tokens")
    prompt, cached, output = (count_of(tokens.get(name)) for name in ("prompt", "cached", "completion"))
    return Usage(prompt, cached, 0, output) if max(prompt + cached, output) > 1 else None


def is_log(value: Any) -> bool:
    """A list of what the user saw."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and "ts" in first and first.get("type") in ("say", "ask")


def is_history(value: Any) -> bool:
    """A list of messages as they are sent."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and first.get("role") in ("user", "assistant") and "content" in first
