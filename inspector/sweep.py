"""Try a grid of settings on many sessions in parallel processes: the cost of each, and the facts needed again.

Work is split into small batches: one session, a few points of the grid. A process keeps the sessions it opened last, so
it opens a session only once for several batches. With a Dask scheduler the same batches go to its workers, which need
this program, and the sessions under the same paths.
"""

import importlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from inspector.core.answering import offline
from inspector.core.errors import Cancelled, InspectorError
from inspector.core.policies.place import settings_for
from inspector.core.policies.settings import SettingPairs
from inspector.core.replay.driver import Ground
from inspector.core.replay.pins import pins_kept
from inspector.core.replay.report import ReplayReport, replay_report
from inspector.core.tokens.windows import Window, find_window
from inspector.extensions.policies import find_policy
from inspector.extensions.windows import user_windows
from inspector.safety.sealing import seal
from inspector.transcripts.files import open_transcript

BATCH = 8
"""Points of the grid in one batch, at most."""
_POLL_S = 0.1
_KEPT = 2


@dataclass(frozen=True, slots=True)
class Sweep:
    """The plan of a sweep. `settings` hold at every point; `grid` lists the values of each key that varies."""

    files: tuple[str, ...]
    policy: str
    grid: tuple[tuple[str, tuple[str, ...]], ...]
    settings: SettingPairs = ()
    thread: str = "main"
    format: str | None = None
    window: int | None = None
    remote: bool = False
    pins: tuple[str, ...] = ()
    """Texts that should survive compaction, in addition to the user's instructions that are found."""

    def points(self) -> tuple[SettingPairs, ...]:
        """Return every combination of the values; the last key changes fastest."""
        keys = [key for key, _ in self.grid]
        combinations = product(*[values for _, values in self.grid])
        return tuple(tuple(zip(keys, values, strict=True)) for values in combinations)


@dataclass(frozen=True, slots=True)
class Cell:
    """The figures of one point of the grid on one session. `error`: why there are none."""

    file: str
    point: SettingPairs
    figures: Mapping[str, Any]
    error: str = ""
    took_s: float = field(default=0.0, compare=False)
    """Seconds that the point took, with its share of the time to open the session."""


@dataclass(frozen=True, slots=True)
class _Batch:
    sweep: Sweep
    file: str
    points: tuple[SettingPairs, ...]


@dataclass(frozen=True, slots=True)
class _SessionGround:
    """The data of one session that all points of the grid share."""

    ground: Ground
    window: Window
    client: str


def sweep(
    plan: Sweep,
    *,
    workers: int | None = None,
    dask: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> tuple[Cell, ...]:
    """Run a sweep and return every cell, by file and then by point.

    Args:
        plan: The plan.
        workers: Number of processes; None: one per core.
        dask: Address of a Dask scheduler, which is used instead of processes.
        progress: Called with (cells done, all cells).
        cancelled: Asked repeatedly; True stops the sweep.

    Raises:
        InspectorError: A policy, setting or value is not valid. Raised before any work is done.
        Cancelled: The sweep was stopped.
    """
    points = plan.points()
    check(plan, points)
    workers = workers or os.cpu_count() or 1
    size = max(1, min(BATCH, len(points) * len(plan.files) // (8 * workers)))
    batches = [
        _Batch(plan, file, points[at : at + size])
        for file in plan.files
        for at in range(0, len(points), size)
    ]
    by_key: dict[tuple[str, SettingPairs], Cell] = {}
    total = len(points) * len(plan.files)
    run = _by_dask(batches, dask, cancelled) if dask else _by_processes(batches, workers, cancelled)
    for cells in run:
        by_key.update(((cell.file, cell.point), cell) for cell in cells)
        if progress is not None:
            progress(len(by_key), total)
    return tuple(by_key[file, point] for file in plan.files for point in points)


def check(plan: Sweep, points: Sequence[SettingPairs]) -> None:
    """Raise InspectorError unless the policy exists and accepts the settings of every point."""
    policy = find_policy(plan.policy)
    for point in points:
        policy.settings([*plan.settings, *point], plan.window)


def _by_processes(
    batches: Sequence[_Batch], workers: int, cancelled: Callable[[], bool]
) -> Iterator[tuple[Cell, ...]]:
    context = get_context("spawn")  # the caller may have threads, which do not survive a fork
    stop = context.Event()
    pool = ProcessPoolExecutor(min(workers, len(batches)) or 1, context, _begin, (stop,))
    try:
        waiting: set[Future[tuple[Cell, ...]]] = {
            pool.submit(run_batch, batch) for batch in batches
        }
        while waiting:
            done, waiting = wait(waiting, _POLL_S, FIRST_COMPLETED)
            if cancelled():
                raise Cancelled("The sweep was stopped.")
            for future in done:
                yield future.result()
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _by_dask(
    batches: Sequence[_Batch], address: str, cancelled: Callable[[], bool]
) -> Iterator[tuple[Cell, ...]]:
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise InspectorError(
            "--dask needs the package `distributed`: pip install 'distributed>=2024.1'."
        ) from None
    with distributed.Client(address) as client:
        futures = [client.submit(run_batch, batch, pure=False) for batch in batches]
        for future in distributed.as_completed(futures):
            if cancelled():
                client.cancel(futures)
                raise Cancelled("The sweep was stopped.")
            yield future.result()


class _Stop:
    """Holds the event by which the parent process stops the work; set once in each process of a pool."""

    event: Any = None


def _begin(stop: Any) -> None:
    seal()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl+C
    _Stop.event = stop


def _is_stopped() -> bool:
    return _Stop.event is not None and bool(_Stop.event.is_set())


def run_batch(batch: _Batch) -> tuple[Cell, ...]:
    """Run a batch in a worker process. A session that cannot be opened yields cells with an error."""
    start = time.perf_counter()
    cells = _cells(batch)
    took = (time.perf_counter() - start) / len(cells)
    return tuple(replace(cell, took_s=took) for cell in cells)


def _cells(batch: _Batch) -> tuple[Cell, ...]:
    plan = batch.sweep
    try:
        ground = _ground(plan, batch.file, Path(batch.file).stat().st_mtime_ns)
    except (InspectorError, OSError) as why:
        return tuple(Cell(batch.file, point, figures={}, error=str(why)) for point in batch.points)
    return tuple(_cell(ground, plan, batch.file, point) for point in batch.points)


def _cell(ground: _SessionGround, plan: Sweep, file: str, point: SettingPairs) -> Cell:
    policy = find_policy(plan.policy)
    try:
        settings = settings_for(
            policy, pairs=(*plan.settings, *point), window=ground.window, client=ground.client
        )
        replayed = replay_report(
            ground.ground,
            policy=policy,
            settings=settings,
            answer=offline,
            remote=plan.remote,
            cancelled=_is_stopped,
        )
    except InspectorError as why:
        return Cell(file, point, figures={}, error=str(why))
    return Cell(file, point, figures(replayed))


@lru_cache(maxsize=_KEPT)
def _ground(plan: Sweep, file: str, stamp: int) -> _SessionGround:
    session = open_transcript(file, format=plan.format)
    try:
        thread = session.main if plan.thread == "main" else session.thread(plan.thread)
    except KeyError:
        raise InspectorError(f"{file}: there is no thread {plan.thread!r}.") from None
    window = find_window(session, thread, None, plan.window, user_windows())
    ground = Ground(thread, window=window.tokens, pins=plan.pins, calls=session.side_calls)
    return _SessionGround(ground, window, session.client)


def figures(replayed: ReplayReport) -> dict[str, Any]:
    """Return the numbers that a sweep compares. `cost_usd` is None if a price is not known."""
    kept_pins, pins = pins_kept(replayed.pins)
    cost = replayed.spent.cost_usd
    tokens = ("prompt", "cache_read", "cache_write", "summariser_input", "summariser_output")
    return {
        "requests": len(replayed.rows),
        "compactions": len(replayed.compactions),
        **{name: getattr(replayed, name) for name in ("peak", "overflows", "over")},
        **{name: getattr(replayed.spent, name) for name in tokens},
        "cost_usd": None if cost is None else float(cost),
        **{
            name: getattr(replayed.losses, name)
            for name in ("facts", "paraphrased", "lost", "needed_later")
        },
        "regret": len(replayed.losses.regrets),
        **{name: getattr(replayed.losses, name) for name in ("rereads", "reread_tokens")},
        "pins_kept": kept_pins,
        "pins": pins,
    }


def joined(cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the figures of one point over all sessions: sums, but the largest peak.

    A figure is None if a session has none. Cells with errors are counted and left out.
    """
    good = [cell.figures for cell in cells if not cell.error]
    whole: dict[str, Any] = {"sessions": len(good), "failed": len(cells) - len(good)}
    for name in good[0] if good else ():
        values = [cell_figures[name] for cell_figures in good]
        combine = max if name == "peak" else sum
        whole[name] = None if None in values else combine(values)
    return whole
