"""Measures speed: every `bench_*.py` beside this file, each in its own process. `make bench`; ARGS="reading" for one.

A bench file has `main()` that returns rows: what was measured, the figure, its unit. Where one of them holds "asked: at
most N" (or at least, <=, <, >=, >), the figure is judged. Figures are ratios within one run wherever they can be, as
machines differ.
"""

import importlib
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

Row = tuple[str, float, str]
_HERE = Path(__file__).resolve().parent
_ASKED = re.compile(r"asked: (at most|at least|<=?|>=?) ([\d,.]*\d)")


def main(names: list[str]) -> int:
    """Run the benches whose names hold one of `names` (all, where there are none). 0 where none of them broke."""
    print(_machine(), flush=True)
    broken = 0
    for path in sorted(_HERE.glob("bench_*.py")):
        if not names or any(name in path.stem for name in names):
            print(f"\n{path.stem.removeprefix('bench_')}", flush=True)
            command = [sys.executable, "-m", "tests.bench.run", "--one", path.stem]
            broken += subprocess.run(command, cwd=_HERE.parent.parent, check=False).returncode != 0
    return bool(broken)


def measure(stem: str) -> None:
    """One bench, in this process, its rows as a table."""
    rows: list[Row] = importlib.import_module(f"tests.bench.{stem}").main()
    for what, figure, unit in rows:
        print(f"  {verdict(what + unit, figure):6} {figure:>12,.3f} {unit:24} {what}", flush=True)


def verdict(text: str, figure: float) -> str:
    """`ok` or `MISSED` where `text` holds what was asked, else nothing."""
    asked = _ASKED.search(text)
    if asked is None:
        return ""
    limit = float(asked[2].replace(",", ""))
    return (
        "ok"
        if (figure >= limit if asked[1] in ("at least", ">", ">=") else figure <= limit)
        else "MISSED"
    )


def keeping_bytecode() -> dict[str, str]:
    """Return an environment in which a process may keep what it compiles, as installed programs do."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _machine() -> str:
    """Processor, cores, system and Python, in one line."""
    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists() and (named := re.search(r"model name\s*:\s*(.+)", info.read_text())):
        processor = named[1]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{processor}, {cores} cores, {platform.platform(terse=True)}, Python {platform.python_version()}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1:]))
