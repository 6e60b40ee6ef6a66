"""The column of filters beside the table of lost facts: by compaction, by verdict and by kind of fact."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from PySide6.QtCore import QMargins, QSize, Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QFrame, QPushButton, QVBoxLayout, QWidget

from inspector.core.findings.lost import CompactionLoss
from inspector.gui.guard import Guarded
from inspector.gui.look.build import button, column, holding, row, scrolled
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.tokens import BOX_GAP, CHIP_GAP, CONTROL_GAP, LINE_GAP
from inspector.workbench.loss_page import (
    KIND_GROUPS,
    VIEWS,
    KindGroup,
    LossCounts,
    LossFilter,
    LossView,
)

FIGURES = 31
"""Width of the column in digits."""
_BESIDE = 14
"""Pixels between the text of a choice and its number."""
_ABOUT: Mapping[LossView, str] = {
    "Worth reading": "Open instructions of the user, values that were needed again, decisions and open errors.",
    "Needed again": "Facts that a later request used after they were removed from the context.",
    "Open instructions": "Instructions of the user that the summary does not mention.",
    "Not sure": "Facts of which the summary says a part. A model can judge whether they are lost.",
    "Settled": "Facts that the summary says in other words, and tasks done before the compaction.",
    "Everything": "All facts that are no longer in context word for word.",
}


class CountedChoice(Guarded, QPushButton):
    """A checkable button with, at its right, the number of facts that it selects."""

    def __init__(self, words: str, about: str = "") -> None:
        super().__init__(words)
        self.setCheckable(True)
        self.setProperty("role", "choice")
        self.setToolTip(tip(about))
        self.setAccessibleDescription(about)
        self._words = words
        self._count = label(role="quiet")
        self._count.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        row(..., self._count, of=self, margins=(0, 0, CONTROL_GAP, 0))
        self.show_count(0)

    def show_count(self, count: int) -> None:
        """Show the number of facts that the choice selects."""
        self._count.setText(grouped(count))
        self.setAccessibleName(f"{self._words}, {grouped(count)}")

    def sizeHint(self) -> QSize:
        return (
            super().sizeHint().grownBy(QMargins(0, 0, self._count.sizeHint().width() + _BESIDE, 0))
        )

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()


class LossChoices(QFrame):
    """The filters of the page: compactions, views and kinds of facts. `changed` is emitted when one is chosen."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("LossChoices")
        self.wanted = LossFilter()
        self.compactions: dict[int | None, CountedChoice] = {}
        """The choice of each compaction, by the first request after it. None: all compactions, if there are several."""
        self._compaction_group = QButtonGroup(self)
        self._view_group = QButtonGroup(self)
        self.views = {view: CountedChoice(view, _ABOUT[view]) for view in VIEWS}
        self.kinds = {kind: CountedChoice(kind) for kind in KIND_GROUPS}
        for view, choice in self.views.items():
            self._view_group.addButton(choice)
            choice.clicked.connect(
                lambda _, view=view: self._set_filter(replace(self.wanted, view=view))
            )
        for choice in self.kinds.values():
            choice.clicked.connect(self._choose_kinds)
        self.views["Worth reading"].setChecked(True)
        self._compaction_box = QVBoxLayout()
        self._compaction_box.setSpacing(1)
        self.any_kind = button("All kinds", self.clear_kinds, role="flat")
        kinds_head = row(_caption("KINDS"), ..., self.any_kind)
        inner = column(
            _caption("SHOW"),
            *self.views.values(),
            kinds_head,
            *self.kinds.values(),
            _caption("COMPACTIONS"),
            self._compaction_box,
            ...,
            margins=(CONTROL_GAP, CHIP_GAP, BOX_GAP, CONTROL_GAP),
            gap=LINE_GAP,
        )
        column((scrolled(holding(inner), "Which facts are shown"), 1), of=self, gap=0)
        self.any_kind.setVisible(False)

    def show_compactions(self, losses: Sequence[CompactionLoss], chosen: int | None) -> None:
        """List the compactions, and select the one before request `chosen`; None selects all compactions."""
        for choice in self.compactions.values():
            self._compaction_group.removeButton(choice)
            self._compaction_box.removeWidget(choice)
            choice.deleteLater()
        self.compactions = {None: CountedChoice("All compactions")} if len(losses) > 1 else {}
        for loss in (loss for loss in losses if loss.rows or len(losses) == 1):
            words = f"Before request {grouped(loss.before_request)}"
            self.compactions[loss.before_request] = CountedChoice(words, _describe_compaction(loss))
        for place, choice in self.compactions.items():
            self._compaction_group.addButton(choice)
            self._compaction_box.addWidget(choice)
            choice.clicked.connect(
                lambda _, place=place: self._set_filter(replace(self.wanted, before_request=place))
            )
        place = chosen if chosen in self.compactions else next(iter(self.compactions), None)
        if place in self.compactions:
            self.compactions[place].setChecked(True)
        self.wanted = replace(self.wanted, before_request=place)

    def show_counts(self, counts: LossCounts) -> None:
        """Show the number of facts that each choice selects."""
        for view, choice in self.views.items():
            choice.show_count(counts.views[view])
        for kind, choice in self.kinds.items():
            choice.show_count(counts.kinds[kind])
            choice.setVisible(bool(counts.kinds[kind]) or kind in self.wanted.kinds)
        for place, choice in self.compactions.items():
            choice.show_count(counts.compactions[place])
        self.any_kind.setVisible(bool(self.wanted.kinds))

    def show_everything(self) -> None:
        """Select the view of all facts, without emitting `changed`."""
        self.views["Everything"].setChecked(True)
        self.wanted = replace(self.wanted, view="Everything")

    def clear_kinds(self) -> None:
        """Uncheck all kinds, which shows every kind."""
        for choice in self.kinds.values():
            choice.setChecked(False)
        self._choose_kinds()

    def look_for(self, text: str) -> None:
        """Show only the facts that contain a text."""
        self._set_filter(replace(self.wanted, text=text.strip()))

    def _choose_kinds(self) -> None:
        kinds: frozenset[KindGroup] = frozenset(
            kind for kind, choice in self.kinds.items() if choice.isChecked()
        )
        self._set_filter(replace(self.wanted, kinds=kinds))

    def _set_filter(self, choice: LossFilter) -> None:
        if choice != self.wanted:
            self.wanted = choice
            self.changed.emit()


def _caption(words: str) -> QWidget:
    return holding(
        row(label(words, role="caption"), ..., margins=(CHIP_GAP, CONTROL_GAP, 0, BOX_GAP))
    )


def _describe_compaction(loss: CompactionLoss) -> str:
    """Return `automatic summary, 153,212 to 24,170 tokens. After request 78 nothing had to be read or said again.`."""
    named = " ".join(word for word in (loss.trigger, loss.kind) if word)
    sizes = ""
    if loss.tokens_before is not None and loss.tokens_after is not None:
        sizes = f", {grouped(loss.tokens_before)} to {grouped(loss.tokens_after)} tokens"
    return f"{named}{sizes}. {loss.forgetting.sentence}"
