"""`make bench`: runs every `tests/bench/bench_*.py`, each in a process of its own, and says on which machine.

A measurement has a `main()` that returns rows of (what, figure, unit). Where `what` holds "asked: at least N" or
"asked: at most N", the row is judged. Figures are ratios within one run wherever that is possible; machines differ.
Arguments choose measurements by a part of their name.
"""

import os
import platform
import re
import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ASKED = re.compile(r"asked: (at least|at most) ([\d.,]+)")


def machine() -> str:
    """Processor, cores and Python, in one line."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists() and (named := re.search(r"model name\s*:\s*(.+)", cpuinfo.read_text())):
        processor = named[1]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{processor}, {cores} cores, Python {platform.python_version()}, {platform.system()}"


def verdict(what: str, figure: float) -> str:
    """`ok` or `MISSED`, where something was asked."""
    asked = ASKED.search(what)
    if asked is None:
        return ""
    limit = float(asked[2].replace(",", ""))
    return "ok" if (figure >= limit if asked[1] == "at least" else figure <= limit) else "MISSED"


def measure(path: str) -> None:
    """Run one measurement here and print its rows."""
    for what, figure, unit in runpy.run_path(path)["main"]():
        print(f"{figure:12,.2f} {unit:12} {verdict(what, figure):7} {what}", flush=True)


def main() -> int:
    """Exit status: 0 where every measurement could be made (whatever it said)."""
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2])
        return 0
    print(machine(), flush=True)
    failed = 0
    for path in sorted((ROOT / "tests" / "bench").glob("bench_*.py")):
        if not sys.argv[1:] or any(word in path.stem for word in sys.argv[1:]):
            print(f"--- {path.stem.removeprefix('bench_')}", flush=True)
            failed += (
                subprocess.run([sys.executable, __file__, "--one", str(path)], cwd=ROOT, check=False).returncode != 0
            )
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
