"""The bar above the diff: what is compared, which fates are shown, the result, and buttons to run or undo a step."""

from collections.abc import Callable, Iterator
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
from inspector.gui.look.tokens import BOX_GAP, CHIP_GAP, CONTROL_GAP, LINE_GAP
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
"""Tokens by which the sum of the rows may be wrong because each row is rounded. A difference up to this number, or up
to 1%, is not mentioned."""
UNDO, GO_BEFORE = "Undo", "Go before"
_GO_BEFORE = "Go to the buffer before the recorded compaction, and run a tier of your choice there"
START = "the step's start"
AS_RECORDED, BEFORE = "the recorded buffer", "the earlier buffer"


class DiffBar(Guarded, QWidget):
    """The bar above the rows of the diff."""

    filtered = Signal()
    """Emitted when the user chose which fates to show."""
    against = Signal(object)
    """Emitted with the buffer to compare with: the index of a step, ORIGIN, or None for the start of the step."""

    def __init__(
        self,
        theme: Theme,
        walk: Callable[[int], None],
        run: Callable[[], None],
        undo: Callable[[], None],
    ) -> None:
        super().__init__()
        self._theme = theme
        self.fates: frozenset[FateName] = CHANGED
        """The fates that are shown."""
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
        self.run = small_button("Run", run, about="Run the previewed tier", role="")
        self.headline = Elided("strong")
        self.headline.setContentsMargins(CHIP_GAP, 0, CONTROL_GAP, 0)
        self._tools = (self.choice, *self.chips.values())
        walks = (self.previous, self.next, self.text)
        self._beside = (*walks, self.undo, self.run)
        tools = row((flow(*self._tools, gap=_APART), 1), *walks, 4, self.undo, self.run, gap=_APART)
        # So that nothing moves when the choice is hidden.
        tools.addStrut(self.choice.sizeHint().height())
        self._lines = row(
            (self.headline, 1),
            tools,
            of=self,
            margins=(CONTROL_GAP, BOX_GAP, CONTROL_GAP, BOX_GAP),
            gap=LINE_GAP,
        )
        self.restyle()

    def restyle(self) -> None:
        for name, chip in self.chips.items():
            chip.setStyleSheet(
                f"QToolButton:checked {{ color: {fate_colour(self._theme.colours, name)}; }}"
            )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Write letters instead of names on the chips in a narrow panel, and use two lines in a narrower one."""
        self._name_chips(brief=False)
        if not self._is_roomy:
            self._name_chips(brief=True)
        way = QBoxLayout.Direction.LeftToRight
        if not self._is_roomy:
            way = QBoxLayout.Direction.TopToBottom
            self._name_chips(brief=False)
        if way != self._lines.direction():
            self._lines.setDirection(way)

    @property
    def _is_roomy(self) -> bool:
        """Does everything fit into one line?"""
        visible = [widget for widget in (*self._tools, *self._beside) if not widget.isHidden()]
        tools_width = sum(widget.sizeHint().width() + _APART for widget in visible)
        return self.width() >= tools_width + self.headline.least + 30

    def _name_chips(self, brief: bool) -> None:
        """Write `Cleared 74` on the chips, or `C 74` if `brief` or if branches are compared, whose names do not fit."""
        if self._comparison is None:
            return
        is_short = brief or self._comparison.sides.is_across
        for name, chip in self.chips.items():
            count = grouped(self._comparison.counts.get(name, 0))
            word = LETTERS[name] if is_short else name.capitalize()
            chip.setText(f"{word} {count}")

    def show_choices(self, steps: Steps | None, preview: bool) -> None:
        """Offer the buffers to compare a step with. A preview is only compared with the buffer from which it starts."""
        with QSignalBlocker(self.choice):
            self.choice.clear()
            self._enable(steps, preview)
            self.choice.setVisible(steps is not None and not preview)
            if steps is not None and not preview:
                self._add_choices(steps)

    def _add_choices(self, steps: Steps) -> None:
        """Offer the start of the step, the recorded buffer and the other steps, and choose the current one."""
        self.choice.addItem(START, None)
        self.choice.addItem(AS_RECORDED if steps.recorded is None else BEFORE, ORIGIN)
        for _, step in drawn(steps):
            if step != steps.at:
                name = line(steps.taken[step].name, 40)
                self.choice.addItem(f"{step + 1}  {name}", step)
        has_other = steps.against is not None and steps.against != steps.at
        chosen = self.choice.findData(steps.against) if has_other else 0
        self.choice.setCurrentIndex(max(0, chosen))

    def _enable(self, steps: Steps | None, preview: bool) -> None:
        """Enable the buttons, which keep their places so that pressing one twice never presses the other."""
        has_step = steps is not None and steps.step is not None
        self.run.setEnabled(preview)
        self.undo.setEnabled(has_step)
        is_recorded = has_step and steps is not None and not steps.stepped
        self.undo.setText(GO_BEFORE if is_recorded else UNDO)
        self.undo.setToolTip(tip(_GO_BEFORE if is_recorded else "Undo this step (Ctrl+Z)"))

    def show_comparison(self, comparison: Diff) -> None:
        """Show the counts on the chips, and the sum in the headline."""
        for name, chip in self.chips.items():
            count = comparison.counts.get(name, 0)
            words = comparison.sides.words[name]
            chip.setToolTip(tip(f"{count:,} {words}"))
            chip.setAccessibleName(f"{words}, {count:,}")
            chip.setVisible(bool(count))
        self._comparison = comparison
        self._show_headline()

    def show_payback(self, economics: "Economics | None") -> None:
        """Show whether the recorded compaction paid for itself; None if that is not known or another step is shown."""
        if economics != self._economics:
            self._economics = economics
            self._show_headline()

    def _show_headline(self) -> None:
        """Show the sum in the headline and, for a recorded compaction, whether it paid for itself."""
        comparison = self._comparison
        payback = economics_words(self._economics)
        if comparison is None:
            return
        whole = diff_headline(comparison)
        short = short_headline(comparison)
        change = signed(_change(comparison))
        with_verdict = short
        if payback and comparison.sides.whole is not None:
            verdict = payback.rpartition(": ")[2]
            whole += f", {payback}"
            with_verdict = f"{short} · {verdict}"
        self.headline.show_text(whole, with_verdict, short, change)
        self._fit()

    def _chip(self, name: FateName) -> QToolButton:
        """Return the chip that shows or hides the messages of a fate."""
        chip = small_button("", checkable=True)
        chip.setChecked(name in self.fates)
        chip.toggled.connect(lambda is_on: self._show_fate(name, is_on))
        return chip

    def _show_fate(self, name: FateName, is_on: bool) -> None:
        self.fates = self.fates | {name} if is_on else self.fates - {name}
        self.filtered.emit()


def diff_headline(comparison: Diff) -> str:
    """Return the sum of a comparison.

    For a preview: `Preview of L0: 122,765 → about 53,322 tokens (46,904 to 59,740), 74 cleared, 19,368 not recorded
    stay`. For a recorded compaction: `auto compaction: 155,144 → 24,170 tokens, 120 summarised, −9,100 not recorded`.
    """
    sides = comparison.sides
    parts = [
        f"{count:,} {sides.words[fate]}"
        for fate, count in comparison.counts.items()
        if fate != "kept"
    ]
    if sides.whole is not None:
        details = ", ".join(
            (*(parts or ["nothing changed"]), *_recorded_changes(comparison, sides.whole[1]))
        )
        return f"{_name(comparison)}: {_sizes(comparison)} tokens, {details}"
    if not parts:
        verb = "changes" if sides.preview else "changed"
        return f"{_name(comparison)}: nothing {verb}"
    unseen = sides.sizer.scale.unseen
    stays = f", {grouped(unseen)} unrecorded tokens stay" if unseen else ""
    band = comparison.after_size.band
    likely = f" ({grouped(band[0])} to {grouped(band[1])})" if band is not None else ""
    return f"{_name(comparison)}: {_sizes(comparison)} tokens{likely}, {', '.join(parts)}{stays}"


def _recorded_changes(comparison: Diff, after: int) -> Iterator[str]:
    """Yield the changes of a recorded compaction that no message accounts for; `after`: tokens after it."""
    if comparison.rest:
        yield f"{signed(comparison.rest)} not recorded"
    if comparison.prompt:
        yield f"{signed(comparison.prompt)} in system prompt and tools"
    if abs(comparison.anew) > max(_ROUNDING, after // 100):
        yield f"{signed(comparison.anew)} from measuring the kept messages again"


def short_headline(comparison: Diff) -> str:
    """Return `Preview of L0: 122,765 → about 53,322 · 19,368 not recorded`; the chips show the counts of fates."""
    if comparison.sides.whole is not None:
        return _sizes(comparison)
    if not any(fate != "kept" for fate in comparison.counts):
        return diff_headline(comparison)
    unseen = comparison.sides.sizer.scale.unseen
    stays = f" · {grouped(unseen)} not recorded" if unseen else ""
    return f"{_name(comparison)}: {_sizes(comparison)}{stays}"


def economics_words(economics: "Economics | None") -> str:
    """Return `cost $0.31, saves $0.02 a request: paid after 16`; empty if no price is known."""
    if economics is None or economics.cost_usd is None or economics.saved_per_request_usd is None:
        return ""
    cost = dollars(economics.cost_usd)
    saving = dollars(economics.saved_per_request_usd)
    return f"cost {cost}, saves {saving} a request: {paid_words(economics.paid_after_requests)}"


def _change(comparison: Diff) -> int:
    """Return the tokens by which the next prompt becomes larger."""
    return comparison.delta + comparison.rest + comparison.prompt + comparison.anew


def _sizes(comparison: Diff) -> str:
    """Return `122,765 → about 53,322`, with `about` before a predicted size."""
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


def _flat(
    text: str, about: str, run: Callable[[], None] | None = None, checkable: bool = False
) -> QToolButton:
    return small_button(text, run, about=about, name=about, checkable=checkable)
