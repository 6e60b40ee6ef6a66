"""Spec 2.3, golden values on a real session: the file has 1,018 entries, numbered from the line behind the header."""

from pathlib import Path

import pytest

from inspector.core.buffer import Buffer
from inspector.core.needs import drive
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.pi import POLICY
from inspector.core.policies.pi.context_size import estimate_messages, tokens_before
from inspector.core.policies.pi.entries import CutPoint, Preparation, find_cut_point, prepare
from inspector.core.policies.pi.serialising import serialise_messages
from inspector.core.policies.pi.settings import PiSettings, PiState
from inspector.core.policies.place import moment_at
from inspector.core.policies.verdict import PolicyInput
from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.harnesses import u16
from inspector.transcripts.files import open_transcript
from tests.core.policies.build import Script
from tests.core.policies.pi_entries import RealSession, read_session
from tests.shared import transcripts

FILES = list(transcripts("pi/**/large-session.jsonl"))
if not FILES:
    pytest.skip("measured on a real session, which is not on this machine", allow_module_level=True)


@pytest.fixture(scope="module")
def path() -> Path:
    return FILES[0]


@pytest.fixture(scope="module")
def real(path: Path) -> RealSession:
    return read_session(path)


@pytest.fixture(scope="module")
def prepared(real: RealSession) -> Preparation:
    context = PolicyContext(
        Buffer(real.messages), PiSettings(), PiState(), PolicyInput(reports=real.reports)
    )
    found = prepare(real.entries, 20_000, tokens_before(context))
    assert found is not None
    return found


def test_sizes(real: RealSession) -> None:
    assert (real.lines, len(real.entries), len(real.messages)) == (1019, 1018, 914)
    assert estimate_messages(real.messages) == 124_661


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        (1_000, CutPoint(1011, 986, True)),
        (5_000, CutPoint(983, 978, True)),
        (20_000, CutPoint(837, 834, True)),
        (100_000, CutPoint(27, 24, True)),
        (10**9, CutPoint(0)),
    ],
)
def test_cuts(real: RealSession, keep: int, expected: CutPoint) -> None:
    assert find_cut_point(real.entries, 0, len(real.entries), keep) == expected


def test_preparation(prepared: Preparation) -> None:
    assert prepared.tokens_before == 177_657
    assert (len(prepared.to_summarise), estimate_messages(prepared.to_summarise)) == (730, 103_575)
    assert (len(prepared.turn_prefix), estimate_messages(prepared.turn_prefix)) == (3, 756)
    assert (len(prepared.kept), estimate_messages(prepared.kept)) == (181, 20_330)
    assert (prepared.previous_summary, prepared.first_kept) == (None, "e837")
    assert (len(prepared.files.read), len(prepared.files.modified)) == (7, 20)
    assert (
        u16(serialise_messages(prepared.to_summarise)),
        u16(serialise_messages(prepared.turn_prefix)),
    ) == (
        337_644,
        3_081,
    )


def test_no_result_in_the_kept_part_has_lost_its_call(prepared: Preparation) -> None:
    called = {call.id for message in prepared.kept for call in message.calls}
    assert all(message.result.call_id in called for message in prepared.kept if message.result)


def test_the_same_by_way_of_the_reader(path: Path) -> None:
    """The buffer lacks the answers that were aborted before they said anything; Pi counts them, and so do we."""
    thread = open_transcript(path).main
    start = Buffer(thread.end.messages(), thread.prompt)
    moment = moment_at(thread, len(thread.requests))
    script = Script("SUM1", "SUM2")
    settings = POLICY.settings(window=200_000)
    outcome = drive(
        POLICY.tier("compact", PolicyContext(start, settings, PiState(), moment)), script
    )
    fields = next(
        event.fields for event in outcome.events if event.name == "session_before_compact"
    )
    assert fields["preparation"] == {
        "firstKeptEntryId": "L839", "messagesToSummarize": 730, "turnPrefixMessages": 3, "isSplitTurn": True,
        "tokensBefore": 177_657, "previousSummary": False,
    }  # fmt: skip
    kept = outcome.buffer.messages[1:]
    assert estimate_messages(kept, filed=moment.filed) == 20_330
    assert estimate_messages(kept) == 20_330 - 213, (
        "a call of an answer that was aborted is not sent"
    )
    (found,) = POLICY.due(PolicyContext(start, settings, PiState(), moment))
    assert (found.due, found.tokens, found.limit) == (False, 177_604, 183_616)
    upstream = POLICY.settings([("profile", "upstream")], 194_000)
    (found,) = POLICY.due(PolicyContext(start, upstream, PiState(), moment))
    assert (found.due, found.tokens, found.limit) == (True, 177_657, 177_616)


def test_the_figures_of_the_session_when_read_are_those_that_pi_counts(path: Path) -> None:
    """Entries are numbered from the first line after the header, as lines are from the header."""
    main, pi = open_transcript(path).main, estimator("pi")
    assert len(main.messages) == 914
    assert sum(pi.weigh(message) for message in main.messages) == 124_661
    assert len({message.line for message in main.messages}) == 914
    assert max(message.line for message in main.messages) - 2 <= 1017
    last = main.requests[-1]
    assert last.usage is not None
    after = main.messages[[message.line for message in main.messages].index(last.line) + 1 :]
    assert (
        last.usage.prompt + last.usage.output + sum(pi.weigh(message) for message in after)
        == 177_657
    )
