"""`context-inspector desktop`: install the menu entry, the icon and the file type, for this user only."""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from inspector.cli.beside.settings import find_command
from inspector.cli.output import write_json, write_lines
from inspector.cli.select import add_options
from inspector.core.errors import InspectorError
from inspector.resources import resource

_FILES = {
    "applications/context-inspector.desktop": "context-inspector.desktop",
    "icons/hicolor/scalable/apps/context-inspector.svg": "icons/context-inspector.svg",
    "mime/packages/context-inspector.xml": "context-inspector.mime.xml",
}
"""The shipped file for each path in the user's data folder."""
_REFRESH = (("update-desktop-database", "applications"), ("update-mime-database", "mime"))
"""(program, folder): desktop programs that read a folder again, if they are installed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument(
        "--install", action="store_true", help="write menu entry, icon and file type for this user"
    )
    action.add_argument("--remove", action="store_true", help="remove them again")
    add_options(parser, "--json")


def run(arguments: argparse.Namespace) -> None:
    """Write or remove the files, and list them. Raises InspectorError."""
    if not sys.platform.startswith("linux"):
        raise InspectorError(
            "desktop writes what Linux desktops read; on this system there is nothing to do."
        )
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    changed = remove_files(data) if arguments.remove else install_files(data)
    _refresh(data)
    if arguments.json:
        write_json(
            {
                "action": "removed" if arguments.remove else "written",
                "files": list(map(str, changed)),
            }
        )
    else:
        verb = "removed" if arguments.remove else "written"
        write_lines([f"{verb}  {path}" for path in changed] or ["Nothing was installed."])


def install_files(data: Path) -> list[Path]:
    """Write the files below `data` and return their paths."""
    written = []
    for place, name in _FILES.items():
        path = data / place
        path.parent.mkdir(parents=True, exist_ok=True)
        content = resource(name).read_bytes()
        if path.suffix == ".desktop":
            content = content.replace(
                b"Exec=context-inspector", f"Exec={_quote(find_command())}".encode()
            )
        path.write_bytes(content)
        written.append(path)
    return written


def remove_files(data: Path) -> list[Path]:
    """Remove the files below `data` and return the paths of those that existed."""
    removed = []
    for place in _FILES:
        path = data / place
        with suppress(FileNotFoundError):
            path.unlink()
            removed.append(path)
    return removed


def _quote(command: str) -> str:
    """Quote a command for a desktop entry."""
    special: Mapping[str, str] = {sign: "\\" + sign for sign in (chr(34), "`", "$", "\\")}
    if command.replace("/", "").replace("-", "").replace(".", "").replace("_", "").isalnum():
        return command
    return '"' + "".join(special.get(sign, sign) for sign in command).replace("%", "%%") + '"'


def _refresh(data: Path) -> None:
    for program, folder in _REFRESH:
        path = shutil.which(program)
        if path and (data / folder).is_dir():
            subprocess.run([path, str(data / folder)], capture_output=True, check=False, timeout=60)
