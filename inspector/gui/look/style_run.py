"""The part of the style sheet that belongs to a run: its bar, the question it asks, what the model says."""

from inspector.gui.look.colours import Colours


def run_sheet(c: Colours) -> str:
    """For one palette."""
    return f"""
#RunBar {{ background: {c.raised}; border-bottom: 1px solid {c.line}; border-left: 3px solid {c.accent}; }}
#RunBar[kind="waits"] {{ border-left-color: {c.low}; }}
#RunBar[kind="good"] {{ border-left-color: {c.good}; }}
#RunBar[kind="bad"] {{ border-left-color: {c.high}; }}
#RunBar QLabel {{ background: transparent; }}
#RunBar QPushButton {{ background: {c.hover}; border-color: {c.hover}; }}
#RunBar QPushButton:hover {{ background: {c.line}; }}
#RunBar QPushButton:focus {{ border-color: {c.accent}; }}
#RunBar QPushButton:disabled {{ background: {c.raised}; border-color: {c.raised}; color: {c.missing}; }}
#RunBar QPushButton[role="primary"] {{ background: {c.accent}; border-color: {c.accent}; color: {c.on_accent}; }}
#RunBar QPushButton[role="primary"]:focus {{ border-color: {c.text}; }}
#RunBar QPushButton[role="run"] {{
  background: {c.accent}; border-color: {c.accent}; color: {c.on_accent}; border-radius: 9px; font-weight: 600;
}}
#RunBar QPushButton[role="run"][kind="waits"] {{ background: {c.low}; border-color: {c.low}; }}
#RunBar QPushButton[role="run"][kind="good"] {{ background: {c.good}; border-color: {c.good}; }}
#RunBar QPushButton[role="run"][kind="bad"] {{ background: {c.high}; border-color: {c.high}; }}
#RunBar QPushButton[role="run"]:focus {{ border-color: {c.text}; }}
#HoldBox {{ border: 1px solid {c.low}; border-radius: 8px; background: {c.window}; }}
#AskedBox {{ border: 1px solid {c.low}; border-radius: 8px; background: {c.window}; }}
QDialogButtonBox {{ dialogbuttonbox-buttons-have-icons: 0; }}
#RunTask, #RunText {{ background: {c.raised}; border: 1px solid {c.raised}; border-radius: 6px; padding: 4px; }}
#RunTask:focus, #RunText:focus {{ border-color: {c.accent}; }}
#PolicyForm QScrollArea {{ border: 1px solid {c.line}; border-radius: 6px; }}
"""
