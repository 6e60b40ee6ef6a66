"""The program's own fonts, so that it looks the same everywhere.

Inter for the interface, JetBrains Mono for code, Noto Color Emoji: their files are in `resources/fonts`. Chinese,
Japanese and Korean come from the fonts of the system, or from the optional package `noto_cjk_sans_otc` (19 MB), which
covers them on a system without fonts. Call `load` before the first widget is made.
"""

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from PySide6.QtCore import QLocale
from PySide6.QtGui import QFont, QFontDatabase, QFontMetrics, QGuiApplication

from inspector.core.errors import InspectorError
from inspector.gui.look.tokens import ROW_LINES
from inspector.resources import resource

UI = "Inter"
MONO = "JetBrains Mono"
_EMOJI = "Noto Color Emoji"
_SHIPPED = (
    "Inter-Regular.otf",
    "Inter-Italic.otf",
    "Inter-Medium.otf",
    "Inter-SemiBold.otf",
    "JetBrainsMono-Regular.ttf",
    "JetBrainsMono-Italic.ttf",
    "JetBrainsMono-Bold.ttf",
    "NotoColorEmoji.ttf",
)
_REGIONS = {"zh_TW": "TC", "zh_HK": "HK", "zh_MO": "HK", "ja": "JP", "ko": "KR"}


class FontMissing(InspectorError):
    """Raised if a font that ships with the program cannot be read, because the installation is broken."""


def load() -> None:
    """Register the shipped fonts and make the interface font the application's. Needs a QApplication.

    Raises:
        FontMissing: A shipped font cannot be read.
    """
    for path in (*(resource(f"fonts/{name}") for name in _SHIPPED), *find_cjk_fonts()):
        if QFontDatabase.addApplicationFont(str(path)) < 0:
            raise FontMissing(f"The font {path} cannot be read; reinstall the program.")
    QGuiApplication.setFont(ui_font())


def find_cjk_fonts() -> list[Path]:
    """Return the font file of the optional CJK package; empty if it is not installed."""
    package = find_spec("noto_cjk_sans_otc")
    if package is None or package.origin is None:
        return []
    return [Path(package.origin).with_name("NotoSansCJK-Regular.ttc")]


def ui_font(points: float | None = None, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Return the interface font, with digits of equal width; `points` None: the size of the application's font."""
    size = QGuiApplication.font().pointSizeF() if points is None else points
    return QFont(_make_ui_font(size, weight, QLocale().name()))


@lru_cache(maxsize=64)
def _make_ui_font(points: float, weight: QFont.Weight, language: str) -> QFont:
    """Make the interface font for a locale such as "zh_TW".

    Cached, because a timeline needs it hundreds of times a frame.
    """
    font = _font([UI, MONO, *_cjk("Noto Sans CJK", language), _EMOJI], points)
    font.setWeight(weight)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def mono_font(points: float | None = None) -> QFont:
    """Return the font for code and transcripts; `points` None: the size of the application's font."""
    size = QGuiApplication.font().pointSizeF() if points is None else points
    font = _font([MONO, *_cjk("Noto Sans Mono CJK", QLocale().name()), _EMOJI], size)
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setFixedPitch(True)
    return font


def row_height(metrics: QFontMetrics, lines: float = ROW_LINES) -> int:
    """Return the height in pixels of a row of a table or list; `lines`: in heights of its letters."""
    return int(metrics.height() * lines)


def _font(families: list[str], points: float) -> QFont:
    font = QFont(families)
    font.setPointSizeF(points)
    # Both fonts draw "->" as an arrow.
    for joined in ("liga", "calt"):
        font.setFeature(QFont.Tag(joined), 0)
    return font


def _cjk(family: str, language: str) -> list[str]:
    """Return the CJK families, the one of the user's region first, because the shapes of Han characters differ by
    country."""
    first = _REGIONS.get(language) or _REGIONS.get(language[:2], "SC")
    return [
        f"{family} {first}",
        *(f"{family} {region}" for region in ("SC", "JP", "KR") if region != first),
    ]
