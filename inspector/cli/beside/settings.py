"""Change a client's settings file: the change is shown as a diff and made only after the user confirms it."""

import argparse
import difflib
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from inspector.cli.beside.json_edit import edit_json
from inspector.cli.output import note, write_lines
from inspector.core.errors import InspectorError
from inspector.core.jsontext import NotJson, loads

SettingsChange: TypeAlias = Callable[[dict[str, Any], str], dict[str, Any]]
"""Returns changed settings, given the settings and this program's command."""
TextChange: TypeAlias = Callable[[str, str], str]
"""Returns a changed text, given the text of a file and this program's command; empty removes the file."""


def add_settings_options(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --install and the options that go with it."""
    parser.add_argument(
        "--install",
        action="store_true",
        help=f"add {what} to the client's settings, after you confirm",
    )
    parser.add_argument(
        "--remove",
        action="store_true",
        help=f"remove {what} from the client's settings, after you confirm",
    )
    parser.add_argument(
        "--settings", metavar="FILE", help="the settings file (default: this user's)"
    )
    parser.add_argument("--yes", action="store_true", help="change the settings without asking")


def claude_settings() -> Path:
    """Return the path of Claude Code's settings. They need not exist."""
    home = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(home) if home else Path.home() / ".claude") / "settings.json"


def offer_change(arguments: argparse.Namespace, path: Path, change: SettingsChange) -> None:
    """Show a change of JSON settings as a diff, ask, and make it. Raises InspectorError.

    The rest of the text keeps its formatting. Settings that become empty are removed with their file.
    """

    def change_text(before: str, command: str) -> str:
        settings = _parse(before, path)
        changed = change(settings, command)
        if changed == settings:
            return before
        return edit_json(before, changed) if changed else ""

    offer_text(arguments, path, change_text)


def offer_text(arguments: argparse.Namespace, path: Path, change: TextChange) -> None:
    """Show a change of a file as a diff, ask, and make it. Raises InspectorError."""
    before = _read(path)
    after = change(before, shlex.quote(find_command()))
    if after == before:
        note(f"{path} needs no change.")
        return
    write_lines(
        difflib.unified_diff(
            before.splitlines(), after.splitlines(), str(path), str(path), lineterm=""
        )
    )
    if not arguments.yes and not _ask(f"Write this change to {path}?"):
        note("Nothing was changed.")
        return
    _replace(path, before, after)
    if not after:
        note(f"{path} was removed.")
    elif arguments.remove:
        note(f"{path} no longer runs context-inspector.")
    else:
        note(f"{path} was changed. --remove undoes the change.")


def find_command() -> str:
    """Return the command with which other programs can run this one."""
    on_path = shutil.which("context-inspector")
    own = Path(sys.executable).with_name("context-inspector")
    return on_path or (str(own) if own.is_file() else "context-inspector")


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise InspectorError(f"{path} cannot be read: {error}.") from None


def _parse(text: str, path: Path) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        settings = loads(text.encode())
    except NotJson as error:
        raise InspectorError(f"{path} is not JSON ({error}), so nothing was changed.") from None
    if not isinstance(settings, dict):
        raise InspectorError(f"{path} does not hold a JSON object, so nothing was changed.")
    return settings


def _ask(question: str) -> bool:
    if not sys.stdin.isatty():
        raise InspectorError(
            "There is no terminal to ask on. Give --yes to write the change that is shown."
        )
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _replace(path: Path, before: str, after: str) -> None:
    """Replace the file completely, keeping its permissions. Raises InspectorError if it has changed in the meantime."""
    target = Path(os.path.realpath(path))
    if _read(target) != before:
        raise InspectorError(
            f"{path} was changed meanwhile, so nothing was written. Run the command again."
        )
    if not after:
        target.unlink(missing_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        draft.write_text(after, "utf-8")
        if target.exists():
            shutil.copymode(target, draft)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
