"""The only way for a string into a recording: every document is made a line here, without keys."""

from collections.abc import Iterable
from typing import Any

from inspector.proxy.record.known_secrets import KnownSecrets
from inspector.safety.redact_text import redact_values


class Redactor:
    """Turns documents into lines. A value that was removed once because of its name is removed wherever it is
    repeated.
    """

    def __init__(self) -> None:
        self._known = KnownSecrets()

    def learn_head(
        self, headers: Iterable[tuple[str, str]], path: str = "", *, is_answer: bool = False
    ) -> None:
        """Remember the keys in the head of a request or an answer."""
        self._known.learn_head(headers, path, is_answer=is_answer)

    def line(self, document: dict[str, Any]) -> str:
        """Return the document as a line of JSON without keys. Changes the document."""
        self._known.learn_fields(redact_values(document))
        return self._known.line(document)
