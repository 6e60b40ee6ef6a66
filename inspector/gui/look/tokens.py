"""The dimensions of the design: space, type and shape. Colours are in `colours.py`. docs/design.md lists all of them.

Text sizes are multiples of the system's font size. Everything else is in pixels, unless its note says otherwise.
"""

from typing import Final

# -- space -------------------------------------------------------------------------------------------------------------

INSET: Final = 13
"""Distance between the edge of a panel and its text."""
CARD_INSET: Final = 14
"""Distance between the edge of a card and its text."""
CARD_INSETS: Final = (CARD_INSET, 7, CARD_INSET, 8)
"""Left, top, right and bottom margins of a card."""
GAP: Final = 12
"""Distance between two cards, and between groups of controls."""
CONTROL_GAP: Final = 8
"""Distance between two controls of a group."""
PAGE_HEAD: Final = (INSET, 7, GAP, 7)
"""Left, top, right and bottom margins of the head of a page."""
PAGE_INSETS: Final = (INSET, 7, CONTROL_GAP, 2)
"""Left, top, right and bottom margins of a page whose title is part of its text."""
LIST_HEAD: Final = (INSET, 4, CONTROL_GAP, 2)
"""Left, top, right and bottom margins of the line above a list."""
BOX_INSETS: Final = (10, 8, 10, 8)
"""Left, top, right and bottom margins of a framed box that asks for a decision."""
BOX_GAP: Final = 4
"""Distance between two lines of a framed box."""
LIST_FOOT: Final = (INSET, 0, CONTROL_GAP, 1)
"""Left, top, right and bottom margins of the line below a list."""
PANEL_INSETS: Final = (INSET, 8, 10, 8)
"""Left, top, right and bottom margins of a panel of several blocks."""
BLOCK_INSETS: Final = (INSET, 10, INSET, 10)
"""Left, top, right and bottom margins of a block of settings or figures."""
BAND: Final = (INSET, 5, INSET, 3)
"""Left, top, right and bottom margins of a line across the window or above a chart."""
STRIP: Final = (GAP, 1, GAP, 1)
"""Left, top, right and bottom margins of the status bar."""
DIALOG_INSETS: Final = (20, 16, 20, 14)
"""Left, top, right and bottom margins of a dialog."""
DIALOG_GAP: Final = 14
"""Distance between the blocks of a dialog."""
CHIP_GAP: Final = 6
"""Distance between two chips, and between the blocks of a panel."""
LINE_GAP: Final = 2
"""Distance between two lines of one block."""
CELL_INSET: Final = 6
"""Distance to the left and right of the text of a cell."""

# -- rows --------------------------------------------------------------------------------------------------------------

ROW_LINES: Final = 1.6
"""Row height of every table and list, as a multiple of the letter height."""
PAINTED_HEAD: Final = 6
"""Pixels added to the letter height for the column heads of a painted list."""

# -- type --------------------------------------------------------------------------------------------------------------

SMALL: Final = 0.88
"""Text size of captions, chips, badges and axes."""
BODY: Final = 1.0
"""Text size of all other text, including column heads."""
FOLDED_PRESSURE: Final = 1.15
"""Text size of the pressure on the folded gauge."""
HEADING: Final = 1.38
"""Text size of the title of a page."""
TITLE: Final = 1.9
"""Text size of the title on the welcome page, and of an address to be copied."""
PRESSURE: Final = 2.33
"""Text size of the pressure on the gauge."""

# -- shape -------------------------------------------------------------------------------------------------------------

RADIUS: Final = 6
"""Corner radius of buttons and fields."""
CARD_RADIUS: Final = 8
"""Corner radius of cards, boxes, menus and badges."""
CHOICE_RADIUS: Final = 4
"""Corner radius of segments, choices and check boxes."""
LEAST_CONTRAST: Final = 4.5
"""Minimum contrast ratio between text and every background; 7 in high contrast."""
