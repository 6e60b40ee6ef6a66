"""A safe view of untrusted Markdown, rendered. Nothing is loaded and no link can be followed.

Unless `loadResource` returns a picture, Qt loads local files and `data:` images that a document names, and may block on
a pipe; an empty value does not prevent that. HTML in the text is shown as text.
"""

from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import (
    QFont,
    QImage,
    QMouseEvent,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFragment,
)
from PySide6.QtWidgets import QFrame, QMenu, QTextEdit

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink
from inspector.gui.look.fonts import mono_font
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import Shown, visible

LONGEST = 50_000
"""Maximum number of characters that are laid out as Markdown, which takes about 70 ms on the GUI thread."""
_FEATURES = (
    QTextDocument.MarkdownFeature.MarkdownDialectGitHub
    | QTextDocument.MarkdownFeature.MarkdownNoHTML
)
GAP, HEADING_GAP, INDENT = 5, 12, 18
"""Pixels above a paragraph, above a heading, and in front of a nested list."""
_CODE = QTextBlockFormat.Property.BlockCodeFence
_QUOTE = QTextBlockFormat.Property.BlockQuoteLevel
_SIZE = QTextCharFormat.Property.FontSizeAdjustment
_ONLY_WHAT_IS_SAID = QTextCharFormat.FontPropertiesInheritanceBehavior.FontPropertiesSpecifiedOnly
_SELECTABLE = (
    Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
)


class MarkdownView(Guarded, QTextEdit):
    """A read-only view of one Markdown text at a time."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self._theme = theme
        self._text = ""
        self.source: Shown = visible("")
        """The rendered text, which can be mapped back to the original text."""
        self.is_cursor_placed = False
        """True if the user placed the cursor in this text."""
        self._blank = QImage(1, 1, QImage.Format.Format_ARGB32)
        self._blank.fill(Qt.GlobalColor.transparent)
        self.setAccessibleName(name)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setAcceptDrops(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTextInteractionFlags(_SELECTABLE)
        self.setTabChangesFocus(True)
        self.setViewportMargins(9, 0, 4, 0)
        self.cursorPositionChanged.connect(self._note_cursor)
        theme.changed.connect(self._show)

    def show_markdown(self, text: str) -> None:
        """Show the text from its beginning. O(text); see LONGEST."""
        if text != self._text:
            self._text = text
            self._show()

    def shown_text(self) -> str:
        """Return the text as it is rendered, one block per line."""
        return self.document().toPlainText()

    def selected(self) -> tuple[int, int]:
        """Return start and end of the selection in the rendered text; both are the cursor position if nothing is
        selected."""
        cursor = self.textCursor()
        text = self.shown_text()
        return _code_points(text, cursor.selectionStart()), _code_points(
            text, cursor.selectionEnd()
        )

    def menu_at(self, place: QPoint) -> QMenu:
        """Return the context menu for a position, and move the cursor there unless something is selected."""
        if not self.textCursor().hasSelection():
            self.setTextCursor(self.cursorForPosition(place))
            self._note_cursor()
        menu = self.createStandardContextMenu(place)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return menu

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Record that the user placed the cursor, also for a click at the beginning, which does not move it."""
        super().mousePressEvent(event)
        self._note_cursor()

    def _note_cursor(self) -> None:
        self.is_cursor_placed = True

    def loadResource(self, kind: int, name: QUrl | str) -> Any:
        """Return a blank picture for every resource that the text names."""
        return self._blank

    def _show(self) -> None:
        document = self.document()
        document.setIndentWidth(INDENT)
        self.source = visible(self._text)
        document.setMarkdown(self.source.text, _FEATURES)
        cursor = QTextCursor(document)
        for block in _blocks(document):
            self._space_block(block, cursor)
            self._style_block(block, cursor)
        self.setTextCursor(QTextCursor(document))
        self.verticalScrollBar().setValue(0)
        self.is_cursor_placed = False

    def _space_block(self, block: QTextBlock, cursor: QTextCursor) -> None:
        """Set the margins of a block: a gap above text and headings, none between lines of code."""
        form = block.blockFormat()
        is_code = form.hasProperty(_CODE)
        above = 0 if is_code else GAP
        if form.headingLevel():
            above = HEADING_GAP
        spaced = QTextBlockFormat()
        spaced.setTopMargin(above)
        spaced.setBottomMargin(0)
        if form.hasProperty(_QUOTE):
            spaced.setLeftMargin(INDENT)
        cursor.setPosition(block.position())
        cursor.mergeBlockFormat(spaced)

    def _style_block(self, block: QTextBlock, cursor: QTextCursor) -> None:
        """Style a block: bold headings of normal size, the fixed font for code, and links that look like text."""
        is_heading = block.blockFormat().headingLevel() > 0
        is_code = block.blockFormat().hasProperty(_CODE)
        for fragment in _fragments(block):
            original = fragment.charFormat()
            style = QTextCharFormat()
            if is_heading:
                style.setProperty(_SIZE, 0)
                style.setFontWeight(QFont.Weight.DemiBold)
            if is_code or original.fontFixedPitch():
                style.setFont(mono_font(self.font().pointSizeF()), _ONLY_WHAT_IS_SAID)
                style.setBackground(ink(self._theme.colours.faint))
            if original.isAnchor():
                style.setAnchor(False)
                style.setAnchorHref("")
                style.setToolTip("")
                style.setFontUnderline(False)
                style.setForeground(ink(self._theme.colours.text))
            if style.propertyCount():
                cursor.setPosition(fragment.position())
                cursor.setPosition(
                    fragment.position() + fragment.length(), QTextCursor.MoveMode.KeepAnchor
                )
                cursor.mergeCharFormat(style)


def _code_points(text: str, position: int) -> int:
    """Convert a position of Qt, in UTF-16 units, to an index of a Python string."""
    return len(
        text.encode("utf-16-le", "surrogatepass")[: 2 * position].decode("utf-16-le", "replace")
    )


def _blocks(document: QTextDocument) -> Iterator[QTextBlock]:
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()


def _fragments(block: QTextBlock) -> Iterator[QTextFragment]:
    """Yield the fragments of a block, collected before any of them is changed."""
    fragments = []
    iterator = block.begin()
    while not iterator.atEnd():
        fragments.append(iterator.fragment())
        iterator += 1
    yield from fragments
