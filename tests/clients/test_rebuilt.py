"""What is put together again compared with the bodies that went over the wire: from the recording, and from what the
client itself wrote; message by message, with the numbers that the provider told."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from inspector.core.drops import drop_sizes, session_drops
from inspector.core.message import Message
from inspector.core.session import Session, Thread
from inspector.core.tokens.pressure import thread_pressures
from inspector.transcripts.files import open_transcript
from tests.clients.actor import Actor
from tests.clients.bodies import Piece, of_buffer, of_messages
from tests.clients.cases import cases
from tests.clients.conftest import Plays, skip_where_missing
from tests.clients.playing import Played
from tests.clients.rebuilt import Recorded, own_transcripts, recorded
from tests.clients.recordings import command
from tests.clients.scenarios import Scenario

BESIDE = ("connection check", "models", "telemetry", "other")
"""Calls of no model, which need not say whose they are."""


@pytest.mark.parametrize(("actor", "wire", "scenario"), cases())
def test_from_the_recording(plays: Plays, actor: Actor, wire: str, scenario: Scenario) -> None:
    """Every request reads as the body that the provider got, and cost what it said; every call is told, and once."""
    skip_where_missing(actor)
    played = plays.through(actor, wire, scenario)
    found = recorded(played)
    assert len(found.session.main.requests) >= 2
    same_as_the_wire(found)
    _all_told(found)
    _totals(found, command("info", str(played.recording)))


@pytest.mark.parametrize(
    ("actor", "wire", "scenario"), [one for one in cases() if not one.values[2].changes]
)
def test_from_its_own_transcript(
    plays: Plays, comparison: ModuleType, actor: Actor, wire: str, scenario: Scenario
) -> None:
    """The same requests as in the recording, each with the same messages, the same usage, the same window."""
    skip_where_missing(actor)
    played = plays.through(actor, wire, scenario)
    found, own = recorded(played), open_transcript(own_transcripts(played, actor.transcripts)[-1])
    assert not own.problems
    thread = found.session.main
    if any(played.statuses) and len(own.main.requests) == len(thread.requests) - 1:
        thread = replace(thread, requests=thread.requests[:-1])  # it died of the last answer
    same_as_its_own(found, thread, own.main, comparison, whole=actor.writes == "all")
    _same_window(played, own, scenario)


@pytest.mark.parametrize(
    ("actor", "wire", "scenario"), [one for one in cases() if one.values[2].changes]
)
def test_what_a_cut_dropped(plays: Plays, actor: Actor, wire: str, scenario: Scenario) -> None:
    """By what the client sent and what the provider got: just that is told as lost or changed, with both sizes."""
    skip_where_missing(actor)
    found = recorded(plays.through(actor, wire, scenario))
    thread, asked = found.session.main, found.asked()
    cuts = [drop for drop in session_drops(found.session) if drop.compaction is not None]
    cuts = [drop for drop in cuts if thread.compactions[drop.compaction or 0].trigger == "proxy"]
    assert cuts, "something was cut"
    for drop in cuts:
        request = thread.requests[drop.request]
        number = found.lines[request.line - 1]["exchange"]
        went, came = Counter(found.provider_saw(request).told.talk), Counter(asked[number].talk)
        gone = [
            message for message in request.asked or () if message.id in {*drop.lost, *drop.changed}
        ]
        assert set(came - went) <= set(of_messages(gone)), "what is missing is told"
        assert gone
        assert all(_is_missing(message, came - went) for message in gone), "what is told is missing"
        before, after = drop_sizes(thread, thread_pressures(thread), drop).tokens
        assert before is not None
        assert request.usage is not None
        assert after == request.usage.prompt < before
    notes = [note for note in found.session.notes if "forwarded" in note]
    assert len(notes) == 1


def _is_missing(message: Message, missing: Counter[Piece]) -> bool:
    pieces = [piece for piece in of_messages([message]) if piece[2]]
    return not pieces or any(piece in missing for piece in pieces)


def same_as_the_wire(found: Recorded) -> None:
    """Every request of every thread reads as the body that the provider got, tools and all."""
    for thread in found.session.threads:
        for request in thread.requests:
            saw, ours = found.provider_saw(request), of_buffer(request.buffer())
            same_row(ours.row, saw.told.row, f"{thread.id} {request.index}")
            assert ours.tools == saw.told.tools
            if request.usage is not None and saw.prompt is not None:
                assert (request.usage.prompt, request.usage.output) == (saw.prompt, saw.output)


def same_as_its_own(
    found: Recorded, thread: Thread, own: Thread, comparison: ModuleType, *, whole: bool = False
) -> None:
    """Each request of the client's own transcript reads as the body that the provider got; `whole`: prompt and all.

    By the wire alone, and by the comparison that docs/fidelity.md is made with.
    """
    answered = [
        request
        for request in thread.requests
        if request.finish != "cut" and request.usage is not None
    ]
    # Not all write those down.
    requests = thread.requests if len(own.requests) == len(thread.requests) else answered
    for ours, theirs in zip(own.requests, requests, strict=True):
        saw, told = found.provider_saw(theirs), of_buffer(ours.buffer())
        same_row(told.talk, saw.told.talk, f"{own.id} {ours.index}")
        assert comparison.differences(ours, theirs, found.dialect) == []
        if whole:
            assert (told.row, told.tools) == (saw.told.row, saw.told.tools)
        if saw.prompt is not None and (ours.usage is not None or theirs.finish != "cut"):
            assert ours.usage is not None
            assert (ours.usage.prompt, ours.usage.output) == (saw.prompt, saw.output)


def same_row(ours: Sequence[Piece], theirs: Sequence[Piece], where: str) -> None:
    """Piece by piece; the first that differs is shown."""
    for n, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        assert one == other, f"{where}: piece {n}"
    assert ours[len(theirs) :] == [], f"{where}: too much"
    assert theirs[len(ours) :] == [], f"{where}: missing"


def _all_told(found: Recorded) -> None:
    """Every call of a model is a request or a side call; what is made for a thread stands with it."""
    lines = [request.line for thread in found.session.threads for request in thread.requests]
    lines += [call.line for call in found.session.side_calls]
    numbers = Counter(found.lines[line - 1]["exchange"] for line in lines)
    assert numbers == Counter(line["exchange"] for line in found.lines if line["type"] == "request")
    threads = {thread.id for thread in found.session.threads}
    assert [
        call.kind
        for call in found.session.side_calls
        if call.kind not in BESIDE and call.thread not in threads
    ] == []


def _totals(found: Recorded, told: dict[str, Any]) -> None:
    """What `info` sums up is what the provider said to all calls, those beside the conversation too."""
    totals = told["totals"]
    prompt = totals["input"] + totals["cache_read"] + totals["cache_write"]
    assert prompt == sum(one.prompt or 0 for one in found.sent)
    assert totals["output"] == sum(one.output or 0 for one in found.sent)


def _same_window(played: Played, own: Session, scenario: Scenario) -> None:
    """As the proxy was told; else what the client says itself, where that is not a setting of its user's."""
    window = command("info", str(played.recording))["window"]
    head = recorded(played).lines[0]
    if "window" in head:
        assert (window["tokens"], window["source"]) == (head["window"], "recorded")
    elif not scenario.tiny:
        assert window["tokens"] == command("info", str(own.path))["window"]["tokens"]
