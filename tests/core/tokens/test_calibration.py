"""Calibration, by the cases of the specification."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.tokens.calibration import Beliefs, Calibration

Samples = list[tuple[int, int]]


def fed(samples: Samples) -> Calibration:
    calibration = Calibration()
    for estimated, real in samples:
        calibration = calibration.update(estimated, real)
    return calibration


def test_new_r_cal_1() -> None:
    assert (Calibration().scale, Calibration().apply(17), Calibration().apply(0)) == (1.0, 17, 0)


@pytest.mark.parametrize(
    ("samples", "scale"),
    [
        pytest.param([(1000, 1100)], 1.1, id="R-CAL-2"),
        pytest.param([(1000, 1100), (1000, 900)], 1.0, id="R-CAL-3"),
        pytest.param([(1000, 1100), (1000, 900), (2000, 3000)], 3.5 / 3, id="R-CAL-4"),
        pytest.param([(100, 1000)], 2.0, id="R-CAL-5 high"),
        pytest.param([(1000, 100)], 0.5, id="R-CAL-5 low"),
        pytest.param([(1000, 500)] * 8 + [(1000, 1500)], 0.625, id="R-CAL-6"),
        pytest.param([(0, 5), (5, 0)], 1.0, id="R-CAL-8"),
        pytest.param([(100, 1000), (1000, 1000)], 2.0, id="R-CAL-9"),
    ],
)
def test_scale(samples: Samples, scale: float) -> None:
    assert fed(samples).scale == pytest.approx(scale, abs=1e-12)


def test_apply_r_cal_4_and_6() -> None:
    assert fed([(1000, 1100), (1000, 900), (2000, 3000)]).apply(12345) == 14403
    last = fed([(1000, 500)] * 8 + [(1000, 1500)])
    assert (len(last.samples), last.apply(1001)) == (8, 626)


@pytest.mark.parametrize(
    ("sample", "raw", "applied"),
    [((2, 1), 1, 1), ((2, 1), 3, 2), ((2, 1), 5, 3), ((2, 3), 1, 2), ((2, 3), 3, 5)],
    ids=lambda value: f"R-CAL-7 {value}",
)
def test_half_away_from_zero(sample: tuple[int, int], raw: int, applied: int) -> None:
    assert fed([sample]).apply(raw) == applied


def test_nothing_is_learned_from_nothing_r_cal_8() -> None:
    before = fed([(1000, 1100)])
    assert before.update(0, 5) is before
    assert before.update(5, 0) is before


def test_numbers_beyond_floats_keep_the_scale() -> None:
    assert fed([(1000, 1100), (1, 10**400)]).scale == 1.1


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7))), st.integers(0, 10**7))
def test_bounds(samples: Samples, raw: int) -> None:
    calibration = fed(samples)
    assert 0.5 <= calibration.scale <= 2.0
    assert len(calibration.samples) <= 8
    assert raw // 2 <= calibration.apply(raw) <= raw * 2


# -- what a harness would believe on a recorded session


def believed(*reports: tuple[int, int]) -> list[int]:
    """The belief before each call and after the last one. `reports`: (counted, reported) of calls that only grow."""
    beliefs, before = Beliefs("roku"), (0, 0)
    found = [beliefs.now().tokens(reports[0][0])]
    for (counted, reported), then in pairwise([*reports, reports[-1]]):
        grown = (reported - before[1], counted - before[0]) if before[1] else None
        beliefs.report(counted, reported, "m", grown, fresh=False)
        found.append(beliefs.now().tokens(then[0]))
        before = counted, reported
    return found


@pytest.mark.parametrize("line", [120_000, 150_000])
def test_a_belief_when_no_messages_are_recorded_crosses_a_line_a_call_after_the_reports(
    line: int,
) -> None:
    reported = [100_000 + 4_000 * n for n in range(20)]
    now = believed(*((0, tokens) for tokens in reported))
    crossed = next(n for n, tokens in enumerate(reported) if tokens >= line)
    assert next(n for n, tokens in enumerate(now) if tokens >= line) == crossed + 1


def test_a_belief_when_messages_are_recorded_goes_by_what_it_counts() -> None:
    """What an estimator does not see of recorded messages, a harness with that estimator does not see either."""
    now = believed(*((1_000 * n, 20_000 + 2_000 * n) for n in range(20)))
    assert now[-1] == pytest.approx(58_000, rel=0.05)
