"""Ranges that were fitted on other sessions than those they are scored on.

What a range begins with (`inspector/core/tokens/bands.py`) was learned from recorded sessions, so a score over the same
ones flatters it. Here sessions are dealt into two halves by a seed, the units are fitted on one half and scored on the
other, in both directions. Files of one session stay together.

Figures for docs/fidelity.md; `make_fidelity.py` puts them on the page, and with `--fit` prints the units that fit all.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from parts_and_bands import KINDS, MUCH, Covered, covered_reports

from inspector.core.session import Thread
from inspector.core.tokens.bands import PRIOR, BandPrior, Bands, Growth
from inspector.core.tokens.pressure import thread_pressures
from inspector.core.tokens.quantiles import quantile
from inspector.core.words import per_cent

SEED = 25
_TARGETS: Mapping[Growth, float] = {"first": 0.955, "large": 0.97}
"""Share of the errors of a kind that the fitted ranges are to hold. Ranges of first requests also grow with what is
unknown of the model; large growth is rare, so that a fit holds fewer of other sessions."""
_TARGET = 0.965
"""The same of any other kind."""
SHARES = (0.03, 0.06, 0.09, 0.12, 0.15, 0.2)
"""Shares of the change that a unit may have."""
MOST = 500.0
"""Tokens of a unit that do not grow with the change, at most."""
FEW = 30
"""Predictions of a kind below which its unit stays as it is."""
_HALVINGS = 12


@dataclass(frozen=True, slots=True)
class PredictionError:
    """One prediction whose report came later."""

    kind: Growth
    change: int
    doubt: float
    error: int


class RecordingBands(Bands):
    """Bands that note what they are asked and taught."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[PredictionError] = []
        self._doubt = 0.0

    def copy(self) -> Bands:
        """Return plain bands: a copy looks ahead and is not taught for this session."""
        made = Bands(self._prior)
        made._errors = {kind: errors.copy() for kind, errors in self._errors.items()}
        return made

    def room(self, kind: Growth, change: int, doubt: float = 0.0) -> int:
        """Return the tokens on either side, and note the doubt."""
        self._doubt = doubt
        return super().room(kind, change, doubt)

    def learn(self, kind: Growth, change: int, error: int) -> None:
        """Note an error, and remember it."""
        self.noted.append(PredictionError(kind, change, self._doubt, error))
        super().learn(kind, change, error)


def prediction_errors_of(thread: Thread) -> list[PredictionError]:
    """Return the errors of a thread's predictions, in order."""
    bands = RecordingBands()
    thread_pressures(thread, bands=bands)
    return bands.noted


def fit_prior(threads: Sequence[Sequence[PredictionError]]) -> BandPrior:
    """Return the units by which the ranges of these threads hold as many errors as they should, as narrow as can be."""
    fitted = PRIOR
    for kind in PRIOR.units:
        if sum(one.kind == kind for errors in threads for one in errors) >= FEW:
            tried = [_fit_unit(fitted, kind, share, threads) for share in SHARES]
            enough = [
                prior
                for prior in tried
                if _held(prior, kind, threads) >= _TARGETS.get(kind, _TARGET)
            ]
            tried = enough or tried[-1:]
            widths = [_width(prior, kind, threads) for prior in tried]
            fitted = tried[widths.index(min(widths))]
    return fitted


def _fit_unit(
    prior: BandPrior, kind: Growth, share: float, threads: Sequence[Sequence[PredictionError]]
) -> BandPrior:
    """Return the prior with the least unit of that kind, with that share of the change, that holds enough errors."""
    low, high = 8.0, MOST
    target = _TARGETS.get(kind, _TARGET)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _held(_with_unit(prior, kind, middle, share), kind, threads) >= target:
            high = middle
        else:
            low = middle
    return _with_unit(prior, kind, high, share)


def _with_unit(prior: BandPrior, kind: Growth, fixed: float, share: float) -> BandPrior:
    return replace(
        prior, units={**prior.units, kind: (round(fixed, -1 if fixed >= 100 else 0), share)}
    )


def _rooms(
    prior: BandPrior, kind: Growth, threads: Sequence[Sequence[PredictionError]]
) -> Iterator[tuple[int, PredictionError]]:
    """Yield the room that each prediction of a kind would have had, with its error."""
    teaching = {kind, "grew"} if kind == "first" else {kind, "first"} if kind == "grew" else {kind}
    for errors in threads:
        bands = Bands(prior)
        for one in errors:
            if one.kind == kind:
                yield bands.room(one.kind, one.change, one.doubt), one
            if one.kind in teaching:
                bands.learn(one.kind, one.change, one.error)


def _held(prior: BandPrior, kind: Growth, threads: Sequence[Sequence[PredictionError]]) -> float:
    """Return the share of the errors within their room; of large growth where the reports show it, as in the table."""
    rooms = list(_rooms(prior, kind, threads))
    if kind == "large":
        rooms = [(room, one) for room, one in rooms if one.change - one.error > MUCH] or rooms
    return sum(abs(one.error) <= room for room, one in rooms) / len(rooms)


def _width(prior: BandPrior, kind: Growth, threads: Sequence[Sequence[PredictionError]]) -> float:
    rooms = [room for room, _ in _rooms(prior, kind, threads)]
    return sum(rooms) / len(rooms)


def deal_halves(
    named: Mapping[str, Sequence[Thread]], seed: int = SEED
) -> tuple[list[Thread], list[Thread]]:
    """Deal the threads of groups into two halves of about as many requests. `named`: by the group's name."""
    names = sorted(named)
    random.Random(seed).shuffle(names)
    halves: tuple[list[Thread], list[Thread]] = [], []
    sizes = [0, 0]
    for name in names:
        to = 0 if sizes[0] <= sizes[1] else 1
        halves[to].extend(named[name])
        sizes[to] += sum(len(thread.requests) for thread in named[name])
    return halves


def held_out_reports(
    halves: tuple[Sequence[Thread], Sequence[Thread]],
) -> tuple[list[Covered], list[Covered]]:
    """Return the coverage of each half by ranges that were fitted on the other."""
    priors = [fit_prior([prediction_errors_of(thread) for thread in half]) for half in halves]
    return score(halves[0], priors[1]), score(halves[1], priors[0])


def score(threads: Iterable[Thread], prior: BandPrior) -> list[Covered]:
    """Return the coverage of threads by ranges that begin with a prior."""
    found: list[Covered] = []
    for thread in threads:
        found += covered_reports(thread, thread_pressures(thread, bands=Bands(prior)))
    return found


def held_out_table(reports: Sequence[Covered]) -> list[str]:
    """Return one row a kind. `reports`: of both halves."""
    lines = [
        "| what was added | predictions | reports within the range | median width |",
        "|---|---:|---:|---:|",
    ]
    for kind in KINDS:
        some = [one for one in reports if kind in one.kinds]
        if some:
            inside = sum(one.inside for one in some) / len(some)
            width = quantile([one.width for one in some], 0.5) or 0
            lines.append(
                f"| {kind} | {len(some):,} | {per_cent(inside, 1)} | {per_cent(width, 2)} |"
            )
    return lines
