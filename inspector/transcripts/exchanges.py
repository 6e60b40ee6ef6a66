"""The exchanges of a recording of the proxy: with heads and bodies, and as an archive."""

from collections.abc import Iterator
from pathlib import Path

from inspector import __version__
from inspector.core.errors import InspectorError
from inspector.core.formats.proxy.whole import WholeExchange, WholeExchanges, har_text
from inspector.core.session import Session
from inspector.transcripts.feeder import Feeder
from inspector.transcripts.saving import save_text
from inspector.transcripts.unpack import Source


def whole_exchanges(path: Path | str) -> Iterator[WholeExchange]:
    """Every exchange of the recording in the order in which they ended; those without an answer last.

    Raises NothingToRead.
    """
    feeder, whole, source = Feeder(), WholeExchanges(), Source(Path(path))
    for chunk in source.chunks():
        feeder.longest = source.longest
        for line, value in feeder.read(chunk):
            yield from whole.take(line, value)
    yield from whole.rest()


def find_exchange(path: Path | str, line: int) -> WholeExchange | None:
    """The exchange whose request stands in that line. O(file)."""
    return next((one for one in whole_exchanges(path) if one.line == line), None)


def save_har(session: Session, target: str, force: bool) -> None:
    """The exchanges of a recording as an HTTP archive. Raises InspectorError, also where the session has none."""
    if session.format != "proxy":
        raise InspectorError(f"{session.path} is no recording of the proxy: it holds no exchanges to export.")
    save_text(har_text(whole_exchanges(session.path), __version__), target, force, session.path)
