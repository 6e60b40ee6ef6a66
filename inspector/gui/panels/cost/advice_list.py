"""The list of advice on what to change. A click on a piece of advice goes to the request that shows the problem."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame

from inspector.core.findings.advice import Advice
from inspector.gui.guard import Guarded
from inspector.gui.look.build import column
from inspector.gui.look.labels import label, say, tip
from inspector.gui.look.tokens import BOX_GAP, LINE_GAP
from inspector.gui.widgets.small import EmphasisLabel


class AdviceList(Guarded, QFrame):
    """A caption and at most three rows of advice; hidden if there is no advice."""

    def __init__(self, follow: Callable[[Advice], None]) -> None:
        super().__init__()
        self.pieces: Sequence[Advice] = ()
        self.rows = [AdviceRow(follow) for _ in range(3)]
        column(
            label("WHAT TO CHANGE", role="caption"),
            *self.rows,
            of=self,
            margins=(0, BOX_GAP, 0, BOX_GAP),
            gap=BOX_GAP,
        )
        self.hide()

    def show_advice(self, pieces: Sequence[Advice]) -> None:
        """Replace the advice that is shown; at most three pieces are shown."""
        self.pieces = pieces
        for place, row in enumerate(self.rows):
            row.show_piece(pieces[place] if place < len(pieces) else None)
        self.setVisible(bool(pieces))


class AdviceRow(Guarded, QFrame):
    """One piece of advice. A click, Return or the space bar calls `follow` with it."""

    def __init__(self, follow: Callable[[Advice], None]) -> None:
        super().__init__()
        self._follow = follow
        self._piece: Advice | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.finding = EmphasisLabel()
        self.action = label(role="quiet", wrap=True)
        column(self.finding, self.action, of=self, gap=LINE_GAP)

    def show_piece(self, piece: Advice | None) -> None:
        """Show a piece of advice; None hides the row."""
        self._piece = piece
        self.setVisible(piece is not None)
        if piece is None:
            return
        self.finding.show_words(piece.finding)
        say(self.action, f"{piece.action} {piece.evidence}")
        self.setAccessibleName(piece.text)
        self.setToolTip(
            tip(f"Go to request {piece.request:,}" if piece.request is not None else "")
        )

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._piece is not None and self.rect().contains(event.position().toPoint()):
            self._follow(self._piece)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._piece is not None and event.key() in (
            Qt.Key.Key_Return,
            Qt.Key.Key_Enter,
            Qt.Key.Key_Space,
        ):
            self._follow(self._piece)
        else:
            super().keyPressEvent(event)
