"""The three places of a lost fact, side by side: before the compaction, after it, and where it was needed again."""

from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame

from inspector.gui.desk import Desk
from inspector.gui.guard import Guarded
from inspector.gui.look.build import column, row, small_button, splitter
from inspector.gui.look.labels import label, say
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.tokens import BOX_GAP, CHIP_GAP, GAP, LINE_GAP
from inspector.gui.panels.message.parts import message_sections
from inspector.gui.widgets.pieces import Section
from inspector.gui.widgets.reader import TextReader
from inspector.gui.widgets.small import Elided
from inspector.workbench.loss_page import FactPlace, FactPlaces

_BESIDE_LINK = 48
"""Pixels that the line with a caption and a link needs besides the two."""


class PlaceCard(Guarded, QFrame):
    """A place of a fact: its title, the text with the passage marked, and a link to the request."""

    def __init__(self, desk: Desk, caption: str, go: Callable[[FactPlace], None]) -> None:
        super().__init__()
        self.setObjectName("PlaceCard")
        self.place: FactPlace | None = None
        self._go = go
        self.title = Elided(role="strong")
        self.note = label(role="quiet", wrap=True)
        self.link = small_button("", self._follow, role="link")
        self.reader = TextReader(desk.theme, caption.capitalize(), desk.bridge)
        self._caption = label(caption, role="caption")
        head = row(self._caption, ..., self.link)
        head.addStrut(self.link.sizeHint().height())  # the titles of all cards are on one line
        column(
            head,
            self.title,
            self.note,
            (self.reader, 1),
            ...,
            of=self,
            margins=(GAP, CHIP_GAP, BOX_GAP, LINE_GAP),
            gap=LINE_GAP,
        )

    def show_place(self, place: FactPlace | None) -> None:
        """Show a place; None shows nothing."""
        self.place = place
        self.title.show_text(place.title if place is not None else "")
        self.reader.setVisible(place is not None and bool(place.messages))
        say(self.note, place.note if place is not None else "")
        has_link = place is not None and place.request is not None and bool(place.messages)
        self.link.setVisible(has_link)
        self._fit_link()
        sections: list[Section] = []
        for message in place.messages if place is not None else ():
            sections += message_sections(message)
        self.reader.find_bar.look_for("")
        self.reader.text.show_sections(sections)
        if place is not None and place.passage and place.messages:
            self.reader.find_bar.look_for(place.passage)
            self.reader.find_bar.hide()  # the passage stays marked; F3 and Ctrl+F still work

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_link()

    def _fit_link(self) -> None:
        """Name the request in the link if there is room for it beside the caption."""
        if self.place is None or self.place.request is None:
            return
        words = f"Open request {grouped(self.place.request)} ›"
        room = self.width() - self._caption.sizeHint().width() - _BESIDE_LINK
        fits = self.fontMetrics().horizontalAdvance(words) <= room
        self.link.setText(words if fits else "Open ›")
        self.link.setAccessibleName(words)

    def restyle(self) -> None:
        """Show the place again: a change of colours sets the text again, which removes the mark of the passage."""
        self.update()
        QTimer.singleShot(0, self, lambda: self.show_place(self.place))

    def _follow(self) -> None:
        if self.place is not None:
            self._go(self.place)


class PlaceCards(QFrame):
    """The cards of the three places."""

    def __init__(self, desk: Desk, go: Callable[[FactPlace], None]) -> None:
        super().__init__()
        self.before = PlaceCard(desk, "BEFORE", go)
        self.after = PlaceCard(desk, "AFTER", go)
        self.again = PlaceCard(desk, "NEEDED AGAIN", go)
        self.all = (self.before, self.after, self.again)
        column(
            (splitter(*self.all, shares=(1, 1, 1)), 1),
            of=self,
            margins=(GAP, BOX_GAP, GAP, CHIP_GAP),
        )

    def show_places(self, places: FactPlaces | None) -> None:
        """Show the places of a fact; None shows nothing."""
        for card, place in zip(self.all, places or (None, None, None), strict=True):
            card.show_place(place)
