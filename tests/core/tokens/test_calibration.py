"""Calibration, by the cases of the specification."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.tokens.calibration import Calibration

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
