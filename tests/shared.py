"""Where the real transcripts lie: beside the checkout, or where CONTEXT_INSPECTOR_TRANSCRIPTS says. None = nowhere.

They are never copied into the repository; tests that need them are skipped where they are not.
"""

import os
from collections.abc import Iterator
from pathlib import Path

_BESIDE = Path(__file__).resolve().parent.parent.parent / "shared" / "transcripts"
_FOLDER = Path(os.environ.get("CONTEXT_INSPECTOR_TRANSCRIPTS") or _BESIDE)

TRANSCRIPTS: Path | None = _FOLDER if _FOLDER.is_dir() else None


def transcripts(pattern: str) -> Iterator[Path]:
    """The real transcripts that match `pattern` (as in Path.glob), in name order; none where there are none."""
    return iter(sorted(TRANSCRIPTS.glob(pattern)) if TRANSCRIPTS else ())
