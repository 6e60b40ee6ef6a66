"""Follows a transcript that an agent is writing: every new request within a moment, an appended line at its own cost.

Looks a few times a second, reads what was appended, never locks and never writes. A torn line waits for its rest; a
file that was truncated, replaced or rewritten is read anew; companions (sub-agents) that come later are found.
"""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from time import monotonic

from inspector.core.errors import Cancelled, InspectorError, NothingToRead, UnknownFormat
from inspector.core.formats.detect import detect
from inspector.core.formats.format import Format, Reader
from inspector.core.session import Session
from inspector.extensions.formats import all_formats
from inspector.transcripts.database.naming import stands
from inspector.transcripts.database.opening import Database, growing
from inspector.transcripts.files import Opened, no_collection, refuse_nothing
from inspector.transcripts.growing import Growing, Rewritten, Standing, is_packed, standing
from inspector.transcripts.newest import Newest
from inspector.transcripts.opening import Watch

OFTEN = 0.1
"""Seconds between two looks."""
PATIENCE = 2.0
"""Seconds that a file which nobody writes to may be unreadable before that is told."""
_COMPANIONS = 0.2
"""Seconds between two looks for new companions."""

Told = Callable[[Session], None]
Rest = Callable[[float], bool]
"""Rests so many seconds, or until it is time to stop; True = stop. `threading.Event().wait` is one."""


class PackedFile(InspectorError):
    """A packed file cannot be followed."""


def follow(
    path: Path | str,
    told: Told,
    rest: Rest,
    *,
    format: str | None = None,  # noqa: A002
    opened: Opened | None = None,
    lost: Callable[[str], None] = lambda sentence: None,
) -> None:
    """Tell the session as it is, and again whenever it has grown, until `rest` says stop.

    Where it was `opened` before, nothing is read twice, and only what has come since is told. `lost` is told in one
    sentence when the file is gone, or nothing that can be read; it is followed again when it is back. Raises
    NothingToRead, UnknownFormat and PackedFile where there never was anything to follow.
    """
    follower = Follower(path, told, format=format, cancelled=lambda: rest(0), opened=opened, lost=lost)
    try:
        follower.look()
        while not rest(OFTEN):
            follower.look()
    except Cancelled:
        return


def follow_newest(
    folder: Path | str,
    told: Told,
    rest: Rest,
    *,
    home: Path | None = None,
    switched: Callable[[Path], None] | None = None,
    opened: Opened | None = None,
    lost: Callable[[str], None] = lambda sentence: None,
) -> None:
    """Follow the newest session of a project's folder, and the next as soon as one starts. It may start later."""
    newest, follower = Newest(Path(folder), home), None
    try:
        while not rest(OFTEN):
            if (path := newest.look()) is not None:
                follower = Follower(path, told, cancelled=lambda: rest(0), opened=opened, lost=lost)
                opened = None
                if switched is not None:
                    switched(path)
            if follower is not None:
                follower.look()
    except Cancelled:
        return


class Follower:
    """One transcript with its companions. `look` does all the work; who calls it decides when, and on which thread."""

    def __init__(
        self,
        path: Path | str,
        told: Told,
        *,
        format: str | None = None,  # noqa: A002
        cancelled: Callable[[], bool] | None = None,
        opened: Opened | None = None,
        lost: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self.path, self._told, self._format, self._lost = Path(path), told, format, lost
        self._why = ""
        """Why what was there cannot be read any more; empty as long as it can."""
        self._missed: tuple[str, float] | None = None
        """Such a reason, and when it is told."""
        self._watch = Watch(cancelled=cancelled)
        self._reader: Reader | None = None
        self._chosen: Format | None = None
        self._files: list[Growing | Database] = []
        self._passed: dict[Path, Standing | None] = {}
        """Files that are no companions, or are already followed."""
        self._session_id = ""
        self._due = 0.0
        self._tried: Standing | None = None
        self._since = monotonic()
        self._ever = False
        if opened is not None and opened.path == self.path and not is_packed(self.path):
            self._take_over(opened)
        if stands(self.path) is None:
            raise NothingToRead(f"there is no file {self.path}")

    def _take_over(self, opened: Opened) -> None:
        """Go on where opening has stopped."""
        self._reader, self._chosen, self._ever = opened.reader, opened.chosen, True
        self._files = [one for one in opened.files if isinstance(one, Growing | Database)]
        self._passed = {one.path: None for one in self._files}

    def look(self) -> None:
        """Read what is new and tell the session if there was anything. Raises as `follow` says, and Cancelled."""
        try:
            fed = self._begin() if self._reader is None else self._go_on()
        except Rewritten:
            self._reader = None
            fed = self._begin()
        if fed:
            self._ever = True
            self._told(self.session())
        if self._ever:
            self._tell_loss()

    def _tell_loss(self) -> None:
        """What was followed and cannot be read any more is told once, when it has not come back for a while."""
        why = "it is gone" if stands(self.path) is None else self._why
        if not why:
            self._missed = None
        elif self._missed is None or self._missed[0] != why:
            self._missed = why, monotonic() + PATIENCE
        elif self._missed[1] < monotonic():
            self._missed = why, inf
            self._lost(f"{self.path} cannot be followed for now: {why}. What is shown is what was read before.")

    def session(self) -> Session:
        """The session so far."""
        assert self._reader is not None
        session = self._reader.session()
        problems = [problem for one in self._files for problem in one.problems]
        if problems:
            merged = sorted([*session.problems, *problems], key=lambda problem: (problem.file, problem.line))
            session = replace(session, problems=tuple(merged))
        return replace(session, path=str(self.path), notes=(*session.notes, *all_formats()[1]))

    def _begin(self) -> bool:
        """Read all there is. A file that cannot be read yet is tried again as soon as it has changed."""
        now = stands(self.path)
        if now is not None and now != self._tried:
            self._tried, self._since = now, monotonic()
        elif self._since + PATIENCE > monotonic() or self._ever or now is None or now[2] == 0:
            return False
        try:
            with no_collection():
                self._read()
        except (NothingToRead, UnknownFormat) as failure:
            self._reader = None
            empty = now is not None and now[2] == 0
            self._why = "it is empty" if empty else str(failure).removeprefix(f"{self.path}: ")
            if self._ever or now is None or now[2] == 0 or self._since + PATIENCE > monotonic():
                return False
            path = f"{self.path}: "
            bare = isinstance(failure, UnknownFormat) and not str(failure).startswith(path)
            raise type(failure)(f"{path if bare else ''}{failure}") from None
        self._why = ""
        return True

    def _read(self) -> None:
        if is_packed(self.path):
            raise PackedFile(f"{self.path} is packed (gzip): it can be opened, but nobody appends to it")
        main = growing(self.path, self._watch)
        head = main.head()
        chosen = detect(head, self._format, all_formats()[0])
        reader = chosen.start()
        main.feed(reader)
        main.settle()
        if self._format is not None and not self._ever:
            refuse_nothing(self.path, chosen, reader.session(), all_formats()[0])
        self._reader, self._chosen, self._files = reader, chosen, [main]
        self._passed = {}
        self._due = 0.0
        self._companions()

    def _go_on(self) -> bool:
        fed = [one.read_more() for one in self._files]
        found = self._companions() if monotonic() >= self._due else False
        return any(fed) or found

    def _companions(self) -> bool:
        """Feed the companions that have come since; were there any? A tenth of the time at most."""
        assert self._reader is not None
        assert self._chosen is not None
        begun, found = monotonic(), False
        session = self._reader.session()
        if session.id != self._session_id:  # what was no companion may be one of this session
            self._session_id = session.id
            self._passed = {one.path: None for one in self._files}
        for pattern in self._chosen.companions(self.path):
            for path in sorted(self.path.parent.glob(pattern)):
                if path != self.path and self._is_new(path):
                    found = self._feed_companion(path, session) or found
        took = monotonic() - begun
        self._due = monotonic() + max(_COMPANIONS, 10 * took)
        return found

    def _is_new(self, path: Path) -> bool:
        """Not looked at yet, or it held nothing then and has changed."""
        if path not in self._passed:
            return True
        then = self._passed[path]
        return then is not None and then != standing(path)

    def _feed_companion(self, path: Path, session: Session) -> bool:
        assert self._reader is not None
        assert self._chosen is not None
        now = standing(path)
        try:
            one = Growing(path, self._watch, path.relative_to(self.path.parent).as_posix())
            head = one.head()
            if not head.values:
                self._passed[path] = now
                return False
            self._passed[path] = None
            if not self._chosen.is_companion(head, session):
                return False
            one.feed(self._reader)
            one.settle()
        except NothingToRead:
            self._passed[path] = now
            return False
        self._files.append(one)
        return True
