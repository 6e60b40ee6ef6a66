"""Paths of the files that ship with the program, and of the user's own folders.

Shipped files are inside the wheel, or beside the package in a checkout.
"""

import os
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_PLACES = (_HERE / "_resources", _HERE.parent / "resources")
_ROOT = next((place for place in _PLACES if place.is_dir()), _PLACES[0])


def resource(name: str) -> Path:
    """Return the path of a shipped file by its name below `resources/`. The file need not exist."""
    return _ROOT / name


def user_folder(variable: str, otherwise: str) -> Path:
    """Return the program's folder below the folder that an XDG variable names, else below `otherwise` in the user's
    home. It need not exist."""
    home = os.environ.get(variable, "")
    return (Path(home) if home else Path.home() / otherwise) / "context-inspector"
