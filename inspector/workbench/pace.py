"""Forecast how long a comparison takes from runs measured on the same thread, in seconds of one processor.

Policies differ in speed by a factor of ten, and so do threads, so nothing is assumed: the runs that have ended and the
run under way give the rate for those that are left.
"""

from collections.abc import Collection
from statistics import mean

from inspector.core.words import plural
from inspector.workbench.compare import BASE, ComparisonProgress

AT_ONCE_S = 3.0
"""A comparison that takes at most this many seconds starts automatically."""
LEAST_SHARE = 0.1
"""Smallest share of a run after which its time counts as a measurement."""
ROUGH = 3.0
"""Factor by which a forecast may be too high if only the recorded compactions were timed, and no policy."""
TOLERANCE = 1.3
"""Factor by which the forecast of a run that has begun may exceed the limit before the run is stopped."""


class Pace:
    """The measured times of the runs on one thread."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._first: dict[str, tuple[int, float]] = {}

    def fits(self, policies: Collection[str], has_begun: bool = False) -> bool:
        """Are these policies fast enough to start automatically? True if nothing was measured yet."""
        seconds = self.forecast(policies)
        if seconds is None:
            return True
        has_timed_policy = any(policy != BASE for policy in self._seconds)
        has_policy = any(policy != BASE for policy in policies)
        limit = AT_ONCE_S
        if has_begun:
            limit *= TOLERANCE
        if has_policy and not has_timed_policy:
            limit *= ROUGH
        return seconds <= limit

    def note(self, progress: ComparisonProgress, seconds: float) -> None:
        """Record how far a run is `seconds` after its start.

        The time before its first report is left out, because modules are loaded then and the window is still busy.
        """
        requests = max(1, progress.requests)
        first_done, first_seconds = self._first.setdefault(
            progress.policy, (progress.done, seconds)
        )
        if progress.done <= first_done:
            self._first[progress.policy] = progress.done, seconds
        elif progress.done - first_done >= LEAST_SHARE * requests:
            rate = (seconds - first_seconds) / (progress.done - first_done)
            self._seconds[progress.policy] = rate * requests

    def forecast(self, policies: Collection[str]) -> float | None:
        """Return how many seconds these policies take together; None while nothing was measured.

        A policy that was never timed counts as the mean of the others. Replaying the recording is cheaper than running
        a policy, so its time is used only until the first policy was timed.
        """
        if not policies:
            return 0.0
        timed = [seconds for policy, seconds in self._seconds.items() if policy != BASE]
        rates = timed or list(self._seconds.values())
        if not rates:
            return None
        usual = mean(rates)
        return sum(self._seconds.get(policy, usual) for policy in policies)


def duration_words(seconds: float) -> str:
    """Return a duration in words: `about 1 second`, `about 40 seconds`, `about 3 minutes`."""
    if seconds < 90:
        rounded = round(seconds) if seconds < 10 else 5 * round(seconds / 5)
        return f"about {plural(max(1, rounded), 'second')}"
    return f"about {plural(round(seconds / 60), 'minute')}"
