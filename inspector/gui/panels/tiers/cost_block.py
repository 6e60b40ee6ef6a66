"""The block that shows what the selected tier would cost, or what the current step cost.

The block is always visible and always has the same lines, so that nothing around it moves when its content changes.
"""

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from inspector.core.usage import FIVE_MINUTES_S
from inspector.core.words import plural, priced_words
from inspector.gui.look.build import column, row
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import dollars, grouped, lifetime
from inspector.gui.look.tokens import BLOCK_INSETS, CHIP_GAP
from inspector.gui.widgets.small import Elided
from inspector.workbench.previews import Payback, Preview, payback

if TYPE_CHECKING:
    from inspector.core.replay.economics import Economics

NOTHING = "–"
LINES = (
    "Model call",
    "Cache miss starts at",
    "Re-sent at the next request",
    "Saved by each later request",
)
PAYBACK = "Pays for itself after"
_TIP = (
    "If the provider caches prompts, it still reads from its cache everything before the first change; the rest is "
    "sent and written to the cache again. Each later request then reads less. The prices are those of the model."
)


class CostBlock(QWidget):
    """Five lines, each with a name and a value."""

    def __init__(self, *below: QWidget) -> None:
        super().__init__()
        self.setObjectName("CostBlock")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.caption = Elided("caption")
        self.kind = label("", role="small")
        self._values: dict[str, Elided] = {}
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(6)
        grid.setHorizontalSpacing(10)
        grid.setColumnStretch(1, 1)
        for place, name in enumerate((*LINES, PAYBACK)):
            value = Elided("strong")
            value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            grid.addWidget(label(name, role="quiet"), place, 0)
            grid.addWidget(value, place, 1)
            self._values[name] = value
        head = row((self.caption, 1), self.kind)
        column(head, 2, grid, 4, *below, of=self, margins=BLOCK_INSETS, gap=CHIP_GAP)
        self.setToolTip(tip(_TIP))

    def show_cost(self, preview: Preview | None, is_step: bool) -> None:
        """Show what a tier would cost or, if `is_step`, what a step cost; None: show no values."""
        is_empty = preview is None or bool(preview.failure)
        self.caption.show_text(f"COST OF {preview.tier}" if preview is not None else "COST")
        values = {} if preview is None or is_empty else cost_values(preview)
        self.kind.setText(_kind(preview, is_step) if preview is not None and not is_empty else "")
        for name, value in self._values.items():
            value.show_text(*values.get(name, (NOTHING,)))
        calls = call_words(preview) if preview is not None else ""
        self._values[LINES[0]].setToolTip(tip(calls))
        self.setToolTip(tip(f"{_TIP}\n{calls}".rstrip()))

    def show_recorded(self, economics: "Economics") -> None:
        """Show what a recorded compaction cost, as far as it is known."""
        self.caption.show_text("COST OF THE RECORDED COMPACTION")
        once = economics.cost_usd
        saved = economics.saved_per_request_usd
        self.kind.setText("" if once is None else f"{dollars(once)} once")
        for value in self._values.values():
            value.show_text(NOTHING)
        self._values[LINES[3]].show_text("unknown" if saved is None else dollars(saved))
        self._values[PAYBACK].show_text(_recorded_payback(economics))

    def texts(self) -> dict[str, str]:
        """Return the values of the lines, by the names of the lines."""
        return {name: value.whole for name, value in self._values.items()}


def _kind(preview: Preview, is_step: bool) -> str:
    """Return `estimated` for a tier, or for a step how many tokens it freed."""
    if not is_step:
        return "estimated"
    return (
        f"{'freed' if preview.freed >= 0 else 'added'} about {plural(abs(preview.freed), 'token')}"
    )


def cost_values(preview: Preview) -> dict[str, tuple[str, ...]]:
    """Return the texts of each line, by its name: the full text, then shorter ones for a narrow panel."""
    back = payback(preview)
    place = "no miss"
    if preview.break_at is not None:
        place = f"message {grouped(preview.break_at)}"
    saved = "unknown" if back.saved is None else dollars(back.saved)
    call_line, break_line, rewrite_line, saved_line = LINES
    return {
        call_line: _call(preview),
        break_line: (place,),
        rewrite_line: _rewrite(preview),
        saved_line: (saved,),
        PAYBACK: payback_words(back, preview.model),
    }


def payback_words(back: Payback, model: str) -> tuple[str, ...]:
    """Return after how many requests a tier pays for itself, and where needed a shorter version.

    Examples: `5 requests`, `at once`, `never`, `unknown: no price for my-model`.
    """
    match back.verdict:
        case "pays":
            return (plural(back.requests, "request") if back.requests else "at once",)
        case "never":
            return ("never",)
        case "unknown":
            return (
                f"unknown: no price for {model}" if model else "unknown: no model named",
                "unknown",
            )


def _recorded_payback(economics: "Economics") -> str:
    if economics.cost_usd is None:
        return "unknown"
    after = economics.paid_after_requests
    if after is None:
        return "never"
    return plural(after, "request") if after else "at once"


def _call(preview: Preview) -> tuple[str, ...]:
    """Return a text such as `about $0.12 (at most $0.55)`, and a shorter version. The tooltip has the tokens."""
    calls = preview.calls
    if not calls.together.count:
        return ("none",)
    if calls.cost is None:
        return ("price unknown",)
    return priced_words(calls.cost, calls.most_cost), f"about {dollars(calls.cost)}"


def call_words(preview: Preview) -> str:
    """Return the tokens that the model calls send and are expected to return, with the source; empty without a call."""
    calls = preview.calls.together
    if not calls.count:
        return ""
    cached, assumption = "", ""
    if calls.usage.cache_read:
        cached = f", {grouped(calls.usage.cache_read)} of them cached"
        assumption = " This assumes that the previous request is still in the cache."
    most = "no limit" if calls.most_output is None else f"at most {grouped(calls.most_output)}"
    sent = f"{plural(calls.count, 'model call')}: {grouped(calls.usage.prompt)} tokens in{cached}"
    returned = f"about {grouped(calls.usage.output)} out ({most})"
    source = f"Expected output of a call: {grouped(preview.expected.tokens)} tokens, {preview.expected.source}."
    return f"{sent}; {returned}.{assumption} {source}"


def _rewrite(preview: Preview) -> tuple[str, ...]:
    if not preview.rewritten:
        return ("nothing",)
    price = ""
    if preview.rewrite_cost is not None:
        price = f", {dollars(preview.rewrite_cost)}"
    words = f"{plural(preview.rewritten, 'token')}{price}"
    with_lifetime = words
    if preview.cache_ttl_s > FIVE_MINUTES_S:
        with_lifetime += f" for {lifetime(preview.cache_ttl_s)}"
    return with_lifetime, words, f"{grouped(preview.rewritten)}{price}"
