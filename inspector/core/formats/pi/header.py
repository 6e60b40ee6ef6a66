"""The first record of a pi session: its version, where it was branched from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Header:
    """What it says; an empty one where the file has none."""

    value: Mapping[str, Any]
    version: int = 3

    @property
    def linear(self) -> bool:
        """Records follow each other: no ids, no tree."""
        return self.version < 2

    def text(self, key: str) -> str:
        """A text of the header; empty for none."""
        found = self.value.get(key)
        return found if isinstance(found, str) else ""

    @property
    def client(self) -> str:
        """The program, with the version of its sessions."""
        return f"pi session v{self.version}" if self.value else "pi"

    def notes(self) -> tuple[str, ...]:
        """What a reader should know of the file."""
        notes = [] if self.value else ["The file has no session header: it may begin in the middle."]
        origin = self.text("parentSession") or self.text("branchedFrom")
        return (*notes, f"Branched from {origin}.") if origin else tuple(notes)


def read_header(value: Mapping[str, Any]) -> Header:
    """The record `session`."""
    version = value.get("version")
    return Header(value, version if type(version) is int else 1)
