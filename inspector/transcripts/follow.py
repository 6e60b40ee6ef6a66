"""Follow a transcript that an agent is writing: every new request appears at once, and only appended lines are read.

The file is checked a few times a second; it is never locked or written. A torn line waits for its remaining bytes. A
file that was truncated, replaced or rewritten is read again. Companions (sub-agents) that appear later are found.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import monotonic

from inspector.core.errors import Cancelled, InspectorError, NothingToRead, UnknownFormat
from inspector.core.session import Session
from inspector.transcripts.database import split_session_path, transcript_stat
from inspector.transcripts.discover import NewestSession
from inspector.transcripts.files import (
    TranscriptReading,
    no_collection,
    read_whole,
    read_with_other_format,
    refuse_empty,
)
from inspector.transcripts.transcript_file import ReadProgress, Rewritten
from inspector.transcripts.unpack import FileStat, file_stat, is_packed

OFTEN = 0.1
"""Seconds between two checks."""
PATIENCE = 2.0
"""Seconds for which a file may be unreadable without being written to, before this is reported."""
_COMPANIONS, _COMPANIONS_MOST = 0.2, 1.0
"""Seconds between two searches for new companions, and the longest interval while nothing is written."""

Publish = Callable[[Session], None]
Rest = Callable[[float], bool]
"""Waits for the given seconds or until the following is to stop. Returns True to stop. `threading.Event().wait`
fits.
"""


@dataclass(frozen=True, slots=True)
class FollowNews:
    """Something that happened to the followed file, in one sentence."""

    sentence: str
    is_lost: bool = False
    """True if the file cannot be read for now. This holds until the next news."""


TellNews = Callable[[FollowNews], None]


def _tell_nobody(news: FollowNews) -> None:
    pass


class PackedFile(InspectorError):
    """Raised for a packed file, which cannot be followed."""


def follow(
    path: Path | str,
    publish: Publish,
    rest: Rest,
    *,
    format: str | None = None,  # noqa: A002
    opened: TranscriptReading | None = None,
    tell: TellNews = _tell_nobody,
) -> None:
    """Publish the session now and whenever it has grown, until `rest` returns True.

    Args:
        path: The transcript.
        publish: Called with the session.
        rest: Waits between two checks.
        format: Name of the format; None detects it.
        opened: A reading that was opened before: nothing is read twice, and only later changes are published.
        tell: Called when the file is missing or unreadable, when it is back (it is followed again), and when it was
            replaced.

    Raises:
        NothingToRead, UnknownFormat, PackedFile: there never was anything to follow.
    """
    follower = Follower(
        path, publish, format=format, cancelled=lambda: rest(0), opened=opened, tell=tell
    )
    try:
        took = follower.look()
        while not rest(max(OFTEN, took)):
            took = follower.look()
    except Cancelled:
        return


def follow_newest(
    folder: Path | str,
    publish: Publish,
    rest: Rest,
    *,
    home: Path | None = None,
    switched: Callable[[Path], None] | None = None,
    opened: TranscriptReading | None = None,
    tell: TellNews = _tell_nobody,
) -> None:
    """Follow the newest session of a project's folder, and later each newer one. The first may also start later."""
    newest = NewestSession(Path(folder), home)
    follower = None
    took = 0.0
    try:
        while not rest(max(OFTEN, took)):
            if (path := newest.look()) is not None:
                follower = Follower(
                    path, publish, cancelled=lambda: rest(0), opened=opened, tell=tell
                )
                opened = None
                if switched is not None:
                    switched(path)
            if follower is not None:
                took = follower.look()
    except Cancelled:
        return


class Follower:
    """Follows one transcript with its companions. `look` does all the work; the caller decides when and on which
    thread.
    """

    def __init__(
        self,
        path: Path | str,
        publish: Publish,
        *,
        format: str | None = None,  # noqa: A002
        cancelled: Callable[[], bool] | None = None,
        opened: TranscriptReading | None = None,
        tell: TellNews = _tell_nobody,
    ) -> None:
        self.path = Path(path)
        self._publish = publish
        self._format = format
        self._tell = tell
        self._why = ""
        """Why the file can no longer be read; empty while it can."""
        self._missed: tuple[str, float] | None = None
        """A reason for which the file cannot be read, and the time at which it is reported."""
        self._told_lost = False
        self._rewritten = ""
        """How the file was replaced or changed, until it has been read again."""
        self._progress = ReadProgress(cancelled=cancelled)
        self._transcript: TranscriptReading | None = None
        self._due = 0.0
        self._fed = monotonic()
        """When companions are searched for next, and when something was read last."""
        self._tried: FileStat | None = None
        self._since = monotonic()
        self._ever = False
        if opened is not None and opened.path == self.path and not is_packed(self.path):
            opened.progress = self._progress
            self._transcript = opened
            self._ever = True
        if transcript_stat(self.path) is None:
            raise NothingToRead(f"there is no file {self.path}")

    def look(self) -> float:
        """Read what is new, and publish the session if there was anything. Raises as `follow` says, and Cancelled.

        Returns the seconds that reading took. A caller that rests as long leaves half of the processor to the display.
        """
        begun = monotonic()
        try:
            if self._transcript is None:
                fed = self._begin()
            else:
                fed = self._continue(self._transcript)
        except Rewritten as change:
            self._transcript = None
            self._rewritten = str(change)
            fed = self._begin()
        session = None
        if fed and self._transcript is not None:
            session = self._transcript.session()
        took = monotonic() - begun
        if session is not None:
            self._ever = True
            self._publish(session)
        if self._ever:
            self._report()
        return took

    def _report(self) -> None:
        """Report once what happened to the file. A loss is reported only if the file is still missing after a while."""
        exists = file_stat(split_session_path(self.path)[0]) is not None
        why = self._why if exists else f"{self.path} no longer exists"
        if why:
            self._report_loss(why)
            return
        self._missed = None
        if self._transcript is None:
            return
        if self._told_lost:
            self._tell(FollowNews(f"{self.path} is back and is followed again."))
        elif self._rewritten:
            self._tell(
                FollowNews(f"{self._rewritten}: the file was read again from the beginning.")
            )
        self._told_lost = False
        self._rewritten = ""

    def _report_loss(self, why: str) -> None:
        if self._missed is None or self._missed[0] != why:
            self._missed = why, monotonic() + PATIENCE
        elif self._missed[1] < monotonic():
            self._missed = why, inf
            self._told_lost = True
            later = "The requests that were read before are still shown; the file is followed again when it is back."
            self._tell(FollowNews(f"{why}. {later}", is_lost=True))

    def _begin(self) -> bool:
        """Read the whole file. A file that cannot be read yet is tried again as soon as it has changed."""
        now = transcript_stat(self.path)
        if not self._is_worth_a_try(now):
            return False
        try:
            with no_collection():
                self._read()
        except (NothingToRead, UnknownFormat) as failure:
            self._transcript = None
            is_empty = now is not None and now.size == 0
            self._why = (
                f"{self.path} is empty" if is_empty else self._named(str(failure)).rstrip(".")
            )
            if self._is_waited_for(now):
                return False
            raise type(failure)(self._named(str(failure))) from None
        self._why = ""
        return True

    def _is_worth_a_try(self, now: FileStat | None) -> bool:
        if now is not None and now != self._tried:
            self._tried = now
            self._since = monotonic()
            return True
        return not self._is_waited_for(now)

    def _is_waited_for(self, now: FileStat | None) -> bool:
        """May the file still become readable?"""
        return self._ever or now is None or now.size == 0 or self._since + PATIENCE > monotonic()

    def _named(self, failure: str) -> str:
        """Return the message of a failure, with the path if the message does not name it."""
        return failure if str(self.path) in failure else f"{self.path}: {failure}"

    def _read(self) -> None:
        if os.path.isdir(self.path):
            raise NothingToRead(f"{self.path} is a folder; name a file in it")
        if is_packed(self.path):
            raise PackedFile(f"{self.path} is packed: it can be opened, but not followed")
        transcript = TranscriptReading(self.path, self._format, self._progress, growing=True)
        read_whole(transcript)
        if self._format is None:
            transcript, _ = read_with_other_format(transcript, [])
        elif not self._ever:
            refuse_empty(transcript)
        self._transcript = transcript
        self._read_companions(transcript)

    def _continue(self, transcript: TranscriptReading) -> bool:
        fed = transcript.read_more()
        if fed:
            self._fed = monotonic()
        return (monotonic() >= self._due and self._read_companions(transcript)) or fed

    def _read_companions(self, transcript: TranscriptReading) -> bool:
        """Feed the companions that are new. Return whether there were any. Takes a tenth of the time at most."""
        begun = monotonic()
        has_found = False
        if companions := transcript.new_companions():
            session = transcript.reader.session()
            for path, name in companions:
                with suppress(NothingToRead):  # it is checked again when it has changed
                    has_found = transcript.read_companion(path, name, session) or has_found
        now = monotonic()
        quiet = min(_COMPANIONS_MOST, (now - self._fed) / 10)
        self._due = now + max(_COMPANIONS, 10 * (now - begun), quiet)
        return has_found
