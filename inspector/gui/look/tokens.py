"""The measures of the design: space, type and shape. Colours are in `colours.py`. docs/design.md lists all of them.

Sizes of letters are shares of the system's font; everything else is in pixels.
"""

from typing import Final

# -- space -------------------------------------------------------------------------------------------------------------

INSET: Final = 13
"""Between the edge of a panel and its text."""
CARD_INSET: Final = 14
"""Between the edge of a card and its text."""
GAP: Final = 12
"""Between two cards, and between groups of controls."""
CONTROL_GAP: Final = 8
"""Between two controls of a group."""
PAGE_HEAD: Final = (12, 7, 12, 7)
"""Left, top, right and bottom of the head of a page."""
LIST_HEAD: Final = (INSET, 4, CONTROL_GAP, 2)
"""Left, top, right and bottom of the line above a list."""
BOX_INSETS: Final = (10, 8, 10, 8)
"""Left, top, right and bottom of a framed box that asks for a decision."""
BOX_GAP: Final = 4
"""Between two lines of such a box."""
LIST_FOOT: Final = (INSET, 0, CONTROL_GAP, 1)
"""Left, top, right and bottom of the line below a list."""
PANEL_INSETS: Final = (INSET, 8, 10, 8)
"""Left, top, right and bottom of a panel of several blocks."""
BLOCK_INSETS: Final = (16, 10, 16, 10)
"""Left, top, right and bottom of a block of settings or figures."""
CHIP_GAP: Final = 6
"""Between two chips, and between the blocks of a panel."""
LINE_GAP: Final = 2
"""Between two lines of one block."""
CELL_INSET: Final = 6
"""Left and right of the text of a cell."""

# -- rows --------------------------------------------------------------------------------------------------------------

ROW_LINES: Final = 1.6
"""Height of a row of a table, in heights of its letters."""
PAINTED_ROW: Final = 8
"""Pixels of a row of a painted list besides the height of its letters."""
PAINTED_HEAD: Final = 6
"""Pixels of the heads of a painted list besides the height of their letters."""

# -- type --------------------------------------------------------------------------------------------------------------

SMALL: Final = 0.88
"""Captions, chips, badges, axes."""
BODY: Final = 1.0
"""All text, and the heads of columns."""
FOLDED_PRESSURE: Final = 1.15
"""The pressure on the folded gauge."""
HEADING: Final = 1.38
"""The title of a page."""
TITLE: Final = 1.9
"""The title of the first page, and an address to be copied."""
PRESSURE: Final = 2.33
"""The pressure on the gauge."""

# -- shape -------------------------------------------------------------------------------------------------------------

RADIUS: Final = 6
"""Corners of buttons and fields."""
CARD_RADIUS: Final = 8
"""Corners of cards, boxes, menus and badges."""
CHOICE_RADIUS: Final = 4
"""Corners of segments, choices and check boxes."""
LEAST_CONTRAST: Final = 4.5
"""Between text and each ground that it is written on; 7 in high contrast."""
