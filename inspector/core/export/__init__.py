"""A buffer as a transcript that the agent itself can resume: a new session, never the old one. One format a file."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.export import claude_code, codex, pi
from inspector.core.export.birth import Birth
from inspector.core.jsontext import dumps

WRITERS: Mapping[str, Callable[[Buffer, Birth], Iterable[dict[str, Any]]]] = MappingProxyType(
    {"claude-code": claude_code.records, "codex": codex.records, "pi": pi.records}
)


def transcript(format: str, buffer: Buffer, birth: Birth) -> str:  # noqa: A002
    """The transcript's text, one JSON object a line. Raises InspectorError for a format that cannot be written."""
    if format not in WRITERS:
        known = ", ".join(WRITERS)
        raise InspectorError(f"A {format} transcript cannot be written (known: {known}); take a payload instead.")
    return "".join(f"{dumps(record)}\n" for record in WRITERS[format](buffer, birth))
