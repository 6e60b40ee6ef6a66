"""What the step that is looked at would cost: the call, the broken cache, and when it pays."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from inspector.core.words import plural
from inspector.gui.look.build import column
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import dollars, grouped, lifetime
from inspector.workbench.previews import Preview, payback

_TIP = (
    "For a provider that caches prompts: what stands before the first change is still read from its cache, the rest is "
    "written anew. Each later request then reads less. Prices are the model's."
)


class CostBlock(QWidget):
    """Two columns: what, how much."""

    def __init__(self) -> None:
        super().__init__()
        self.caption = label(role="caption")
        self._rows: list[tuple[QLabel, QLabel]] = []
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(3)
        self._grid.setColumnStretch(1, 1)
        column(self.caption, self._grid, of=self, gap=5)
        self.setToolTip(tip(_TIP))
        self._shown: tuple[Preview | None, str] | None = None

    def show_preview(self, preview: Preview | None, model: str) -> None:
        """None: nothing to say."""
        if self._shown is not None and self._shown[0] is preview and self._shown[1] == model:
            return
        self._shown = (preview, model)
        self.setVisible(preview is not None and not preview.failure)
        if preview is None or preview.failure:
            return
        self.caption.setText(f"WHAT {preview.tier} WOULD COST")
        rows = cost_rows(preview, model)
        while len(self._rows) < len(rows):
            self._add_row()
        for n, (what, much) in enumerate(self._rows):
            for text, words in zip((what, much), rows[n] if n < len(rows) else ("", ""), strict=True):
                text.setText(words)
                text.setVisible(bool(words))

    def _add_row(self) -> None:
        what, much = label(role="quiet"), label(role="strong", wrap=True)
        much.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._grid.addWidget(what, len(self._rows), 0)
        self._grid.addWidget(much, len(self._rows), 1)
        self._rows.append((what, much))

    def texts(self) -> dict[str, str]:
        """What is shown, by what it is."""
        return {what.text(): much.text() for what, much in self._rows if what.text()}


def cost_rows(preview: Preview, model: str) -> tuple[tuple[str, str], ...]:
    """(what, how much) for the block under the tiers."""
    back = payback(preview, model)
    rows = [("model call", _call_row(preview))]
    if preview.break_at is None:
        return (*rows, ("cached prefix", "stays whole"))
    rewrite = f" · {dollars(preview.rewrite_cost)}" if preview.rewrite_cost is not None else ""
    rows += [
        ("cached prefix broken at", f"message {grouped(preview.break_at)}"),
        (f"cache written anew for {lifetime(preview.cache_ttl_s)}", f"{grouped(preview.rewritten)}{rewrite}"),
    ]
    match back.verdict:
        case "pays":
            assert back.requests is not None
            rows.append(("pays for itself after", plural(back.requests, "request") if back.requests else "no time"))
        case "never":
            rows.append(("pays for itself", "never: frees nothing"))
        case "unknown":
            rows.append(("pays for itself", f"unknown: no price for {model}" if model else "unknown: no model named"))
    if back.saved is not None:
        rows.append(("saved by each later request", dollars(back.saved)))
    return tuple(rows)


def _call_row(preview: Preview) -> str:
    if not preview.calls:
        return "none"
    words = f"{grouped(preview.call_input)} in"
    if preview.call_output:
        words += f", up to {grouped(preview.call_output)} out"
    price = "price unknown" if preview.call_cost is None else dollars(preview.call_cost)
    return f"{words} · {price}"
