"""Light, dark, high contrast: which colours hold now, how large letters are, and the one style sheet made of them."""

from typing import Literal, TypeAlias, get_args

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from inspector.gui.look.colours import CONTRAST, DARK, LIGHT, Colours
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.style import style_sheet
from inspector.gui.look.tokens import SMALL
from inspector.gui.settings import Settings

Mode: TypeAlias = Literal["system", "light", "dark", "contrast"]
SIZES = (0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.6, 1.8, 2.0)
"""Of all letters, as shares of the system's size: what zooming walks through."""


class Theme(QObject):
    """`colours` are the ones to paint with; `changed` is emitted when they are others."""

    changed = Signal()

    def __init__(self, application: QApplication, settings: Settings) -> None:
        super().__init__(application)
        self._application = application
        self._settings = settings
        stored = settings.text("theme", "system")
        self._mode: Mode = next((mode for mode in get_args(Mode) if mode == stored), "system")
        self._colours = self._choose()
        self._points = application.font().pointSizeF()
        """The font size of the system, in points."""
        kept_size = settings.text("size", "1.0")
        self._size = next((size for size in SIZES if str(size) == kept_size), 1.0)
        application.setStyle("Fusion")
        self._apply()
        application.styleHints().colorSchemeChanged.connect(self._again)

    @property
    def colours(self) -> Colours:
        """The one accessor of colours."""
        return self._colours

    @property
    def small(self) -> float:
        """Points of small print: captions, axes."""
        return self.points * SMALL

    @property
    def points(self) -> float:
        """Points of ordinary letters."""
        return self._points * self._size

    def choose(self, mode: Mode) -> None:
        """Take and remember a mode."""
        self._mode = mode
        self._settings.keep_text("theme", mode)
        self._again()

    def toggle(self) -> None:
        """From dark to light, from light to dark."""
        self.choose("light" if self._colours.dark else "dark")

    def zoom(self, steps: int) -> None:
        """Make text larger by a number of steps (negative: smaller); 0: the size of the system."""
        at = SIZES.index(self._size) + steps if steps else SIZES.index(1.0)
        self._size = SIZES[max(0, min(at, len(SIZES) - 1))]
        self._settings.keep_text("size", str(self._size))
        self._apply()
        self.changed.emit()

    def _choose(self) -> Colours:
        if self._mode == "contrast":
            return CONTRAST
        if self._mode == "system":
            dark = self._application.styleHints().colorScheme() == Qt.ColorScheme.Dark
        else:
            dark = self._mode == "dark"
        return DARK if dark else LIGHT

    def _again(self) -> None:
        chosen = self._choose()
        if chosen is not self._colours:
            self._colours = chosen
            self._apply()
            self.changed.emit()

    def _apply(self) -> None:
        self._application.setFont(ui_font(self.points))
        self._application.setPalette(_palette(self._colours))
        self._application.setStyleSheet(style_sheet(self._colours, self.points))


def _palette(colours: Colours) -> QPalette:
    """For what Qt paints itself: dialogs, text cursors, selections."""
    role = QPalette.ColorRole
    palette = QPalette()
    for where, colour in (
        (role.Window, colours.window),
        (role.Base, colours.window),
        (role.AlternateBase, colours.raised),
        (role.Button, colours.raised),
        (role.ToolTipBase, colours.raised),
        (role.Text, colours.text),
        (role.WindowText, colours.text),
        (role.ButtonText, colours.text),
        (role.ToolTipText, colours.text),
        (role.PlaceholderText, colours.quiet),
        (role.Highlight, colours.accent),
        (role.HighlightedText, colours.on_accent),
        (role.Link, colours.accent),
        (role.Mid, colours.line),
        (role.Light, colours.hover),
        (role.Dark, colours.line),
    ):
        palette.setColor(where, QColor(colour))
    for where in (role.Text, role.WindowText, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, where, QColor(colours.missing))
    return palette
