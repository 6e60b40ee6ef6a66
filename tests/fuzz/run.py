"""Damaged files for as long as is wanted: `make fuzz`; ARGS="--minutes 5", "--from 1000", "--only 4711".

Every input has a number; a failure is told with it, once for each place, and its input is kept in `.fuzz/`.
"""

import argparse
import os
import re
import tempfile
import time
from collections import Counter
from pathlib import Path

from inspector.transcripts import stores
from tests.fuzz.samples import samples
from tests.fuzz.test_fuzz import INPUTS
from tests.fuzz.trial import Failure, Trials

_KEPT = Path(__file__).resolve().parent.parent.parent / ".fuzz"
_PLACE = re.compile(r'File ".*?(inspector/[^"]*)", line (\d+)')


def main() -> int:
    """0 where nothing failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument(
        "--from", type=int, default=INPUTS, dest="first", help="number of the first input"
    )
    parser.add_argument("--only", type=int, help="this one input")
    asked = parser.parse_args()
    until, number, done, places = (
        time.monotonic() + 60 * asked.minutes,
        asked.first,
        0,
        Counter[str](),
    )
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        stores._REST = 0.0  # a database that is damaged is tried again and again
        trials = Trials(samples(Path(folder)), Path(folder), thorough=True)
        while time.monotonic() < until and (asked.only is None or not done):
            for one in trials.failures(asked.only if asked.only is not None else number):
                places[_place(one)] += 1
                if places[_place(one)] == 1:
                    _tell(one, trials)
            number, done = number + 1, done + 1
    print(f"{done:,} inputs, {places.total():,} failures at {len(places):,} places")
    for place, count in places.most_common():
        print(f"  {count:>6,} x {place}")
    return bool(places)


def _place(one: Failure) -> str:
    """The innermost line of the program, or what was done where it took too long."""
    lines = _PLACE.findall(one.what)
    return (
        f"{lines[-1][0]}:{lines[-1][1]} {one.what.strip().splitlines()[-1][:80]}"
        if lines
        else one.doing.split()[0]
    )


def _tell(one: Failure, trials: Trials) -> None:
    _KEPT.mkdir(exist_ok=True)
    name, data = trials.made(one.number)
    (_KEPT / f"{one.number}-{name}").write_bytes(data)
    print(one, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
