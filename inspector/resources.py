"""Where files lie: those that ship with the program (inside the wheel, or beside the package in a checkout), and the
user's own."""

import os
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_PLACES = (_HERE / "_resources", _HERE.parent / "resources")
_ROOT = next((place for place in _PLACES if place.is_dir()), _PLACES[0])


def resource(name: str) -> Path:
    """Path of a shipped file, by its name below `resources/`. It need not exist."""
    return _ROOT / name


def user_folder(variable: str, otherwise: str) -> Path:
    """The program's own folder where an XDG variable says, else below the user's home. It need not exist."""
    home = os.environ.get(variable, "")
    return (Path(home) if home else Path.home() / otherwise) / "context-inspector"
