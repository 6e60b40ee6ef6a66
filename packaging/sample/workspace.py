"""The files of the demonstration project while the story goes on, and what the tools say about them."""

import difflib
import re
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

HOME = "/home/dev/ledger"
SNIPPET = 4
"""Lines that an edit shows before and after the changed ones."""


class ToolFailed(Exception):
    """The tool says no: the message is what the model reads."""


@dataclass(slots=True)
class Workspace:
    """Path below HOME -> content. Every method returns (what the model reads, what the client keeps beside it)."""

    files: dict[str, bytes] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def text(self, path: str) -> str:
        """The content of a text file."""
        if path not in self.files:
            raise ToolFailed("<tool_use_error>File does not exist.</tool_use_error>")
        return self.files[path].decode("utf-8", errors="replace")

    def read(self, path: str, offset: int = 1, limit: int = 2000) -> tuple[str, dict[str, Any]]:
        """Numbered lines."""
        lines = self.text(path).rstrip("\n").split("\n")
        shown = lines[offset - 1 : offset - 1 + limit]
        self.seen.add(path)
        numbered = "\n".join(f"{n:>6}→{line}" for n, line in enumerate(shown, start=offset))
        kept = {
            "filePath": f"{HOME}/{path}",
            "content": "\n".join(shown),
            "numLines": len(shown),
            "startLine": offset,
            "totalLines": len(lines),
        }
        return numbered, {"type": "text", "file": kept}

    def edit(self, path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
        """Replace the one place where `old` stands."""
        before = self.text(path)
        if before.count(old) != 1:
            raise ToolFailed(_edit_error(before.count(old), old))
        after = before.replace(old, new)
        self.files[path] = after.encode()
        first = before[: before.index(old)].count("\n")
        lines = after.split("\n")
        start, end = max(0, first - SNIPPET), first + new.count("\n") + 1 + SNIPPET
        snippet = "\n".join(
            f"{n:>6}→{line}" for n, line in enumerate(lines[start:end], start=start + 1)
        )
        said = (
            f"The file {HOME}/{path} has been updated. Here's the result of running `cat -n` on a snippet of the edited"
            f" file:\n{snippet}"
        )
        kept = {
            "filePath": f"{HOME}/{path}",
            "oldString": old,
            "newString": new,
            "originalFile": None,
        }
        return said, kept | {
            "structuredPatch": _patch(before, after),
            "userModified": False,
            "replaceAll": False,
        }

    def write(self, path: str, content: str) -> tuple[str, dict[str, Any]]:
        """A new file, or one replaced."""
        known = path in self.files
        self.files[path] = (content + "\n").encode()
        said = (
            f"The file {HOME}/{path} has been updated."
            if known
            else f"File created successfully at: {HOME}/{path}"
        )
        kept = {
            "type": "update" if known else "create",
            "filePath": f"{HOME}/{path}",
            "content": content + "\n",
        }
        return said, kept | {"structuredPatch": [], "originalFile": None}

    def grep(self, pattern: str, path: str = "", glob: str = "*") -> tuple[str, dict[str, Any]]:
        """`path:line:text` of every line that matches."""
        found = [
            f"{name}:{n}:{line}"
            for name in sorted(self.files)
            if name.startswith(path) and fnmatch(name, glob)
            for n, line in enumerate(self.text(name).split("\n"), start=1)
            if re.search(pattern, line)
        ]
        said = "\n".join(found) or "No matches found"
        return said, {
            "mode": "content",
            "numFiles": 0,
            "filenames": [],
            "content": said,
            "numLines": len(found),
        }

    def glob(self, pattern: str) -> tuple[str, dict[str, Any]]:
        """Paths that match."""
        found = [f"{HOME}/{name}" for name in sorted(self.files) if fnmatch(name, pattern)]
        return "\n".join(found), {
            "filenames": found,
            "durationMs": 11,
            "numFiles": len(found),
            "truncated": False,
        }


def _edit_error(count: int, old: str) -> str:
    if count:
        why = (
            f"Found {count} matches of the string to replace, but replace_all is false. To replace all occurrences, set"
            " replace_all to true. To replace only one occurrence, please provide more context to uniquely identify the"
            " instance."
        )
    else:
        why = "String to replace not found in file."
    return f"<tool_use_error>{why}\nString: {old}</tool_use_error>"


def _patch(before: str, after: str) -> list[dict[str, Any]]:
    """Hunks as the client keeps them."""
    hunks: list[dict[str, Any]] = []
    for line in list(difflib.unified_diff(before.split("\n"), after.split("\n"), n=3, lineterm=""))[
        2:
    ]:
        match = re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line)
        if match:
            old, olds, new, news = (int(part or 1) for part in match.groups())
            hunks.append(
                {"oldStart": old, "oldLines": olds, "newStart": new, "newLines": news, "lines": []}
            )
        elif hunks:
            hunks[-1]["lines"].append(line)
    return hunks
