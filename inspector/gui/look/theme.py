"""Light and dark: which colours hold now, and the one style sheet made of them."""

from typing import Literal, TypeAlias, get_args

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from inspector.gui.look.colours import DARK, LIGHT, Colours
from inspector.gui.look.style import SMALL, style_sheet
from inspector.gui.settings import Settings

Mode: TypeAlias = Literal["system", "light", "dark"]


class Theme(QObject):
    """`colours` are the ones to paint with; `changed` is emitted when they are others."""

    changed = Signal()

    def __init__(self, application: QApplication, settings: Settings) -> None:
        super().__init__(application)
        self._application = application
        self._settings = settings
        kept = settings.text("theme", "system")
        self._mode: Mode = next((mode for mode in get_args(Mode) if mode == kept), "system")
        self._colours = self._choose()
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
        return self._points() * SMALL

    def _points(self) -> float:
        return self._application.font().pointSizeF()

    @property
    def mode(self) -> Mode:
        """What the user chose."""
        return self._mode

    def choose(self, mode: Mode) -> None:
        """Take and remember a mode."""
        self._mode = mode
        self._settings.keep_text("theme", mode)
        self._again()

    def toggle(self) -> None:
        """From dark to light, from light to dark."""
        self.choose("light" if self._colours.dark else "dark")

    def _choose(self) -> Colours:
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
        self._application.setPalette(_palette(self._colours))
        self._application.setStyleSheet(style_sheet(self._colours, self._points()))


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
