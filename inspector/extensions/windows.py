"""The user's own table of model windows: `models.toml` in the configuration folder."""

from collections.abc import Mapping
from pathlib import Path

from inspector.core.tokens.catalogue import BadModelTable, read_windows
from inspector.resources import user_folder


def models_path() -> Path:
    """Where the table lies, whether or not it is there (the place follows the XDG rules)."""
    return user_folder("XDG_CONFIG_HOME", ".config") / "models.toml"


def user_windows(path: Path | None = None) -> Mapping[str, int]:
    """Window by model name, for `find_window`; empty where there is no table. Raises BadModelTable, naming the file."""
    table = models_path() if path is None else path
    try:
        return read_windows(table.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadModelTable(f"The table of models at {table} cannot be read: {error}.") from None
    except BadModelTable as error:
        raise BadModelTable(f"{table}: {error}") from None
