"""The review before something is shared: each private text with its place and its replacement."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QLineEdit, QTableWidget, QWidget
from PySide6.QtWidgets import QTableWidgetItem as Cell

from inspector.core.words import plural
from inspector.gui.dialogs.ask import is_sure
from inspector.gui.dialogs.form import FormDialog
from inspector.gui.look.build import Item, line_field
from inspector.gui.look.labels import label
from inspector.workbench.sharing.redaction import PrivateText, PrivateTexts, Redaction

_HEADS = ("Text", "Kind", "First in", "Times", "Replaced by")
_TEXT, _REPLACEMENT = 0, 4
_ADVICE = "The review finds only secrets with a known pattern. Read the whole {what} yourself before you share it."


class ReviewDialog(FormDialog):
    """Lists the private texts of a report or a bundle. The file is written only if the user accepts."""

    def __init__(
        self, parent: QWidget | None, what: str, texts: Sequence[PrivateText], has_note: bool
    ) -> None:
        """Create the dialog.

        Args:
            parent: The window.
            what: `report` or `bundle`.
            texts: The private texts that were found.
            has_note: True if the user can enter a note to the reader.
        """
        super().__init__(parent, f"Share a {what}", f"Write the {what}…")
        self._texts = texts
        self.table = QTableWidget(len(texts), len(_HEADS))
        self.warning = label(role="bad", wrap=True)
        self.note: QLineEdit | None = None
        parts: list[Item] = []
        if has_note:
            self.note = line_field("Note", hint="Note for the reader (optional)")
            parts.append(self.note)
        if texts:
            self._fill_table()
            parts += [self.table, self.warning]
        count = plural(len(texts), "text")
        says = "Nothing looks private."
        if texts:
            says = f"{count} may be private. Ticked texts are replaced."
        self.lay_out(f"{says} {_ADVICE.format(what=what)}", *parts)
        self.setMinimumSize(760, 420 if texts else 120)
        self._warn()

    def _fill_table(self) -> None:
        table = self.table
        table.setAccessibleName("Texts that may be private")
        table.setHorizontalHeaderLabels(_HEADS)
        table.verticalHeader().hide()
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        for row, private in enumerate(self._texts):
            words = (private.preview, private.kind, private.place, f"{private.times:,}")
            for column, text in enumerate((*words, private.replacement)):
                table.setItem(row, column, _make_cell(text, column))
        header = table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(_TEXT, QHeaderView.ResizeMode.Stretch)
        table.itemChanged.connect(lambda cell: self._warn())

    def _cell(self, row: int, column: int) -> Cell:
        cell = self.table.item(row, column)
        assert cell is not None
        return cell

    def kept_texts(self) -> list[PrivateText]:
        """Return the texts that are not replaced."""
        return [
            private
            for row, private in enumerate(self._texts)
            if self._cell(row, _TEXT).checkState() is not Qt.CheckState.Checked
        ]

    def redaction(self) -> Redaction:
        """Return the replacements of the ticked texts, and of all private texts that only the note contains."""
        kept = self.kept_texts()
        replacements = {
            private.text: self._cell(row, _REPLACEMENT).text()
            for row, private in enumerate(self._texts)
        }
        replaced = [private for private in self._texts if private not in kept]
        return Redaction([*replaced, *self._texts_of_note()], replacements)

    def _texts_of_note(self) -> list[PrivateText]:
        """Return the private texts of the note that the table does not list."""
        private = PrivateTexts()
        private.add_text("note", self.note_text())
        listed = {each.text for each in self._texts}
        return [each for each in private.found if each.text not in listed]

    def note_text(self) -> str:
        """Return the note to the reader."""
        return self.note.text().strip() if self.note is not None else ""

    def _warn(self) -> None:
        kept = self.kept_texts()
        self.warning.setVisible(bool(kept))
        names = ", ".join(private.preview for private in kept[:5])
        more = ", …" if len(kept) > 5 else ""
        self.warning.setText(f"{plural(len(kept), 'text')} will be readable: {names}{more}")

    def _accept(self) -> None:
        keys = [private for private in self.kept_texts() if private.kind == "key"]
        count = plural(len(keys), "key")
        question = f"Keep {count} readable? Whoever gets the file can use what is readable."
        if keys and not is_sure(
            self, title="Keep a key", question=question, yes="Keep readable", no="Go back"
        ):
            return
        self.accept()


def _make_cell(text: str, column: int) -> Cell:
    cell = Cell(text)
    flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
    if column == _TEXT:
        flags |= Qt.ItemFlag.ItemIsUserCheckable
        cell.setCheckState(Qt.CheckState.Checked)
    elif column == _REPLACEMENT:
        flags |= Qt.ItemFlag.ItemIsEditable
    cell.setFlags(flags)
    cell.setToolTip(text)
    return cell
