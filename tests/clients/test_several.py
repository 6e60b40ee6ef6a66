"""Several agents in one recording: two sessions at once, one that is resumed, a sub-agent of a real client."""

from types import ModuleType
from typing import Any

import pytest

from inspector.core.session import Thread
from inspector.transcripts.files import open_transcript
from tests.clients.actor import Actor
from tests.clients.bodies import of_buffer
from tests.clients.cases import actors
from tests.clients.conftest import Plays, skip_where_missing
from tests.clients.playing import TASK, Played, play
from tests.clients.rebuilt import Recorded, own_transcripts, recorded
from tests.clients.scenarios import SCENARIOS
from tests.clients.test_rebuilt import BESIDE, same_as_its_own, same_as_the_wire

MORE = "And now look at README.md, please."
HAND_ON = 'Let a sub-agent "{}" read notes.txt and say how many lines it has.'
TASK_ALONE = SCENARIOS[0]


def _played(plays: Plays, actor: Actor, wire: str, name: str, **how: Any) -> Played:
    skip_where_missing(actor)
    options = TASK_ALONE.provider(actor.wires[wire])

    def made(folder: Any) -> Played:
        return play(plays.spaces, folder / "play", actor, wire, simulate=options, proxy=(), **how)

    played = plays.once(f"{actor.name}-{wire}-{name}", made)
    assert set(played.statuses) == {0}, (played.stdout, played.stderr)
    return played


def _in_folders(found: Recorded, folders: int) -> list[list[int]]:
    """Of every thread, for each of its requests, the folder that its body names."""
    return [
        [
            next(n for n in range(folders) if f"/work-{n}" in str(found.provider_saw(request).told))
            for request in thread.requests
        ]
        for thread in found.session.threads
    ]


@pytest.mark.parametrize(("actor", "wire"), actors())
def test_two_at_once(plays: Plays, actor: Actor, wire: str) -> None:
    """They are told the same, and do the same, in two folders: two threads, each with its own side calls."""
    calls = [*actor.calls(wire, TASK, None)] * 2
    found = recorded(_played(plays, actor, wire, "two", calls=calls, at_once=True))
    same_as_the_wire(found)
    one, other = _in_folders(found, 2)
    assert sorted((set(one).pop(), set(other).pop())) == [0, 1]
    assert len(set(one)) == len(set(other)) == 1
    assert len(one) == len(other) > 3
    kinds = [
        sorted(call.kind for call in found.session.side_calls if call.thread == thread.id)
        for thread in found.session.threads
    ]
    assert kinds[0] == kinds[1]
    assert not [
        call for call in found.session.side_calls if call.kind not in BESIDE and not call.thread
    ]
    assert all(TASK[:20] in thread.title for thread in found.session.threads)


def _spent(thread: Thread) -> tuple[int, int]:
    """Prompt and output of its requests: not every client keeps apart what was written to the cache."""
    usages = [request.usage for request in thread.requests if request.usage is not None]
    return sum(one.prompt for one in usages), sum(one.output for one in usages)


@pytest.mark.parametrize(("actor", "wire"), actors())
def test_resumed(plays: Plays, comparison: ModuleType, actor: Actor, wire: str) -> None:
    """The same thread goes on, in another process, here and in the client's own transcript."""
    calls = [*actor.calls(wire, TASK, None), actor.again(wire, MORE)]
    played = _played(plays, actor, wire, "resumed", calls=calls)
    found = recorded(played)
    same_as_the_wire(found)
    (thread,) = found.session.threads
    last = found.provider_saw(thread.requests[-1]).told
    assert all(any(words in piece[2] for piece in last.pieces) for words in (TASK, MORE))
    files = own_transcripts(played, actor.transcripts)
    if len(files) == 1:
        own = open_transcript(files[0])
        assert _spent(own.main) == _spent(thread)
        same_as_its_own(found, thread, own.main, comparison)


@pytest.mark.parametrize(("actor", "wire"), [one for one in actors() if one.values[0].helper])
def test_a_sub_agent(plays: Plays, actor: Actor, wire: str) -> None:
    """It has a thread of its own, which says who started it and what for."""
    calls = actor.calls(wire, HAND_ON.format(actor.helper), None)
    found = recorded(_played(plays, actor, wire, "sub-agent", calls=calls))
    same_as_the_wire(found)
    main, helper = found.session.threads
    assert (main.parent, helper.parent) == ("", "main")
    assert helper.parent_call in {call.id for message in main.messages for call in message.calls}
    assert helper.title.startswith("read")
    assert any(
        "read notes.txt" in piece[2] for piece in of_buffer(helper.requests[0].buffer()).talk
    )
    assert not [
        call for call in found.session.side_calls if call.kind not in BESIDE and not call.thread
    ]
