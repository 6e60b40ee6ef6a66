"""How much a tool may take: bytes, lines, matches, seconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Every bound of every tool. What is left out because of one is told in the result."""

    read_lines: int = 2_000
    """Lines of one read, where the call asks for no fewer."""
    read_bytes: int = 100_000
    line_bytes: int = 10_000
    """A longer line is cut."""
    scan_bytes: int = 64_000_000
    """How far into a file a read or a search looks."""
    edit_bytes: int = 8_000_000
    """The largest file that is edited, and the largest that is written."""
    listed: int = 1_000
    matches: int = 100
    match_chars: int = 300
    search_bytes: int = 256_000_000
    """Of all files together."""
    look_s: float = 20.0
    """For a listing or a search."""
    command_s: float = 30.0
    command_most_s: float = 600.0
    output_bytes: int = 30_000
    """Of a command: its head and its tail, half each."""
