"""A real proxy that cuts, as its recording tells it: sizes compared with those that the provider itself counts."""

from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from inspector.core.buffer import Buffer
from inspector.core.drops import session_drops
from inspector.core.formats.proxy.reader import ProxyReader
from inspector.core.session import compaction_sizes
from inspector.proxy.holds.hold import HoldInfo, Rule
from inspector.proxy.holds.holds import Holds
from inspector.simulated.server import SimulatedServer
from tests.proxy.holding import SUMMARY, Later, held_by, records, until

TOOL = {
    "name": "read_file",
    "description": "Reads a file of the project, and gives back what stands there, line by line. " * 20,
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
}
TURNS, CUT_AT = 9, (3, 6)


class _Agent:
    """Sends its whole conversation each turn; remembers every body."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.bodies: list[dict[str, Any]] = []

    def work(self) -> None:
        messages: list[Any] = [{"role": "user", "content": "Read all that there is, and say what it is about."}]
        for n in range(TURNS):
            base = {"model": "claude-fake", "max_tokens": 200, "system": "You are careful. " * 200, "tools": [TOOL]}
            self.bodies.append(base | {"messages": list(messages)})
            answer = httpx2.post(f"{self._url}/v1/messages", json=self.bodies[-1], timeout=60).raise_for_status().json()
            calls = [block for block in answer["content"] if block["type"] == "tool_use"]
            results = [
                {"type": "tool_result", "tool_use_id": one["id"], "content": f"line {n} of the file, in words. " * 90}
                for one in calls
            ]
            more = results or [{"type": "text", "text": f"And then, the {n}. time? " * 30}]
            messages += [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": more}]


def _is_gone(gate: Holds, hold: HoldInfo) -> bool:
    return hold.id not in {one.id for one in gate.list()}


def test_a_cut_is_told_with_what_the_client_sent_and_what_went_on(simulated: SimulatedServer, tmp_path: Path) -> None:
    gate = Holds(Rule("each"))
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
            gate.release(hold.id, after, buffer)
            until(partial(_is_gone, gate, hold))
        work.result()
        lines = records(server)
    counted = [
        httpx2.post(f"{simulated.url}/v1/messages/count_tokens", json=body, timeout=60).json()["input_tokens"]
        for body in agent.bodies
    ]
    reader = ProxyReader()
    for number, line in enumerate(lines, 1):
        reader.feed(number, line)
    session = reader.session()
    (thread,) = session.threads
    assert [one.before_request for one in thread.compactions] == list(CUT_AT)
    for compaction, drop in zip(thread.compactions, session_drops(session), strict=True):
        before, went_on = compaction_sizes(thread, compaction)
        used, asked = thread.requests[compaction.before_request].usage, counted[compaction.before_request]
        assert before is not None
        assert used is not None
        assert abs(before - asked) <= 0.03 * asked, (before, asked)
        assert went_on == used.prompt < before
        assert (drop.tokens_before, drop.tokens_after) == (before, used.prompt)
    (note,) = [note for note in session.notes if "forwarded" in note]
    assert note.startswith(f"{TURNS - CUT_AT[0]} requests")
