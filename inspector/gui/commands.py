"""A command: its words and keys, from which menus, palette and key list are made; which of them match what is typed."""

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
"""Widgets that have a use for arrows and letters themselves ..."""
WINDOW_KEYS = "window keys"
"""... unless they carry this property: then the window's keys hold in them too."""


@dataclass(frozen=True, slots=True)
class Command:
    """`keys` as QKeySequence spells them; the first is the one that is shown."""

    words: str
    run: Callable[[], object]
    keys: tuple[str, ...] = ()
    group: str = ""
    typed: bool = False
    """Its keys mean something else in a text field or text view, and belong to that while it has the focus."""

    @property
    def shown_keys(self) -> str:
        """The keys in the words of this system."""
        return (
            QKeySequence(self.keys[0]).toString(QKeySequence.SequenceFormat.NativeText)
            if self.keys
            else ""
        )


class Keys(QObject):
    """The shortcuts of a window. Lives and dies with it, as the signal it hears outlives it."""

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
        """Arrow keys and letters belong to whoever types, and to lists and tabs other than the buffer's."""
        busy = isinstance(now, _OWN_KEYS) and not now.property(WINDOW_KEYS)
        for shortcut in self._typed:
            shortcut.setEnabled(not busy)


def matches(
    commands: Sequence[Command], typed: str, offers: Sequence[Command] = ()
) -> list[Command]:
    """The commands whose words hold the typed letters in order, best first.

    `offers` stand after those of which a word begins with what was typed, before all others; a number is an offer.
    """
    query = typed.strip().lower()
    if not query:
        return list(commands)
    ranked = [
        (rank, n)
        for n, command in enumerate(commands)
        if (rank := _rank(command.words.lower(), query)) is not None
    ]
    close = 0 if query.isdigit() else sum(rank <= 1 for rank, _ in ranked)
    matching = [commands[n] for _, n in sorted(ranked)]
    return [*matching[:close], *offers, *matching[close:]]


def _rank(words: str, query: str) -> int | None:
    """0 begins with it, 1 a word begins with it, 2 holds it, 3 and up its letters in order, spread; None no match."""
    if words.startswith(query):
        return 0
    if f" {query}" in words:
        return 1
    if query in words:
        return 2
    at, spread = -1, 3
    for letter in query.replace(" ", ""):
        position = words.find(letter, at + 1)
        if position < 0:
            return None
        spread += position - at - 1
        at = position
    return spread
