"""Private folders for recordings and journals, which hold the content that an agent read."""

from pathlib import Path

from inspector.core.errors import InspectorError


def make_private_folder(folder: Path) -> None:
    """Create a folder that only the user can read, with its parents. An existing folder is not changed.

    Raises:
        InspectorError: the folder cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as why:
        reason = why.strerror or why
        raise InspectorError(f"The folder {folder} cannot be created: {reason}.") from None
