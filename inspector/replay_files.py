"""Policies compared over several sessions: each file is opened, replayed under every policy, and closed again.

Settings, window and figures are those of `context-inspector replay FILE FILE ...`. Summaries are made offline.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inspector.core.answering import offline
from inspector.core.errors import Cancelled, InspectorError
from inspector.core.policies.place import settings_for
from inspector.core.replay.driver import Ground
from inspector.core.replay.over_sessions import PolicySummary, summarise_standings
from inspector.core.replay.ranking import Standing, rank_policies
from inspector.core.replay.recorded_report import recorded
from inspector.core.replay.report import replay_report
from inspector.core.tokens.windows import find_window
from inspector.extensions.policies import find_policy
from inspector.extensions.windows import user_windows
from inspector.transcripts.files import open_transcript


@dataclass(frozen=True, slots=True)
class SessionsComparison:
    """The result of comparing policies over several sessions."""

    summaries: tuple[PolicySummary, ...] = ()
    errors: tuple[tuple[str, str], ...] = ()
    """Files that were left out, and why."""


def compare_over_sessions(
    paths: Sequence[str],
    policies: Sequence[str],
    progress: Callable[[str, float], None] = lambda path, share: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> SessionsComparison:
    """Replay the policies over the main thread of each file. A file that cannot be read is left out and named.

    Args:
        paths: The files.
        policies: Names of policies.
        progress: Called with the file that is being replayed and the share of all work that is done.
        cancelled: Asked between requests.

    Raises:
        Cancelled: `cancelled` returned True.
    """
    standings = list[Sequence[Standing]]()
    errors = list[tuple[str, str]]()
    for number, path in enumerate(paths):

        def report(share: float, number: int = number, path: str = path) -> None:
            progress(path, (number + share) / len(paths))

        report(0.0)
        try:
            standings.append(_rank_file(path, policies, report, cancelled))
        except Cancelled:
            raise
        except InspectorError as error:
            errors.append((path, str(error)))
    return SessionsComparison(tuple(summarise_standings(standings)), tuple(errors))


def _rank_file(
    path: str,
    policies: Sequence[str],
    report: Callable[[float], None],
    cancelled: Callable[[], bool],
) -> tuple[Standing, ...]:
    """Return the standings of the policies on one file; `report` is called with the share of the file that is done."""
    session = open_transcript(path, cancelled=cancelled)
    thread = session.main
    window = find_window(session, thread, None, None, user_windows())
    ground = Ground(thread, window=window.tokens, calls=session.side_calls)

    def count(number: int) -> Callable[[int, int], None]:
        runs = len(policies) + 1
        return lambda done, requests: report((number + done / max(1, requests)) / runs)

    reports = [recorded(ground, progress=count(0), cancelled=cancelled)]
    for number, name in enumerate(policies, 1):
        policy = find_policy(name)
        settings = settings_for(policy, pairs=(), window=window, client=session.client)
        replayed = replay_report(
            ground, policy, settings, answer=offline, progress=count(number), cancelled=cancelled
        )
        reports.append(replayed)
    return rank_policies(reports)
