"""All checks of `make test`, one after the other, with one summary at the end.

Every check runs even where an earlier one failed: a person wants to see all that is wrong. `--no-tests` leaves out
pytest; every other argument goes to it.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
WORKERS = str(min(4, CORES + 1))
"""One more than can compute at a time: tests wait, too, for programs, sockets and timers."""
# Hundreds of programs are started here; each would compile everything again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def checks(arguments: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """(name, command) of every check, cheapest first."""
    yield "format", [PYTHON, "-m", "ruff", "format", "--check", "--quiet", "."]
    yield "lint", [PYTHON, "-m", "ruff", "check", "--quiet", "."]
    yield "imports", [str(Path(PYTHON).parent / "lint-imports"), "--no-cache", "--no-logo"]
    yield "readable", [PYTHON, "packaging/readable.py"]
    yield "types", [PYTHON, "-m", "mypy"]
    if "--no-tests" not in arguments:
        count = os.environ.get("WORKERS", WORKERS)
        workers = ["-n", count, "--dist", "worksteal"]  # the heaviest files come last
        yield "tests", [PYTHON, "-m", "pytest", "-q", *workers, *arguments]


def run(name: str, command: list[str]) -> tuple[str, bool, float]:
    """Run one check with its output shown. (name, did it pass, seconds)."""
    print(f"--- {name}", flush=True)
    start = time.monotonic()
    status = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode
    return name, status == 0, time.monotonic() - start


def start_compiling_tests() -> subprocess.Popen[bytes]:
    """Compile the tests and what they import in the background, while other checks leave a core idle.

    Each worker of pytest would compile all of it at the same time as the others. Errors are found by the check itself.
    """
    command = [PYTHON, "-m", "pytest", "--collect-only", "-q"]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=ROOT, stdin=nothing, stdout=nothing, stderr=nothing)


def main() -> int:
    """Exit status: 0 where everything passed."""
    compiling = None if "--no-tests" in sys.argv else start_compiling_tests()
    results = list[tuple[str, bool, float]]()
    for name, command in checks(sys.argv[1:]):
        if name == "tests" and compiling is not None:
            compiling.wait()
        results.append(run(name, command))
    print("---")
    for name, passed, seconds in results:
        print(f"{name:10} {'ok' if passed else 'FAILED':8} {seconds:6.1f} s")
    failed = [name for name, passed, _ in results if not passed]
    print(f"make test: {', '.join(failed)} failed" if failed else "make test: all is well")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
