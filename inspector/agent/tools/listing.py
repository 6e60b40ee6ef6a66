"""list_files: what lies in a folder, with sizes."""

import os
import stat
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

from inspector.agent.tools.inside import Workspace, kind
from inspector.agent.tools.limits import Limits
from inspector.agent.tools.refused import Refused, shown
from inspector.agent.tools.tree import Clock, Found, Stopped, tree


def list_files(
    workspace: Workspace, limits: Limits, arguments: Mapping[str, Any], cancelled: Callable[[], bool]
) -> str:
    """One line a file or folder. Raises Refused."""
    most = min(arguments.get("limit") or limits.listed, limits.listed)
    clock = Clock(monotonic() + limits.look_s, cancelled)
    lines: list[str] = []
    with workspace.place(arguments.get("path") or ".") as place:
        if place.found is None:
            raise Refused(f"{place.shown}: there is no such folder.")
        if not place.is_folder:
            found = place.found
            return _line(Found(place.folder, place.name, place.shown, found.st_mode, found.st_size))
        deep = arguments.get("recursive", True)
        try:
            for one in tree(place.folder, place.shown, bool(arguments.get("all")), deep, clock):
                if len(lines) == most:
                    lines.append(f"… and more: only the first {most:,} are shown. List a folder further in.")
                    break
                lines.append(_line(one))
        except Stopped as why:
            lines.append(f"… {why} before all was listed. List a folder further in.")
        return "\n".join(lines) or f"{place.shown} is empty."


def _line(found: Found) -> str:
    if stat.S_ISREG(found.mode):
        return f"{found.path}  {found.size:,} bytes"
    if stat.S_ISDIR(found.mode):
        return f"{found.path}  (not looked into; ask with all=true)" if found.skipped else found.path
    if stat.S_ISLNK(found.mode):
        return f"{found.path} -> {_target(found)}"
    return f"{found.path}  ({kind(found.mode)})"


def _target(found: Found) -> str:
    try:
        return shown(os.readlink(found.name, dir_fd=found.folder))
    except OSError:
        return "?"
