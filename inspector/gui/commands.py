"""Commands with their texts and keys, for menus, palette and key list, and the search for commands by typed text."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    QWidget,
)

_OWN_KEYS = (
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QTabBar,
)
"""Widgets that handle arrow keys and letters themselves, unless they carry the property WINDOW_KEYS."""
WINDOW_KEYS = "window keys"
"""Name of the property of a widget in which the window's keys work although its class is in `_OWN_KEYS`."""


@dataclass(frozen=True, slots=True)
class Command:
    """An action with its text and keys. `keys` are in QKeySequence's spelling; the first of them is shown."""

    words: str
    run: Callable[[], object]
    keys: tuple[str, ...] = ()
    group: str = ""
    typed: bool = False
    """Whether text fields and text views use the keys themselves, so that the shortcut is disabled while one has the
    focus."""

    @property
    def shown_keys(self) -> str:
        """The first key in the spelling of this operating system; empty if there is none."""
        if self.keys:
            return QKeySequence(self.keys[0]).toString(QKeySequence.SequenceFormat.NativeText)
        return ""


class Keys(QObject):
    """The shortcuts of a window.

    The object is a child of the window because `focusChanged`, to which it is connected, outlives both.
    """

    def __init__(self, window: QWidget, commands: Iterable[Command]) -> None:
        super().__init__(window)
        self._typed: list[QShortcut] = []
        for command in commands:
            for keys in command.keys:
                shortcut = QShortcut(QKeySequence(keys), window)
                shortcut.setContext(Qt.ShortcutContext.WindowShortcut)
                shortcut.activated.connect(command.run)
                if command.typed and not keys.startswith(("Ctrl", "Alt")):
                    self._typed.append(shortcut)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._focus_moved)

    def _focus_moved(self, old: QWidget | None, now: QWidget | None) -> None:
        """Disable the typed shortcuts while a widget has the focus that handles arrow keys and letters itself."""
        busy = isinstance(now, _OWN_KEYS) and not now.property(WINDOW_KEYS)
        for shortcut in self._typed:
            shortcut.setEnabled(not busy)


def matches(
    commands: Sequence[Command], typed: str, offers: Sequence[Command] = ()
) -> list[Command]:
    """Return the commands whose texts contain the letters of `typed` in order, best match first.

    Args:
        commands: The commands to search.
        typed: The search text; if it is empty, all commands are returned.
        offers: Further commands that are always included. They follow the commands of which a word begins with the
            search text, and precede all others. If the search text is a number, the offers come first.
    """
    query = typed.strip().lower()
    if not query:
        return list(commands)
    ranked = [
        (rank, index)
        for index, command in enumerate(commands)
        if (rank := _rank(command.words.lower(), query)) is not None
    ]
    close = 0 if query.isdigit() else sum(rank <= 1 for rank, _ in ranked)
    matching = [commands[index] for _, index in sorted(ranked)]
    return [*matching[:close], *offers, *matching[close:]]


def _rank(words: str, query: str) -> int | None:
    """Return how well `words` matches `query`, lower is better; None for no match.

    The result is 0 if the words begin with the query, 1 if one of the words does, 2 if they contain it, and 3 or more
    if its letters occur in order with gaps.
    """
    if words.startswith(query):
        return 0
    if f" {query}" in words:
        return 1
    if query in words:
        return 2
    found_at = -1
    spread = 3
    for letter in query.replace(" ", ""):
        position = words.find(letter, found_at + 1)
        if position < 0:
            return None
        spread += position - found_at - 1
        found_at = position
    return spread
