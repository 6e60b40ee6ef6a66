"""Transcripts found on this machine, under the agents' home folders. Cheap: of each file only the head is read."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from inspector.core.errors import InspectorError, NothingToRead
from inspector.core.formats.detect import detect
from inspector.core.formats.format import Format, Head
from inspector.core.jsontext import dumps
from inspector.core.message import Message
from inspector.extensions.formats import all_formats
from inspector.transcripts.database.naming import named
from inspector.transcripts.database.store import Kept, Store
from inspector.transcripts.opening import Opening, Watch

_FOLDERS = (
    ("CLAUDE_CONFIG_DIR", ".claude", "projects", "*/*.jsonl"),
    ("CODEX_HOME", ".codex", "sessions", "*/*/*/rollout-*.jsonl"),
    ("PI_CODING_AGENT_DIR", ".pi/agent", "sessions", "*/*.jsonl"),
    ("GEMINI_CLI_HOME", "", ".gemini/tmp", "*/chats/session-*.json*"),
    ("XDG_DATA_HOME", ".local/share", "opencode", "opencode*.db"),
)
"""(variable that moves the folder, folder under home, folder in it, pattern)."""
_TITLE = 120
DATABASE = ".db"
_ROOT, _LONGEST = ".project_root", 4096
_WORKSPACE = re.compile(r"<session_context>.*?Workspace Directories:\**\\n *- ([^\\\"]+)")


@dataclass(frozen=True, slots=True)
class Found:
    """A transcript on this machine."""

    path: Path
    format: str
    size: int
    """Bytes on disk; of a session in a database, those of all of it."""
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
    newest: list[tuple[float, Path, int, Kept | None]] = []
    for modified, path, size in transcript_files(home):
        if path.suffix == DATABASE:
            newest += [(one.updated / 1000, named(path, one.id), size, one) for one in main_sessions(Store(path))]
        else:
            newest.append((modified, path, size, None))
    found: list[Found] = []
    for modified, path, size, kept in sorted(newest, key=lambda one: one[:2], reverse=True):
        if len(found) == limit:
            break
        if one := _told(path, size, modified, kept) if kept else _look(path, size, modified):
            found.append(one)
    return found


def main_sessions(store: Store) -> list[Kept]:
    """The sessions in a database that no other one started; none where it cannot be read."""
    try:
        return [kept for kept in store.sessions() if not kept.parent]
    except NothingToRead:
        return []


def _told(path: Path, size: int, modified: float, kept: Kept) -> Found:
    title = _shortened(kept.title)
    return Found(path, "opencode", size, datetime.fromtimestamp(modified, UTC), kept.directory, title)


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
    project = project_of(head.values) or project_beside(path)
    return Found(path, chosen.name, size, datetime.fromtimestamp(modified, UTC), project, title)


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
    return _shortened(" ".join(message.text.strip().partition("\n")[0].split()))


def _shortened(line: str) -> str:
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"


def project_of(values: Sequence[Any]) -> str:
    """The folder that the agent worked in, as the first values tell; empty where they do not."""
    for value in values:
        inner = (value.get("payload"), value.get("row")) if isinstance(value, Mapping) else ()
        for one in (value, *inner):
            for name in ("cwd", "directory"):
                if isinstance(one, Mapping) and isinstance(folder := one.get(name), str) and folder:
                    return folder
    return _workspace(values[:5])


def _workspace(values: Sequence[Any]) -> str:
    """The first folder that Gemini CLI tells the model at the beginning of a session."""
    for value in values:
        patch = value.get("$set", value) if isinstance(value, Mapping) else {}
        messages = patch.get("messages") if isinstance(patch, Mapping) else None
        for message in messages[:1] if isinstance(messages, list) else ():
            if isinstance(message, Mapping) and (found := _WORKSPACE.search(dumps(message.get("content")))):
                return found[1]
    return ""


def project_beside(path: Path) -> str:
    """Gemini CLI names the folder in a file of its own beside `chats/`; empty where there is none."""
    if path.parent.name != "chats":
        return ""
    try:
        with (path.parent.parent / _ROOT).open("rb") as file:
            told = file.read(_LONGEST)
    except OSError:
        return ""
    return told.decode("utf-8", errors="replace").strip() if len(told) < _LONGEST else ""
