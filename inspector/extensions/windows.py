"""The user's own table of model windows: `models.toml` in the configuration folder."""

from collections.abc import Mapping
from pathlib import Path

from inspector.core.tokens.catalogue import BadModelTable, read_windows
from inspector.resources import user_folder


def models_path() -> Path:
    """Return the path of the table by the XDG rules. The file need not exist."""
    return user_folder("XDG_CONFIG_HOME", ".config") / "models.toml"


def user_windows(path: Path | None = None) -> Mapping[str, int]:
    """Return the window by model name, for `find_window`; empty if there is no table.

    Raises:
        BadModelTable: the table cannot be read. The sentence names the file.
    """
    table = models_path() if path is None else path
    try:
        return read_windows(table.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadModelTable(f"The table of models at {table} cannot be read: {error}.") from None
    except BadModelTable as error:
        raise BadModelTable(f"{table}: {error}") from None
