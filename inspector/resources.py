"""Where the files that ship with the program lie: inside the wheel, or beside the package in a checkout."""

from pathlib import Path

_HERE = Path(__file__).resolve().parent
_PLACES = (_HERE / "_resources", _HERE.parent / "resources")
_ROOT = next((place for place in _PLACES if place.is_dir()), _PLACES[0])


def resource(name: str) -> Path:
    """Path of a shipped file, by its name below `resources/`. It need not exist."""
    return _ROOT / name
