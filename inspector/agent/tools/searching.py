"""search_files: the lines that a regular expression matches.

Files are opened here, inside the workspace; the matching is done by a process of its own (`matcher`), which is ended
when the time is over: no pattern can hold the agent up.
"""

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from time import monotonic
from typing import Any

from inspector.agent.tools.common import ToolError, ToolLimits, plain
from inspector.agent.tools.inside import Location, Workspace, open_file
from inspector.agent.tools.listing import Deadline, LookEnded, TreeEntry, prefix_of, tree
from inspector.core.jsontext import dumps, loads

_MATCHER = Path(__file__).with_name("matcher.py")
BEAT_S = 0.05


def search_files(
    workspace: Workspace, limits: ToolLimits, arguments: Mapping[str, Any], cancelled: Callable[[], bool]
) -> str:
    """`path:line: text`, one line a match. Raises ToolError."""
    deadline = Deadline(monotonic() + limits.look_s, cancelled)
    most = min(arguments.get("limit") or limits.matches, limits.matches)
    asked = {
        "pattern": arguments["pattern"],
        "ignore_case": bool(arguments.get("ignore_case")),
        "limit": most,
        "chars": limits.match_chars,
    }
    with workspace.place(arguments.get("path") or ".") as place, _Matching(asked, deadline) as matching:
        if place.found is None:
            raise ToolError(f"{place.shown}: there is no such file or folder.")
        try:
            for path, text in _texts(place, arguments.get("glob") or "", limits, deadline):
                if not matching.feed(path, text):
                    break
        except LookEnded as why:
            matching.ended = matching.ended or str(why)
    return plain(matching.report(most))


def _texts(place: Location, glob: str, limits: ToolLimits, deadline: Deadline) -> Iterator[tuple[str, str]]:
    """(path, text) of every text file that is meant."""
    if not place.is_folder:
        with os.fdopen(open_file(place.folder, place.name, place.shown), "rb") as file:
            yield place.shown, file.read(limits.scan_bytes).decode("utf-8", "replace")
        return
    left = limits.search_bytes
    for found in tree(place.folder, prefix_of(place), everything=False, deep=True, deadline=deadline):
        if not stat.S_ISREG(found.mode) or not _meant(found, glob):
            continue
        text = _text(found, min(left, limits.scan_bytes))
        left -= len(text)
        yield found.path, text
        if left <= 0:
            raise LookEnded(f"only the first {limits.search_bytes:,} bytes are searched; search a folder further in")


def _meant(found: TreeEntry, glob: str) -> bool:
    return not glob or fnmatch(found.path, glob) or fnmatch(found.name, glob)


def _text(found: TreeEntry, most: int) -> str:
    """Of a text file; empty for one that is binary or cannot be read."""
    with suppress(OSError, ToolError), os.fdopen(open_file(found.folder, found.name, found.path), "rb") as file:
        head = file.read(8_192)
        if b"\0" not in head:
            return (head + file.read(max(0, most - len(head)))).decode("utf-8", "replace")
    return ""


class _Matching:
    """The matcher's process: fed here, listened to on a thread, ended when the deadline says so."""

    def __init__(self, asked: Mapping[str, Any], deadline: Deadline) -> None:
        self.ended = ""
        self._clock = deadline
        self._rows: list[Any] = []
        self._over = threading.Event()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_MATCHER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env={"PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"}, start_new_session=True,
        )  # fmt: skip
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._listen, self._guard)]
        for thread in self._threads:
            thread.start()
        self._send(asked)

    def feed(self, path: str, text: str) -> bool:
        """Search this file too. False: no more is wanted."""
        return self._send({"path": path, "text": text})

    def _send(self, value: Mapping[str, Any]) -> bool:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(dumps(value).encode("utf-8", "replace") + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return False
        return True

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as rows:
            self._rows += [loads(row) for row in rows if row.endswith(b"\n")]
        self._over.set()

    def _guard(self) -> None:
        while not self._over.wait(BEAT_S):
            try:
                self._clock.check()
            except LookEnded as why:
                self.ended = self.ended or str(why)
                self._process.kill()
                return

    def __enter__(self) -> "_Matching":
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        if error[0] is not None:
            self._process.kill()
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        for thread in self._threads:
            thread.join()
        self._process.wait()

    def report(self, most: int) -> str:
        """What was found, and why it is not all. Raises ToolError where the pattern is none."""
        for row in self._rows:
            if "error" in row:
                raise ToolError(f"The pattern is no regular expression (Python's): {row['error']}.")
        found = [f"{row['path']}:{row['line']}: {row['text']}" for row in self._rows if "line" in row]
        if any("full" in row for row in self._rows):
            found.append(f"… and more: only the first {most:,} matches are shown.")
        elif self.ended:
            found.append(f"… {self.ended} before all was searched; a simpler pattern or a folder further in helps.")
        return "\n".join(found) or "No line matches."
