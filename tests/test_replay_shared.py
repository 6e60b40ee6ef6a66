"""Every real transcript with usage, every policy: driven to its end, figures that add up, nothing but data.

Large sessions are replayed by three policies each, which take turns; `make numbers` replays them by all.
"""

import os
from pathlib import Path

import pytest

from inspector.core.answering import offline
from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import POLICIES
from inspector.core.replay.driver import Ground
from inspector.core.replay.report import ReplayReport, replay_report
from inspector.core.session import Thread
from inspector.core.tokens.windows import find_window
from inspector.transcripts.files import open_transcript
from tests.shared import TRANSCRIPTS, transcripts

FILES = [path for path in transcripts("**/*") if path.is_file()]
SMALL = 80_000
"""A window in which every policy has to act."""
LARGE, TURN = 1_000_000, 3
"""Bytes of a session that not every policy replays, and how many do."""
LARGE_FILES = [path for path in FILES if path.stat().st_size > LARGE]


def policies_for(path: Path) -> list[str]:
    """All policies, or for a large session the next ones in turn."""
    names = list(POLICIES)
    if os.environ.get("EVERY_FACE") or path not in LARGE_FILES:
        return names
    begin = TURN * LARGE_FILES.index(path)
    return [names[(begin + n) % len(names)] for n in range(TURN)]


def threads(path: Path) -> list[tuple[Thread, int | None]]:
    """The main thread and two of its sub-agents, where calls reported their usage."""
    try:
        session = open_transcript(path)
    except InspectorError:
        return []
    found = [thread for thread in session.threads[:3] if any(one.usage for one in thread.requests)]
    return [(thread, find_window(session, thread).tokens) for thread in found]


def check(found: ReplayReport, thread: Thread) -> None:
    assert len(found.rows) == len(thread.requests)
    for row, request in zip(found.rows, thread.requests, strict=True):
        # Billed for a compaction.
        twice = row.kind == "reported" and request.usage and request.usage.context is not None
        assert row.spent.prompt >= 0 if twice else row.tokens == row.spent.prompt >= 0
    assert found.spent.cache_read == sum(row.spent.cache_read for row in found.rows)
    assert found.losses.lost <= found.losses.facts
    assert found.losses.needed_later <= found.losses.facts - found.losses.kept
    if not found.compactions and not thread.compactions:
        for row, request in zip(found.rows, thread.requests, strict=True):
            assert row.messages == len(request.view)
            assert row.kind != "reported" or (request.usage and row.tokens == request.usage.prompt)


@pytest.mark.skipif(not FILES, reason="no real transcripts on this machine")
@pytest.mark.parametrize(
    "path", FILES, ids=[str(path.relative_to(TRANSCRIPTS)) for path in FILES if TRANSCRIPTS]
)
def test_every_policy_replays_it(path: Path) -> None:
    for thread, window in threads(path):
        for size in (window, SMALL) if path.stat().st_size < 600_000 else (window,):
            ground = Ground(thread, size)
            for policy in (POLICIES[name] for name in policies_for(path)):
                check(replay_report(ground, policy, policy.settings((), size), offline), thread)
