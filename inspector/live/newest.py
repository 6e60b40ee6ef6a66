"""The newest session of a project's folder, under the agents' homes; and the next, as soon as one starts."""

from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any

from inspector.core.errors import InspectorError
from inspector.core.formats.codex.meta import parent_of
from inspector.live.opening import Opening, Watch
from inspector.live.sessions import project_of, transcript_files

_OFTEN = 0.3
"""Seconds between two looks; of a crowded home a tenth of the time at most."""


class Newest:
    """Looks for a session of `folder`: first the one changed last, later only such as were not there before."""

    def __init__(self, folder: Path, home: Path | None = None) -> None:
        self._folder, self._home = folder.expanduser().resolve(), home
        self._known: dict[Path, int] = {}
        """Files that need no further look, and how large those were that did not tell their folder yet."""
        self._due = 0.0

    def look(self) -> Path | None:
        """The session to follow from now on; None where it stays as it is."""
        begun = monotonic()
        if begun < self._due:
            return None
        found = None
        for _, path, size in sorted(transcript_files(self._home), reverse=True):
            known = self._known.get(path)
            if known is None or 0 <= known < size:
                self._known[path] = size if found is None else -1
                found = found or self._ours(path)
        self._due = monotonic() + max(_OFTEN, 10 * (monotonic() - begun))
        return found

    def _ours(self, path: Path) -> Path | None:
        """The path, where its head says that it is a session of this folder, and no sub-agent's."""
        try:
            values = Opening(path, Watch()).head().values
        except InspectorError:  # not yet; it is looked at again when it has grown
            return None
        project = project_of(values)
        if project:
            self._known[path] = -1
        ours = bool(project) and Path(project).resolve() == self._folder
        return path if ours and not _is_sub_agent(path, values[0]) else None


def project_folder(path: Path) -> str:
    """The folder that the agent of this transcript worked in; empty where it does not tell. Raises NothingToRead."""
    return project_of(Opening(path, Watch()).head().values)


def _is_sub_agent(path: Path, first: Any) -> bool:
    if path.name.startswith("agent-"):
        return True
    payload = first.get("payload") if isinstance(first, Mapping) else None
    return isinstance(payload, Mapping) and any(parent_of(payload))
