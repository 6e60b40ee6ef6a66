"""The live demo: no key, no network, a real task with real tools on a throw-away copy of the sample workspace.

Every tier of Roku fires by its own condition, through the turn's own pipeline; nothing forces one. What makes it so:

- L0: results come one by one, and only the newest three are kept.
- L1: the log is read piece by piece until 60 % of the window are passed. There are no notes yet.
- L2: the same again, once the agent has written NOTES.md, which is the session memory at hand.
- L3a: several pieces of the log at once jump over 75 %; the provider compacts remotely.
- L3a fails: the next time the provider has no such endpoint any more (404). A digest stands in, the breaker counts one.
- L3b: from then on the provider counts as one that cannot compact, and a model summarises.
- L4: a file of single digits, one token a byte, is four times what an estimate by bytes thinks. The model refuses.

The model is `simulated-demo`; its window is small, its stream paced so that a person can watch.
"""

from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from inspector.agent.plan import Permissions, Plan
from inspector.agent.workspace import saved_path
from inspector.core.errors import InspectorError
from inspector.resources import resource
from inspector.simulated.demo import COMPACTIONS, MODEL, NOTES_FILE, TASK
from inspector.simulated.state import SimulatedServerState

WINDOW = 16_000
PACE_S = 0.05
"""Between the events of a stream: about half a minute for all of it."""
_MADE = ("__pycache__",)


def demo_folder() -> Path:
    """A folder for one demo, which does not exist yet: under the user's data, never among the installed files."""
    return saved_path().parent / "demo" / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid4().hex[:6]}"


def demo_plan(folder: Path, permissions: Permissions = "always", pace_s: float = PACE_S) -> Plan:
    """The demo in `folder`, which is made; the workspace and the journal go into it.

    `permissions`: the workspace is a copy that nobody needs, so what changes it may go unasked; `ask` asks (for four
    calls: notes, edit, two runs of the same tests). Raises InspectorError where the folder is taken or cannot be made.
    """
    workspace = folder / "tidewatch"
    copy_sample(workspace)
    return Plan(
        task=TASK,
        workspace=workspace,
        record=folder / "journal.jsonl",
        provider="simulated:responses",
        model=MODEL,
        settings=(("opaque_items", "keep"),),  # the provider reads its own compactions again
        window=WINDOW,
        permissions=permissions,
        memory=NOTES_FILE,
        world=SimulatedServerState(WINDOW, pace_s, compactions=COMPACTIONS),
    )


def copy_sample(workspace: Path) -> None:
    """A fresh copy of the sample workspace, writable whatever the installed files are. Raises InspectorError."""
    source = resource("workspace")
    try:
        workspace.mkdir(parents=True)
        for path in sorted(source.rglob("*")):
            target = workspace / path.relative_to(source)
            if path.is_file() and not set(path.relative_to(source).parts) & set(_MADE):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
    except OSError as why:
        raise InspectorError(f"The sample workspace cannot be copied to {workspace}: {why.strerror or why}.") from None
    if not any(workspace.iterdir()):
        raise InspectorError("The sample workspace is not among the installed files.")
