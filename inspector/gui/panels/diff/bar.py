"""Above the diff: what is compared with what, which fates are shown, what came of it, and what to do about it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QComboBox, QToolButton, QWidget

from inspector.core.outcome import FateName
from inspector.core.replay.economics import paid_words
from inspector.core.tokens.pressure import Pressure
from inspector.gui.guard import Guarded
from inspector.gui.look.build import choice, row, small_button
from inspector.gui.look.colours import fate_colour
from inspector.gui.look.labels import tip
from inspector.gui.look.number_formats import dollars, grouped, signed
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import line
from inspector.gui.widgets.chips import flow
from inspector.gui.widgets.small import Elided
from inspector.workbench.diff import FATES, LETTERS, Diff
from inspector.workbench.step_rows import drawn
from inspector.workbench.steps import ORIGIN, Steps

if TYPE_CHECKING:
    from inspector.core.replay.economics import Economics

CHANGED: frozenset[FateName] = frozenset(FATES) - {"kept"}
_APART = 2
_ROUNDING = 20
"""Tokens that rows may lack because each is a whole number; so little, or a percent, is not worth a word."""
UNDO, GO_BEFORE = "Undo", "Go before"
_GO_BEFORE = "Go to the buffer before the recorded compaction, to run a tier of your choice on that instead"
START = "the step's start"
AS_RECORDED, BEFORE = "the recorded buffer", "the buffer before it"


class DiffBar(Guarded, QWidget):
    """`filtered`: other fates are wanted; `against`: the index of a step, ORIGIN, or None for the step's start."""

    filtered = Signal()
    against = Signal(object)

    def __init__(
        self, theme: Theme, walk: Callable[[int], None], run: Callable[[], None], undo: Callable[[], None]
    ) -> None:
        super().__init__()
        self._theme = theme
        self.wanted: frozenset[FateName] = CHANGED
        self._comparison: Diff | None = None
        self._economics: Economics | None = None
        self.choice = choice("Compare with", about="Compare with")
        self.choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.choice.activated.connect(lambda row: self.against.emit(self.choice.itemData(row)))
        self.chips: dict[FateName, QToolButton] = {name: self._chip(name) for name in FATES}
        self.previous = _flat("↑", "Previous change (Shift+F7)", lambda: walk(-1))
        self.next = _flat("↓", "Next change (F7)", lambda: walk(1))
        self.text = _flat("text", "Show the text of the message (Enter)", checkable=True)
        self.undo = small_button(UNDO, undo, role="")
        self.run = small_button("Run", run, about="Run the tier whose preview this is", role="")
        self.headline = Elided("strong")
        self.headline.setContentsMargins(8, 0, 8, 0)
        self._tools, walks = (self.choice, *self.chips.values()), (self.previous, self.next, self.text)
        self._beside = (*walks, self.undo, self.run)
        tools = row((flow(*self._tools, gap=_APART), 1), *walks, 4, self.undo, self.run, gap=_APART)
        tools.addStrut(self.choice.sizeHint().height())  # nothing moves when the choice comes or goes
        self._lines = row((self.headline, 1), tools, of=self, margins=(8, 4, 8, 4), gap=2)
        self.restyle()

    def restyle(self) -> None:
        for name, chip in self.chips.items():
            chip.setStyleSheet(f"QToolButton:checked {{ color: {fate_colour(self._theme.colours, name)}; }}")

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Letters instead of names on the chips in a narrow panel, and two lines in a narrower one."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self._name_chips(brief=False)
        if not self._is_roomy:
            self._name_chips(brief=True)
        way = QBoxLayout.Direction.LeftToRight if self._is_roomy else QBoxLayout.Direction.TopToBottom
        if way == QBoxLayout.Direction.TopToBottom:
            self._name_chips(brief=False)
        if way != self._lines.direction():
            self._lines.setDirection(way)

    @property
    def _is_roomy(self) -> bool:
        """Has everything room in one line?"""
        visible = [widget for widget in (*self._tools, *self._beside) if not widget.isHidden()]
        return self.width() >= sum(widget.sizeHint().width() + _APART for widget in visible) + self.headline.least + 30

    def _name_chips(self, brief: bool) -> None:
        """`Cleared 74`, or `C 74`. Across branches the names of fates would say something else."""
        if self._comparison is None:
            return
        for name, chip in self.chips.items():
            count = grouped(self._comparison.counts.get(name, 0))
            is_short = brief or self._comparison.sides.is_across
            chip.setText(f"{LETTERS[name] if is_short else name.capitalize()} {count}")

    def show_choices(self, steps: Steps | None, preview: bool) -> None:
        """What a step may be compared with; a preview only with the buffer that it starts from."""
        with QSignalBlocker(self.choice):
            self.choice.clear()
            self._enable(steps, preview)
            self.choice.setVisible(steps is not None and not preview)
            if preview or steps is None:
                return
            self.choice.addItem(START, None)
            self.choice.addItem(AS_RECORDED if steps.recorded is None else BEFORE, ORIGIN)
            for _, at in drawn(steps):
                if at != steps.at:
                    self.choice.addItem(f"{at + 1}  {line(steps.taken[at].name, 40)}", at)
            chosen = self.choice.findData(steps.against) if steps.against is not None else 0
            self.choice.setCurrentIndex(max(0, chosen) if steps.against != steps.at else 0)

    def _enable(self, steps: Steps | None, preview: bool) -> None:
        """Both buttons keep their places: pressing one twice never presses the other."""
        self.run.setEnabled(preview)
        self.undo.setEnabled(steps is not None and steps.step is not None)
        is_recorded = steps is not None and steps.step is not None and not steps.stepped
        self.undo.setText(GO_BEFORE if is_recorded else UNDO)
        self.undo.setToolTip(tip(_GO_BEFORE if is_recorded else "Undo this step (Ctrl+Z)"))

    def show_comparison(self, comparison: Diff) -> None:
        """Counts on the chips, the sum in the headline."""
        for name, chip in self.chips.items():
            count = comparison.counts.get(name, 0)
            words = comparison.sides.words[name]
            chip.setToolTip(tip(f"{count:,} {words}"))
            chip.setAccessibleName(f"{words}, {count:,}")
            chip.setVisible(bool(count))
        self._comparison = comparison
        self._say()

    def show_payback(self, economics: "Economics | None") -> None:
        """Whether what was recorded paid; None where nobody knows yet, or it is not what is shown."""
        if economics != self._economics:
            self._economics = economics
            self._say()

    def _say(self) -> None:
        comparison, paid = self._comparison, payback_words(self._economics)
        if comparison is not None:
            is_judged = paid and comparison.sides.whole is not None
            short = f" · {paid.rpartition(': ')[2]}" if is_judged else ""
            sizes, change = in_short(comparison), signed(_change(comparison))
            self.headline.show_text(headline(comparison) + f", {paid}" * bool(is_judged), sizes + short, sizes, change)
            self._fit()

    def _chip(self, name: FateName) -> QToolButton:
        chip = small_button("", checkable=True)
        chip.setChecked(name in self.wanted)
        chip.toggled.connect(lambda on: self._want(name, on))
        return chip

    def _want(self, name: FateName, on: bool) -> None:
        self.wanted = self.wanted | {name} if on else self.wanted - {name}
        self.filtered.emit()


def headline(comparison: Diff) -> str:
    """`Preview of L0: 122,765 → about 53,322 tokens (46,904 to 59,740), 74 cleared, 19,368 not recorded stay`.

    Of what was recorded: `auto compaction: 155,144 → 24,170 tokens, 120 summarised, −9,100 not recorded`.
    """
    words = comparison.sides.words
    parts = [f"{count:,} {words[fate]}" for fate, count in comparison.counts.items() if fate != "kept"]
    if comparison.sides.whole is not None:
        parts = parts or ["nothing changed"]
        parts += [f"{signed(comparison.rest)} not recorded"] * bool(comparison.rest)
        parts += [f"{signed(comparison.prompt)} in system prompt and tools"] * bool(comparison.prompt)
        least = max(_ROUNDING, comparison.sides.whole[1] // 100)
        parts += [f"{signed(comparison.anew)} as the kept are measured anew"] * (abs(comparison.anew) > least)
        return f"{_name(comparison)}: {_sizes(comparison)} tokens, {', '.join(parts)}"
    if not parts:
        return f"{_name(comparison)}: nothing {'changes' if comparison.sides.preview else 'changed'}"
    unseen = comparison.sides.sizer.scale.unseen
    stays = f", {grouped(unseen)} not recorded stay" if unseen else ""
    band = comparison.after_size.band
    likely = f" ({grouped(band[0])} to {grouped(band[1])})" if band is not None else ""
    return f"{_name(comparison)}: {_sizes(comparison)} tokens{likely}, {', '.join(parts)}{stays}"


def in_short(comparison: Diff) -> str:
    """`Preview of L0: 122,765 → about 53,322 · 19,368 not recorded`: the chips say how many of each fate."""
    if comparison.sides.whole is not None:
        return _sizes(comparison)
    if not any(fate != "kept" for fate in comparison.counts):
        return headline(comparison)
    unseen = comparison.sides.sizer.scale.unseen
    stays = f" · {grouped(unseen)} not recorded" if unseen else ""
    return f"{_name(comparison)}: {_sizes(comparison)}{stays}"


def payback_words(economics: "Economics | None") -> str:
    """`cost $0.31, saves $0.02 a request: paid after 16`; empty where no price is known."""
    if economics is None or economics.cost_usd is None or economics.saved_per_request_usd is None:
        return ""
    ended = paid_words(economics.paid_after_requests)
    return f"cost {dollars(economics.cost_usd)}, saves {dollars(economics.saved_per_request_usd)} a request: {ended}"


def _change(comparison: Diff) -> int:
    """Tokens by which the next prompt is larger."""
    return comparison.delta + comparison.rest + comparison.prompt + comparison.anew


def _sizes(comparison: Diff) -> str:
    """`122,765 → about 53,322`: what was reported as it is, what is predicted with its "about"."""
    if comparison.sides.whole is not None:
        before, after = comparison.sides.whole
        about = "about " if comparison.sides.sizer.pressure.kind == "predicted" else ""
        return f"{about}{grouped(before)} → {grouped(after)}"
    return f"{_size(comparison.before_size)} → {_size(comparison.after_size)}"


def _size(pressure: Pressure) -> str:
    about = "about " if pressure.kind in ("predicted", "counted", "estimated") else ""
    return f"{about}{grouped(pressure.tokens or 0)}"


def _name(comparison: Diff) -> str:
    name = line(comparison.sides.name, 60)
    return f"Preview of {name}" if comparison.sides.preview else name


def _flat(text: str, about: str, run: Callable[[], None] | None = None, checkable: bool = False) -> QToolButton:
    return small_button(text, run, about=about, name=about, checkable=checkable)
