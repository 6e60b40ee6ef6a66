"""The files that Pi lists at the end of a summary: those that were read, and those that were modified."""

from collections.abc import Iterable
from dataclasses import dataclass

from inspector.core.calls import first_text
from inspector.core.message import Message

_READS, _WRITES = ("read",), ("edit", "write", "multiedit")
_PATHS = ("path", "file_path")


@dataclass(frozen=True, slots=True)
class Files:
    """The lists of files in a compaction's `details`. `read` lists files that were read but not modified."""

    read: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the lists as text to append to the summary. An empty list is left out."""
        text = ""
        for tag, paths in (("read-files", self.read), ("modified-files", self.modified)):
            if paths:
                text += "\n".join((f"\n\n<{tag}>", *paths, f"</{tag}>"))
        return text


NO_FILES = Files()


def files_of(messages: Iterable[Message], before: Files) -> Files:
    """Return the files of the calls `read`, `edit` and `write`, added to those of the previous compaction.

    Similar calls of other harnesses (Read, file_path) count as Pi's.
    """
    read = set(before.read)
    modified = set(before.modified)
    for message in messages:
        for call in message.calls:
            path = first_text(call.arguments, _PATHS)
            name = call.name.lower()
            if path and name in _READS:
                read.add(path)
            elif path and name in _WRITES:
                modified.add(path)
    return Files(_sort_paths(read - modified), _sort_paths(modified))


def _sort_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """Sort by UTF-16 units, as JavaScript does."""
    return tuple(sorted(paths, key=lambda path: path.encode("utf-16-be", "surrogatepass")))


def files_in(summary: str) -> Files:
    """Return the lists of files that an earlier compaction appended to its summary."""
    rest, modified = _split_last_block(summary, "modified-files")
    _, read = _split_last_block(rest, "read-files")
    return Files(read, modified)


def _split_last_block(text: str, tag: str) -> tuple[str, tuple[str, ...]]:
    """Split a text that ends with a block of this tag into (text before the block, lines of the block)."""
    head, opening, paths = text.removesuffix(f"\n</{tag}>").rpartition(f"\n\n<{tag}>\n")
    if not opening or not text.endswith(f"\n</{tag}>"):
        return text, ()
    return head, tuple(paths.split("\n"))
