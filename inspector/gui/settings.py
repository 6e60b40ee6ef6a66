"""The values that the window stores between runs: layout, theme, recent transcripts, but no content of a transcript."""

import os
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings

RECENT = 12
"""Number of recent transcripts that are remembered."""


class Settings:
    """Typed access to QSettings."""

    def __init__(self, store: QSettings | None = None) -> None:
        self._store = (
            store if store is not None else QSettings("context-inspector", "context-inspector")
        )
        _make_private(self._store.fileName())

    def recents(self) -> tuple[str, ...]:
        """Return the paths of recent transcripts, newest first."""
        value = self._store.value("recents", [])
        if isinstance(value, str):  # an ini file stores a list of one element as a string
            value = [value]
        if isinstance(value, list):
            return tuple(path for path in value if isinstance(path, str))
        return ()

    def remember(self, path: str) -> None:
        """Put `path` first in the list of recent transcripts."""
        full = str(Path(path).absolute())
        others = [path for path in self.recents() if path != full]
        self._store.setValue("recents", [full, *others][:RECENT])

    def text(self, key: str, default: str = "") -> str:
        """Return a stored text, or `default`."""
        value = self._store.value(key, default)
        return value if isinstance(value, str) else default

    def keep_text(self, key: str, value: str) -> None:
        """Store a text under a key."""
        self._store.setValue(key, value)

    def data(self, key: str) -> QByteArray:
        """Return stored binary data (geometry, docks); empty if there is none."""
        value = self._store.value(key)
        return value if isinstance(value, QByteArray) else QByteArray()

    def keep_data(self, key: str, value: QByteArray) -> None:
        """Store binary data under a key."""
        self._store.setValue(key, value)


def _make_private(name: str) -> None:
    """Restrict the file to its owner before paths, tasks and addresses are written to it."""
    if Path(name).suffix in (".conf", ".ini"):  # on other systems the settings are not a file
        with suppress(OSError):
            Path(name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            os.chmod(name, 0o600)
