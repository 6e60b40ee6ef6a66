"""What all tools share: how much one may take, how it says no, what a person is asked before it does something."""

import errno
import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """Every bound of every tool. What is left out because of one is said in the result."""

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


class ToolError(Exception):
    """The call is not served. `str(refused)` is the result that the model reads."""


_SAID = {
    errno.ENOENT: "there is no such file or folder",
    errno.EACCES: "it may not be read or written by this user",
    errno.EPERM: "the system does not permit it",
    errno.ENAMETOOLONG: "the name is too long for the file system",
    errno.ENOTDIR: "a part of the path is no folder",
    errno.EISDIR: "it is a folder",
    errno.ELOOP: "its links lead in a circle, or were changed meanwhile",
    errno.ENOSPC: "the disk is full",
    errno.EROFS: "the file system is read-only",
    errno.EMFILE: "too many files are open; try again",
}


def refusal(path: str, why: OSError) -> ToolError:
    """A failure of the system as a sentence."""
    return ToolError(f"{path}: {_SAID.get(why.errno or 0, why.strerror or str(why))}.")


def plain(text: str) -> str:
    """The same text as every provider takes it: no half characters, no NUL."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\0")


def shown(path: str | bytes) -> str:
    """A path on one line, whatever its name holds."""
    text = plain(os.fsdecode(path))
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


@dataclass(frozen=True, slots=True)
class Question:
    """`says` and `covers` are our words; `exact` is what will run or be written, whole and to the letter.

    Whoever shows it keeps the two apart: a command may hold a sentence that sounds like ours.
    """

    says: str
    exact: str
    covers: str = ""
    is_diff: bool = False
