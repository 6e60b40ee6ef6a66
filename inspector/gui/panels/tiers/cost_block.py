"""What the step that is looked at would cost: the call, the broken cache, and when it pays."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QVBoxLayout, QWidget

from inspector.gui.look.labels import label, tip
from inspector.gui.panels.tiers.words import cost_rows
from inspector.workbench.state.preview import Preview

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
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(5)
        column.addWidget(self.caption)
        column.addLayout(self._grid)
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
        what, much = label(role="quiet"), label(role="strong")
        much.setWordWrap(True)
        much.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._grid.addWidget(what, len(self._rows), 0)
        self._grid.addWidget(much, len(self._rows), 1)
        self._rows.append((what, much))

    def texts(self) -> dict[str, str]:
        """What is shown, by what it is."""
        return {what.text(): much.text() for what, much in self._rows if what.text()}
