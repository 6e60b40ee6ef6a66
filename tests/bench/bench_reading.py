"""Reading: against the JSON parser alone, the first picture, all of it, memory, and how both grow.

Times and memory of whole files are taken in a process of their own for each.
"""

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import orjson

from inspector.core.session import Session
from inspector.core.tokens.exact import load_tokenizer
from inspector.core.tokens.pressure import thread_pressures
from inspector.core.tokens.weigher import weigher_of
from inspector.transcripts.feeder import values_of
from inspector.transcripts.files import open_transcript
from tests.bench.made import make_session
from tests.bench.run import Row
from tests.shared import transcripts

_ROUNDS = 7


def main() -> list[Row]:
    """Everything about reading."""
    rows: list[Row] = []
    for path in transcripts("derived-merged/*/*.jsonl"):
        size = path.stat().st_size / 1e6
        rows.append(
            (
                f"{path.stem[:8]}, {size:.0f} MB: reading / orjson over its lines",
                _ratio(path),
                "x (asked: <= 2.5)",
            )
        )
    with tempfile.TemporaryDirectory() as folder:
        taken = {
            size: _apart(make_session(Path(folder) / f"{size}.jsonl", size))
            for size in (10, 100, 300)
        }
        traced = {
            path.stem: _apart(_multiplied(path, Path(folder) / path.name, 50)) for path in _traces()
        }
        long = Path(folder) / "long.jsonl"
        _long_line(long, 200)
        one = _apart(long)
    rows += [
        ("100 MB generated: first picture", taken[100]["first"], "s (asked: < 1)"),
        (
            "100 MB generated: sizes of the first picture",
            taken[100]["sized"],
            "s more (asked: <= 0.3)",
        ),
        ("100 MB generated: all", taken[100]["all"], "s (asked: < 3)"),
        ("100 MB generated: loading the tokenizer, beside the window", taken[100]["loading"], "s"),
        (
            "100 MB generated: weighing all / reading all",
            taken[100]["weighing"] / taken[100]["all"],
            "x",
        ),
        ("100 MB generated: peak memory", taken[100]["peak"], "MB (asked: < 600)"),
        (
            "300 MB / 10 MB: time for a megabyte",
            taken[300]["all"] / taken[10]["all"] / 30,
            "x (asked: about 1)",
        ),
        (
            "300 MB / 100 MB: time for a megabyte",
            taken[300]["all"] / taken[100]["all"] / 3,
            "x (asked: about 1)",
        ),
        ("300 MB: peak memory for a megabyte", taken[300]["grown"] / 300, "MB"),
        ("100 MB: peak memory for a megabyte", taken[100]["grown"] / 100, "MB"),
        ("10 MB: peak memory for a megabyte", taken[10]["grown"] / 10, "MB"),
        *(
            (f"50 MB of traces like {name}: all", each["all"], "s (asked: < 1.5)")
            for name, each in traced.items()
        ),
        ("one line of 200 MB: all", one["all"], "s"),
        ("one line of 200 MB: peak memory", one["peak"], "MB"),
    ]
    return rows


def _ratio(path: Path) -> float:
    """Time to open / time to parse, in turns, the median of each."""
    lines = path.read_bytes().splitlines()
    opening, parsing = [], []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        for line in lines:
            orjson.loads(line)
        parsing.append(time.perf_counter() - start)
        start = time.perf_counter()
        open_transcript(path)
        opening.append(time.perf_counter() - start)
    return median(opening) / median(parsing)


def _traces() -> list[Path]:
    return [path for kind in ("otel-json", "openinference", "langfuse", "langsmith", "openai-agents-trace",
                              "vscode-chatreplay") for path in transcripts(f"{kind}/**/*.json*")]  # fmt: skip


_NAME = re.compile(
    r'(?<="id":")[^"]{3,}|(?<=_id":")[^"]{3,}|(?<=Id":")[^"]{3,}|(?<=")[0-9a-f-]{16,36}(?=")'
)


def _multiplied(path: Path, made: Path, megabytes: int) -> Path:
    """So many copies of a file as make up a size, each value a line: other spans, of other traces."""
    lines = [orjson.dumps(value).decode() for _, value in values_of(path.read_text())]
    copy, written = 0, 0
    with made.open("w") as file:
        while written < megabytes * 1_000_000:
            mark = f"\\g<0>{copy:08x}"
            written += sum(file.write(_NAME.sub(mark, one) + "\n") for one in lines)
            copy += 1
    return made


def _long_line(path: Path, megabytes: int) -> None:
    """A session whose second line holds so much text."""
    make_session(path, 0)
    head = path.read_bytes().splitlines(keepends=True)[0]
    text = "0123456789 lorem ipsum\\n" * (megabytes * 1_000_000 // 24)
    path.write_bytes(head + head.replace(b"Please look", text.encode() + b" Please look", 1) + head)


def _apart(path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.bench_reading", str(path)]
    return dict(
        json.loads(
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
        )
    )


def _one(path: Path) -> None:
    """Open one file in this process and print what it took."""
    before = _peak()
    start = time.perf_counter()
    shown: list[float] = []
    sized: list[float] = []

    def picture(session: Session) -> None:
        for request in session.main.requests[-1:]:
            request.buffer()
        shown.append(time.perf_counter() - start)
        sized.append(
            _seconds(
                partial(thread_pressures, session.main, weigher_of(session.main, is_rough=True))
            )
        )

    session = open_transcript(path, first=picture)
    took = time.perf_counter() - start - sum(sized)
    found = {"first": [*shown, took][0], "all": took, "peak": _peak(), "grown": _peak() - before}
    found["sized"] = [*sized, 0.0][0]
    found["loading"] = _seconds(load_tokenizer)
    found["weighing"] = _seconds(partial(thread_pressures, session.main))
    print(json.dumps(found))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _peak() -> float:
    """Most memory held so far, in MB (10^6 bytes). Linux hands the older figure of `getrusage` on to a new process."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(
            int(line.split()[1]) * 1024 / 1e6
            for line in status.read_text().splitlines()
            if "VmHWM" in line
        )
    return (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        * (1 if sys.platform == "darwin" else 1024)
        / 1e6
    )


if __name__ == "__main__":
    _one(Path(sys.argv[1]))
