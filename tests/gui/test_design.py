"""The design sheet: docs/design.md says what the code reads, text has contrast, every control has a name."""

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QComboBox, QTabWidget, QWidget
from pytestqt.qtbot import QtBot

from inspector.core.outcome import FateName
from inspector.gui.look import tokens
from inspector.gui.look.colours import CONTRAST, DARK, LIGHT, Colours, fate_colour
from inspector.gui.look.style import style_sheet, tint
from inspector.gui.panels.cost.advice_list import AdviceRow
from inspector.gui.window import MainWindow
from inspector.gui.workspace import PAGES, WORKSPACES
from tests.gui.test_keyboard import name_of, ratio

SHEET = (Path(__file__).parents[2] / "docs" / "design.md").read_text(encoding="utf-8")
PALETTES = {"light": LIGHT, "dark": DARK, "contrast": CONTRAST}
INKS = ("text", "quiet", "accent", "low", "high", "good", "on_tool")
GROUNDS = ("window", "raised", "hover", "faint", "selected")


def test_design_sheet_lists_every_measure_and_colour_of_the_code() -> None:
    names = [name for name in vars(tokens) if name.isupper()]
    assert len(names) > 10
    for name in names:
        if name != "LEAST_CONTRAST":
            assert f"| `{name}` | {getattr(tokens, name)} |" in SHEET
    for field in fields(Colours):
        if field.name not in ("dark", "categories"):
            row = " | ".join(getattr(palette, field.name) for palette in PALETTES.values())
            assert f"| `{field.name}` | {row} |" in SHEET
    for category, colour in LIGHT.categories.items():
        assert f"| {category} | {colour} |" in SHEET


def test_style_sheet_has_no_other_size_of_letters_than_the_tokens() -> None:
    shares = (tokens.SMALL, tokens.FOLDED_PRESSURE, tokens.HEADING, tokens.TITLE, tokens.PRESSURE)
    allowed = {round(10 * share, 1) for share in shares}
    used = {
        round(float(size), 1)
        for size in re.findall(r"font-size: ([\d.]+)pt", style_sheet(LIGHT, 10))
    }
    assert used
    assert used <= allowed


@pytest.mark.parametrize("name", PALETTES)
def test_text_on_every_ground_has_a_contrast_of_at_least_four_and_a_half(name: str) -> None:
    palette = PALETTES[name]
    inks = {ink: getattr(palette, ink) for ink in INKS}
    inks |= {f"fate {fate}": fate_colour(palette, fate) for fate in get_args(FateName)}
    for ink, colour in inks.items():
        for ground in GROUNDS:
            assert ratio(colour, getattr(palette, ground)) >= tokens.LEAST_CONTRAST, (ink, ground)
    assert ratio(palette.on_accent, palette.accent) >= tokens.LEAST_CONTRAST
    assert ratio(palette.low, palette.due) >= tokens.LEAST_CONTRAST
    assert ratio(palette.low, tint(palette)) >= tokens.LEAST_CONTRAST


def test_every_control_of_every_panel_has_a_name_for_a_screen_reader(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.open_sample()
    qtbot.waitUntil(lambda: window.workbench.state.opening is None and window.docks.ready)
    window.docks.build("", *WORKSPACES, *PAGES)
    unnamed = []
    for title, panel in window.docks.panels.items():
        controls = [part for part in panel.findChildren(QWidget) if _is_control(part)]
        unnamed += [
            f"{title}: {_describe(control)}" for control in controls if not name_of(control).strip()
        ]
    assert not unnamed, "\n".join(unnamed)


def _is_control(part: QWidget) -> bool:
    """Can it be reached by Tab once it is shown? Pieces of other controls, and what has no words yet, cannot."""
    above = part.parentWidget()
    is_piece = isinstance(above, QComboBox | QAbstractSpinBox | QTabWidget) or (
        above is not None and above.isWindow()
    )
    has_no_words = isinstance(part, QAbstractButton | AdviceRow) and not part.isVisible()
    return bool(part.focusPolicy() & Qt.FocusPolicy.TabFocus) and not is_piece and not has_no_words


def _describe(control: QWidget) -> str:
    return f"{control.metaObject().className()} in {control.parentWidget()}"


def test_spaces_of_panels_come_from_the_tokens() -> None:
    panels = Path(tokens.__file__).parents[1] / "panels"
    texts = [path.read_text(encoding="utf-8") for path in panels.rglob("*.py")]
    gaps = [gap for text in texts for gap in re.findall(r"\bgap=[1-9]\d*", text)]
    margins = [edge for text in texts for edge in re.findall(r"margins=\([^)]*[1-9][^)]*\)", text)]
    assert not gaps
    assert not margins
