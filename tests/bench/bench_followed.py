"""What it costs the window to follow a large file that grows, as `make soak` measures it.

The window is a process of its own, on a screen of its own if there is an Xvfb.
"""

import tempfile
from pathlib import Path

from tests.bench.run import Row
from tests.soak.following import run_following

MEGABYTES, GROWN = 106, 12


def main() -> list[Row]:
    """Rows of (what, figure, unit)."""
    with tempfile.TemporaryDirectory(prefix="bench-followed-") as folder:
        report = run_following(Path(folder), MEGABYTES, GROWN)
    size = f"{MEGABYTES} MB that grow 300 KB/s"
    return [
        (f"{size}: the window is behind at most", max(report.lags), "s (asked: at most 2)"),
        (f"{size}: 5 s after the last byte", 100 * report.idle_share, "% of a core (asked: < 2)"),
        (
            f"{size}: one more request",
            1e3 * report.single,
            "ms of processor time (asked: at most 50)",
        ),
    ]
