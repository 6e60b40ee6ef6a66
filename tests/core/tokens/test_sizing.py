"""Scale and Sizer: what is shown is kept to the token, everything else follows from it."""

from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer, Stretch
from inspector.core.message import Message, Text
from inspector.core.session import Attached, Compaction, Request, Thread
from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.prediction import Addition, Learner, Scale, scale
from inspector.core.tokens.pressure import thread_pressures
from inspector.core.tokens.sizing import rounded, sizer
from inspector.core.usage import Usage


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7), st.floats(0.1, 5))
def test_a_scale_gives_back_what_is_shown(
    shown: int, counted: int, unseen: int, slope: float
) -> None:
    found = scale(shown, counted, unseen, slope)
    assert found.tokens(counted) == shown
    assert 0 <= found.unseen <= shown
    assert found.slope >= 0
    same = found.predict(counted)
    assert (same.tokens, same.band) == (shown, (shown, shown))


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_more_is_never_smaller_and_its_band_is_around_it(
    shown: int, counted: int, less: int, more: int
) -> None:
    found = scale(shown, counted, shown // 3, 1.2)
    small, large = found.predict(min(less, more)), found.predict(max(less, more))
    assert small.tokens <= large.tokens
    for one in (small, large):
        assert one.low <= one.tokens <= one.high


@given(st.lists(st.floats(-1e5, 1e5), max_size=40))
def test_rounded_parts_add_up(values: list[float]) -> None:
    total = round(sum(values)) if values else 0
    found = rounded(values, total)
    assert sum(found) == total
    assert all(abs(one - value) < 2 for one, value in zip(found, values, strict=True))


def test_without_any_report_the_estimate_is_all_there_is() -> None:
    stretch = Stretch(own=[Message(str(n), "user", (Text("x" * 400),)) for n in range(3)])
    thread = Thread("main", requests=[Request(0, stretch.view())], end=stretch.view())
    for name, kind in (("roku", "estimated"), ("tiktoken", "counted")):
        size = sizer(thread_pressures(thread, estimator(name)), 0)
        assert (size.pressure.kind, size.kind, size.scale.unseen) == (kind, kind, 0)
        less = Buffer(tuple(stretch.own[:1]))
        assert size.pressure_of(less).tokens == size.tokens(less) == size.rows(less.messages)


def test_a_changed_buffer_is_predicted_and_the_unseen_part_stays() -> None:
    stretch = Stretch(own=[Message(str(n), "user", (Text("x" * 400),)) for n in range(30)])
    thread = Thread(
        "main",
        requests=[Request(0, stretch.view(), usage=Usage(input=50_000), model="claude-opus-4-5")],
        end=stretch.view(),
    )
    size = sizer(thread_pressures(thread, estimator("roku")), 0)
    less = size.pressure_of(Buffer(tuple(stretch.own[:1])))
    assert less.kind == "predicted"
    assert less.band is not None
    assert less.tokens is not None
    assert size.scale.unseen > 40_000
    assert less.tokens == size.scale.unseen + size.rows(stretch.own[:1])


def test_what_a_client_attaches_anew_after_its_compaction_is_unseen_not_a_heavier_row() -> None:
    before, after = (
        Stretch(own=[Message(f"{at}{n}", "user", (Text("x" * 400),)) for n in range(9)])
        for at in "ab"
    )
    made = Compaction(1, "auto", attached=Attached(9_300, -100, 27_000))
    request = Request(0, before.view(), usage=Usage(input=30_000), model="claude-opus-4-5")
    thread = Thread("main", requests=[request], end=after.view(), compactions=[made])
    pressures = thread_pressures(thread, estimator("roku"))
    first, end = sizer(pressures, 0), sizer(pressures, None)
    assert end.pressure.kind == "predicted"
    assert end.pressure.tokens == 30_000 + 9_300
    assert end.scale.unseen == first.scale.unseen + 9_300
    assert round(end.scale.slope, 2) == round(first.scale.slope, 2)


def test_band_of_a_step_that_removes_most_begins_at_what_is_not_recorded() -> None:
    found = Scale(unseen=12_972, slope=1.2, counted=30_000, spread=0.5).predict(1_000)
    assert found.tokens == 14_172
    assert found.band == (12_972, 14_172 + 17_400)
    assert Scale(0, 1.0, 100, 0.5).predict(100).band == (100, 100), "no change, no uncertainty"


def test_band_of_the_next_request_after_large_errors_begins_at_what_is_not_recorded() -> None:
    learner = Learner("roku")
    for n, reported in enumerate((20_000, 20_110, 50_000, 80_000)):
        added = Addition(1_000 + 100 * n, n > 0)
        learner.report(added, learner.predict(added), reported, 0, "claude-opus-4-5", fresh=not n)
    # A compaction.
    learner.report(Addition(1_000, False), None, 300_000, 0, "claude-opus-4-5", fresh=True)
    unseen = learner.unseen()
    found = learner.predict(Addition(1_050, True))
    assert found is not None
    assert 0 < unseen < found.tokens
    assert found.tokens - (found.high - found.tokens) < unseen, (
        "the room alone would reach below it"
    )
    assert found.low == unseen
