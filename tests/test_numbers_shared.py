"""One thing, one number: no two faces of the product show two numbers for the same thing.

Gauge, legend, timeline, tiers, steps, diff, lists, Lost, Cost, Compare, the cards and the commands are asked about the
same places of made-up and real sessions, by the functions that their panels show. `make numbers` walks every session
under every policy; `make test` walks as much of it as fits into half a minute.
"""

import json
import os
from pathlib import Path

import pytest

from inspector.core.answering import offline
from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import DEFAULT_POLICY, POLICIES
from inspector.core.policies.place import buffer_at
from inspector.core.replay.driver import Ground, replay_requests
from inspector.core.session import Session
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from inspector.workbench.workbench import Workbench
from tests.faces.figures import Figures
from tests.faces.walk import REASONS, WalkPlan, walk_session
from tests.shared import TRANSCRIPTS, transcripts

EVERYTHING = bool(os.environ.get("EVERY_FACE"))
"""Set by `make numbers`: all sessions, all policies, five requests each."""
DATA = Path(__file__).parent / "data"
MADE_UP = [
    resource("sample.jsonl"),
    *sorted(path for path in DATA.glob("*/*") if path.suffix in (".jsonl", ".json")),
]
REAL = [path for path in transcripts("**/*") if path.is_file()]
SMALL, LARGE = 250_000, 6_000_000
"""Bytes of a file that `make test` walks under more policies, and of one that it leaves out."""
OTHERS = [name for name in POLICIES if name != DEFAULT_POLICY]
REPLAYED = 60


def plan_for(path: Path, number: int) -> WalkPlan:
    """All of it for `make numbers`; else more of small sessions than of large ones, each with other policies."""
    if EVERYTHING:
        return WalkPlan(list(POLICIES), 5, 8, 200, has_losses=True)
    turn = [OTHERS[(2 * number + n) % len(OTHERS)] for n in range(2)]
    if path.stat().st_size <= SMALL:
        return WalkPlan([DEFAULT_POLICY, *turn], 3, 2, REPLAYED, has_losses=True)
    return WalkPlan([DEFAULT_POLICY, turn[0]], 3, 1, REPLAYED, has_losses=number % 3 == 0)


def open_file(path: Path) -> Session | None:
    try:
        session = open_transcript(path)
    except InspectorError:
        return None
    return session if session.main.requests else None


def walk_file(path: Path, number: int) -> Figures:
    if not EVERYTHING and path.stat().st_size > LARGE:
        pytest.skip("large: `make numbers` walks it")
    session = open_file(path)
    if session is None:
        pytest.skip("holds no requests, or cannot be read")
    return walk_session(session, plan_for(path, number))


def check(figures: Figures) -> None:
    differences = figures.differences()
    assert not differences, "\n".join(differences)
    assert figures.reasons <= REASONS, "every reason is one that the interface gives"
    assert figures.compared > 50, "the faces were asked about the same things"


@pytest.mark.parametrize("number", range(len(MADE_UP)), ids=[path.name for path in MADE_UP])
def test_faces_of_a_made_up_session_show_one_number_for_one_thing(number: int) -> None:
    check(walk_file(MADE_UP[number], number))


@pytest.mark.skipif(not REAL, reason="no real transcripts on this machine")
@pytest.mark.parametrize(
    "number",
    range(len(REAL)),
    ids=[str(path.relative_to(TRANSCRIPTS)) for path in REAL if TRANSCRIPTS],
)
def test_faces_of_a_real_session_show_one_number_for_one_thing(number: int) -> None:
    check(walk_file(REAL[number], number))


def test_walk_over_the_sample_reaches_every_face() -> None:
    sample = open_file(resource("sample.jsonl"))
    assert sample is not None
    figures = walk_session(
        sample, WalkPlan([DEFAULT_POLICY, "claude-code"], 4, 2, 0, has_losses=True)
    )
    faces = {face.partition(",")[0] for face in figures.faces}
    assert faces >= {
        "gauge", "timeline", "tiers", "diff", "steps", "compactions", "lost", "compare", "cost", "cards", "breakdown",
        "info", "step", "buffer", "follow", "replay", "status bar",
    }  # fmt: skip
    check(figures)


def test_preview_of_a_step_that_saves_a_text_says_that_its_path_is_not_counted(
    tmp_path: Path,
) -> None:
    """The only difference that is allowed, and its reason stands in the row of the tier."""
    result = {"type": "tool_result", "tool_use_id": "c0", "content": "a line of a log\n" * 20_000}
    call = {"type": "tool_use", "id": "c0", "name": "read_file", "input": {"path": "log"}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    path = tmp_path / "body.json"
    path.write_text(json.dumps({"model": "m", "max_tokens": 10, "messages": messages}))
    session = open_file(path)
    assert session is not None
    figures = walk_session(session, WalkPlan(["gemini"], 1, 0, 0, has_losses=False))
    assert figures.reasons == REASONS
    check(figures)


def test_figures_that_differ_are_named_with_both_faces() -> None:
    figures = Figures()
    figures.add("gauge", {("size", 3): 10})
    figures.add("timeline", {("size", 3): 11, ("size", 4): 5})
    figures.add("gauge", {("size", 4): 5})
    assert figures.differences() == ["('size', 3): gauge 10, timeline 11"]
    figures.excuse("timeline", ("size", 3), "a reason")
    assert not figures.differences()
    figures.add("gauge", {("size", 4): 6})
    assert len(figures.differences()) == 2, "a face that shows two numbers contradicts itself"


@pytest.mark.skipif(not REAL, reason="no real transcripts on this machine")
@pytest.mark.parametrize("path", REAL[:: 1 if EVERYTHING else 5], ids=lambda path: path.name)
def test_replay_that_changed_nothing_yet_sends_the_recorded_buffers(path: Path) -> None:
    session = open_file(path)
    if session is None or len(session.main.requests) > REPLAYED:
        pytest.skip("holds no requests, or too many, or cannot be read")
    thread = session.main
    bench = Workbench()
    bench.open(session)
    assert bench.state.pressures is not None
    for name, policy in POLICIES.items():
        for done in replay_requests(Ground(thread), policy, policy.settings(), offline):
            if done.fired or done.arrival.compacted:
                break
            assert done.buffer.messages == buffer_at(policy, thread, done.index).messages
            shown = bench.state.pressures[done.index]
            assert (done.tokens, done.kind) == (shown.tokens or 0, shown.kind), name
