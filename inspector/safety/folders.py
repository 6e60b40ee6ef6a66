"""Folders for recordings and journals, which hold what an agent read."""

from pathlib import Path

from inspector.core.errors import InspectorError


def make_private_folder(folder: Path) -> None:
    """Create a folder that only the user can read, with its parents; one that exists stays as it is.

    Raises:
        InspectorError: it cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as why:
        reason = why.strerror or why
        raise InspectorError(f"The folder {folder} cannot be created: {reason}.") from None
