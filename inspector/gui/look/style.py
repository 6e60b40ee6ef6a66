"""The style sheet of the whole program, made from the colours. Text sizes scale with the system's font."""

from inspector.gui.look.colours import Colours, mixed
from inspector.gui.look.tokens import (
    CARD_RADIUS,
    CHOICE_RADIUS,
    FOLDED_PRESSURE,
    HEADING,
    PRESSURE,
    RADIUS,
    SMALL,
    TITLE,
)
from inspector.resources import resource


def tint(c: Colours) -> str:
    """Return the background colour of a badge that says that something is due."""
    return mixed(c.window, c.low, share=0.18).name()


def style_sheet(c: Colours, points: float) -> str:
    """Return the style sheet for a palette and a font size in points."""
    small, large = points * SMALL, points * TITLE
    gap = 5 if points < 13 else 3
    mode = "dark" if c.dark else "light"
    check, down = (resource(f"icons/{name}-{mode}.svg").as_posix() for name in ("check", "down"))
    return f"""
* {{ outline: 0; }}
QMainWindow, QDialog, QWidget {{ background: {c.window}; color: {c.text}; }}
QMainWindow::separator {{ background: {c.line}; width: 1px; height: 1px; }}
#qt_qmainwindow_extended_splitter {{ background: transparent; }}
QSplitter::handle {{ background: {c.line}; }}
QSplitter::handle:hover {{ background: {c.accent}; }}

QLabel {{ background: transparent; }}
QLabel[role="caption"] {{ color: {c.quiet}; font-size: {small}pt; font-weight: 600; letter-spacing: 1px; }}
QLabel[role="quiet"] {{ color: {c.quiet}; }}
QLabel[role="link"] {{ color: {c.accent}; }}
QLabel[role="strong"] {{ font-weight: 600; }}
QLabel[role="heading"] {{ font-size: {points * HEADING:.1f}pt; font-weight: 600; }}
QLabel[role="title"] {{ font-size: {large}pt; font-weight: 600; }}
QLabel[role="pressure"] {{ font-size: {points * PRESSURE:.1f}pt; font-weight: 600; }}
QLabel[role="pressure"][folded="true"] {{ font-size: {points * FOLDED_PRESSURE:.1f}pt; }}
QLabel[role="chip"] {{
  color: {c.quiet}; background: {c.raised}; border-radius: 9px; padding: 2px 9px; font-size: {small}pt;
}}
QLabel[role="chip"][due="true"] {{ color: {c.low}; background: {c.due}; font-weight: 600; }}
QLabel[role="badge"] {{
  color: {c.quiet}; border: 1px solid {c.quiet}; border-radius: {CARD_RADIUS}px; padding: 0 7px; font-size: {small}pt;
}}
QLabel[kind="reported"] {{ color: {c.good}; border-color: {c.good}; }}
QLabel[kind="predicted"] {{ color: {c.accent}; border-color: {c.accent}; }}
QLabel[kind="estimated"], QLabel[kind="counted"] {{ color: {c.low}; border-color: {c.low}; }}
QPushButton[role="field"] {{ color: {c.quiet}; text-align: left; min-width: 110px; }}
QLabel[role="good"] {{ color: {c.good}; }}
QLabel[role="bad"] {{ color: {c.high}; }}

QPushButton, QToolButton {{
  background: {c.raised}; border: 1px solid {c.raised}; border-radius: {RADIUS}px; padding: 4px 11px;
}}
QToolButton {{ padding: 3px 6px 2px 6px; }}
QPushButton:hover, QToolButton:hover {{ background: {c.hover}; border-color: {c.hover}; }}
QPushButton:pressed, QToolButton:pressed {{ background: {c.line}; }}
QPushButton:focus, QToolButton:focus {{ border-color: {c.accent}; }}
QPushButton:disabled, QToolButton:disabled {{ color: {c.missing}; }}
QPushButton[role="primary"] {{
  background: {c.accent}; border-color: {c.accent}; color: {c.on_accent}; font-weight: 600;
}}
QPushButton[role="primary"]:focus {{ border-color: {c.text}; }}
QToolButton[role="primary"] {{
  background: {c.accent}; border-color: {c.accent}; color: {c.on_accent}; padding: 4px 6px; font-weight: 600;
}}
QToolButton[role="primary"]:focus {{ border-color: {c.text}; }}
QToolButton[role="primary"]:disabled {{ background: {c.raised}; border-color: {c.raised}; color: {c.missing}; }}
QPushButton[role="flat"], QToolButton[role="flat"] {{
  background: transparent; border-color: transparent; color: {c.quiet}; padding: 3px 6px;
}}
QToolButton[role="flat"] {{ padding: 2px 1px 1px 1px; }}
QPushButton[role="flat"]:hover, QToolButton[role="flat"]:hover {{ color: {c.text}; background: {c.raised}; }}
QPushButton[role="flat"]:focus, QToolButton[role="flat"]:focus {{ border-color: {c.accent}; }}
QPushButton[role="flat"]:checked, QToolButton[role="flat"]:checked {{ color: {c.text}; background: {c.raised}; }}
#Segments {{ background: {c.raised}; border-radius: {RADIUS}px; }}
QPushButton[role="segment"] {{
  background: transparent; border: 1px solid transparent; border-radius: {CHOICE_RADIUS}px; color: {c.quiet};
  padding: 1px 9px; font-size: {small}pt;
}}
QPushButton[role="segment"]:hover {{ color: {c.text}; }}
QPushButton[role="segment"]:checked {{
  background: {c.window}; color: {c.text}; font-weight: 600; border-color: {c.line};
}}
QPushButton[role="segment"]:focus {{ border-color: {c.accent}; }}
QPushButton::menu-indicator, QToolButton::menu-indicator {{ image: none; width: 0; }}

QLineEdit, QComboBox, QSpinBox, QDoubleSpinBox {{
  background: {c.raised}; border: 1px solid {c.raised}; border-radius: {RADIUS}px; padding: 4px 9px;
  selection-background-color: {c.accent}; selection-color: {c.on_accent};
}}
QLineEdit:focus, QComboBox:focus, QSpinBox:focus, QDoubleSpinBox:focus {{ border-color: {c.accent}; }}
QComboBox::drop-down {{ border: 0; width: 18px; }}
QPlainTextEdit, QTextEdit {{
  background: {c.window}; selection-background-color: {c.accent}; selection-color: {c.on_accent};
}}

QTableView, QListView, QTreeView {{
  background: {c.window}; border: 0; gridline-color: {c.line}; alternate-background-color: {c.window};
  selection-background-color: {c.selected}; selection-color: {c.text};
}}
QTableView::item {{ border-bottom: 1px solid {c.line}; }}
QTableView::item:selected, QListView::item:selected, QTreeView::item:selected {{
  background: {c.selected}; color: {c.text};
}}
QHeaderView::section {{
  background: {c.window}; color: {c.quiet}; border: 0; border-bottom: 1px solid {c.line}; padding: 4px 6px;
}}
QTableCornerButton::section {{ background: {c.window}; border: 0; }}

QMenu {{ background: {c.raised}; border: 1px solid {c.line}; border-radius: {CARD_RADIUS}px; padding: 5px; }}
QMenu::item {{ padding: 5px 22px 5px 12px; border-radius: 5px; background: transparent; }}
QMenu::item:selected {{ background: {c.selected}; }}
QMenu::item:disabled {{ color: {c.quiet}; }}
QMenu::separator {{ height: 1px; background: {c.line}; margin: 5px 8px; }}
QToolTip {{ background: {c.raised}; color: {c.text}; border: 1px solid {c.line}; padding: 5px; }}

QTabWidget::pane {{ border: 0; border-top: 1px solid {c.line}; }}
QTabBar {{ background: {c.window}; qproperty-drawBase: 0; qproperty-elideMode: ElideNone; }}
QTabBar::tab {{
  background: transparent; color: {c.quiet}; padding: 7px 1px 6px 1px; margin: 0 {gap}px;
  border: 0; border-bottom: 2px solid transparent;
}}
QTabBar::tab:first, QTabBar::tab:only-one {{ margin-left: 12px; }}
QTabBar::tab:hover {{ color: {c.text}; }}
QTabBar::tab:selected {{ color: {c.text}; font-weight: 600; border-bottom: 2px solid {c.accent}; }}
QTabBar::tab:focus {{ color: {c.accent}; }}
QTabBar QToolButton {{ padding: 0; }}

QTableView, QListView, QTreeView, QPlainTextEdit, #PlotView, QScrollArea {{ border: 1px solid {c.window}; }}
QTableView:focus, QListView:focus, QTreeView:focus, QPlainTextEdit:focus, #PlotView:focus, QScrollArea:focus {{
  border-color: {c.accent};
}}

QScrollBar {{ background: transparent; border: 0; }}
QScrollBar:vertical {{ width: 10px; }}
QScrollBar:horizontal {{ height: 10px; }}
QScrollBar::handle {{ background: {c.hover}; border-radius: {CHOICE_RADIUS}px; margin: 1px; }}
QScrollBar::handle:vertical {{ min-height: 28px; }}
QScrollBar::handle:horizontal {{ min-width: 28px; }}
QScrollBar::handle:hover {{ background: {c.missing}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}

QProgressBar {{ background: {c.faint}; border: 0; border-radius: 3px; max-height: 6px; min-height: 6px; }}
QProgressBar::chunk {{ background: {c.accent}; border-radius: 3px; }}

#WorkspaceTabs::tab {{ padding: 5px 2px 5px 2px; margin: 0 6px; }}
#TopBar {{ border-bottom: 1px solid {c.line}; }}
#StatusStrip {{ border-top: 1px solid {c.line}; color: {c.quiet}; }}
#StatusStrip QLabel {{ color: {c.quiet}; }}
#StatusStrip QPushButton {{ padding: 0 6px; }}
#Notice {{ background: {c.raised}; border-bottom: 1px solid {c.line}; }}
#Notice[bad="true"] {{ border-left: 3px solid {c.high}; }}
#Notice QPushButton {{ background: {c.hover}; }}
#PaletteBox {{ background: {c.raised}; border: 1px solid {c.line}; border-radius: 10px; }}
#PaletteBox QLineEdit {{ background: {c.window}; padding: 7px 10px; }}
#PaletteBox QListView {{ background: transparent; }}
QPushButton[role="choice"] {{
  background: transparent; border: 1px solid transparent; border-radius: {CHOICE_RADIUS}px;
  text-align: left; padding: 4px 7px;
}}
QPushButton[role="choice"]:hover {{ background: {c.raised}; }}
QPushButton[role="choice"]:checked {{ background: {c.selected}; font-weight: 600; }}
QPushButton[role="choice"]:focus {{ border-color: {c.accent}; }}
QToolButton[role="link"] {{ background: transparent; border-color: transparent; color: {c.accent}; padding: 1px 3px; }}
QToolButton[role="link"]:hover {{ background: {c.raised}; }}
QToolButton[role="link"]:focus {{ border-color: {c.accent}; }}
#LossChoices {{ border-right: 1px solid {c.line}; }}
#PlaceCard {{ border: 1px solid {c.line}; border-radius: {CARD_RADIUS}px; }}
#GiveBack {{ background: {c.raised}; border-radius: {CARD_RADIUS}px; }}
#GiveBack QPushButton {{ background: {c.hover}; border-color: {c.hover}; }}
#GiveBack QPushButton[role="primary"] {{ background: {c.accent}; border-color: {c.accent}; color: {c.on_accent}; }}
#GiveBack QPushButton:disabled {{ background: {c.raised}; border-color: {c.line}; color: {c.missing}; }}
#GiveBack QPushButton[role="primary"]:focus {{ border-color: {c.text}; }}
#ReadingCard {{ background: {c.raised}; border-radius: {CARD_RADIUS}px; }}
#AnswerCard {{ background: {c.raised}; border: 1px solid {c.raised}; border-radius: {CARD_RADIUS}px; }}
#AnswerCard:hover {{ background: {c.hover}; }}
#AnswerCard:focus {{ border-color: {c.accent}; }}
#DropArea {{ border: 1px dashed {c.missing}; border-radius: 10px; }}
#DropArea[over="true"] {{ border-color: {c.accent}; background: {c.selected}; }}

#TierRow {{
  border: 0; border-bottom: 1px solid {c.line}; border-left: 3px solid {c.window}; background: {c.window};
}}
#TierRow:hover {{ background: {c.faint}; border-left-color: {c.faint}; }}
#TierRow[picked="true"] {{ background: {c.selected}; border-left-color: {c.accent}; }}
#TierRow[stale="true"] QLabel {{ color: {c.missing}; }}
#TierRow QPushButton {{ padding: 3px 10px; }}
#TierRow:hover QPushButton, #TierRow[picked="true"] QPushButton {{ background: {c.hover}; border-color: {c.hover}; }}
#TierRow QPushButton:focus {{ border-color: {c.accent}; }}
#CostBlock {{ border-top: 1px solid {c.line}; }}
#CostBlock QPushButton[role="chip"] {{ padding: 3px 8px; }}
QLabel[role="tier"] {{ font-weight: 600; color: {c.quiet}; }}
QLabel[role="tier"][due="true"] {{ color: {c.good}; }}
QLabel[role="small"] {{ color: {c.quiet}; font-size: {small:.1f}pt; }}
QLabel[role="due"], QLabel[role="not due"] {{
  color: {c.low}; background: {tint(c)}; border-radius: {CARD_RADIUS}px; padding: 1px 8px; font-size: {small:.1f}pt;
}}
QLabel[role="not due"] {{ color: {c.quiet}; background: {c.raised}; }}
#TierRow[picked="true"] QLabel[role="not due"] {{ background: {c.hover}; }}
#TierRow QPushButton[role="outline"] {{ color: {c.accent}; border-color: {c.accent}; background: transparent; }}
#TierRow QPushButton[role="outline"]:disabled {{ color: {c.missing}; border-color: {c.missing}; }}
QLabel[role="dot"] {{ color: {c.good}; }}
QLabel[role="dot"][open="true"] {{ color: {c.high}; }}
QPushButton[role="primary"]:disabled {{ background: {c.raised}; border-color: {c.raised}; color: {c.missing}; }}
QPushButton[role="chip"] {{ padding: 3px 10px; background: {c.raised}; border: 1px solid {c.raised}; }}
QPushButton[role="chip"]:hover {{ background: {c.hover}; }}
QPushButton[role="chip"]:checked {{ border-color: {c.accent}; color: {c.text}; background: {c.selected}; }}
QPushButton[role="chip"]:focus {{ border-color: {c.text}; }}
QCheckBox {{ spacing: 7px; }}
QCheckBox::indicator, QTableWidget::indicator {{
  width: 13px; height: 13px; border: 1px solid {c.missing}; border-radius: {CHOICE_RADIUS}px; background: {c.raised};
}}
QCheckBox::indicator:hover, QCheckBox::indicator:focus, QTableWidget::indicator:hover {{ border-color: {c.accent}; }}
QCheckBox::indicator:checked, QTableWidget::indicator:checked {{
  background: {c.accent}; border-color: {c.accent}; image: url("{check}");
}}
QComboBox::down-arrow {{ image: url("{down}"); width: 12px; height: 12px; }}
QLineEdit[bad="true"] {{ border-color: {c.high}; }}
QLabel[role="changed"] {{ color: {c.accent}; font-weight: 600; }}
#NeedText, #NeedAnswer, #MemoryText {{
  background: {c.raised}; border: 1px solid {c.raised}; border-radius: {RADIUS}px; padding: 4px;
}}
#NeedText:focus, #NeedAnswer:focus, #MemoryText:focus {{ border-color: {c.accent}; }}

#LiveBar {{ background: {c.raised}; border-bottom: 1px solid {c.line}; border-left: 3px solid {c.accent}; }}
#LiveBar[kind="waits"] {{ border-left-color: {c.low}; }}
#LiveBar[kind="good"] {{ border-left-color: {c.good}; }}
#LiveBar[kind="bad"] {{ border-left-color: {c.high}; }}
#LiveBar QLabel {{ background: transparent; }}
#LiveBar QPushButton {{ background: {c.hover}; border-color: {c.hover}; }}
#LiveBar QPushButton:hover {{ background: {c.line}; }}
#LiveBar QPushButton:focus {{ border-color: {c.accent}; }}
#LiveBar QPushButton:disabled {{ background: {c.raised}; border-color: {c.raised}; color: {c.missing}; }}
#LiveBar QPushButton[role="primary"] {{ background: {c.accent}; border-color: {c.accent}; color: {c.on_accent}; }}
#LiveBar QPushButton[role="primary"]:focus {{ border-color: {c.text}; }}
#LiveBar QPushButton[role="run"] {{
  background: {c.accent}; border-color: {c.accent}; color: {c.on_accent}; border-radius: 9px; font-weight: 600;
}}
#LiveBar QPushButton[role="run"][kind="waits"] {{ background: {c.low}; border-color: {c.low}; }}
#LiveBar QPushButton[role="run"][kind="good"] {{ background: {c.good}; border-color: {c.good}; }}
#LiveBar QPushButton[role="run"][kind="bad"] {{ background: {c.high}; border-color: {c.high}; }}
#LiveBar QPushButton[role="run"]:focus {{ border-color: {c.text}; }}
#HoldBox {{ border: 1px solid {c.low}; border-radius: {CARD_RADIUS}px; background: {c.window}; }}
#AskedBox {{ border: 1px solid {c.low}; border-radius: {CARD_RADIUS}px; background: {c.window}; }}
QDialogButtonBox {{ dialogbuttonbox-buttons-have-icons: 0; }}
#RunTask, #RunText {{ background: {c.raised}; border: 1px solid {c.raised}; border-radius: {RADIUS}px; padding: 4px; }}
#RunTask:focus, #RunText:focus {{ border-color: {c.accent}; }}
#PolicyForm QScrollArea {{ border: 1px solid {c.line}; border-radius: {RADIUS}px; }}
"""
