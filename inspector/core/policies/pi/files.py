"""The lists of files behind a summary: read, and modified (spec 3.7)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from inspector.core.message import Message

_READS, _WRITES = ("read",), ("edit", "write", "multiedit")
_PATHS = ("path", "file_path")


@dataclass(frozen=True, slots=True)
class Files:
    """What a compaction's `details` hold. `read`: never edited or written."""

    read: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()

    def text(self) -> str:
        """As it follows the summary: an empty list is left out."""
        blocks = (("read-files", self.read), ("modified-files", self.modified))
        return "".join(f"\n\n<{tag}>\n{_lines(paths)}\n</{tag}>" for tag, paths in blocks if paths)


NO_FILES = Files()


def _lines(paths: Iterable[str]) -> str:
    return "\n".join(paths)


def files_of(messages: Iterable[Message], before: Files) -> Files:
    """The files of the tool calls `read`, `edit` and `write`, with those of the compaction before.

    Calls of other harnesses (Read, file_path) are taken as what Pi's tools would have been.
    """
    read, modified = set(before.read), set(before.modified)
    for message in messages:
        for call in message.calls:
            path = _path(call.arguments)
            name = call.name.lower()
            if path and name in _READS:
                read.add(path)
            elif path and name in _WRITES:
                modified.add(path)
    return Files(_sorted(read - modified), _sorted(modified))


def _path(arguments: object) -> str:
    if not isinstance(arguments, Mapping):
        return ""
    return next((value for key in _PATHS if isinstance(value := arguments.get(key), str)), "")


def _sorted(paths: Iterable[str]) -> tuple[str, ...]:
    """By UTF-16 units, as JavaScript sorts."""
    return tuple(sorted(paths, key=lambda path: path.encode("utf-16-be", "surrogatepass")))


def files_in(summary: str) -> Files:
    """The lists that an earlier compaction wrote behind its summary: a buffer holds no other trace of its details."""
    rest, modified = _last_block(summary, "modified-files")
    _, read = _last_block(rest, "read-files")
    return Files(read, modified)


def _last_block(text: str, tag: str) -> tuple[str, tuple[str, ...]]:
    """(the text before it, its lines) of the block that ends the text."""
    head, opening, paths = text.removesuffix(f"\n</{tag}>").rpartition(f"\n\n<{tag}>\n")
    if not opening or not text.endswith(f"\n</{tag}>"):
        return text, ()
    return head, tuple(paths.split("\n"))
