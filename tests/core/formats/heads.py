"""Heads as the opener makes them, for tests that have values and no file."""

from typing import Any

from inspector.core.formats.detect import detect
from inspector.core.formats.format import Head
from inspector.core.session import Session


def head_of(*values: Any) -> Head:
    """The head of a file with a value a line; of a document, where there is one."""
    return Head(values[:60], values[0] if len(values) == 1 else None)


def read(*values: Any) -> Session:
    """The session of a file with a value a line, detected as any other."""
    reader = detect(head_of(*values)).start()
    for line, value in enumerate(values, 1):
        reader.feed(line, value)
    return reader.session()
