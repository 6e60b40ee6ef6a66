"""Formats of third parties, found by the entry points `inspector.formats`. A broken plug-in only yields a note."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from inspector.core.formats.detect import FORMATS
from inspector.core.formats.format import Format, Head

GROUP = "inspector.formats"


@cache
def all_formats() -> tuple[tuple[Format, ...], tuple[str, ...]]:
    """Return all formats, and a sentence for each plug-in that could not be loaded."""
    formats = list(FORMATS)
    notes = []
    for point in entry_points(group=GROUP):
        loaded = load(point)
        if isinstance(loaded, Format):
            formats.append(loaded)
        else:
            notes.append(loaded)
    return tuple(formats), tuple(notes)


def load(point: EntryPoint) -> Format | str:
    """Return the format that an entry point names, or a sentence about why it could not be loaded."""
    try:
        loaded = point.load()
    except Exception as error:  # noqa: BLE001 - anybody's code runs here
        return f"The format plug-in {point.name!r} could not be loaded: {type(error).__name__}: {error}"
    if not isinstance(loaded, Format):
        return f"The format plug-in {point.name!r} is no Format but {type(loaded).__name__}; it was left out."
    return replace(loaded, sniff=_safe_sniff(loaded))


def _safe_sniff(format: Format) -> Callable[[Head], float]:  # noqa: A002
    def sniff(head: Head) -> float:
        try:
            return float(format.sniff(head))
        except Exception:  # noqa: BLE001 - anybody's code runs here; a plug-in that fails is not sure
            return 0.0

    return sniff
