"""What the window remembers between runs: layout, theme, recent transcripts. Nothing of a transcript's content."""

import os
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings

RECENT = 12
"""Number of recent transcripts that are remembered."""


class Settings:
    """A typed face on QSettings."""

    def __init__(self, store: QSettings | None = None) -> None:
        self._store = (
            store if store is not None else QSettings("context-inspector", "context-inspector")
        )
        _make_private(self._store.fileName())

    def recents(self) -> tuple[str, ...]:
        """Paths of recent transcripts, newest first."""
        value = self._store.value("recents", [])
        if isinstance(value, str):  # an ini file spells a list of one as a string
            value = [value]
        return (
            tuple(path for path in value if isinstance(path, str))
            if isinstance(value, list)
            else ()
        )

    def remember(self, path: str) -> None:
        """Put `path` first among the recents."""
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
        """Remembered bytes (geometry, docks); empty where there are none."""
        value = self._store.value(key)
        return value if isinstance(value, QByteArray) else QByteArray()

    def keep_data(self, key: str, value: QByteArray) -> None:
        """Store binary data under a key."""
        self._store.setValue(key, value)


def _make_private(name: str) -> None:
    """Make the file private before paths, tasks and addresses are written into it."""
    if Path(name).suffix in (".conf", ".ini"):  # elsewhere the system keeps them
        with suppress(OSError):
            Path(name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            os.chmod(name, 0o600)
