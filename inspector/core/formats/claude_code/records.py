"""One line of the file, with the fields that decide where it belongs."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from inspector.core.dialects.anthropic import has_counts, read_counts, read_edits
from inspector.core.jsontext import dumps
from inspector.core.session import Problem
from inspector.core.usage import Usage, is_absurd


class ChainRecord:
    """A parsed line that has a place in the chain of records."""

    __slots__ = ("file", "line", "parent", "time", "uuid", "value")

    def __init__(self, value: dict[str, Any], line: int, file: str = "") -> None:
        self.value, self.line, self.file = value, line, file
        uuid, parent, time = value.get("uuid"), value.get("parentUuid", ""), value.get("timestamp")
        self.uuid: str = uuid if isinstance(uuid, str) and uuid else f"{file}line-{line}"
        self.parent: str | None = parent if parent is None or isinstance(parent, str) else ""
        """uuid of the record it hangs on; None = on nothing, it is a beginning; empty = it does not say."""
        self.time: str = time if isinstance(time, str) else ""


_FINAL_AT_LAST = (2, 1, 8)
"""Up to this version the last line holds the final output although no stop reason was written."""


class AnswerReport:
    """The usage, the stop reason and the model's own word about one call, line by line."""

    __slots__ = ("_grew", "_known", "_output", "_usage", "absurd", "edits", "finish", "version")

    def __init__(self) -> None:
        self.finish = ""
        self.version = ""
        self.edits: Sequence[Mapping[str, Any]] = ()
        """What the provider says it cleared before the model read it."""
        self.absurd = False
        """The last line held counts that there cannot be; they were left out."""
        self._usage: dict[str, Any] | None = None
        self._output = -1
        self._grew = False
        self._known: Usage | Literal[False] | None = False
        """The usage so far; False = to be worked out anew."""

    def add(self, message: dict[str, Any], version: Any) -> None:
        """Take the figures of one more line."""
        stop, usage = message.get("stop_reason"), message.get("usage")
        if isinstance(stop, str):
            self.finish = stop
        if isinstance(version, str):
            self.version = version
        if message.get("context_management"):
            self.edits = read_edits(message)
        self.absurd = False
        if usage == self._usage and not isinstance(stop, str) and usage is not None:
            return  # most lines repeat the one before
        self._known = False
        self.absurd = usage != self._usage and is_absurd(usage)
        if self.absurd or not isinstance(usage, dict):
            return
        output = usage.get("output_tokens")
        output = output if type(output) is int else 0
        if self._usage is None or output >= self._output:
            self._grew = self._grew or (self._usage is not None and output > self._output)
            self._usage, self._output = usage, output

    def usage(self) -> Usage | None:
        """The call's usage; `output_is_final` False where only a lower bound of the output was recorded."""
        if self._known is False:
            told = self._usage
            self._known = None
            if told is not None and has_counts(told):
                self._known = read_counts(told, output_is_final=self._is_final())
        return self._known

    def thinking(self) -> int:
        """Tokens of its thinking, as far as they were reported (2.1.330 on)."""
        details = self._usage.get("output_tokens_details") if self._usage is not None else None
        tokens = details.get("thinking_tokens") if isinstance(details, dict) else None
        return tokens if type(tokens) is int else 0

    def _is_final(self) -> bool:
        return bool(self.finish) or (self._grew and numbers(self.version) <= _FINAL_AT_LAST)


@lru_cache(maxsize=256)  # a file names a few, on every line
def numbers(version: str) -> tuple[int, ...]:
    """A version as numbers that compare; none where it is not told."""
    return tuple(int(number) for number in re.findall(r"\d{1,9}", version)[:3])


_EXCERPT = 160
"""Characters of the record that a problem shows."""


class ProblemLog:
    """The problems of a session, in the order in which they were met."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._kinds: set[str] = set()

    def add(self, what: str, line: int, value: Any, file: str = "") -> None:
        """List a problem."""
        self.problems.append(Problem(line, what, dumps(value)[:_EXCERPT], file))

    def add_kind(self, what: str, line: int, value: Any, file: str = "") -> None:
        """List a problem that is the same for every record of its kind, where it is first met."""
        if what not in self._kinds:
            self._kinds.add(what)
            self.add(what, line, value, file)
