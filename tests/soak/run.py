"""`make soak`: what takes too long for the suite. Each campaign ends in counts and a list of failures."""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.soak.following import FollowingReport, run_following
from tests.soak.kills import run_kills

FOLLOWED_MB, GROWN_MB = 106, 44
LATE_S, IDLE_SHARE, SINGLE_S = 2.0, 0.02, 0.05
"""Asked of the window that follows a file growing at 300 KB/s: seconds that it may be behind, share of a core when the
file rests, seconds of processor time for one request that is appended."""


def main() -> int:
    """Run all campaigns; the exit status is 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.run", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, metavar="N", help="proxies to kill (100)")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument(
        "--grow",
        type=int,
        default=GROWN_MB,
        metavar="MB",
        help="growth of a followed file, 0 = skip",
    )
    arguments = parser.parse_args()
    failed = arguments.kills > 0 and _kill(arguments.kills, arguments.seed)
    failed = (arguments.grow > 0 and _follow(arguments.grow)) or failed
    return int(failed)


def _kill(count: int, seed: int) -> bool:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="soak-kills-") as folder:
        report = run_kills(Path(folder), count, seed)
    seconds = time.monotonic() - began
    print(
        f"kills: {report.kills} proxies killed, {report.answers:,} answers received in full, {seconds:.0f} s"
    )
    for failure in report.failures:
        print(f"  FAILED: {failure}")
    return bool(report.failures)


def _follow(grown: int) -> bool:
    with tempfile.TemporaryDirectory(prefix="soak-following-") as folder:
        report = run_following(Path(folder), FOLLOWED_MB, grown)
    print(
        f"following: {report.requests:,} requests; behind at most {max(report.lags):.1f} s and {max(report.behind)} "
        f"requests, median {median(report.lags):.1f} s; {report.busy_share:.0%} of a core while the file grew, "
        f"{report.idle_share:.1%} from 5 s after its end; one request: {report.single * 1e3:.0f} ms of processor time, "
        f"shown after {report.single_late:.1f} s"
    )
    failures = _following_failures(report)
    for failure in failures:
        print(f"  FAILED: {failure}")
    return bool(failures)


def _following_failures(report: FollowingReport) -> list[str]:
    failures = []
    if max(report.lags) > LATE_S:
        failures.append(f"the window was {max(report.lags):.1f} s behind (asked: at most {LATE_S})")
    if report.idle_share >= IDLE_SHARE:
        failures.append(
            f"it used {report.idle_share:.1%} of a core when the file rested (asked: < {IDLE_SHARE:.0%})"
        )
    if report.single > SINGLE_S:
        failures.append(
            f"one request cost {report.single * 1e3:.0f} ms (asked: at most {SINGLE_S * 1e3:.0f})"
        )
    return failures


if __name__ == "__main__":
    sys.exit(main())
