"""What a tool says instead of doing: one sentence, for the model to read and to act on."""

import errno
import os


class Refused(Exception):
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


def refused(path: str, why: OSError) -> Refused:
    """A failure of the system as a sentence."""
    return Refused(f"{path}: {_SAID.get(why.errno or 0, why.strerror or str(why))}.")


def plain(text: str) -> str:
    """The same text as every provider takes it: no half characters, no NUL."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\0")


def shown(path: str | bytes) -> str:
    """A path on one line, whatever its name holds."""
    text = plain(os.fsdecode(path))
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)
