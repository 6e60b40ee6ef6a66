"""What could not be read as it stands: each finding with its line, a kind that repeats only once."""

from typing import Any

from inspector.core.jsontext import dumps
from inspector.core.session import Problem

_EXCERPT = 160
"""Characters of the record that a problem shows."""


class Findings:
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
