"""The live demo as a person sees it: how long it takes, and when each tier fires for the first time."""

import tempfile
from pathlib import Path
from time import monotonic

from inspector.agent.runner import Runner
from inspector.agent.starting import demo_plan
from inspector.agent.status import RunStatus

WAIT_S = 300.0


def main() -> list[tuple[str, float, str]]:
    """One demo, paced as it ships."""
    first: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        started = monotonic()

        def tell(standing: RunStatus) -> None:
            for tier in standing.report.fired if standing.report is not None else ():
                first.setdefault(tier, monotonic() - started)

        runner = Runner(demo_plan(Path(folder) / "demo"), tell)
        runner.start()
        runner.wait(WAIT_S)
        took = monotonic() - started
        runner.close()
    rows = [
        (f"until {tier} has fired, asked: at most 60", seconds, "s")
        for tier, seconds in sorted(first.items())
    ]
    return [
        ("the whole demo, asked: at most 60", took, "s"),
        ("tiers that fired, asked: at least 6", len(first), ""),
        *rows,
    ]
