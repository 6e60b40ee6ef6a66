"""Every letter renders on a system that has no font at all: in Qt's own drawing, without a screen and on one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale
from PySide6.QtGui import QFont, QFontMetricsF

from inspector.gui.look import fonts

SAMPLES = {
    "figures": "0123456789",
    "Chinese": "上下文窗口",
    "Japanese": "コンテキスト",
    "Korean": "컨텍스트",
    "boxes": "┌─┬┐│├┼┤└┴┘█▓▒░",
    "arrows": "→⇒≥…✓✗",
    "emoji": "😀🔧✅",
}

# Draws every letter by itself and prints the families that drew a sample, "" where a letter has no glyph of its own,
# and whether two different letters of a sample came out as the same picture (as two empty boxes would).
SCRIPT = """
import json, sys
from PySide6.QtGui import QColor, QImage, QPainter, QTextLayout
from PySide6.QtWidgets import QApplication
application = QApplication([])
from inspector.gui.look import fonts
fonts.load()
def picture(font, letter):
    image = QImage(40, 40, QImage.Format.Format_ARGB32)
    image.fill(QColor("white"))
    painter = QPainter(image)
    painter.setFont(font)
    painter.drawText(4, 28, letter)
    painter.end()
    return bytes(image.constBits())
def families(font, text):
    layout = QTextLayout(text, font)
    layout.beginLayout(); layout.createLine(); layout.endLayout()
    return sorted({"" if 0 in run.glyphIndexes() else run.rawFont().familyName() for run in layout.glyphRuns()})
told = {}
for kind, font in (("ui", fonts.ui_font(16)), ("mono", fonts.mono_font(16))):
    for name, text in json.loads(sys.argv[1]).items():
        pictures = {picture(font, letter) for letter in text}
        told[f"{kind} {name}"] = [families(font, text), len(pictures) == len(text)]
print(json.dumps(told))
"""


def _drawn(environment: dict[str, str], folder: Path) -> dict[str, tuple[list[str], bool]]:
    nothing = folder / "fonts.conf"
    nothing.write_text(
        f'<?xml version="1.0"?><fontconfig><cachedir>{folder}</cachedir></fontconfig>'
    )
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(SAMPLES)],
        env={**os.environ, **environment, "FONTCONFIG_FILE": str(nothing)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, tuple[list[str], bool]] = json.loads(done.stdout)
    return told


def _check(told: dict[str, tuple[list[str], bool]]) -> None:
    assert len(told) == 2 * len(SAMPLES)
    for name, (families, all_differ) in told.items():
        assert families, name
        assert "" not in families, f"{name}: a letter has no glyph"
        assert all_differ, f"{name}: two letters look the same"
    assert told["ui figures"][0] == ["Inter"]
    assert told["mono boxes"][0] == ["JetBrains Mono"]
    assert told["mono emoji"][0] == ["Noto Color Emoji"]
    assert any(family.startswith("Noto Sans Mono CJK") for family in told["mono Chinese"][0])


def test_all_letters_render_without_system_fonts(tmp_path: Path) -> None:
    _check(_drawn({"QT_QPA_PLATFORM": "offscreen"}, tmp_path))


def test_all_letters_render_on_a_screen(tmp_path: Path, screen: str) -> None:
    _check(_drawn({"QT_QPA_PLATFORM": "xcb", "DISPLAY": screen}, tmp_path))


@pytest.mark.parametrize(
    ("language", "region"),
    [("zh_CN", "SC"), ("zh_TW", "TC"), ("ja_JP", "JP"), ("ko_KR", "KR"), ("en_US", "SC")],
)
def test_the_users_own_han_shapes_come_first(language: str, region: str, qapp: object) -> None:
    before = QLocale()
    QLocale.setDefault(QLocale(language))
    try:
        cjk = [family for family in fonts.ui_font(10).families() if "CJK" in family]
    finally:
        QLocale.setDefault(before)
    assert cjk[0] == f"Noto Sans CJK {region}"
    assert {"Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR"} <= set(cjk)


def test_figures_are_of_one_width_and_nothing_is_joined(qapp: object) -> None:
    fonts.load()
    ui = QFontMetricsF(fonts.ui_font(10))
    assert ui.horizontalAdvance("1111") == ui.horizontalAdvance("8888")
    for font in (fonts.ui_font(10), fonts.mono_font(10)):
        assert font.featureValue(QFont.Tag("calt")) == 0
