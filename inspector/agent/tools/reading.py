"""read_file: some lines of a text file, as they stand there."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from inspector.agent.tools.common import ToolError, ToolLimits, plain
from inspector.agent.tools.inside import Workspace, regular

SNIFFED = 8_192


@dataclass(slots=True)
class _ReadLines:
    """What was read so far, and why it ended before the file did."""

    lines: list[bytes]
    more: str = ""


def read_file(workspace: Workspace, limits: ToolLimits, arguments: Mapping[str, Any]) -> str:
    """The lines from `offset` (1-based) on. Raises ToolError."""
    first = arguments.get("offset") or 1
    count = min(arguments.get("limit") or limits.read_lines, limits.read_lines)
    with workspace.place(arguments["path"]) as place, os.fdopen(regular(place), "rb") as file:
        head = file.read(SNIFFED)
        if b"\0" in head:
            size = os.fstat(file.fileno()).st_size
            raise ToolError(f"{place.shown} is a binary file of {size:,} bytes; only text can be read.")
        file.seek(0)
        taken = _take(file, first, count, limits)
        if not taken.lines:
            return _nothing(place.shown, first, bool(head), taken.more)
        return plain(_text(taken, first, bool(arguments.get("numbers"))))


def _nothing(path: str, first: int, has_text: bool, more: str) -> str:
    if not has_text:
        return f"({path} is empty)"
    raise ToolError(f"{path}: {more or f'there is no line {first:,}; the file ends before it'}.")


def _take(file: IO[bytes], first: int, count: int, limits: ToolLimits) -> _ReadLines:
    taken, size = _ReadLines([]), 0
    for number, line in enumerate(_lines(file, limits), 1):
        if file.tell() > limits.scan_bytes:
            taken.more = f"only the first {limits.scan_bytes:,} bytes of a file are looked at"
            break
        if number < first:
            continue
        size += len(line)
        if len(taken.lines) == count or (size > limits.read_bytes and taken.lines):
            taken.more = f"go on with offset={number}"
            break
        taken.lines.append(line)
    return taken


def _lines(file: IO[bytes], limits: ToolLimits) -> Iterator[bytes]:
    """Lines with their ends; one that is too long is cut, and says so."""
    while line := file.readline(limits.line_bytes):
        if len(line) == limits.line_bytes and not line.endswith(b"\n"):
            left = 0
            while (more := file.readline(65_536)) and file.tell() <= limits.scan_bytes:
                left += len(more)
                if more.endswith(b"\n"):
                    break
            line += f" … {left:,} bytes of this line left out …\n".encode() if left else b""
        yield line


def _text(taken: _ReadLines, first: int, numbers: bool) -> str:
    lines = [line.decode("utf-8", "replace") for line in taken.lines]
    if numbers:
        lines = [f"{first + n:>6}\t{line}" for n, line in enumerate(lines)]
    text = "".join(lines)
    if not taken.more:
        return text
    end = "" if text.endswith("\n") else "\n"
    return f"{text}{end}… lines {first:,} to {first + len(lines) - 1:,}; {taken.more} …"
