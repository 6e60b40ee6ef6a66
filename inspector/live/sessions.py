"""Transcripts found on this machine, under the agents' home folders. Cheap: of each file only the head is read."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from inspector.core.errors import InspectorError
from inspector.core.formats.detect import detect
from inspector.core.formats.format import Format, Head
from inspector.core.message import Message
from inspector.live.opening import Opening, Watch
from inspector.live.plugins import all_formats

_FOLDERS = (
    ("CLAUDE_CONFIG_DIR", ".claude", "projects", "*/*.jsonl"),
    ("CODEX_HOME", ".codex", "sessions", "*/*/*/rollout-*.jsonl"),
    ("PI_CODING_AGENT_DIR", ".pi/agent", "sessions", "*/*.jsonl"),
)
"""(variable that moves the folder, folder under home, folder in it, pattern)."""
_TITLE = 120


@dataclass(frozen=True, slots=True)
class Found:
    """A transcript on this machine."""

    path: Path
    format: str
    size: int
    """Bytes on disk."""
    modified: datetime
    project: str
    """The folder that the agent worked in; empty where the head of the file does not tell."""
    title: str
    """The beginning of the first prompt that was typed; empty where the head holds none."""

    @property
    def when(self) -> str:
        """Time of the last change, local, for people."""
        return f"{self.modified.astimezone():%Y-%m-%d %H:%M}"


def found_sessions(home: Path | None = None, limit: int = 200) -> list[Found]:
    """The sessions that were changed last, newest first; what cannot be read is left out."""
    newest = sorted(transcript_files(home), reverse=True)
    found: list[Found] = []
    for modified, path, size in newest:
        if len(found) == limit:
            break
        if one := _look(path, size, modified):
            found.append(one)
    return found


def transcript_files(home: Path | None) -> Iterator[tuple[float, Path, int]]:
    """Time of the last change, path and bytes of all that may be transcripts; empty ones left out."""
    for variable, under, inside, pattern in _FOLDERS:
        moved = os.environ.get(variable) if home is None else None
        folder = Path(moved) if moved else (home or Path.home()) / under
        for path in (folder / inside).glob(pattern):
            try:
                about = path.stat()
            except OSError:  # it went away, or is not for us to see
                continue
            if about.st_size:
                yield about.st_mtime, path, about.st_size


def _look(path: Path, size: int, modified: float) -> Found | None:
    try:
        head = Opening(path, Watch()).head()
        chosen = detect(head, None, all_formats()[0])
    except InspectorError:
        return None
    title = _title(chosen, head)
    return Found(path, chosen.name, size, datetime.fromtimestamp(modified, UTC), project_of(head.values), title)


def _title(chosen: Format, head: Head) -> str:
    """The first thing that the user typed, as far as the head goes."""
    reader = chosen.start()
    for line, value in enumerate(head.values, 1):
        reader.feed(line, value)
    return next((_first_line(message) for message in reader.session().main.messages if _typed(message)), "")


def _typed(message: Message) -> bool:
    """Clients put what they add in tags or under a heading, and mark what they know not to be typed."""
    text = message.text.lstrip()
    return message.role == "user" and not message.mark and bool(text) and not text.startswith(("<", "# AGENTS.md"))


def _first_line(message: Message) -> str:
    line = " ".join(message.text.strip().partition("\n")[0].split())
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"


def project_of(values: Sequence[Any]) -> str:
    """The folder that the agent worked in, as the first values tell; empty where they do not."""
    for value in values:
        inner = value.get("payload") if isinstance(value, Mapping) else None
        for one in (value, inner):
            if isinstance(one, Mapping) and isinstance(cwd := one.get("cwd"), str) and cwd:
                return cwd
    return ""
