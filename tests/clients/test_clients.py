"""Real agents, from task to answer: straight to the provider and through the proxy, it must come to the same."""

import json
import re
from collections import Counter

import pytest

from tests.clients.actor import KEY, Actor, Trait
from tests.clients.cases import cases
from tests.clients.conftest import Plays, skip_where_missing
from tests.clients.masking import body_of, covered, seen
from tests.clients.playing import TASK, Played, Wire
from tests.clients.recordings import Exchange, command, exchanges
from tests.clients.scenarios import Scenario


@pytest.mark.parametrize(("actor", "wire", "scenario"), cases())
def test_through_the_proxy_as_without_it(
    plays: Plays, actor: Actor, wire: str, scenario: Scenario
) -> None:
    """The same exit status, the same words, the same requests; and all of it stands in the recording."""
    skip_where_missing(actor)
    trait = actor.wires[wire]
    direct, through = plays.direct(actor, wire, scenario), plays.through(actor, wire, scenario)

    assert set(direct.statuses) == {scenario.status(trait)}, _told(direct)
    assert through.statuses == direct.statuses, _told(through)
    _went_as_written(scenario, trait, direct)
    if not scenario.changes:
        assert [covered(one) for one in through.stdout] == [covered(one) for one in direct.stdout]
        _same(direct.wire, through.wire)
        _recorded(exchanges(through.recording), through.wire)
    _held(scenario, through)
    _opens(through, scenario, trait)


def _held(scenario: Scenario, played: Played) -> None:
    """What waited, and how it went on."""
    lines = [json.loads(line) for line in played.recording.read_text(encoding="utf-8").splitlines()]
    ways = [line["how"] for line in lines if line["type"] == "released"]
    if scenario.changes:
        assert "changed" in ways
        assert "cut again" in ways or ways.count("changed") > 1, "what was cut stays cut"
        assert all(
            wire.status < 400 for wire in played.wire if "/v1" in wire.path and wire.method != "GET"
        ), "nothing was refused"
        assert any(line["type"] == "sent" for line in lines)
    else:
        assert ways == (["as it was"] if scenario.pause_s else [])


def _told(played: Played) -> str:
    return "\n".join(one[-2_000:] for one in (*played.stdout, *played.stderr))


def _same(direct: list[Wire], through: list[Wire]) -> None:
    """In the same order, but for calls that were made at once. What a client asks beside its work (plugins, models)
    comes when it comes, as often as there is time."""
    ones, others = (
        [seen(one) for one in side if one.method in ("POST", "WS") and "/v1" in one.path]
        for side in (direct, through)
    )
    assert [one[:3] for one in others] == [one[:3] for one in ones]
    if ones != others:
        texts = [sorted(json.dumps(one, sort_keys=True) for one in side) for side in (ones, others)]
        assert texts[0] == texts[1]


def _went_as_written(scenario: Scenario, trait: Trait, played: Played) -> None:
    """The play was what it is called: tools were called, streams came, what was to go wrong went wrong."""
    statuses = Counter(one.status for one in played.wire)
    if scenario.status(trait) == 0 and played.stdout[-1].strip():
        assert "That is done" in played.stdout[-1], _told(played)
        # A WebSocket brings the new ones only.
        results = [len(_RESULT.findall(body_of(one))) for one in played.wire]
        assert (sum(results) if trait.only_new else max(results)) >= 3 or scenario.tiny
    match scenario.name:
        case "too-many-requests":
            assert statuses[429] == 1 or any(b'"status":429' in one.sent for one in played.wire)
        case "overloaded":
            assert statuses[529] == 1 or any(b'"status":529' in one.sent for one in played.wire)


_RESULT = re.compile(
    r'"type": ?"(?:tool_result|\w+_call_output)"|"role": ?"tool"|"functionResponse"'
)


def _recorded(recorded: list[Exchange], wire: list[Wire]) -> None:
    """What the provider got is what was recorded, and what it sent too: byte for byte, by their sums."""
    assert Counter(one.received for one in recorded) == Counter(one.received_sha256 for one in wire)
    sums = Counter((one.received, one.sent) for one in recorded if not one.frames)
    assert sums == Counter(
        (one.received_sha256, one.sent_sha256) for one in wire if one.method != "WS"
    )
    frames = [
        [json.loads(line) for line in one.sent.splitlines()] for one in wire if one.method == "WS"
    ]
    assert [one.frames for one in recorded if one.frames] == frames
    assert not [one for one in recorded for value in one.headers.values() if KEY in value]


def _opens(played: Played, scenario: Scenario, trait: Trait) -> None:
    """Every command reads it: one session of one thread, its compactions, and no line that cannot be understood."""
    told = command("info", str(played.recording))
    assert told["problems"] == []
    if scenario.changes:
        assert told["drops"], "what the proxy changed is told"
    else:
        assert bool(sum(thread["compactions"] for thread in told["threads"])) == bool(
            scenario.compactions(trait)
        )
    if scenario.compactions(trait):
        assert [call for call in told["side_calls"] if call["kind"] == "compaction"]
        untold = [drop for drop in told["drops"] if drop["loss"] and drop["compaction"] is None]
        # A client that is resumed may say anew what it says of the folder.
        if len(played.statuses) > 1:
            untold = [drop for drop in untold if drop["kind"] != "edit"]
        assert not untold, "all losses are told"
    if len(played.statuses) == 1:
        assert [thread["id"] for thread in told["threads"]] == ["main"]
    buffer = command("buffer", str(played.recording), "--at", "0")
    assert TASK in json.dumps(buffer["messages"])
    assert command("calibrate", str(played.recording))["estimators"]
