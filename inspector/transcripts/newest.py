"""The newest session of a project's folder, under the agents' homes; and the next, as soon as one starts."""

import os
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

from inspector.core.errors import InspectorError
from inspector.core.formats.codex.rollout import parent_of
from inspector.transcripts.database.naming import SIGN, named, stands
from inspector.transcripts.database.opening import opening
from inspector.transcripts.database.store import Kept, Store
from inspector.transcripts.growing import Standing
from inspector.transcripts.opening import Opening, Watch
from inspector.transcripts.sessions import DATABASE, main_sessions, project_beside, project_of, transcript_files

_OFTEN = 0.3
"""Seconds between two looks; of a crowded home a tenth of the time at most."""


class Newest:
    """Looks for a session of `folder`: first the one changed last, later only such as were not there before."""

    def __init__(self, folder: Path, home: Path | None = None) -> None:
        named_so = Path(os.path.abspath(folder.expanduser()))
        self._folder, self._home = named_so.resolve(), home
        self._hashes = {sha256(str(one).encode()).hexdigest() for one in (named_so, self._folder)}
        """By these Gemini CLI calls the folder."""
        self._known: dict[Path, int] = {}
        """Files that need no further look, and how large those were that did not tell their folder yet."""
        self._stores: dict[Path, tuple[Standing | None, list[Kept]]] = {}
        """By database: how it stood, and its sessions then."""
        self._due = 0.0

    def look(self) -> Path | None:
        """The session to follow from now on; None where it stays as it is."""
        begun = monotonic()
        if begun < self._due:
            return None
        found = None
        for _, path, size in sorted(self._files(), reverse=True):
            known = self._known.get(path)
            if known is None or 0 <= known < size:
                self._known[path] = size if found is None else -1
                found = found or self._ours(path)
        self._due = monotonic() + max(_OFTEN, 10 * (monotonic() - begun))
        return found

    def _files(self) -> Iterator[tuple[float, Path, int]]:
        """The transcripts; of a database each session of this folder, as if it were a file."""
        for modified, path, size in transcript_files(self._home):
            if path.suffix != DATABASE:
                yield modified, path, size
                continue
            for kept in self._kept(path):
                if kept.directory and Path(kept.directory).resolve() == self._folder:
                    yield kept.updated / 1000, named(path, kept.id), 1

    def _kept(self, path: Path) -> list[Kept]:
        before, now = self._stores.get(path), stands(path)
        if before is None or before[0] != now:
            before = self._stores[path] = now, main_sessions(Store(path))
        return before[1]

    def _ours(self, path: Path) -> Path | None:
        """The path, where its head says that it is a session of this folder, and no sub-agent's."""
        if SIGN in path.name and path.name.partition(SIGN)[0].endswith(DATABASE):
            self._known[path] = -1
            return path
        try:
            values = Opening(path, Watch()).head().values
        except InspectorError:  # not yet; it is looked at again when it has grown
            return None
        if (ours := self._is_ours(values)) is not None:
            self._known[path] = -1
        return path if ours and not _is_sub_agent(path, values[0]) else None

    def _is_ours(self, values: Sequence[Any]) -> bool | None:
        """Is it a session of this folder? None while it does not tell."""
        if project := project_of(values):
            return Path(project).resolve() == self._folder
        first = values[0] if values else None
        hashed = first.get("projectHash") if isinstance(first, Mapping) else None
        return hashed in self._hashes if isinstance(hashed, str) else None


def project_folder(path: Path) -> str:
    """The folder that the agent of this transcript worked in; empty where it does not tell. Raises NothingToRead."""
    return project_of(opening(path, Watch()).head().values) or project_beside(path)


def _is_sub_agent(path: Path, first: Any) -> bool:
    if path.name.startswith("agent-"):
        return True
    payload = first.get("payload") if isinstance(first, Mapping) else None
    if isinstance(first, Mapping) and first.get("kind") == "subagent":
        return True
    return isinstance(payload, Mapping) and any(parent_of(payload))
