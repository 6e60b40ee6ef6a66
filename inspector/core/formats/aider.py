"""Read Aider's LLM history (`--llm-history-file`): a text file that holds every request with its whole prompt.

A request begins with `TO LLM time`. `-------` precedes each of its messages, and each line begins with the message's
role. `LLM RESPONSE time` begins the answer, whose lines have the same form. A request without an answer failed and is
left out. The file records no usage, no model and no reason why a prompt became shorter. Aider sends no tools.

In architect mode, an editor model carries out each answer of the architect in a separate conversation. The editor's
prompt holds nothing of the architect's conversation, and its request begins with the architect's answer, word for word.
The reader recognises editor conversations by that answer.
"""

import re
from dataclasses import replace
from typing import Any

from inspector.core.formats.calls import CallList, chat_call
from inspector.core.formats.format import Contents, Format, Head
from inspector.core.formats.payload.exchange import BodyPair
from inspector.core.formats.reading import ProblemList
from inspector.core.session import Session, Thread

NAME = "aider"
_BEGIN = re.compile(rb"\s*(?:\xef\xbb\xbf)?TO LLM \d{4}-\d\d-\d\dT[\d:.]+\r?\n-------\r?\n")
_MARK = re.compile(r"(TO LLM|LLM RESPONSE) (\d{4}-\d\d-\d\dT[\d:.]+)")
_LINE = re.compile(r"(SYSTEM|USER|ASSISTANT|TOOL|FUNCTION)(?: |$)")
_NEXT = "-------"


def sniff(head: Head) -> float:
    """Return 1.0 if the data begins with the first two lines of an LLM history, else 0.0."""
    return float(_BEGIN.match(head.data) is not None)


class AiderReader:
    """A `Reader` that is fed the lines of the file as text."""

    def __init__(self) -> None:
        self._calls: list[BodyPair] = []
        self._chats = _Chats()
        """The threads built from the first of `_calls`; `session` adds the remaining calls."""
        self._line, self._time = 0, ""
        self._sent: list[tuple[str, list[str]]] = []
        self._answer: list[str] | None = None
        """Lines of the answer; None while the prompt is being read."""
        self._is_listed = False
        """True if the last entry of `_calls` is the current call, whose answer may still grow."""
        self._failed = 0
        self._problems = ProblemList()

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take one line. Malformed lines become problems and never raise."""
        if not isinstance(value, str):
            self._problems.note(line, "not a line of text", value, file)
        elif mark := _MARK.fullmatch(value):
            self._take_mark(mark, line)
        elif self._answer is not None:
            self._answer.append(value.removeprefix("ASSISTANT").removeprefix(" "))
            self._withdraw()
        elif value == _NEXT:
            self._sent.append(("", []))
        elif not self._take_sent(value) and value.strip():
            self._problems.note(line, "neither a message nor a mark between them", value[:80], file)

    def _take_mark(self, mark: re.Match[str], line: int) -> None:
        if mark[1] == "LLM RESPONSE":
            self._answer = []
        else:
            self._end()
            self._line, self._time = line, mark[2]

    def _take_sent(self, text: str) -> bool:
        """Take a line of a message; False if no message has begun."""
        if not self._sent:
            return False
        role, lines = self._sent[-1]
        match = _LINE.match(text)
        if match and role in ("", match[1]):
            lines.append(text[match.end() :])
            self._sent[-1] = match[1], lines
            return True
        if role:  # older versions: only the first line has its role
            lines.append(text)
        return bool(role)

    def _withdraw(self) -> None:
        """Remove the current call from the list because its answer continues."""
        if self._is_listed:
            self._is_listed = False
            self._calls.pop()

    def _end(self) -> None:
        """End the last call, because the next one begins."""
        self._take()
        self._failed += bool(self._sent) and not self._is_listed
        self._sent, self._answer, self._is_listed = [], None, False

    def _take(self) -> None:
        text = "\n".join(self._answer or ()).strip("\n")
        if text and self._sent and not self._is_listed:
            messages = [
                {"role": role.lower(), "content": "\n".join(lines)}
                for role, lines in self._sent
                if role
            ]
            answer = {"role": "assistant", "content": text}
            self._calls.append(
                chat_call(messages, answer, tools=(), line=self._line, time=self._time)
            )
            self._is_listed = True

    def session(self) -> Session:
        """Return the session so far. O(new calls); O(all calls) if the last answer has become longer."""
        self._take()
        read = len(self._chats.calls)
        if self._chats.calls != self._calls[:read]:
            self._chats, read = _Chats(), 0
        for call in self._calls[read:]:
            self._chats.add(call)
        threads = self._chats.threads()
        notes = []
        if self._failed:
            notes.append(f"Calls that got no answer were left out: {self._failed:,}.")
        return Session(
            NAME,
            threads or (Thread("main"),),
            tuple(self._problems),
            client="Aider",
            notes=tuple(notes),
        )


class _Chats:
    """The threads of a file: the conversation with the user, and each conversation of the editor model."""

    def __init__(self) -> None:
        self.calls: list[BodyPair] = []
        self._lists = [CallList(is_one=True)]
        self._current = 0
        """Index in `_lists` of the conversation to which the last call belongs."""
        self._threads: dict[int, Thread] = {}
        """Finished threads of all editors except the last, by index in `_lists`."""

    def add(self, call: BodyPair) -> None:
        """Append a call to the conversation that it belongs to."""
        last = self.calls[-1] if self.calls else None
        if last is not None and _is_edit(last, call):
            self._lists.append(CallList(is_one=True))
            self._current = len(self._lists) - 1
        elif self._current and not (last is not None and _repeats_answer(last, call)):
            self._current = 0
        self._lists[self._current].add(call)
        self.calls.append(call)

    def threads(self) -> tuple[Thread, ...]:
        """Return the threads, the main one first."""
        threads = list(self._lists[0].threads()[0])
        for n, calls in enumerate(self._lists[1:], 1):
            if n not in self._threads:
                (thread,) = calls.threads()[0]
                self._threads[n] = replace(
                    thread, id=f"editor-{n}", title=f"Editor {n}", parent="main"
                )
            threads.append(self._threads[n])
        self._threads.pop(len(self._lists) - 1, None)
        return tuple(threads)


def _messages(call: BodyPair) -> list[Any]:
    return list((call.request or {}).get("messages", ()))


def _answer(call: BodyPair) -> str:
    return str((call.response or {})["choices"][0]["message"]["content"])


def _is_edit(architect: BodyPair, call: BodyPair) -> bool:
    """Does `call` send the answer of `architect` as a prompt, without the architect's conversation?"""
    answer = _answer(architect).strip()
    user_texts = _texts_of(call, "user")
    return (
        bool(user_texts)
        and user_texts[-1].startswith(answer)
        and answer not in _texts_of(call, "assistant")
    )


def _repeats_answer(last: BodyPair, call: BodyPair) -> bool:
    """Does `call` send the answer of the call `last` as one of its assistant messages?"""
    return _answer(last).strip() in _texts_of(call, "assistant")


def _texts_of(call: BodyPair, role: str) -> list[str]:
    return [message["content"].strip() for message in _messages(call) if message["role"] == role]


FORMAT = Format(
    NAME,
    title="Aider LLM history",
    sniff=sniff,
    start=AiderReader,
    grows=True,
    contents=Contents(system="yes", tools="none are sent", more="`--llm-history-file`"),
    is_text=True,
)
