"""The log of a step: every model call, file and text that it requested, with the answers, each readable in full."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from inspector.core.answering import AnsweredNeed
from inspector.core.needs import Answer, Failure, RemoteCompact, SaveTranscript, Summarize
from inspector.core.words import plural
from inspector.gui.desk import Desk
from inspector.gui.look.build import column, splitter
from inspector.gui.panels.message.parts import message_sections
from inspector.gui.panels.tiers.need_text import instructions_of, need_words, summary_text
from inspector.gui.widgets.pieces import Section
from inspector.gui.widgets.reader import TextReader
from inspector.gui.widgets.table import Column, Rows
from inspector.workbench.words.step_words import answerer_words


@dataclass(frozen=True, slots=True)
class CallRow:
    """A need of a step with its answer."""

    number: int
    answered: AnsweredNeed

    @property
    def reply_words(self) -> str:
        """The outcome in words, such as `answered offline` or `failed: 403: this key has no permission`."""
        reply = self.answered.reply
        if isinstance(reply, Failure):
            return f"failed: {reply}"
        return f"answered {answerer_words(reply.by)}"

    @property
    def size(self) -> str:
        """Length of the answer in characters; empty for a failure."""
        reply = self.answered.reply
        return "" if isinstance(reply, Failure) else plural(len(reply_text(reply)), "character")


COLUMNS: Sequence[Column[CallRow]] = (
    Column("#", lambda row: str(row.number), width=3, figures=True),
    Column("asked for", lambda row: need_words(row.answered.need), least=18, lines=2),
    Column("answer", lambda row: row.reply_words, width=20, least=16, lines=3),
    Column("length", lambda row: row.size, width=16, figures=True),
)


class CallsLog(QWidget):
    """The needs of a step in a table on the left; the selected need with its answer on the right."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.table: Rows[CallRow] = Rows("Model calls of the step", COLUMNS)
        self.reading = TextReader(desk.theme, "Answer and request of the chosen call")
        self.table.chosen.connect(lambda place, _: self._read(place))
        column((splitter(self.table, self.reading, shares=(2, 3)), 1), of=self)

    def show_calls(self, needs: Sequence[AnsweredNeed]) -> None:
        """List these needs and select the first."""
        self.table.show_rows(
            [CallRow(number, answered) for number, answered in enumerate(needs, 1)]
        )
        if needs:
            self.table.selectRow(0)
        self._read(0)

    def _read(self, place: int) -> None:
        rows = self.table.rows
        sections = call_sections(rows[place].answered) if place < len(rows) else ()
        self.reading.text.show_sections(tuple(sections))


def reply_text(reply: Answer) -> str:
    """Return the text of an answer, or of its messages if it has no text."""
    return reply.text or "\n\n".join(message.text for message in reply.messages)


def call_sections(answered: AnsweredNeed) -> Iterator[Section]:
    """Yield the answer, then what was requested: instructions, text and messages, all in full."""
    need = answered.need
    reply = answered.reply
    if isinstance(reply, Failure):
        yield Section("Failed", str(reply) or type(reply).__name__, "exact")
    else:
        yield Section(
            _heading(f"Answered {answerer_words(reply.by)}", reply_text(reply)),
            reply_text(reply),
            "exact",
        )
    instructions = instructions_of(need)
    text = summary_text(need)
    if instructions:
        yield Section(_heading("Instructions", instructions), instructions, "exact")
    if text:
        yield Section(_heading("Text", text), text, "exact")
    messages = need.messages if isinstance(need, Summarize | RemoteCompact | SaveTranscript) else ()
    for number, message in enumerate(messages):
        yield Section(f"Message {number} · {message.role}")
        yield from message_sections(message)


def _heading(name: str, text: str) -> str:
    return f"{name} · {plural(len(text), 'character')}"
