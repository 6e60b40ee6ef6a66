"""Segments of a thread's calls, each with its own line, and the coverage of the bands around predictions."""

import pytest

from inspector.core.buffer import EMPTY_VIEW
from inspector.core.session import Compaction, Request, Thread
from inspector.core.tokens.fit import Sample
from inspector.core.tokens.prediction import Prediction
from inspector.core.tokens.segments import prediction_coverage, split_segments


def sample(request: int, estimated: int, reported: int, model: str = "a") -> Sample:
    return Sample(request, estimated, reported, 1.0, reported, model)


def thread(*compacted: int) -> Thread:
    compactions = tuple(Compaction(at, "auto") for at in compacted)
    return Thread(
        "main", requests=tuple(Request(n, EMPTY_VIEW) for n in range(9)), compactions=compactions
    )


def test_segments_when_there_is_a_compaction_have_a_line_each() -> None:
    before = [sample(n, 100 * n, 200 * n + 50) for n in range(1, 4)]
    after = [sample(n, 100 * n, 300 * n + 7) for n in range(4, 8)]
    first, second = split_segments(thread(4), [*before, *after])
    assert (first.first, first.last, second.first, second.last) == (1, 3, 4, 7)
    assert first.fit is not None
    assert (first.fit.slope, first.fit.overhead) == pytest.approx((2, 50))
    assert second.fit is not None
    assert (second.fit.slope, second.fit.overhead) == pytest.approx((3, 7))
    assert [
        segment.residual(one) for segment in (first, second) for one in segment.samples
    ] == pytest.approx([0] * 7)


def test_segments_when_the_model_changes_are_split_there() -> None:
    samples = [
        sample(0, 10, 20),
        sample(1, 20, 40),
        sample(2, 30, 45, "b"),
        sample(3, 40, 60, "b"),
        sample(4, 50, 99),
    ]
    segments = split_segments(thread(), samples)
    assert [(segment.first, segment.last, segment.model) for segment in segments] == [
        (0, 1, "a"), (2, 3, "b"), (4, 4, "a")
    ]  # fmt: skip
    assert segments[2].fit is None
    assert segments[2].residual(samples[4]) is None


def test_segments_of_no_samples_are_none() -> None:
    assert split_segments(thread(3), []) == ()


def predictions(*triples: tuple[int, int, int]) -> list[tuple[Prediction, int]]:
    """Of (predicted, half of its range, reported)."""
    return [
        (Prediction(tokens, tokens - half, tokens + half), reported)
        for tokens, half, reported in triples
    ]


def test_coverage_counts_each_report_against_earlier_errors_alone() -> None:
    """21 errors from 1% to 21%: the last lies outside every band of the 20 before it."""
    triples = [(1_000 + 10 * n, 100, 1_000) for n in range(1, 22)]
    shown, *bands = prediction_coverage(predictions(*triples))
    assert (shown.expected, shown.inside, shown.count, shown.width) == (0.95, 10, 21, None)
    assert [(band.expected, band.inside, band.count) for band in bands] == [
        (0.5, 0, 1), (0.8, 0, 1), (0.9, 0, 1), (0.95, 0, 1)
    ]  # fmt: skip
    assert bands[0].width == pytest.approx(0.11)


def test_coverage_of_even_errors_is_what_the_bands_promise() -> None:
    triples = [(1_000 + 1 + (37 * n) % 100, 50, 1_000) for n in range(1_000)]
    _, *bands = prediction_coverage(predictions(*triples))
    for band in bands:
        assert band.count == 980
        assert band.share == pytest.approx(band.expected, abs=0.03)


def test_coverage_without_a_prediction_is_empty() -> None:
    assert prediction_coverage([]) == ()
