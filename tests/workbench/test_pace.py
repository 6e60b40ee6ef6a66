"""How long a comparison takes, from what was measured."""

import pytest

from inspector.workbench.compare import BASE, ComparisonProgress
from inspector.workbench.pace import Pace, duration_words


def timed(pace: Pace, policy: str, seconds: float, upto: int = 100, began: float = 0.0) -> None:
    """A run that would take so many seconds for its 100 requests, as far as request `upto`, at the same speed."""
    for done in range(0, upto + 1, 2):
        pace.note(ComparisonProgress(policy, done, 100, 0, 3), began + seconds * done / 100)


def test_forecast_when_nothing_was_measured_is_unknown() -> None:
    assert Pace().forecast(["roku"]) is None


def test_forecast_when_only_the_recording_was_timed_takes_its_time_for_each_policy() -> None:
    pace = Pace()
    timed(pace, BASE, 0.5)
    assert pace.forecast(["roku", "pi", "codex"]) == pytest.approx(1.5)


def test_forecast_when_policies_were_timed_takes_their_mean_for_the_others() -> None:
    pace = Pace()
    timed(pace, BASE, 0.1)
    timed(pace, "roku", 2.0)
    timed(pace, "pi", 1.0)
    assert pace.forecast(["pi", "codex"]) == pytest.approx(2.5)


def test_forecast_when_a_run_is_under_way_scales_its_part() -> None:
    pace = Pace()
    timed(pace, "roku", 4.0, upto=4)
    assert pace.forecast(["roku"]) is None, "the first few requests are no measurement"
    timed(pace, "roku", 4.0, upto=20)
    assert pace.forecast(["roku", "pi"]) == pytest.approx(8.0)


def test_forecast_when_the_first_report_came_late_leaves_the_start_out() -> None:
    pace = Pace()
    timed(pace, "roku", 1.0, began=30.0)
    assert pace.forecast(["roku"]) == pytest.approx(1.0)


def test_fit_when_nothing_was_measured_is_tried() -> None:
    assert Pace().fits(["roku", "pi"])


def test_fit_when_a_policy_was_timed_is_three_seconds_in_all() -> None:
    pace = Pace()
    timed(pace, "roku", 1.0)
    assert pace.fits(["roku", "pi", "codex"])
    assert not pace.fits(["roku", "pi", "codex", "pulse"])
    timed(pace, "roku", 1.2)
    assert not pace.fits(["roku", "pi", "codex"])
    assert pace.fits(["roku", "pi", "codex"], has_begun=True), (
        "a run that has begun is not stopped for a little more"
    )


def test_fit_when_only_the_recording_was_timed_is_judged_roughly() -> None:
    pace = Pace()
    timed(pace, BASE, 1.5)
    assert pace.fits(["roku", "pi", "codex"])
    assert pace.fits([BASE])
    timed(pace, BASE, 4.0)
    assert not pace.fits(["roku", "pi", "codex"])
    assert not pace.fits([BASE])


def test_forecast_of_nothing_is_zero() -> None:
    assert Pace().forecast([]) == 0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "about 1 second"),
        (4.4, "about 4 seconds"),
        (38, "about 40 seconds"),
        (89, "about 90 seconds"),
        (170, "about 3 minutes"),
    ],
)
def test_time_in_words_is_rounded(seconds: float, words: str) -> None:
    assert duration_words(seconds) == words
