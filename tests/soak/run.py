"""`make soak`: what takes too long for the suite. Each campaign ends in counts and a list of failures."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.soak.kills import run_kills


def main() -> int:
    """Run all campaigns; the exit status is 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.run", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, metavar="N", help="proxies to kill (100)")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    arguments = parser.parse_args()
    return int(_kill(arguments.kills, arguments.seed))


def _kill(count: int, seed: int) -> bool:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="soak-kills-") as folder:
        report = run_kills(Path(folder), count, seed)
    seconds = time.monotonic() - began
    print(f"kills: {report.kills} proxies killed, {report.answers:,} answers received in full, {seconds:.0f} s")
    for failure in report.failures:
        print(f"  FAILED: {failure}")
    return bool(report.failures)


if __name__ == "__main__":
    sys.exit(main())
