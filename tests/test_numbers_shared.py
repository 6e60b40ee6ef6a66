"""One truth on every real transcript, under every policy: no two places show two numbers for one thing.

Gauge, legend, timeline, verdicts, previews, steps, diff, replay and the command line are asked about the same place; a
buffer that nobody changed keeps its number; what is seen and what is unseen add up to what is shown.
"""

import argparse
import re
from pathlib import Path

import pytest

from inspector.cli import buffer as cli_buffer
from inspector.cli import info as cli_info
from inspector.cli import step as cli_step
from inspector.cli.select import Selection
from inspector.core.answering import offline, rehearsed
from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import POLICIES
from inspector.core.policies.place import buffer_at
from inspector.core.replay.driver import Ground, replay
from inspector.core.session import Session
from inspector.transcripts.files import open_transcript
from inspector.workbench.diff import compared, sides
from inspector.workbench.policy_input import sizer_of
from inspector.workbench.pressure.gauge import GaugeReading, reading
from inspector.workbench.pressure.timeline import series, step_effects
from inspector.workbench.step_rows import step_rows
from inspector.workbench.workbench import Workbench
from tests.shared import TRANSCRIPTS, transcripts

FILES = [path for path in transcripts("**/*") if path.is_file()]
NAMES = [str(path.relative_to(TRANSCRIPTS)) for path in FILES if TRANSCRIPTS]
REPLAYED = 150
"""Requests up to which a session is replayed here, too."""


def opened(path: Path) -> Session | None:
    try:
        session = open_transcript(path)
    except InspectorError:
        return None
    return session if session.main.requests else None


def places(session: Session) -> list[int | None]:
    """The fullest request, and the end."""
    reported = [request.usage.prompt if request.usage else 0 for request in session.main.requests]
    return [reported.index(max(reported)), None]


def shown(bench: Workbench) -> GaugeReading:
    found = reading(bench.state)
    assert found is not None
    return found


def check_sums(now: GaugeReading) -> None:
    seen = sum(tokens for _, tokens in now.parts)
    if now.pressure.tokens is not None and now.pressure.estimated:
        assert seen + now.unseen == now.pressure.tokens
    assert all(tokens > 0 for _, tokens in now.parts)
    assert now.unseen >= 0


def check_lines(bench: Workbench, now: GaugeReading) -> None:
    """What the gauge says of a line is what the verdict of its tiers says."""
    previews = bench.state.previews
    assert previews is not None
    assert now.believed == previews.tokens
    for line in (one.watermark for one in now.lines if one.policy == bench.state.choices.policy):
        for verdict in previews.verdicts:
            if verdict.tier not in line.tiers or verdict.limit != line.tokens or verdict.tokens != now.believed:
                continue
            if told := re.search(r"([\d,]+) (over|to go)", verdict.why):
                room = line.to_go(now.believed)
                assert told[2] == ("over" if line.fires(now.believed) else "to go"), verdict.why
                assert int(told[1].replace(",", "")) == abs(room), verdict.why


def check_previews(bench: Workbench) -> None:
    """What a preview says that a tier frees is what gauge, diff, timeline and steps say when it is stepped."""
    previews = bench.state.previews
    assert previews is not None
    before = shown(bench)
    for tier, seen in previews.by_tier.items():
        if seen.outcome is None:
            continue
        bench.stepping.step(tier)
        now, compare, steps = shown(bench), sides(bench.state), bench.state.steps
        assert steps is not None
        check_sums(now)
        assert now.unseen == before.unseen
        assert now.before == before.pressure.tokens
        assert (before.pressure.tokens or 0) - (now.pressure.tokens or 0) == seen.freed
        if seen.outcome.buffer.messages == previews.context.buffer.messages:
            assert now.pressure == before.pressure, "an unchanged buffer changes no number"
        assert compare is not None
        difference = compared(compare)
        assert difference.delta == sum(row.delta for row in difference.rows) == -seen.freed
        assert [row.tokens for row in step_rows(steps, sizer_of(bench.state))][-1] == now.pressure.tokens
        *_, effect = step_effects(bench.state)
        assert (effect.before, effect.after) == (before.pressure.tokens, now.pressure.tokens)
        bench.stepping.undo()
        assert shown(bench).pressure == before.pressure


def check_command_line(session: Session, at: int | None, now: GaugeReading, policy: str, window: int | None) -> None:
    """`step` and `info` say what the window says."""
    thread = session.main
    chosen = Selection(session, thread, len(thread.requests) if at is None else at)
    parser = argparse.ArgumentParser()
    cli_step.add_arguments(parser)
    words = ["file", "--policy", policy, *(["--window", str(window)] if window else [])]
    found = cli_step.describe(cli_step.step(chosen, parser.parse_args(words)))
    before = found["before"]
    assert (before["predicted"], before["kind"]) == (now.pressure.tokens, now.pressure.kind)
    assert before["unseen"] == now.unseen
    if POLICIES[policy].prompt_estimator is not None:
        told = cli_info.describe(chosen, window)
        row = told["end"] if at is None else told["requests"][at]
        assert row["believed"] == before["calibrated"] == now.believed


@pytest.mark.skipif(not FILES, reason="no real transcripts on this machine")
@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_no_two_places_contradict_each_other(path: Path) -> None:
    session = opened(path)
    if session is None:
        pytest.skip("holds no requests, or cannot be read")
    bench = Workbench(answerers=lambda who, state: rehearsed(offline))  # as previews are answered: nothing is written
    bench.open(session)
    spots = places(session)
    curves = series(bench.state)
    assert curves is not None
    for name in POLICIES:  # what a policy believes is worked out once for all places
        bench.stepping.choose(policy=name)
        for at in spots:
            bench.move(at)
            bench.previews.look()
            now = shown(bench)
            check_sums(now)
            check_lines(bench, now)
            if at is not None:
                assert now.pressure.tokens == (curves.reported[at] if curves.reported[at] else curves.other[at])
            check_previews(bench)
            window = bench.state.window.tokens if bench.state.window else None
            check_command_line(session, at, now, name, window)
    for at in spots:
        bench.move(at)
        now = shown(bench)
        chosen = Selection(session, session.main, len(session.main.requests) if at is None else at)
        told = cli_buffer.describe(chosen)["pressure"]
        assert (told["tokens"], told["kind"]) == (now.pressure.tokens, now.pressure.kind)
        assert told["unseen"] == now.unseen
        assert list(told["categories"].items()) == list(now.parts)


@pytest.mark.skipif(not FILES, reason="no real transcripts on this machine")
@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_replay_that_changed_nothing_yet_says_what_was_reported(path: Path) -> None:
    session = opened(path)
    if session is None or len(session.main.requests) > REPLAYED:
        pytest.skip("holds no requests, or too many, or cannot be read")
    thread = session.main
    bench = Workbench()
    bench.open(session)
    for name, policy in POLICIES.items():
        for done in replay(Ground(thread), policy, policy.settings(), offline):
            if done.fired or done.arrival.compacted:
                break
            assert done.buffer.messages == buffer_at(policy, thread, done.index).messages
            assert bench.state.pressures is not None
            shown_there = bench.state.pressures[done.index]
            assert (done.tokens, done.kind) == (shown_there.tokens or 0, shown_there.kind), name
