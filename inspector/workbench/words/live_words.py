"""Sentences about a live run or proxy: which tier is next and when, and a summary at the end of a run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from inspector.core.errors import InspectorError
from inspector.core.policies.verdict import Watermark
from inspector.core.session import Session
from inspector.core.tokens.change_sizes import compaction_sizes, promise_words
from inspector.core.tokens.pressure import known_pressures
from inspector.core.words import per_cent, plural
from inspector.extensions.policies import find_policy
from inspector.workbench.live import RunView

if TYPE_CHECKING:
    from inspector.agent.status import TurnReport

_LEAST_ERROR = 0.001
"""Smallest prediction error that is shown, as a share."""
_PACE_TURNS = 8
"""Number of recent growing turns whose median growth predicts when a line is reached."""


@dataclass(frozen=True, slots=True)
class NextTier:
    """The lowest line that a buffer has not reached yet, and its tiers."""

    names: tuple[str, ...]
    label: str
    """Label of the line: `60%`."""
    to_go: int
    """Tokens to go to the line."""
    turns: int | None = None
    """Turns until the tiers fire at the usual growth; None if the usual growth is unknown."""

    @property
    def words(self) -> str:
        """Return the next tier in words: `next tier L1 at 60%: 2,765 tokens to go, about 3 turns`."""
        when = "" if self.turns is None else f", about {plural(self.turns, 'turn')}"
        return f"next tier {' and '.join(self.names)} at {self.label}: {plural(self.to_go, 'token')} to go{when}"


def find_next_tier(lines: Sequence[Watermark], tokens: int, growth: int = 0) -> NextTier | None:
    """Return the lowest line that a buffer has not reached; None if the buffer is above all of them.

    Args:
        lines: The watermarks of the policy.
        tokens: The size of the buffer.
        growth: Tokens that a turn usually adds; 0 if unknown.
    """
    ahead = [line for line in lines if not line.fires(tokens)]
    if not ahead:
        return None
    line = min(ahead, key=lambda ahead_line: ahead_line.least)
    to_go = line.tokens - tokens
    turns = -(-to_go // growth) if growth > 0 else None
    return NextTier(line.tiers, label=line.label.split(" ")[0], to_go=to_go, turns=turns)


def usual_growth(reports: Sequence["TurnReport"], thread: str) -> int:
    """Return the median growth of a thread's prompts over its last growing turns, in tokens; 0 if none grew."""
    sizes = [report.tokens for report in reports if report.thread == thread]
    grown = [after - before for before, after in pairwise(sizes) if after > before]
    return round(median(grown[-_PACE_TURNS:])) if grown else 0


def next_tier_words(run: RunView) -> str:
    """Say which tier of a run is next and when; empty if that is unknown."""
    plan = run.plan
    now = run.now
    if (
        plan is None
        or not now.tokens
        or not now.window
        or now.state in ("starting", "tier", "ended")
    ):
        return ""
    try:
        policy = find_policy(plan.policy)
        lines = policy.watermarks(policy.settings(plan.all_settings, now.window))
    except InspectorError:
        return ""
    next_tier = find_next_tier(lines, now.tokens, usual_growth(run.reports, now.thread))
    return next_tier.words if next_tier is not None else "above all watermarks of the policy"


def summarise_run(reports: Sequence["TurnReport"]) -> str:
    """Sum up a run from its reports: turns, the fullest prompt, the tiers, and how well prompts were predicted.

    Empty if no prompt size was reported.
    """
    answered = [report for report in reports if report.reported is not None]
    if not answered:
        return ""
    fullest = max(answered, key=lambda report: report.reported or 0)
    share = ""
    if fullest.window:
        share = f" ({per_cent((fullest.reported or 0) / fullest.window, places=1)})"
    words = [
        f"{plural(len(answered), 'answered call')}: the fullest prompt had {fullest.reported:,} tokens{share}"
    ]
    tiers = Counter(tier for report in reports for tier in report.fired)
    if tiers:
        counted = [f"{name} {plural(count, 'time')}" for name, count in sorted(tiers.items())]
        words.append(f"tiers ran: {', '.join(counted)}")
    errors = [error for report in answered if (error := _prediction_error(report)) is not None]
    if errors:
        words.append(
            f"prompts were predicted within {per_cent(max(median(errors), _LEAST_ERROR), places=1)} in the median"
        )
    words.append(f"the last prompt had {answered[-1].reported:,} tokens")
    return "; ".join(words)


def _prediction_error(report: "TurnReport") -> float | None:
    expected = report.expected.tokens
    reported = report.reported
    if expected is None or not reported or report.expected.kind != "predicted":
        return None
    return abs(expected / reported - 1)


def last_promise(session: Session) -> str:
    """Compare the predicted and the reported size of the newest held request that was shortened; empty if there is
    none.

    O(compactions), and O(messages) once for a thread with such a request.
    """
    cuts = [
        (thread.requests[compaction.before_request].time, thread, compaction)
        for thread in session.threads
        for compaction in thread.compactions
        if compaction.predicted is not None and compaction.before_request < len(thread.requests)
    ]
    if not cuts:
        return ""
    _, thread, compaction = max(cuts, key=lambda cut: cut[0])
    words = promise_words(
        thread, compaction, compaction_sizes(thread, known_pressures(thread), compaction)
    )
    if words:
        return f"Request {compaction.before_request:,} was shortened and forwarded. {words}"
    return ""
