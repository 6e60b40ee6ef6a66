"""The calibration report."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inspector.core.buffer import Stretch
from inspector.core.message import Message, Text
from inspector.core.session import Request, Thread
from inspector.core.tokens.fit import calibration_report, fit, fit_line
from inspector.core.tokens.harnesses import Pi, Roku
from inspector.core.tokens.quantiles import quantile
from inspector.core.usage import Usage


def thread(*told: int | None) -> Thread:
    """Requests over a buffer that grows by 100 tokens (96 and framing) each time."""
    one = Stretch(own=[Message(str(n), "user", (Text("x" * 384),)) for n in range(len(told))])
    return Thread(
        "main",
        requests=tuple(
            Request(n, one.view(n + 1), usage=None if tokens is None else Usage(input=tokens))
            for n, tokens in enumerate(told)
        ),
        end=one.view(),
    )


def test_samples() -> None:
    found = fit(thread(150, None, 450, 0), Roku())
    assert [(s.request, s.estimated, s.reported, s.predicted) for s in found.samples] == [
        (0, 100, 150, 100),
        (2, 300, 450, 450),
    ]
    assert [s.scale for s in found.samples] == [1.5, 1.5]
    assert [s.error for s in found.samples] == [pytest.approx(-1 / 3), 0]
    assert found.median_abs_error == pytest.approx(1 / 6)
    assert found.p90_abs_error == pytest.approx(0.3)


def test_the_line_finds_overhead_and_density() -> None:
    found = fit(thread(1120, 1240, 1360, 1480), Roku())
    assert found.line is not None
    assert [found.line.overhead, found.line.slope, found.r2] == pytest.approx([1000, 1.2, 1])


@pytest.mark.parametrize("told", [(), (None,), (150,), (150, None)])
def test_too_few_samples(told: tuple[int | None, ...]) -> None:
    found = fit(thread(*told), Roku())
    assert (found.line, found.r2) == (None, None)
    assert (found.median_abs_error is None) == (not found.samples)


def test_the_same_number_each_time_has_a_line_but_no_r2() -> None:
    found = fit(thread(500, 500), Roku())
    assert found.line is not None
    assert (found.line.slope, found.r2) == (0, None)


def test_several_estimators() -> None:
    fits = calibration_report(thread(1000, 1100, 1250), (Roku(), Pi()))
    assert [one.name for one in fits] == ["roku", "pi"]
    assert all(one.line is None for one in calibration_report(thread(), (Roku(),)))


POINTS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=2)


@given(POINTS)
@example([(0, 1), (5, 0), (5, 0)])  # comes out as 1.0000000000000004
def test_r2_is_a_share(points: list[tuple[float, float]]) -> None:
    found = fit_line(points)
    assert found is None or found.r2 is None or 0 <= found.r2 <= 1


@given(POINTS, st.integers(1, 5), st.integers(0, 1000))
def test_exact_lines_are_found(
    points: list[tuple[float, float]], slope: int, overhead: int
) -> None:
    found = fit_line([(x, overhead + slope * x) for x, _ in points])
    if found is not None:
        assert found.slope == pytest.approx(slope)
        assert found.overhead == pytest.approx(overhead, abs=1e-3)
        assert found.r2 == pytest.approx(1)


def test_quantiles() -> None:
    assert [quantile([1, 2, 3, 4, 5], share) for share in (0, 0.5, 0.9, 1)] == [
        1,
        3,
        pytest.approx(4.6),
        5,
    ]
    assert quantile([7], 0.9) == 7
    assert quantile([], 0.5) is None
