"""The theme: light, dark or high contrast colours, the text size, and the style sheet made from both."""

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
"""Text sizes that zooming steps through, as multiples of the system's size."""


class Theme(QObject):
    """The current look. `colours` is the current palette; `changed` is emitted when colours or text size change."""

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
        application.styleHints().colorSchemeChanged.connect(self._choose_again)

    @property
    def colours(self) -> Colours:
        """The current palette. All painting code takes its colours from here."""
        return self._colours

    @property
    def small(self) -> float:
        """Font size of small print (captions, axes) in points."""
        return self.points * SMALL

    @property
    def points(self) -> float:
        """Font size of ordinary text in points."""
        return self._points * self._size

    def choose(self, mode: Mode) -> None:
        """Set a mode and store it."""
        self._mode = mode
        self._settings.keep_text("theme", mode)
        self._choose_again()

    def toggle(self) -> None:
        """Switch from dark to light or from light to dark."""
        self.choose("light" if self._colours.dark else "dark")

    def zoom(self, steps: int) -> None:
        """Make text larger by a number of steps (negative: smaller); 0: the size of the system."""
        place = SIZES.index(self._size) + steps if steps else SIZES.index(1.0)
        self._size = SIZES[max(0, min(place, len(SIZES) - 1))]
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

    def _choose_again(self) -> None:
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
    """Return the palette for what Qt paints itself: dialogs, text cursors, selections."""
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
