"""A real proxy that cuts, as its recording tells it: sizes compared with those that the provider itself counts."""

from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from inspector.core.buffer import Buffer
from inspector.core.drops import drop_sizes, session_drops
from inspector.core.formats.proxy.reader import ProxyReader
from inspector.core.tokens.change_sizes import compaction_sizes, promise_words
from inspector.core.tokens.pressure import thread_pressures
from inspector.core.tokens.windows import find_window
from inspector.proxy.holds.hold import HoldInfo, Rule
from inspector.proxy.holds.holds import Holds
from inspector.simulated.server import SimulatedServer
from tests.proxy.holding import SUMMARY, Later, held_by, records, until

TOOL = {
    "name": "read_file",
    "description": "Reads a file of the project, and gives back what stands there, line by line. "
    * 20,
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
}
TURNS, CUT_AT = 9, (3, 6)


class _Agent:
    """Sends its whole conversation each turn; remembers every body."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.bodies: list[dict[str, Any]] = []

    def work(self) -> None:
        messages: list[Any] = [
            {"role": "user", "content": "Read all that there is, and say what it is about."}
        ]
        for n in range(TURNS):
            base = {
                "model": "claude-fake",
                "max_tokens": 200,
                "system": "You are careful. " * 200,
                "tools": [TOOL],
            }
            self.bodies.append(base | {"messages": list(messages)})
            answer = (
                httpx2.post(f"{self._url}/v1/messages", json=self.bodies[-1], timeout=60)
                .raise_for_status()
                .json()
            )
            calls = [block for block in answer["content"] if block["type"] == "tool_use"]
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": one["id"],
                    "content": f"line {n} of the file, in words. " * 90,
                }
                for one in calls
            ]
            more = results or [{"type": "text", "text": f"And then, the {n}. time? " * 30}]
            messages += [
                {"role": "assistant", "content": answer["content"]},
                {"role": "user", "content": more},
            ]


def _is_gone(gate: Holds, hold: HoldInfo) -> bool:
    return hold.id not in {one.id for one in gate.list()}


def test_cut_in_the_recording_is_between_what_was_held_and_what_was_promised(
    simulated: SimulatedServer, tmp_path: Path
) -> None:
    gate, held, promised = Holds(Rule("each")), dict[int, int | None](), dict[int, int]()
    with held_by(gate, simulated.url, tmp_path) as server:
        agent = _Agent(server.url)
        work = Later(agent.work)
        for n in range(TURNS):
            hold: HoldInfo = until(gate.list)[0]
            buffer = gate.buffer(hold.id)
            after = None
            if n in CUT_AT:
                turns = [at for at, one in enumerate(buffer.messages) if one.role == "assistant"]
                after = Buffer((SUMMARY, *buffer.messages[turns[-2] :]), buffer.prompt)
                held[n], promised[n] = hold.tokens, gate.predicted(hold.id, after)
            gate.release(hold.id, after, buffer)
            until(partial(_is_gone, gate, hold))
        work.result()
        lines = records(server)
    first = agent.bodies[CUT_AT[0]]
    counted = httpx2.post(
        f"{simulated.url}/v1/messages/count_tokens", json=first, timeout=60
    ).json()["input_tokens"]
    reader = ProxyReader()
    for number, line in enumerate(lines, 1):
        reader.feed(number, line)
    session = reader.session()
    (thread,) = session.threads
    pressures = thread_pressures(thread)
    assert [one.before_request for one in thread.compactions] == list(CUT_AT)
    for compaction, drop in zip(thread.compactions, session_drops(session), strict=True):
        at = compaction.before_request
        sizes, request = compaction_sizes(thread, pressures, compaction), thread.requests[at]
        assert request.usage is not None
        assert sizes.tokens == (held[at], request.usage.prompt)
        assert (sizes.freed or 0) > 0
        assert drop_sizes(thread, pressures, drop) == sizes
        assert request.predicted is not None
        assert request.predicted[0] == promised[at]
        assert f"Predicted about {promised[at]:,}" in promise_words(thread, compaction, sizes)
        assert find_window(session, thread, at).warnings == ()
        assert request.asked is not None
        gone = {message.id for message in request.asked} - {message.id for message in request.view}
        assert gone == {*drop.lost}
    assert abs((held[CUT_AT[0]] or 0) - counted) <= 0.03 * counted
    second = thread.requests[CUT_AT[1]]
    assert second.asked is not None
    assert SUMMARY.text in {message.text for message in second.asked}, (
        "what was held had been cut before"
    )
    (note,) = [note for note in session.notes if "forwarded" in note]
    assert note.startswith(f"{TURNS - CUT_AT[0]} requests")
