"""A grid of settings over sessions, in processes."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from inspector import sweep as sweeps
from inspector.core.errors import Cancelled, InspectorError
from inspector.sweep import Cell, Sweep, joined, run_batch, sweep

SAMPLE = str(Path(__file__).resolve().parent.parent / "resources" / "sample.jsonl")
WANTED = Sweep(
    (SAMPLE,), "roku", (("mid_ratio", ("0.3", "0.6")), ("microcompact_retain_recent", ("1", "9")))
)
POINTS = [
    (("mid_ratio", ratio), ("microcompact_retain_recent", kept))
    for ratio in ("0.3", "0.6")
    for kept in ("1", "9")
]


@pytest.fixture
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without processes: the same batches, one after the other."""

    def run(
        batches: Any, workers: int, cancelled: Callable[[], bool]
    ) -> Iterator[tuple[Cell, ...]]:
        for batch in batches:
            if cancelled():
                raise Cancelled("stopped")
            yield run_batch(batch)

    monkeypatch.setattr(sweeps, "_by_processes", run)


def test_every_point_on_every_session(at_home: None, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    absent = str(tmp_path / "absent.jsonl")
    two = Sweep((SAMPLE, absent), WANTED.policy, WANTED.grid)
    cells = sweep(two, workers=2, progress=lambda *at: seen.append(at))
    assert [(cell.file, cell.point) for cell in cells] == [
        (file, point) for file in (SAMPLE, absent) for point in POINTS
    ]
    good = [cell.figures for cell in cells[:4]]
    assert [cell.error != "" for cell in cells] == [False] * 4 + [True] * 4
    assert good[2]["regret"] > good[3]["regret"]  # of 60%: one result kept, or nine
    assert good[0]["peak"] <= good[2]["peak"]
    assert seen[-1] == (8, 8)
    whole = joined([cells[0], cells[4]])
    assert (whole["sessions"], whole["failed"], whole["regret"]) == (1, 1, good[0]["regret"])


def test_processes_find_the_same(at_home: None, monkeypatch: pytest.MonkeyPatch) -> None:
    here = sweep(WANTED, workers=1)
    monkeypatch.undo()
    there = sweep(WANTED, workers=2)
    assert [(cell.point, dict(cell.figures)) for cell in here] == [
        (cell.point, dict(cell.figures)) for cell in there
    ]


def test_it_stops_when_asked() -> None:
    stop = threading.Event()
    many = Sweep((SAMPLE,), "roku", (("microcompact_retain_recent", tuple(map(str, range(200)))),))
    with pytest.raises(Cancelled):
        sweep(many, workers=1, progress=lambda *_: stop.set(), cancelled=stop.is_set)


@pytest.mark.parametrize(
    ("policy", "grid"),
    [("nobody", ()), ("roku", (("nonsense", ("1",)),)), ("roku", (("mid_ratio", ("0.5", "7")),))],
)
def test_what_cannot_be_is_told_before_any_work(policy: str, grid: Any) -> None:
    with pytest.raises(InspectorError):
        sweep(Sweep((SAMPLE,), policy, grid))


def test_a_thread_that_is_not_there_is_an_error_of_the_cell(at_home: None) -> None:
    (cell,) = sweep(Sweep((SAMPLE,), "roku", (("mid_ratio", ("0.5",)),), thread="nobody"))
    assert "nobody" in cell.error
    assert joined([cell]) == {"sessions": 0, "failed": 1}


class Future:
    def __init__(self, value: Any) -> None:
        self._value = value

    def result(self) -> Any:
        return self._value


class Client:
    """What of Dask's client is used."""

    addresses: list[str] = []  # noqa: RUF012 - the test's own notebook

    def __init__(self, address: str) -> None:
        self.addresses.append(address)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, function: Callable[..., Any], *arguments: Any, pure: bool) -> Future:
        assert not pure
        return Future(function(*arguments))

    def cancel(self, futures: Any) -> None:
        self.addresses.append("cancelled")


def test_a_dask_cluster_gets_the_same_batches(
    at_home: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("distributed")
    module.Client = Client  # type: ignore[attr-defined]
    module.as_completed = lambda futures: reversed(futures)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "distributed", module)
    Client.addresses.clear()
    assert sweep(WANTED, dask="tcp://127.0.0.1:1") == sweep(WANTED, workers=1)
    assert Client.addresses == ["tcp://127.0.0.1:1"]
    with pytest.raises(Cancelled):
        sweep(WANTED, dask="tcp://127.0.0.1:1", cancelled=lambda: True)
    assert Client.addresses[-1] == "cancelled"


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InspectorError, match="pip install"):
        sweep(WANTED, dask="tcp://127.0.0.1:1")


def test_parcels_are_small_enough_for_all(at_home: None, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(sweeps, "run_batch", lambda batch: ())

    def count(batches: Any, workers: int, cancelled: Any) -> Iterator[tuple[Cell, ...]]:
        sizes.extend(len(batch.points) for batch in batches)
        yield tuple(Cell(batch.file, point, {}) for batch in batches for point in batch.points)

    monkeypatch.setattr(sweeps, "_by_processes", count)
    grid = (("microcompact_retain_recent", tuple(map(str, range(64)))),)
    sweep(Sweep((SAMPLE,) * 10, "roku", grid), workers=os.cpu_count())
    assert max(sizes) <= sweeps.BATCH
    assert sum(sizes) == 640
