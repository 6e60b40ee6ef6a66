"""Labels, tooltips and messages that show their text as plain text.

Qt guesses whether a text is HTML. It would then load a transcript's `<img src=...>`, and a named pipe at that path
would freeze the program. So this module makes every label and escapes every tooltip.
"""

from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget


def label(
    text: str = "",
    *,
    role: str = "",
    parent: QWidget | None = None,
    wrap: bool = False,
    centred: bool = False,
) -> QLabel:
    """Return a label of plain text. `role` selects its look in the style sheet: caption, quiet, strong, number."""
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
    """Show a text in a label, and hide the label if the text is empty."""
    widget.setText(text)
    widget.setVisible(bool(text))


def tip(text: str) -> str:
    """Return the text of a tooltip: escaped, with its line breaks, cut at 2,000 characters."""
    shortened = text if len(text) <= 2000 else text[:2000] + "…"
    return f"<p style='white-space:pre-wrap'>{escape(shortened)}</p>" if shortened else ""
