"""A workspace, and a plan in it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inspector.agent.plan import Plan
from inspector.simulated.server import SimulatedServer
from tests.agent.running import QUICK, url
from tests.warm import WarmStarter, warm_starter

Planned = Callable[..., Plan]


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmStarter]:
    """Starts the program as often as it is to be killed."""
    with warm_starter() as starter:
        yield starter


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with a few files."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "README.md").write_text("# Notes\n\nThe parser lies in parser.py and matters most.\n")
    (folder / "parser.py").write_text("def parse(text):\n    return text.split()\n")
    (folder / "big.txt").write_text(
        "".join(f"line {n}: what happened at step {n} is told here\n" for n in range(400))
    )
    return folder


@pytest.fixture
def planned(workspace: Path, tmp_path: Path, simulated: SimulatedServer) -> Planned:
    """A plan with changes."""

    def plan(
        task: str = "Please look after the parser.", wire: str = "anthropic", **changes: object
    ) -> Plan:
        fields = {
            "provider": url(simulated, wire),
            "model": "claude-simulated" if wire == "anthropic" else "gpt-simulated",
            "permissions": "always",
            "limits": QUICK,
            "window": 200_000,
            "record": tmp_path / "run.jsonl",
            **changes,
        }
        return Plan(task, workspace, **fields)  # type: ignore[arg-type]

    return plan
