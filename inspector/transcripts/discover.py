"""Find transcripts on this machine under the agents' home folders, and the newest one of a project's folder.

This is cheap: only the head of each file is read.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import unquote, urlparse

from inspector.core.errors import InspectorError, NothingToRead
from inspector.core.formats.codex.rollout import subagent_origin
from inspector.core.formats.detect import detect
from inspector.core.formats.format import Format, Head
from inspector.core.jsontext import NotJson, dumps, loads
from inspector.core.message import Message
from inspector.core.untyped import (
    fields_of,
    first_of,
    object_of,
    objects_of,
    text_at,
    text_of,
    value_in,
)
from inspector.extensions.formats import all_formats
from inspector.transcripts.archive import open_source
from inspector.transcripts.database import session_path, split_session_path, transcript_stat
from inspector.transcripts.stores import StoredSession, sessions_in
from inspector.transcripts.transcript_file import TranscriptFile
from inspector.transcripts.unpack import FileStat, find_files, is_packed

_TITLE = 120
_STAMP = re.compile(r"\s*<current_datetime>[^<]*</current_datetime>\s*")
"""The timestamp that Copilot CLI puts before the text that the user typed."""
_OFTEN = 0.3
"""Shortest time between two searches, in seconds. In a crowded home, searching takes at most a tenth of the time."""
_DATABASES = (".db", ".sqlite")
_CRUSH_LIST, _LONGEST_LIST = "projects.json", 1 << 20
_ROOT, _WORKING, _LONGEST = ".project_root", "working_directory", 4096
_DIRECTORY = re.compile(r"# Current W\w+ Directory \(([^\n\"]+?)\) Files")
_WORKSPACE = re.compile(r"<session_context>.*?Workspace Directories:\**\\n *- ([^\\\"]+)")


@dataclass(frozen=True, slots=True)
class FoundSession:
    """A transcript on this machine."""

    path: Path
    format: str
    size: int
    """Bytes on disk; for a session in a database, the size of the whole database."""
    modified: datetime
    project: str
    """The folder that the agent worked in; empty if the head of the file does not name it."""
    title: str
    """The beginning of the first prompt that the user typed; empty if the head of the file holds none."""

    @property
    def when(self) -> str:
        """Return the local time of the last change as text."""
        return f"{self.modified.astimezone():%Y-%m-%d %H:%M}"


def found_sessions(home: Path | None = None, limit: int = 200) -> list[FoundSession]:
    """Return the most recently changed sessions, newest first, at most `limit`. Unreadable ones are left out."""
    sessions: list[FoundSession] = []
    for modified, path, size, row in sorted(
        _candidates(home, _main_sessions), key=itemgetter(0, 1), reverse=True
    ):
        if len(sessions) == limit:
            break
        when = datetime.fromtimestamp(modified, UTC)
        if row is not None:
            sessions.append(
                FoundSession(
                    path,
                    row.format,
                    size,
                    modified=when,
                    project=row.directory,
                    title=_shorten_title(row.title),
                )
            )
        elif (session := _look(path, size, when)) is not None:
            sessions.append(session)
    return sessions


def _candidates(
    home: Path | None, rows: Callable[[Path], list[StoredSession]]
) -> Iterator[tuple[float, Path, int, StoredSession | None]]:
    """Yield `transcript_files`, but for a database each session that `rows` returns."""
    for modified, path, size in transcript_files(home):
        if path.suffix in _DATABASES:
            yield from (
                (row.updated / 1000, session_path(path, row.id), size, row) for row in rows(path)
            )
        else:
            yield modified, path, size, None


def _main_sessions(path: Path) -> list[StoredSession]:
    """Return the sessions in a database that no other session started; empty if it cannot be read."""
    try:
        return [row for row in sessions_in(path) if not row.parent]
    except NothingToRead:
        return []


def transcript_files(home: Path | None) -> Iterator[tuple[float, Path, int]]:
    """Yield (time of the last change, path, bytes) of all files that may be transcripts, except empty ones."""
    for folder in (folder for folder_of in all_formats()[0] for folder in folder_of.folders):
        moved = os.environ.get(folder.variable) if home is None else None
        for path in find_files(
            Path(moved) if moved else (home or Path.home()) / folder.under, folder.pattern
        ):
            for candidate in _crush_databases(path) if path.name == _CRUSH_LIST else (path,):
                try:
                    about = candidate.stat()
                except (OSError, ValueError):
                    # It was removed in the meantime, or we may not read it.
                    continue
                if about.st_size:
                    yield about.st_mtime, candidate, about.st_size


def _crush_databases(path: Path) -> Iterator[Path]:
    """Yield the databases in a list of projects. Crush stores its sessions in the project folders that this list
    names.
    """
    for project in objects_of(fields_of(value_in(_beginning(path))).get("projects")):
        match project:
            case {"path": str(folder), "data_dir": str(data)}:
                yield Path(folder) / data / "crush.db"


def _look(path: Path, size: int, modified: datetime) -> FoundSession | None:
    try:
        head = TranscriptFile(path).head()
        chosen = detect(head, formats=all_formats()[0])
    except InspectorError:
        return None
    title = _title(chosen, head)
    project = project_of(head.values) or project_beside(path)
    return FoundSession(
        path, format=chosen.name, size=size, modified=modified, project=project, title=title
    )


def describe_session(path: Path) -> FoundSession | None:
    """Describe the session at a path, which may name a session in a file of several; None if the file is missing.

    A session that cannot be read has neither format nor title.
    """
    file, inner_session = split_session_path(path)
    try:
        about = file.stat()
    except OSError:
        return None
    changed = datetime.fromtimestamp(about.st_mtime, UTC)
    unread = FoundSession(
        path, format="", size=about.st_size, modified=changed, project=str(file.parent), title=""
    )
    try:
        head = open_source(path).head()
        chosen = detect(head, formats=all_formats()[0])
    except InspectorError:
        return unread
    project = project_of(head.values) or project_beside(path) or unread.project
    title = "" if inner_session else _title(chosen, head)
    return replace(unread, format=chosen.name, project=project, title=title)


def _title(chosen: Format, head: Head) -> str:
    """Return the transcript's title, or else the first text that the user typed, as far as the head contains them."""
    reader = chosen.start()
    for line, value in enumerate(head.values, 1):
        reader.feed(line, value)
    main = reader.session().main
    return _shorten_title(main.title or next(filter(None, map(_typed, main.messages)), ""))


def _typed(message: Message) -> str:
    """Return the first line that the user typed; empty for a message that a client wrote.

    Clients put their own additions in tags or under a heading, and mark messages that they know were not typed.
    """
    text = _STAMP.sub("", message.text, count=1).strip()
    if message.role != "user" or message.mark or text.startswith(("<", "# AGENTS.md")):
        return ""
    return " ".join(text.partition("\n")[0].split())


def _shorten_title(line: str) -> str:
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"


def project_of(values: Sequence[Any]) -> str:
    """Return the folder that the agent worked in according to the first values; empty if they do not name it."""
    for value in values:
        if isinstance(value, Mapping):
            inner = [value.get(key) for key in ("payload", "row", "data")]
        else:
            inner = []
        inner += [
            holder["context"]
            for holder in inner
            if isinstance(holder, Mapping) and "context" in holder
        ]
        for place in (value, *inner):
            for name in ("cwd", "directory"):
                if (
                    isinstance(place, Mapping)
                    and isinstance(folder := place.get(name), str)
                    and folder
                ):
                    return folder
    return _workspace(values[:5])


def _workspace(values: Sequence[Any]) -> str:
    """Return the first folder that Gemini CLI or Cline names to the model at the start of a session; empty if none."""
    for value in values:
        if isinstance(value, list) and (match := _DIRECTORY.search(dumps(value[:10]))):
            return match[1].replace("\\\\", "\\")
        patch = fields_of(fields_of(value).get("$set", value))
        if match := _WORKSPACE.search(dumps(first_of(patch.get("messages")).get("content"))):
            return match[1]
    return ""


def project_beside(path: Path) -> str:
    """Return the folder that some agents name in a separate file; empty if there is none."""
    if path.parent.name == "chats":
        return (
            _beginning(path.parent.parent / _ROOT, _LONGEST)
            .decode("utf-8", errors="replace")
            .strip()
        )
    try:
        if path.name == "messages.jsonl":
            return text_of(
                object_of(loads(_beginning(path.with_name("meta.json"))), "environment").get(
                    _WORKING
                )
            )
        if path.parent.name == "chatSessions":
            return unquote(
                urlparse(loads(_beginning(path.parent.parent / "workspace.json"))["folder"]).path
            )
    except (NotJson, LookupError, TypeError, ValueError, AttributeError):
        pass
    return ""


def _beginning(path: Path, longest: int = _LONGEST_LIST) -> bytes:
    """Return the bytes of a small file; empty if the file is missing or larger than `longest`."""
    try:
        with path.open("rb") as file:
            data = file.read(longest)
    except OSError:
        return b""
    return data if len(data) < longest else b""


class NewestSession:
    """Looks for a session of `folder`: at first the most recently changed one, later only sessions that are new."""

    def __init__(self, folder: Path, home: Path | None = None) -> None:
        absolute = Path(os.path.abspath(folder.expanduser()))
        self._folder = absolute.resolve()
        self._home = home
        self._hashes = {sha256(str(path).encode()).hexdigest() for path in (absolute, self._folder)}
        """Hashes by which Gemini CLI may identify the folder."""
        self._known: dict[Path, int] = {}
        """Files that have been checked: -1, or the size at which a file did not yet name its folder."""
        self._databases: dict[Path, tuple[FileStat | None, list[StoredSession]]] = {}
        """For each database: its state, and the sessions of this folder that it held then."""
        self._due = 0.0

    def look(self) -> Path | None:
        """Return the path of the session to follow from now on; None if that has not changed."""
        begun = monotonic()
        if begun < self._due:
            return None
        newest_path = None
        newest = sorted(_candidates(self._home, self._rows), key=itemgetter(0, 1), reverse=True)
        for _, path, size, row in newest:
            seen_size = self._known.get(path)
            if seen_size is None or 0 <= seen_size < size:
                self._known[path] = size if newest_path is None and row is None else -1
                newest_path = newest_path or (self._ours(path) if row is None else path)
        self._due = monotonic() + max(_OFTEN, 10 * (monotonic() - begun))
        return newest_path

    def _rows(self, path: Path) -> list[StoredSession]:
        before, now = self._databases.get(path), transcript_stat(path)
        if before is None or before[0] != now:
            rows = [
                row
                for row in _main_sessions(path)
                if row.directory and self._is_folder(row.directory)
            ]
            before = self._databases[path] = now, rows
        return before[1]

    def _is_folder(self, project: str) -> bool:
        return Path(project).resolve() == self._folder

    def _ours(self, path: Path) -> Path | None:
        """Return the path if its head says that it is a session of this folder and not a sub-agent's; otherwise
        None.
        """
        if is_packed(path):  # packed files do not grow
            self._known[path] = -1
            return None
        try:
            values = TranscriptFile(path).head().values
        except InspectorError:  # not readable yet; it is checked again when it has grown
            return None
        if (ours := self._is_ours(path, values)) is not None:
            self._known[path] = -1
        return path if ours and not _is_sub_agent(path, values[0]) else None

    def _is_ours(self, path: Path, values: Sequence[Any]) -> bool | None:
        """Is it a session of this folder? None if the head does not say."""
        if project := project_of(values) or project_beside(path):
            return self._is_folder(project)
        hashed = text_at(next(iter(values), None), "projectHash")
        return hashed in self._hashes if hashed else None


def project_folder(path: Path) -> str:
    """Return the folder that the agent of a transcript worked in; empty if it is unknown. Raises NothingToRead."""
    return project_of(open_source(path).head().values) or project_beside(path)


def _is_sub_agent(path: Path, first: Any) -> bool:
    if path.name.startswith("agent-") or text_at(first, "kind") == "subagent":
        return True
    return any(subagent_origin(object_of(first, "payload")))
