"""Labels, tooltips and messages that never interpret what they show.

Qt guesses whether a text is HTML; a transcript's `<img src=...>` would then be fetched, and a FIFO at that path would
freeze the program. So every label is made here, and every tooltip is escaped.
"""

from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

NOT_RECORDED = "not recorded"
"""How the unseen part of a buffer is called everywhere."""
_PART_TITLES = {"unseen": NOT_RECORDED, "difference": "count difference"}


def part_title(name: str) -> str:
    """Return what a part of the buffer is called on the screen."""
    return _PART_TITLES.get(name, name)


def label(
    text: str = "",
    *,
    role: str = "",
    parent: QWidget | None = None,
    wrap: bool = False,
    centred: bool = False,
) -> QLabel:
    """A label of plain text. `role` picks its look from the style sheet: caption, quiet, strong, number."""
    widget = QLabel(parent)
    widget.setTextFormat(Qt.TextFormat.PlainText)
    widget.setText(text)
    widget.setWordWrap(wrap)
    if centred:
        widget.setAlignment(Qt.AlignmentFlag.AlignCenter)
    if role:
        widget.setProperty("role", role)
    return widget


def say(widget: QLabel, text: str) -> None:
    """Show this; a label with nothing to say takes no room."""
    widget.setText(text)
    widget.setVisible(bool(text))


def tip(text: str) -> str:
    """A tooltip's text: escaped, lines kept, cut at 2,000 characters."""
    shortened = text if len(text) <= 2000 else text[:2000] + "…"
    return f"<p style='white-space:pre-wrap'>{escape(shortened)}</p>" if shortened else ""
