"""`python3 -m tidewatch LOG`: the report."""

import sys
from pathlib import Path

from tidewatch.readings import read
from tidewatch.report import report


def main() -> int:
    if len(sys.argv) != 2:
        sys.stderr.write("usage: python3 -m tidewatch LOG\n")
        return 2
    with Path(sys.argv[1]).open(encoding="utf-8") as lines:
        sys.stdout.write(report(read(lines)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
