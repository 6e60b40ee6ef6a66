"""The part of the style sheet that belongs to the stepper: rows of tiers, chips, the settings form, the need."""

from inspector.gui.look.colours import Colours
from inspector.resources import resource


def tiers_sheet(c: Colours, small: float) -> str:
    """For one palette; `small`: points of small print."""
    mode = "dark" if c.dark else "light"
    check, down = (resource(f"icons/{name}-{mode}.svg").as_posix() for name in ("check", "down"))
    return f"""
#TierRow {{ border-bottom: 1px solid {c.line}; background: {c.window}; }}
#TierRow:hover {{ background: {c.faint}; }}
#TierRow[picked="true"] {{ background: {c.selected}; }}
#TierRow[stale="true"] QLabel {{ color: {c.missing}; }}
#TierRow QPushButton {{ padding: 3px 10px; }}
#TierRow:hover QPushButton, #TierRow[picked="true"] QPushButton {{ background: {c.hover}; border-color: {c.hover}; }}
#TierRow QPushButton:focus {{ border-color: {c.accent}; }}
QLabel[role="tier"] {{ font-weight: 600; color: {c.quiet}; }}
QLabel[role="tier"][due="true"] {{ color: {c.good}; }}
QLabel[role="small"] {{ color: {c.quiet}; font-size: {small:.1f}pt; }}
QLabel[role="next"] {{
  color: {c.on_accent}; background: {c.accent}; border-radius: 7px; padding: 0 7px; font-size: {small:.1f}pt;
}}
QLabel[role="dot"] {{ color: {c.good}; }}
QLabel[role="dot"][open="true"] {{ color: {c.high}; }}
QPushButton[role="primary"]:disabled {{ background: {c.raised}; border-color: {c.raised}; color: {c.missing}; }}
QPushButton[role="chip"] {{ padding: 3px 10px; background: {c.raised}; border: 1px solid {c.raised}; }}
QPushButton[role="chip"]:hover {{ background: {c.hover}; }}
QPushButton[role="chip"]:checked {{ border-color: {c.accent}; color: {c.text}; background: {c.selected}; }}
QPushButton[role="chip"]:focus {{ border-color: {c.text}; }}
QCheckBox {{ spacing: 7px; }}
QCheckBox::indicator {{
  width: 13px; height: 13px; border: 1px solid {c.missing}; border-radius: 4px; background: {c.raised};
}}
QCheckBox::indicator:hover, QCheckBox::indicator:focus {{ border-color: {c.accent}; }}
QCheckBox::indicator:checked {{ background: {c.accent}; border-color: {c.accent}; image: url("{check}"); }}
QComboBox::down-arrow {{ image: url("{down}"); width: 12px; height: 12px; }}
QLineEdit[bad="true"] {{ border-color: {c.high}; }}
QLabel[role="changed"] {{ color: {c.accent}; font-weight: 600; }}
#TierPanel QScrollArea, #SettingsForm QScrollArea {{ border: 0; }}
#NeedText, #NeedAnswer, #MemoryText {{
  background: {c.raised}; border: 1px solid {c.raised}; border-radius: 6px; padding: 4px;
}}
#NeedText:focus, #NeedAnswer:focus, #MemoryText:focus {{ border-color: {c.accent}; }}
"""
