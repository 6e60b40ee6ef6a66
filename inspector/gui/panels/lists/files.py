"""Every file of the session: its versions over the requests, and whether the buffer holds the newest or a stale one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from inspector.core.calls import CallIndex
from inspector.core.findings.session_files import FileState, FileUse, SessionFile, session_files
from inspector.core.session import Thread
from inspector.core.tokens.sizing import Sizer
from inspector.core.words import plural
from inspector.gui.bridge import LatestJob
from inspector.gui.desk import Desk
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.visible import line
from inspector.gui.panels.panel import ListPanel
from inspector.gui.widgets.table import Column
from inspector.workbench.policy_input import sizer_of
from inspector.workbench.state import BufferFilter, State

_SHOWN = 12
"""Most versions that are all listed; if there are more, only the first and the last of them are."""
_ORDER: dict[FileState, int] = {"stale": 0, "in context": 1, "not in context": 2}


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file as far as it is known at the playhead."""

    file: SessionFile
    name: str
    state: FileState
    held: tuple[FileUse, ...]
    """The messages about the file that are in the buffer."""
    tokens: int
    """Tokens of these messages together, without the calls that they answer."""

    @property
    def state_words(self) -> str:
        """Return `stale: version 1 of 3` or `in context, 2 stale reads`."""
        if self.state == "in context" and self.stale_reads:
            return f"in context, {plural(self.stale_reads, 'stale read')}"
        if self.state != "stale":
            return self.state
        newest = max(use.version for use in self.held)
        return f"stale: version {newest:,} of {self.file.version:,}"

    @property
    def stale_reads(self) -> int:
        """Number of messages in the buffer that show a version which is no longer the newest."""
        return sum(use.kind != "written" and use.version < self.file.version for use in self.held)

    @property
    def version_words(self) -> str:
        """Return `0, 17, 30`: the requests at which the versions of the file began."""
        begun = [grouped(use.first) for use in self.file.versions]
        if len(begun) <= _SHOWN:
            return ", ".join(begun)
        half = _SHOWN // 2
        return ", ".join([*begun[:half], "…", *begun[-half:]])

    def count(self, *kinds: str) -> str:
        """Return the number of messages of these kinds about the file; empty if there are none."""
        number = sum(use.kind in kinds for use in self.file.uses)
        return grouped(number) if number else ""


def file_rows(files: Sequence[SessionFile], state: State, size: Sizer) -> list[FileRow]:
    """Return the files that are known at the playhead: stale ones first, then those in context. O(messages)."""
    thread = state.thread
    names = CallIndex(thread.messages if thread is not None else ())
    buffer = frozenset(map(id, state.buffer().messages))
    rows = []
    for file in files:
        known_file = file.until(state.place)
        if not known_file.uses:
            continue
        held = known_file.uses_in(buffer)
        tokens = sum(size.row(use.message) for use in held)
        rows.append(
            FileRow(
                known_file,
                name=line(names.shown_path(file.path), 300),
                state=known_file.state_in(buffer),
                held=held,
                tokens=tokens,
            )
        )
    return sorted(rows, key=lambda row: (_ORDER[row.state], -row.tokens))


class FilesPanel(ListPanel[FileRow]):
    """The files of the session. A click selects the newest message about a file in the buffer.

    Enter or a double click limits the buffer list to the messages about the file.
    """

    TITLE: ClassVar[str] = "Files"
    NAME = "Files of the session"
    COLUMNS: ClassVar[Sequence[Column[FileRow]]] = (
        Column("File", lambda row: row.name, least=18),
        Column("In the buffer", lambda row: row.state_words, width=22, least=14),
        Column(
            "Tokens", lambda row: grouped(row.tokens) if row.held else "", width=7, figures=True
        ),
        Column("Reads", lambda row: row.count("read", "attached"), width=5, figures=True),
        Column("Edits", lambda row: row.count("written"), width=5, figures=True),
        Column("Versions begin at request", lambda row: row.version_words, width=26, least=10),
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._files: tuple[SessionFile, ...] = ()
        self._state = State()
        self._job = LatestJob(desk.bridge)
        self.say_at_length()
        self.lay_out((self.says, 1), self.copy_button())
        self.table.hide()

    def show_state(self, state: State) -> None:
        self._state = state
        if self.is_new("thread", state.thread):
            self._find(state.thread)
        elif self.is_new("rows", state.view, state.stepped_buffer, (state.at,)):
            self._show_files()

    def choose(self, place: int, column: int = -1) -> None:
        row = self.table.rows[place]
        if row.held:
            self.desk.workbench.select(row.held[-1].message.id)

    def open(self, place: int) -> None:
        row = self.table.rows[place]
        ids = frozenset(use.message.id for use in row.held)
        if ids:
            self.desk.workbench.look_into((), BufferFilter(row.name, ids))
            self.desk.show_panel("Buffer")

    def _find(self, thread: Thread | None) -> None:
        self._files = ()
        self._show_files()
        if thread is None:
            return

        def show(files: tuple[SessionFile, ...]) -> None:
            self._files = files
            self._show_files()

        self._job.run(lambda task: session_files(thread), show)

    def _show_files(self) -> None:
        state = self._state
        if state.thread is None or state.pressures is None:
            self.show_rows([], "Open a transcript to see its files.")
            return
        rows = file_rows(self._files, state, sizer_of(state))
        self.show_rows(rows, _file_words(rows))


def _file_words(rows: Sequence[FileRow]) -> str:
    if not rows:
        return "No tool has named a file up to this request."
    stale = sum(row.state == "stale" for row in rows)
    held = sum(bool(row.held) for row in rows)
    return (
        f"{plural(len(rows), 'file')}: {held:,} in the buffer, {stale:,} of them stale (changed after the last message "
        "about them that is in context)."
    )
