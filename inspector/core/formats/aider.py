"""Aider's log of what it sends (`--llm-history-file`): text, every call with its whole prompt.

`TO LLM time`, the messages with `-------` before each and their role before every line; `LLM RESPONSE time`, the answer
likewise. A call without an answer failed, and is none. The tokens of calls, the model and why a prompt became shorter
are not in the file; Aider sends no tools.
"""

import re
from typing import Any

from inspector.core.formats.calls import CallList, chat_call
from inspector.core.formats.excerpt import excerpt
from inspector.core.formats.format import Contents, Format, Head
from inspector.core.formats.payload.exchange import BodyPair
from inspector.core.session import Problem, Session, Thread

NAME = "aider"
_BEGIN = re.compile(rb"\s*(?:\xef\xbb\xbf)?TO LLM \d{4}-\d\d-\d\dT[\d:.]+\r?\n-------\r?\n")
_MARK = re.compile(r"(TO LLM|LLM RESPONSE) (\d{4}-\d\d-\d\dT[\d:.]+)")
_LINE = re.compile(r"(SYSTEM|USER|ASSISTANT|TOOL|FUNCTION)(?: |$)")
_NEXT = "-------"


def sniff(head: Head) -> float:
    """Sure of the first two lines."""
    return float(_BEGIN.match(head.data) is not None)


class AiderReader:
    """A `Reader`: fed line after line, as text."""

    def __init__(self) -> None:
        self._calls: list[BodyPair] = []
        self._threads: tuple[int, CallList] = 0, CallList(is_one=True)
        """How many of the calls were read, and what they make."""
        self._line, self._time = 0, ""
        self._sent: list[tuple[str, list[str]]] = []
        self._answer: list[str] | None = None
        """Lines of the answer; None while the prompt is told."""
        self._stands = False
        """The call that is told last stands at the end of the calls, as far as it is told."""
        self._failed = 0
        self._problems: list[Problem] = []

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take a line. Never raises for what it holds."""
        if not isinstance(value, str):
            self._problems.append(Problem(line, "not a line of text", excerpt(value), file))
        elif mark := _MARK.fullmatch(value):
            if mark[1] == "LLM RESPONSE":
                self._answer = []
                return
            self._end()
            self._line, self._time = line, mark[2]
        elif self._answer is not None:
            self._answer.append(value.removeprefix("ASSISTANT").removeprefix(" "))
            self._withdraw()
        elif value == _NEXT:
            self._sent.append(("", []))
        elif (told := _LINE.match(value)) and self._sent and self._sent[-1][0] in ("", told[1]):
            self._sent[-1] = told[1], self._sent[-1][1]
            self._sent[-1][1].append(value[told.end() :])
        elif self._sent and self._sent[-1][0]:  # older versions: only the first line has its role
            self._sent[-1][1].append(value)
        elif value.strip():
            self._problems.append(Problem(line, "neither a message nor a mark between them", value[:80], file))

    def _withdraw(self) -> None:
        """There is more of the last call than was taken."""
        if self._stands:
            self._stands = False
            self._calls.pop()

    def _end(self) -> None:
        """The call that was told is complete, as far as anybody knows."""
        self._take()
        self._failed += bool(self._sent) and not self._stands
        self._sent, self._answer, self._stands = [], None, False

    def _take(self) -> None:
        text = "\n".join(self._answer or ()).strip("\n")
        if text and self._sent and not self._stands:
            messages = [{"role": role.lower(), "content": "\n".join(lines)} for role, lines in self._sent if role]
            answer = {"role": "assistant", "content": text}
            self._calls.append(chat_call(messages, answer, tools=(), line=self._line, time=self._time))
            self._stands = True

    def session(self) -> Session:
        """The session so far. O(what has come); all of it where the last answer has become longer."""
        self._take()
        read, calls = self._threads
        if read > len(self._calls) or (read and self._last is not self._calls[read - 1]):
            read, calls = 0, CallList(is_one=True)
        for call in self._calls[read:]:
            calls.add(call)
        self._threads = len(self._calls), calls
        self._last = self._calls[-1] if self._calls else None
        threads, _ = calls.threads()
        notes = []
        if self._failed:
            notes.append(f"Calls that got no answer were left out: {self._failed:,}.")
        return Session(NAME, threads or (Thread("main"),), tuple(self._problems), client="Aider", notes=tuple(notes))

    _last: BodyPair | None = None


FORMAT = Format(
    NAME,
    "Aider LLM history",
    sniff,
    AiderReader,
    grows=True,
    contents=Contents(system="yes", tools="none are sent", more="`--llm-history-file`"),
    is_text=True,
)
